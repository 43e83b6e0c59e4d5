"""What pictures of a plan share: the part of the map that matters, lines of vertical sections, panels of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure, FigureBase, SubFigure

from faultwave.observe.model import Model, Section
from faultwave.plot import style

WHOLE = 3.0
"""A box at most so many times as wide as what matters in it is shown whole."""
MARGIN = 0.35
"""Around what matters, of its size."""
EDGES = 3000
"""Cells of a section at most whose edges are drawn."""


@dataclass(frozen=True)
class Line:
    """A line on the map [m] with the letter of its section."""

    name: str
    start: np.ndarray
    end: np.ndarray

    @property
    def title(self) -> str:
        return f"{self.name}–{self.name}′"

    @property
    def length(self) -> float:
        return float(np.linalg.norm(self.end - self.start))


def places(model: Model) -> np.ndarray:
    """Points (n, 3) that matter: of faults and sources, else of receivers, else none."""
    faults = [sheet.points for sheet in model.of("fault")]
    sources = [marks.points for marks in model.marks if marks.kind == "sources" and len(marks.points)]
    receivers = [marks.points for marks in model.marks if len(marks.points)]
    return np.concatenate([np.zeros((0, 3)), *(faults + sources or receivers)])


def limits(model: Model, whole: bool = False) -> np.ndarray:
    """Lower and upper corner (2, 3) [m] of what is shown: the region, or what matters of a large one; ``whole``: all of the region."""
    mesh = np.array([model.lower, model.upper])
    box = mesh if model.region is None else np.clip(model.region, *mesh)
    found = np.concatenate([places(model), *(marks.points for marks in model.marks)])
    if whole or not len(found):
        return box
    box = np.clip([np.minimum(box[0], found.min(0)), np.maximum(box[1], found.max(0))], *mesh)
    size = np.maximum(np.ptp(found, axis=0), 0.02 * np.ptp(box, axis=0).max())
    margin = MARGIN * max(size[:2].max(), size[2])
    low = np.maximum(found.min(0) - margin, box[0])
    high = np.minimum(found.max(0) + margin, box[1])
    high[2] = box[1, 2]
    near = np.array([low, high])
    across, all_ = np.ptp(near, axis=0)[:2].max(), np.ptp(box, axis=0)[:2].max()
    return box if all_ <= WHOLE * across else near


def lines(model: Model, shown: np.ndarray) -> list[Line]:
    """Two vertical sections through the middle of what matters: along the fault and across it, else along x and y."""
    found = places(model)
    middle = found.mean(0)[:2] if len(found) else shown.mean(0)[:2]
    middle = np.clip(middle, shown[0, :2] + 1e-6, shown[1, :2] - 1e-6)
    faults = model.of("fault")
    along = _strike(faults[0].points) if faults else np.array([1.0, 0.0])
    across = np.array([-along[1], along[0]])
    return [Line(name, *_through(middle, way, shown)) for name, way in (("A", along), ("B", across))]


def _strike(points: np.ndarray) -> np.ndarray:
    """Horizontal direction (2,) in which points spread most, towards x or y."""
    flat = points[:, :2] - points[:, :2].mean(0)
    way = np.linalg.svd(flat, full_matrices=False)[2][0]
    way = np.where(np.abs(way) < 1e-6, 0.0, way)
    return np.asarray(way if way[np.argmax(np.abs(way))] > 0 else -way)


def _through(middle: np.ndarray, way: np.ndarray, shown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ends of a line through a point to the sides of a rectangle."""
    with np.errstate(divide="ignore"):
        to_sides = np.where(way != 0, (shown[:, :2] - middle) / np.where(way != 0, way, 1.0), np.nan)
    last = np.nanmin(np.where(to_sides > 0, to_sides, np.nan))
    first = np.nanmax(np.where(to_sides < 0, to_sides, np.nan))
    return middle + first * way, middle + last * way


def heights(model: Model, shown: np.ndarray, width: float) -> float:
    """Of a panel of a section of this width [inch]."""
    longest = max(line.length for line in lines(model, shown))
    return float(np.clip(width * np.ptp(shown[:, 2]) / longest, 0.55, 1.1 * width))


def draw_section(
    ax: Axes, model: Model, section: Section, name: str, colours: Colormap, norm: Normalize, edges: bool = False
) -> PolyCollection:
    """A quantity of a section in flat colours, with thin edges of its cells where they are few and wanted."""
    xy = unit(model).scale * section.points
    thin = edges and len(section.cells) <= EDGES
    patches = style.draw_cells(ax, xy, section.cells, section.values[name], colours, norm)
    if thin:
        outlines = PolyCollection(list(xy[section.cells]), facecolors="none", edgecolors="#00000038", linewidths=0.2)
        ax.add_collection(outlines)
    return patches


