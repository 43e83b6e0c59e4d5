"""Figures of a fault: rupture-time contours over final slip, and peak slip rate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import matplotlib.patheffects as effects
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.colors import Colormap, Normalize
from matplotlib.tri import Triangulation

from faultwave.output.faultplane import fit_plane
from faultwave.output.formats.scec import rupture_times
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.output.results import Results
from faultwave.plot import style
from faultwave.plot.triangles import at_corners, at_points, merged_points, neighbours

CONTOUR_STEP = 0.5
"""Interval of rupture-time contours [s]; larger only if there would be more than 40 of them."""

TOGETHER = 0.01
"""Fraction of the rupture duration within which triangles are considered to rupture simultaneously."""


@dataclass(frozen=True)
class FaultMap:
    """Unrolled fault.

    Attributes
    ----------
    xy : ndarray of shape (np, 2)
        Distances along strike and down dip of merged points [km].
    cells : ndarray of shape (nc, 3)
        Corners of the triangles.
    values : dict of str to ndarray of shape (nc,)
        Values of the triangles.
    rupture_time : ndarray of shape (nc,), optional
        Rupture times [s].
    time : float
        Time of the values [s].
    centre : ndarray of shape (3,)
        Mean of the points [m].
    """

    title: str
    xy: np.ndarray
    cells: np.ndarray
    values: dict[str, np.ndarray]
    rupture_time: np.ndarray | None
    time: float
    centre: np.ndarray


def read_fault_maps(path: Path) -> list[FaultMap]:
    """Return the faults of a snapshot file at its last time, one per fault tag, with slip and peak slip rate if stored."""
    with VtkHdfReader(path) as file:
        if not len(file.times) or not len(file.cells):
            return []
        values = {}
        if "Sls" in file and "Sld" in file:
            values["slip"] = np.hypot(file.field("Sls"), file.field("Sld"))
        elif "ASl" in file:
            values["slip"] = file.field("ASl")
        if "PSR" in file:
            values["peak slip rate"] = file.field("PSR")
        return fault_maps(file, values, rupture_times(file) if "RT" in file else None)


def fault_maps(file: VtkHdfReader, values: dict[str, np.ndarray], rupture: np.ndarray | None) -> list[FaultMap]:
    """Return ``values`` and rupture times of a file's cells (nc,), one map per fault tag."""
    tags = file.field("fault-tag") if "fault-tag" in file else np.zeros(len(file.cells), dtype=int)
    return [_map(file, values, rupture, tags == tag, int(tag)) for tag in np.unique(tags)]


def _map(
    file: VtkHdfReader, values: dict[str, np.ndarray], rupture: np.ndarray | None, chosen: np.ndarray, tag: int
) -> FaultMap:
    plane = fit_plane(file.points, file.cells[chosen])
    used, cells = np.unique(file.cells[chosen], return_inverse=True)
    points = file.points[used]
    first, merged = merged_points(points)
    points = points[first]
    xy = style.KM * np.column_stack([plane.along_strike(points), plane.down_dip(points)])
    return FaultMap(
        title="" if chosen.all() else f"fault {tag}, dip {plane.dip_angle:.0f}°",
        xy=xy,
        cells=merged[cells.reshape(-1, 3)],
        values={name: array[chosen] for name, array in values.items()},
        rupture_time=None if rupture is None else rupture[chosen],
        time=float(file.times[-1]),
        centre=points.mean(0),
    )


def plot_rupture(maps: list[FaultMap], path: Path) -> Path | None:
    """Draw final slip in colour with rupture-time contours; return None if the file has no slip."""
    return _plot(maps, "slip", "slip [m]", "Slip and rupture time [s]", path, contours=True)


def plot_peak_slip_rate(maps: list[FaultMap], path: Path) -> Path | None:
    """Draw the peak slip rate in colour; return None if the file does not contain it."""
    return _plot(maps, "peak slip rate", "peak slip rate [m/s]", "Peak slip rate", path, contours=False)


