"""Section on each fault: slip with rupture times, peak slip rate, and properties of the finished rupture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from faultwave.output.formats.scec import rupture_times
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.plot.fault import FaultMap, fault_maps, read_fault_maps
from faultwave.plot.rupture import PANELS
from faultwave.plot.style import nice_step
from faultwave.plot.triangles import at_points
from faultwave.report.blocks import Block, Plotted, Section, Text, numbers
from faultwave.report.figures import Grid, Raster, grid_over, map_figure
from faultwave.report.loaded import Run

ORDER = 10
CONTOURS = 16
"""Maximum number of rupture-time contours."""
LOOKS = {
    "slip": {"label": "slip [m]", "colours": "YlOrBr"},
    "peak slip rate": {"label": "peak slip rate [m/s]", "colours": "viridis"},
}
PLACE = {"x": "along strike [km]", "y": "down dip [km]", "down": True}


def sections(run: Run, other: Run | None) -> Iterator[Section]:
    """Yield the sections on the rupture."""
    blocks: list[Block] = []
    mine, theirs = _faults(run), [] if other is None else _faults(other)
    for fault in mine:
        adjacent = next((f for f in theirs if _same(fault, f)), None)
        if other is not None and adjacent is None:
            blocks.append(Text(f"{other.name} has no fault at this location, so no comparison is possible."))
        grid = grid_over(fault.xy)
        rasters = [Raster(f.xy, f.cells, grid) for f in (fault, adjacent) if f is not None]
        for name, look in LOOKS.items():
            if name not in fault.values:
                continue
            shown = {run.name: rasters[0](fault.values[name])}
            if adjacent is not None and other is not None and name in adjacent.values:
                shown |= {other.name: rasters[1](adjacent.values[name])}
                shown |= {"difference": shown[other.name] - shown[run.name]}
            over = _contours(fault, rasters[0], grid) if name == "slip" else []
            title = f"{fault.title}: {name}" if fault.title else _sentence(name)
            largest = np.nanmax(fault.values[name])
            caption = (
                f"{_sentence(name)} on the fault at {fault.time:.4g} s, at most {largest:.3g} as an element's mean"
            )
            caption += ". Black lines: rupture time in seconds." if over else "."
            blocks.append(map_figure(title, caption, grid.x, grid.y, shown, {**look, **PLACE}, over))
    path = run.file("rupture.vtkhdf")
    if path is not None:
        blocks += _finished(path, run.name)
    yield Section("Rupture", blocks)


def _same(one: FaultMap, other: FaultMap) -> bool:
    """Return True if both faults agree in position and size within a twentieth of their length."""
    near = 0.05 * float(np.ptp(one.xy, 0).max())
    sizes = np.abs(np.ptp(one.xy, 0) - np.ptp(other.xy, 0)).max()
    return bool(sizes < near and np.linalg.norm(one.centre - other.centre) / 1000.0 < near)


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]


def _faults(run: Run) -> list[FaultMap]:
    path = run.file("fault.vtkhdf")
    return [] if path is None else read_fault_maps(path)


def _contours(fault: FaultMap, raster: Raster, grid: Grid) -> list[Plotted]:
    if fault.rupture_time is None or np.isfinite(fault.rupture_time).sum() < 3:
        return []
    latest = float(np.nanmax(fault.rupture_time))
    times = raster.linear(at_points(fault.cells, len(fault.xy), fault.rupture_time))
    times[~np.isfinite(raster(fault.rupture_time))] = np.nan
    style = {
        "coloring": "none",
        "showlabels": True,
        "start": 0.0,
        "end": latest,
        "size": nice_step(latest, CONTOURS, [m * 10.0**e for e in range(-6, 4) for m in (1.0, 2.0, 5.0)]),
    }
    line = {"color": "#222222", "width": 1, "smoothing": 1.0}
    return [
        {"type": "contour", "x": numbers(grid.x), "y": numbers(grid.y), "z": numbers(times), "contours": style, "line": line,
         "showscale": False, "hoverinfo": "skip", "name": "rupture time [s]", "showlegend": False}
    ]  # fmt: skip


def _finished(path: Path, name: str) -> Iterator[Block]:
    """Yield the maps of PREFIX-rupture.vtkhdf."""
    with VtkHdfReader(path) as file:
        if not len(file.cells):
            return
        shown = [p for p in PANELS if p.field in file and np.isfinite(file.field(p.field)).any()]
        values = {p.field: p.factor * np.asarray(file.field(p.field), float) for p in shown}
        maps = fault_maps(file, values, rupture_times(file) if "RT" in file else None)
    for fault in maps:
        grid = grid_over(fault.xy)
        raster = Raster(fault.xy, fault.cells, grid)
        for panel in shown:
            signed = panel.scale == "signed"
            look = {"label": panel.title, "colours": panel.colours, "signed": signed, **PLACE}
            title = f"{fault.title}: {panel.title}" if fault.title else _sentence(panel.title)
            known = fault.values[panel.field][np.isfinite(fault.values[panel.field])]
            caption = (
                f"Median {np.median(known):.3g}, largest {known.max():.3g}." if len(known) else "Not known anywhere."
            )
            yield map_figure(title, caption, grid.x, grid.y, {name: raster(fault.values[panel.field])}, look)
