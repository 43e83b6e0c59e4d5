"""Section on ground motion: peak velocity, and snapshots to step through."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from faultwave.plot.style import KM
from faultwave.plot.surface import Surface, map_frame, peak_velocity
from faultwave.report.blocks import Block, Figure, Plotted, Section, numbers
from faultwave.report.figures import Grid, Raster, axis, bar, colour_range, grid_over, map_figure, scale
from faultwave.report.loaded import Run

ORDER = 30
PLACE = {"x": "x [km]", "y": "y [km]"}
FRAMES = 24
"""Maximum number of snapshots, evenly selected."""
COARSE = 130
"""Number of points along the longer side of a snapshot."""


def sections(run: Run, other: Run | None) -> Iterator[Section]:
    """Yield the sections on ground motion."""
    surface, adjacent = run.surface(), None if other is None else other.surface()
    if surface is None:
        return
    try:
        yield Section("Ground motion", list(_blocks(run, other, surface, adjacent)))
    finally:
        for opened in (surface, adjacent):
            if opened is not None:
                opened.close()


def _blocks(run: Run, other: Run | None, surface: Surface, adjacent: Surface | None) -> Iterator[Block]:
    peak = peak_velocity(surface) if len(surface.cells) and len(surface.times) else None
    if peak is None:
        return
    frame = map_frame(surface, run.file("fault.vtkhdf"), list(run.results.traces["receiver"].values()))
    grid = grid_over(frame.limits)
    shown = {run.name: _raster(surface, grid)(peak)}
    if adjacent is not None and other is not None and (theirs := peak_velocity(adjacent)) is not None:
        shown |= {other.name: _raster(adjacent, grid)(theirs)}
        shown |= {"difference": shown[other.name] - shown[run.name]}
    over = _marks(frame.outline, frame.stations)
    reported = f"Largest horizontal ground speed until {surface.times[-1]:.4g} s; {np.nanmax(shown[run.name]):.3g} m/s at most here."
    look = {"label": "peak speed [m/s]", "colours": "inferno", **PLACE}
    yield map_figure("Peak horizontal ground speed", reported, grid.x, grid.y, shown, look, over)
    if all(f"v{i}" in surface for i in (1, 2, 3)) and len(surface.times) > 1:
        yield _snapshots(surface, grid_over(frame.limits, COARSE), over)


def _raster(surface: Surface, grid: Grid) -> Raster:
    return Raster(KM * surface.points[:, :2], surface.cells, grid)


def _marks(outline: np.ndarray, stations: np.ndarray) -> list[Plotted]:
    """Return the fault in map view, and the receivers."""
    found: list[Plotted] = []
    if len(outline):
        gaps = np.concatenate([outline, np.full((len(outline), 1, 2), np.nan)], 1).reshape(-1, 2)
        style = {"color": "#7fd6ff", "width": 1.5}
        found.append({"type": "scatter", "mode": "lines", "name": "fault", "x": numbers(gaps[:, 0]), "y": numbers(gaps[:, 1]),
                      "line": style, "hoverinfo": "skip"})  # fmt: skip
    if len(stations):
        marker = {"symbol": "triangle-up", "size": 9, "color": "white", "line": {"color": "#222222", "width": 1}}
        found.append({"type": "scatter", "mode": "markers", "name": "receivers", "x": numbers(stations[:, 0]),
                      "y": numbers(stations[:, 1]), "marker": marker})  # fmt: skip
    return [{**mark, "showlegend": False} for mark in found]


def _snapshots(surface: Surface, grid: Grid, over: list[Plotted]) -> Figure:
    """Return the vertical velocity at several times, selected by a slider."""
    raster = _raster(surface, grid)
    steps = np.unique(np.round(np.linspace(0, len(surface.times) - 1, min(FRAMES, len(surface.times)))).astype(int))
    seen = [raster(np.asarray(surface.field("v3", int(step)), float)) for step in steps]
    low, high = colour_range(seen, signed=True)
    shown = int(
        np.argmax([np.nanmax(np.abs(values), initial=0.0) for values in seen])
    )  # the first snapshot shows no motion
    data = [
        {"type": "heatmap", "name": f"{surface.times[step]:.4g} s", "x": numbers(grid.x), "y": numbers(grid.y), "z": numbers(values),
         "zmin": low, "zmax": high, "colorscale": scale("RdBu_r"), "visible": i == shown, "hoverongaps": False,
         "colorbar": bar("vertical velocity [m/s]")}
        for i, (step, values) in enumerate(zip(steps, seen, strict=True))
    ]  # fmt: skip
    rest = [True] * len(over)
    slides = [
        {"label": d["name"], "method": "restyle", "args": ["visible", [i == k for i in range(len(data))] + rest]}
        for k, d in enumerate(data)
    ]
    layout = {
        "xaxis": axis(PLACE["x"], constrain="domain"), "yaxis": axis(PLACE["y"], scaleanchor="x", constrain="domain"),
        "sliders": [{"steps": slides, "active": shown, "currentvalue": {"prefix": "t = "}, "pad": {"t": 45}}],
    }  # fmt: skip
    aspect = float(np.clip(np.ptp(grid.y) / max(np.ptp(grid.x), 1e-9), 0.2, 1.1))
    reported = f"Vertical velocity of the ground at {len(steps)} times until {surface.times[-1]:.4g} s; the slider chooses the time."
    return Figure("Snapshots of the ground", reported, [*data, *over], layout, height=int(260 + 620 * aspect))