@style.house()
def _plot(maps: list[FaultMap], name: str, label: str, title: str, path: Path, contours: bool) -> Path | None:
    maps = [m for m in maps if name in m.values]
    if not maps:
        return None
    aspects = [np.ptp(m.xy[:, 1]) / max(np.ptp(m.xy[:, 0]), 1e-9) for m in maps]
    heights = [float(np.clip(5.7 * aspect, 1.2, 7.0)) for aspect in aspects]
    fig = style.figure(height=sum(heights) + 0.75 * len(maps) + 0.1)
    axes = style.mosaic(fig, len(maps), 1, gridspec_kw={"height_ratios": heights})[:, 0]
    # a single outlier, for example at the fault's edge, must not determine the scale of a peak value
    every = np.concatenate([m.values[name] for m in maps])
    norm, extend = style.positive_scale(every, 100.0 if contours else 99.8)
    for ax, fault in zip(axes, maps, strict=True):
        colours = style.light() if contours else style.colours("viridis")
        patches = draw_values(ax, fault, fault.values[name], colours, norm)
        if contours:
            draw_contours(ax, fault)
        frame_fault(ax, fault)
        ax.set_ylabel("down dip [km]")
        ax.set_title(f"{fault.title or title}, t = {fault.time:.4g} s")
        style.colour_bar(ax, patches, label, extend)
    axes[-1].set_xlabel("along strike [km]")
    return style.save(fig, path)


def draw_values(ax: Axes, fault: FaultMap, values: np.ndarray, colours: Colormap, norm: Normalize) -> Collection:
    """Draw the finite values (nc,) of the triangles in smoothly varying colours."""
    known = np.isfinite(values)
    cells = fault.cells[known]
    return style.draw_smooth(ax, fault.xy[cells], at_corners(cells, values[known]), colours, norm)


def frame_fault(ax: Axes, fault: FaultMap) -> None:
    """Set the limits of the axes to the whole fault, with depth increasing downwards."""
    ax.set_xlim(fault.xy[:, 0].min(), fault.xy[:, 0].max())
    ax.set_ylim(fault.xy[:, 1].max(), fault.xy[:, 1].min())


def draw_contours(ax: Axes, fault: FaultMap) -> None:
    """Draw labelled contours of the rupture time [s], and a star at the hypocentre."""
    time = fault.rupture_time
    if time is None or not np.isfinite(time).any():
        return
    ax.plot(*hypocentre(fault.xy, fault.cells, time), marker="*", ms=11, mfc="white", mec=style.INK, mew=0.8, zorder=5)
    latest = float(np.nanmax(time))
    step = style.nice_step(latest, 40, (CONTOUR_STEP, 1.0, 2.0, 5.0, 10.0, 50.0))
    levels = np.arange(step, latest, step)
    ruptured = np.isfinite(time)
    if not len(levels) or ruptured.sum() < 3:
        return
    triangulation = Triangulation(fault.xy[:, 0], fault.xy[:, 1], fault.cells, ~ruptured)
    lines = ax.tricontour(
        triangulation, at_points(fault.cells, len(fault.xy), time), levels, colors=style.INK, linewidths=0.8
    )
    every = max(1, round(len(levels) / 10))
    halo: list[effects.AbstractPathEffect] = [effects.withStroke(linewidth=2.0, foreground="white", alpha=0.8)]
    for text in ax.clabel(lines, levels[every - 1 :: every], fmt=lambda level: f"{level:g}", fontsize=7.5):
        text.set_path_effects(halo)


def hypocentre(xy: np.ndarray, cells: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Return the centre of the patch of connected triangles that rupture first.

    Triangles of an overstressed patch rupture at about the same time, independently of each other; a front takes longer to propagate as
    far.
    """
    first = int(np.nanargmin(time))
    earliest, latest = float(time[first]), float(np.nanmax(time))
    near = time <= earliest + TOGETHER * (latest - earliest)  # false where time is NaN
    patch, adjacent = {first}, neighbours(cells)
    front = [first]
    while front:
        front = [int(c) for at in front for c in adjacent[at] if c >= 0 and near[c] and int(c) not in patch]
        patch |= set(front)
    corners = xy[cells[sorted(patch)]]
    edges = corners[:, 1:] - corners[:, :1]
    area = np.abs(edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0])
    return np.asarray((corners.mean(1) * area[:, None]).sum(0) / area.sum())


IN_REPORT = True
"""True since reports contain an interactive version of this figure."""


def pictures(results: Results, stem: str) -> Iterator[Path | None]:
    """Draw PREFIX-rupture (slip and rupture-time contours) and PREFIX-peak-slip-rate."""
    file = results.folder / f"{results.prefix}-fault.vtkhdf"
    if file.exists():
        maps = read_fault_maps(file)
        yield plot_rupture(maps, Path(f"{stem}-rupture.png"))
        yield plot_peak_slip_rate(maps, Path(f"{stem}-peak-slip-rate.png"))
