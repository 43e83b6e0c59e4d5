"""Figures of the free surface: peak horizontal ground speed, and horizontal ground speed at several times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import patheffects as effects
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection
from matplotlib.colors import Normalize, PowerNorm

from faultwave.observe.snapshots.fields import LOCATIONS
from faultwave.output.formats.image import PlaneReader, is_image
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.output.results import Results
from faultwave.output.trace import Trace
from faultwave.plot import style
from faultwave.plot.triangles import at_corners, merged_points, split_along

Surface = VtkHdfReader | PlaneReader

_SNAPSHOTS = 6
WIDE = 5.0
"""Ratio of the surface to the extent of the stations above which a map shows the surroundings of the stations only."""
AROUND = 0.3
"""Margin around the stations, as a fraction of their extent."""
_SHALLOW = 200.0  # [m]: receivers this near the surface are marked on its map


@dataclass(frozen=True)
class MapFrame:
    """Elements common to all maps, in km.

    Attributes
    ----------
    outline : ndarray of shape (n, 2, 2)
        Segments of the outline of the fault.
    limits : ndarray of shape (2, 2)
        Lower and upper limits.
    stations : ndarray of shape (m, 2)
        Places of the stations.
    codes : tuple of str
        Codes of the stations.
    cells : ndarray of shape (nc, 3), optional
        Merged points of the surface, separate on both sides of the fault; None if the cells are pixels.
    """

    outline: np.ndarray
    limits: np.ndarray
    stations: np.ndarray
    codes: tuple[str, ...] = ()
    cells: np.ndarray | None = None


def map_frame(surface: Surface, fault: Path | None, traces: list[Trace]) -> MapFrame:
    """Return the map around the fault with a margin of half its length.

    Without a fault it covers the whole surface, or the surroundings of the stations if the surface is much larger.
    """
    xy = style.KM * surface.points[:, :2]
    limits = np.array([xy.min(axis=0), xy.max(axis=0)])
    outline = np.zeros((0, 2, 2))
    if fault is not None:
        outline = _outline(fault)
        ends = outline.reshape(-1, 2)
        margin = max(0.5 * float(np.ptp(ends, axis=0).max()), 5.0)
        near = np.array([ends.min(axis=0) - margin, ends.max(axis=0) + margin])
        limits = np.array([np.maximum(limits[0], near[0]), np.minimum(limits[1], near[1])])
    shallow = _shallow(surface.points, traces)
    places = np.array([style.KM * t.location[:2] for t in shallow]).reshape(-1, 2)
    if fault is None and len(places) > 1:
        size = float(np.ptp(places, axis=0).max())
        if size > 0 and np.ptp(limits, axis=0).max() > WIDE * size:
            near = np.array([places.min(axis=0) - AROUND * size, places.max(axis=0) + AROUND * size])
            limits = np.clip(near, *limits)
    return MapFrame(
        outline, limits, places, tuple(t.station or str(t.number) for t in shallow), _merged(surface, outline)
    )


def opened(path: Path) -> Surface:
    """Open the surface as seen from above, without the sea floor."""
    if is_image(path):
        return PlaneReader(path)
    file = VtkHdfReader(path)
    choose_locations(file, "free surface", "sea surface", "free water")
    return file


def choose_locations(file: VtkHdfReader, *names: str) -> None:
    """Select the faces at these locations, if the file states locations."""
    if "locationFlag" in file and len(file.cells):
        file.choose(np.isin(file.field("locationFlag"), [LOCATIONS[name] for name in names]))


def _shallow(points: np.ndarray, traces: list[Trace]) -> list[Trace]:
    """Return the receivers that are not far below the lowest of the three nearest surface ``points`` (n, 3)."""
    from scipy.spatial import cKDTree

    if not traces:
        return []
    places = np.array([t.location for t in traces], float)
    near = cKDTree(points[:, :2]).query(places[:, :2], k=min(3, len(points)))[1].reshape(len(places), -1)
    ground = points[near, 2].min(axis=1)
    return [t for t, z, g in zip(traces, places[:, 2], ground, strict=True) if z > g - _SHALLOW]


def _merged(surface: Surface, outline: np.ndarray) -> np.ndarray | None:
    if isinstance(surface, PlaneReader):
        return None
    first, merged = merged_points(surface.points)
    return split_along(style.KM * surface.points[first, :2], merged[surface.cells], outline)


def _outline(fault: Path) -> np.ndarray:
    """Return the edges that belong to a single triangle in map view, (n, 2, 2) [km]."""
    with VtkHdfReader(fault) as file:
        first, merged = merged_points(file.points)
        cells = merged[file.cells]
        edges = np.sort(np.concatenate([cells[:, [0, 1]], cells[:, [1, 2]], cells[:, [0, 2]]]), axis=1)
        edges, count = np.unique(edges, axis=0, return_counts=True)
        return np.asarray(style.KM * file.points[first][edges[count == 1]][:, :, :2])


def _speed(surface: Surface, step: int) -> np.ndarray:
    """Return the horizontal ground speed (nc,) [m/s], as used for peak ground velocity."""
    return np.sqrt(sum(np.square(surface.field(f"v{i}", step), dtype=np.float64) for i in (1, 2)))


def _has_velocity(surface: Surface) -> bool:
    return all(f"v{i}" in surface for i in (1, 2)) and len(surface.times) > 0


def peak_velocity(surface: Surface) -> np.ndarray | None:
    """Return the peak horizontal ground speed (nc,) [m/s] as stored, else the largest of the snapshots; None without velocities."""
    if "PGV" in surface and len(surface.times):
        return np.asarray(surface.field("PGV"), dtype=np.float64)
    if not _has_velocity(surface):
        return None
    peak = _speed(surface, 0)
    for step in range(1, len(surface.times)):
        np.maximum(peak, _speed(surface, step), out=peak)
    return peak


@style.house()
def plot_peak_velocity(surface: Surface, frame: MapFrame, path: Path) -> Path | None:
    """Draw the map of the peak horizontal ground speed; return None if the file holds no velocity."""
    peak = peak_velocity(surface)
    if peak is None:
        return None
    fig = style.figure(height=map_height(frame, 5.2) + 0.8)  # leaves space next to the map for the colour bar's label
    ax = style.mosaic(fig, 1, 1)[0, 0]
    visible = peak[visible_cells(surface, frame)]
    # points next to the fault trace move with the slip rate: they may saturate, or the rest of the map would be dark
    norm, extend = style.positive_scale(visible, 99.5)
    patches = draw_map(ax, surface, peak, frame, norm, stations=True)
    ax.set_title(f"Peak horizontal ground speed until t = {surface.times[-1]:.4g} s")
    ax.set_xlabel(style.along(0, "km"))
    ax.set_ylabel(style.along(1, "km"))
    if len(frame.outline) or len(frame.stations):
        legend = ax.legend(loc="upper right", labelcolor="white", handlelength=1.4)
        legend.set_zorder(6)
    style.colour_bar(ax, patches, "peak horizontal speed [m/s]", extend)
    return style.save(fig, path)


@style.house()
def plot_snapshots(surface: Surface, frame: MapFrame, path: Path) -> Path | None:
    """Draw the horizontal ground speed at up to six times after the first; return None for fewer than two velocities."""
    later = np.flatnonzero(surface.times > surface.times.min()) if _has_velocity(surface) else np.zeros(0, dtype=int)
    if not len(later):
        return None
    count = min(_SNAPSHOTS, len(later))
    visible = visible_cells(surface, frame)
    peak = peak_velocity(surface)
    moving = 0.0 if peak is None else 0.05 * float(np.nanmax(peak[visible]))
    while len(later) > count and _speed(surface, int(later[0]))[visible].max() < moving:
        later = later[1:]
    # evenly spread to the last, not from the first: just after the start there is nothing to see
    steps = later[np.round(np.arange(1, count + 1) * len(later) / count).astype(int) - 1]
    columns = min(3, count)
    rows = -(-count // columns)
    fig = style.figure(height=rows * (map_height(frame, 5.8 / columns) + 0.3) + 0.5)
    axes = style.mosaic(fig, rows, columns, sharex=True, sharey=True)
    speeds = [_speed(surface, int(step)) for step in steps]
    shown = np.concatenate([speed[visible] for speed in speeds])
    top = style.top_value(shown, 99.5)
    norm = PowerNorm(0.5, 0.0, top)  # waves far from the fault are weak compared with waves near it
    for ax, step, speed in zip(axes.flat, steps, speeds, strict=False):
        patches = draw_map(ax, surface, speed, frame, norm, stations=False)
        ax.set_title(f"t = {surface.times[step]:.4g} s")
    for ax in axes.flat[count:]:
        ax.set_visible(False)
    for ax in axes[-1]:
        ax.set_xlabel(style.along(0, "km"))
    for ax in axes[:, 0]:
        ax.set_ylabel(style.along(1, "km"))
    label, extend = "horizontal ground speed [m/s]", style.beyond(shown, top)
    fig.colorbar(patches, ax=axes, label=label, extend=extend, shrink=0.8, aspect=30, pad=0.015)
    return style.save(fig, path)


def map_height(frame: MapFrame, width: float) -> float:
    """Return the height of a map of this width [inch]."""
    size = frame.limits[1] - frame.limits[0]
    return float(np.clip(width * size[1] / max(size[0], 1e-9), 0.35 * width, 1.4 * width))


def visible_cells(surface: Surface, frame: MapFrame) -> np.ndarray:
    """Return True for each cell (nc,) on the map."""
    centres = style.KM * surface.points[surface.cells][:, :, :2].mean(axis=1)
    inside = np.all((centres >= frame.limits[0]) & (centres <= frame.limits[1]), axis=1)
    return inside if inside.any() else np.ones_like(inside)


def draw_map(
    ax: Axes,
    surface: Surface,
    values: np.ndarray,
    frame: MapFrame,
    norm: Normalize,
    stations: bool,
    colours: str = "inferno",
) -> Collection:
    """Draw values (nc,) of the surface's cells in colours, the fault's outline, and, if wanted, the stations."""
    xy, cmap = style.KM * surface.points[:, :2], style.colours(colours)
    if frame.cells is None:
        patches: Collection = style.draw_cells(ax, xy, surface.cells, values, cmap, norm)
    else:
        patches = style.draw_smooth(ax, xy[surface.cells], at_corners(frame.cells, values), cmap, norm)
    if len(frame.outline):
        ax.add_collection(LineCollection(list(frame.outline), colors="#7fd6ff", linewidths=1.0, label="fault"))
    if stations and len(frame.stations):
        ax.plot(*frame.stations.T, "^", ms=5, mfc="white", mec=style.INK, mew=0.6, ls="none", label="receivers")
        if style.options().codes:
            _name(ax, frame)
    ax.set_xlim(*frame.limits[:, 0])
    ax.set_ylim(*frame.limits[:, 1])
    return patches


def _name(ax: Axes, frame: MapFrame) -> None:
    """Draw the codes next to the stations, with a light rim that is visible on every colour."""
    rim: list[effects.AbstractPathEffect] = [effects.withStroke(linewidth=1.6, foreground="white")]
    for place, code in zip(frame.stations, frame.codes, strict=True):
        text = ax.annotate(code, place, (4, 3), textcoords="offset points", fontsize=7, color=style.INK, clip_on=True)
        text.set_path_effects(rim)


IN_REPORT = True
"""True since reports contain an interactive version of this figure."""


def pictures(results: Results, stem: str) -> Iterator[Path | None]:
    """Draw PREFIX-surface-peak-velocity and PREFIX-surface-snapshots."""
    fault, surface = (results.folder / f"{results.prefix}-{name}.vtkhdf" for name in ("fault", "surface"))
    if not surface.exists():
        return
    with opened(surface) as file:
        if len(file.cells) and len(file.times):
            frame = map_frame(file, fault if fault.exists() else None, list(results.traces["receiver"].values()))
            yield plot_peak_velocity(file, frame, Path(f"{stem}-surface-peak-velocity.png"))
            yield plot_snapshots(file, frame, Path(f"{stem}-surface-snapshots.png"))