def frame_section(ax: Axes, line: Line, shown: np.ndarray, model: Model) -> None:
    """Limits and labels: distance along the line, height."""
    ax.set_xlim(0.0, unit(model).scale * line.length)
    ax.set_ylim(*(unit(model).scale * shown[:, 2]))
    for text, side, where in ((line.name, "left", 0.0), (f"{line.name}′", "right", 1.0)):
        ax.text(where, 1.03, text, transform=ax.transAxes, ha=side, va="bottom", fontweight="bold", fontsize=9)
    for sheet in model.of("fault"):
        ends = crossing(sheet.points[sheet.cells], line)
        if len(ends):
            ax.add_collection(LineCollection(list(unit(model).scale * ends), colors="white", linewidths=1.6, zorder=4))
            ax.add_collection(
                LineCollection(list(unit(model).scale * ends), colors=style.INK, linewidths=0.8, zorder=5)
            )


def crossing(corners: np.ndarray, line: Line) -> np.ndarray:
    """Segments (k, 2, 2) [m], along and up, where triangles (n, 3, 3) cross the vertical plane of a line; none of those in it."""
    way = (line.end - line.start) / line.length
    offset = corners[..., :2] - line.start
    distance = way[0] * offset[..., 1] - way[1] * offset[..., 0]
    apart = (distance.min(1) < -1e-6 * line.length) & (distance.max(1) > 1e-6 * line.length)
    chosen, distance = corners[apart], distance[apart]
    segments = []
    for corner, d in zip(chosen, distance, strict=True):
        ends = []
        for a, b in ((0, 1), (1, 2), (2, 0)):
            if (d[a] < 0) != (d[b] < 0):
                point = corner[a] + d[a] / (d[a] - d[b]) * (corner[b] - corner[a])
                ends.append([(point[:2] - line.start) @ way, point[2]])
        if len(ends) == 2:
            segments.append(ends)
    return np.array(segments).reshape(-1, 2, 2)


@dataclass(frozen=True)
class Unit:
    """Of lengths: ``scale`` from metres."""

    name: str
    scale: float


UNITS = (Unit("km", 1e-3), Unit("m", 1.0), Unit("mm", 1e3), Unit("µm", 1e6))


def unit(model: Model) -> Unit:
    """That gives the run's size few digits."""
    size = float((model.upper - model.lower).max())
    return next((u for u in UNITS if size * u.scale >= 2.0), UNITS[-1])


def along(model: Model, axis: int) -> str:
    """Label of an axis."""
    return style.along(axis, unit(model).name)


def distance(model: Model, line: Line) -> str:
    """Label of the distance along a line."""
    return f"along {line.title} [{unit(model).name}]"


def head(fig: FigureBase, model: Model, text: str) -> None:
    """The run's title, and below it what the picture shows; ``fig``: the uppermost part of the figure."""
    fig.suptitle(" \n ", fontsize=10)  # keeps the room
    root: Any = fig.figure  # of a part of a figure, the whole one
    high = root.get_size_inches()[1]
    root.text(0.01, 1.0 - 0.06 / high, model.title, ha="left", va="top", fontsize=10)
    root.text(0.01, 1.0 - 0.25 / high, text, ha="left", va="top", fontsize=8.5, color="#555555")


def stacked(fig: Figure, upper: float, lower: float) -> tuple[SubFigure, SubFigure]:
    """Two parts of a figure, one above the other, of such heights."""
    parts = np.asarray(fig.subfigures(2, 1, height_ratios=[upper, lower]))
    return parts[0], parts[1]


def evenly(ends: np.ndarray, count: int) -> np.ndarray:
    """So many numbers from the first to the second of two."""
    return np.linspace(float(ends[0]), float(ends[1]), count)


def two(fig: FigureBase, drawn: list[Line], rows: int = 1) -> np.ndarray:
    """Axes (rows, 2) of sections along two lines, whose widths are as their lengths."""
    lengths = [line.length for line in drawn]
    return np.asarray(fig.subplots(rows, 2, squeeze=False, sharey=True, width_ratios=lengths))


def tall(model: Model, shown: np.ndarray, drawn: list[Line]) -> float:
    """Height [inch] of a row of ``two`` with its labels."""
    lengths = [line.length for line in drawn]
    return heights(model, shown, 5.6 / sum(lengths) * max(lengths)) + 0.75


def ends(values: np.ndarray, norm: Normalize) -> str:
    """On which sides values go beyond a scale, as a colour bar says it."""
    finite = values[np.isfinite(values)]
    grain = 1e-6 * (norm.vmax - norm.vmin)  # type: ignore[operator]
    low = len(finite) and finite.min() < norm.vmin - grain  # type: ignore[operator]
    high = len(finite) and finite.max() > norm.vmax + grain  # type: ignore[operator]
    return {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}[(int(bool(low)), int(bool(high)))]


def scale(values: np.ndarray, low: float = 1.0, high: float = 99.0) -> Normalize:
    """From percentile to percentile of the finite values; never of no width."""
    finite = values[np.isfinite(values)]
    a, b = np.percentile(finite, [low, high]) if len(finite) else (0.0, 1.0)
    if b - a < 1e-6 * max(abs(a), abs(b), 1e-30):
        a, b = 0.95 * a - 1e-30, 1.05 * b + 1e-30
    return Normalize(float(a), float(b))
