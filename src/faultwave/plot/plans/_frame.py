"""Elements common to figures of a plan: the relevant part of the map, lines and panels of vertical sections."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure, FigureBase, SubFigure

from faultwave.observe.model import Model, Section
from faultwave.plot import style

WHOLE = 3.0
"""Maximum ratio of the box to the relevant part up to which the whole box is shown."""
MARGIN = 0.35
"""Margin around the relevant part, as a fraction of its size."""
EDGES = 3000
"""Maximum number of cells of a section whose edges are drawn."""


@dataclass(frozen=True)
class Line:
    """Line on the map [m], with the letter of its section."""

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
    """Return the relevant points (n, 3) [m]: of faults and sources, else of receivers, else none."""
    faults = [sheet.points for sheet in model.of("fault")]
    sources = [marks.points for marks in model.marks if marks.kind == "sources" and len(marks.points)]
    receivers = [marks.points for marks in model.marks if len(marks.points)]
    return np.concatenate([np.zeros((0, 3)), *(faults + sources or receivers)])


def limits(model: Model, whole: bool = False) -> np.ndarray:
    """Return lower and upper corner (2, 3) [m] of the region shown: the relevant part of a large region, or all if ``whole``."""
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
    """Return two vertical sections through the middle of the relevant part: along and across the fault, else along x and y."""
    found = places(model)
    middle = found.mean(0)[:2] if len(found) else shown.mean(0)[:2]
    middle = np.clip(middle, shown[0, :2] + 1e-6, shown[1, :2] - 1e-6)
    faults = model.of("fault")
    along = _strike(faults[0].points) if faults else np.array([1.0, 0.0])
    across = np.array([-along[1], along[0]])
    return [Line(name, *_through(middle, way, shown)) for name, way in (("A", along), ("B", across))]


def _strike(points: np.ndarray) -> np.ndarray:
    """Return the horizontal unit vector (2,) along which points extend most, oriented towards x or y."""
    flat = points[:, :2] - points[:, :2].mean(0)
    way = np.linalg.svd(flat, full_matrices=False)[2][0]
    way = np.where(np.abs(way) < 1e-6, 0.0, way)
    return np.asarray(way if way[np.argmax(np.abs(way))] > 0 else -way)


def _through(middle: np.ndarray, way: np.ndarray, shown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of a line through a point on the sides of a rectangle."""
    with np.errstate(divide="ignore"):
        to_sides = np.where(way != 0, (shown[:, :2] - middle) / np.where(way != 0, way, 1.0), np.nan)
    last = np.nanmin(np.where(to_sides > 0, to_sides, np.nan))
    first = np.nanmax(np.where(to_sides < 0, to_sides, np.nan))
    return middle + first * way, middle + last * way


def heights(model: Model, shown: np.ndarray, width: float) -> float:
    """Return the height of a section panel of this width [inch]."""
    longest = max(line.length for line in lines(model, shown))
    return float(np.clip(width * np.ptp(shown[:, 2]) / longest, 0.55, 1.1 * width))


def draw_section(
    ax: Axes, model: Model, section: Section, name: str, colours: Colormap, norm: Normalize, edges: bool = False
) -> PolyCollection:
    """Draw a quantity of a section in flat colours, with thin cell edges if requested and not too many."""
    xy = unit(model).scale * section.points
    thin = edges and len(section.cells) <= EDGES
    patches = style.draw_cells(ax, xy, section.cells, section.values[name], colours, norm)
    if thin:
        outlines = PolyCollection(list(xy[section.cells]), facecolors="none", edgecolors="#00000038", linewidths=0.2)
        ax.add_collection(outlines)
    return patches


def frame_section(ax: Axes, line: Line, shown: np.ndarray, model: Model) -> None:
    """Set limits and labels of a section: distance along the line, height."""
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
    """Return segments (k, 2, 2) [m], along and up, where triangles (n, 3, 3) cross the vertical plane of a line.

    Triangles that lie in the plane have none.
    """
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
    """Unit of length; ``scale`` converts from metres."""

    name: str
    scale: float


UNITS = (Unit("km", 1e-3), Unit("m", 1.0), Unit("mm", 1e3), Unit("µm", 1e6))


def unit(model: Model) -> Unit:
    """Return the unit of length that gives the size of the run few digits."""
    size = float((model.upper - model.lower).max())
    return next((u for u in UNITS if size * u.scale >= 2.0), UNITS[-1])


def along(model: Model, axis: int) -> str:
    """Return the label of an axis."""
    return style.along(axis, unit(model).name)


def distance(model: Model, line: Line) -> str:
    """Return the label of the distance along a line."""
    return f"along {line.title} [{unit(model).name}]"


def head(fig: FigureBase, model: Model, text: str) -> None:
    """Draw the run's title, and below it the description of the figure, at the top of ``fig``."""
    fig.suptitle(" \n ", fontsize=10)  # reserves the space
    root = fig.get_figure(root=True)
    assert root is not None
    high = root.get_size_inches()[1]
    root.text(0.01, 1.0 - 0.06 / high, model.title, ha="left", va="top", fontsize=10)
    root.text(0.01, 1.0 - 0.25 / high, text, ha="left", va="top", fontsize=8.5, color="#555555")


def stacked(fig: Figure, upper: float, lower: float) -> tuple[SubFigure, SubFigure]:
    """Return two subfigures of these heights, one above the other."""
    parts = np.asarray(fig.subfigures(2, 1, height_ratios=[upper, lower]))
    return parts[0], parts[1]


def evenly(ends: np.ndarray, count: int) -> np.ndarray:
    """Return ``count`` evenly spaced numbers between the two ``ends``."""
    return np.linspace(float(ends[0]), float(ends[1]), count)


def two(fig: FigureBase, drawn: list[Line], rows: int = 1) -> np.ndarray:
    """Return axes (rows, 2) of sections along two lines, with widths proportional to their lengths."""
    lengths = [line.length for line in drawn]
    return np.asarray(fig.subplots(rows, 2, squeeze=False, sharey=True, width_ratios=lengths))


def tall(model: Model, shown: np.ndarray, drawn: list[Line]) -> float:
    """Return the height [inch] of a row of ``two`` with its labels."""
    lengths = [line.length for line in drawn]
    return heights(model, shown, 5.6 / sum(lengths) * max(lengths)) + 0.75


def ends(values: np.ndarray, norm: Normalize) -> str:
    """Return the ends at which values exceed a scale, as matplotlib's ``extend`` of a colour bar."""
    finite = values[np.isfinite(values)]
    grain = 1e-6 * (norm.vmax - norm.vmin)  # type: ignore[operator]
    low = len(finite) and finite.min() < norm.vmin - grain  # type: ignore[operator]
    high = len(finite) and finite.max() > norm.vmax + grain  # type: ignore[operator]
    return {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}[(int(bool(low)), int(bool(high)))]


def scale(values: np.ndarray, low: float = 1.0, high: float = 99.0) -> Normalize:
    """Return a scale between two percentiles of the finite values, never of zero width."""
    finite = values[np.isfinite(values)]
    a, b = np.percentile(finite, [low, high]) if len(finite) else (0.0, 1.0)
    if b - a < 1e-6 * max(abs(a), abs(b), 1e-30):
        a, b = 0.95 * a - 1e-30, 1.05 * b + 1e-30
    return Normalize(float(a), float(b))
