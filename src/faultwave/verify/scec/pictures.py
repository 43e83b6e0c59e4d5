"""Picture of a benchmark: slip and rupture fronts of both resolutions on every fault, and slip rates at stations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.layout_engine import ConstrainedLayoutEngine

from faultwave.plot import style
from faultwave.verify.scec.measure import Measured, Rupture, lattice

STEPS = (0.5, 1.0, 2.0)
MAX_CONTOURS = 20
MAX_STATIONS = 3
TALLEST = 4.2
"""Largest height of a fault's panel [inch]."""


@style.house()
def draw(measured: Measured, path: Path, made_of: str = "elements") -> Path:
    """Write the picture of runs ``made_of`` elements or a grid and return its path."""
    fine = measured.fine
    faults = [rupture.fault for rupture in fine.ruptures.values()]
    start, end = min(f.along[0] for f in faults), max(f.along[1] for f in faults)  # one scale for all
    heights = [float(np.clip(5.7 * (f.down[1] - f.down[0]) / (end - start), 1.0, TALLEST)) for f in faults]
    fig = style.figure(height=sum(heights) + 0.8 * len(heights) + 2.1)
    layout = fig.get_layout_engine()
    assert isinstance(layout, ConstrainedLayoutEngine)
    layout.set(rect=(0.02, 0.0, 0.94, 1.0))  # space for the colour bars, which the layout ignores
    axes = style.mosaic(fig, len(heights) + 1, 1, gridspec_kw={"height_ratios": [*heights, 1.5]})[:, 0]
    top = style.top_value(np.concatenate([r.slip for r in fine.ruptures.values()]), 99.8)
    for ax, (name, rupture) in zip(axes, fine.ruptures.items(), strict=False):
        _map(ax, rupture, measured.coarse.ruptures[name], measured, top)
        ax.set_xlim(*(style.KM * x for x in (start, end)))
    _histories(axes[-1], measured, made_of)
    return style.save(fig, path)


def _map(ax: Axes, fine: Rupture, coarse: Rupture, measured: Measured, top: float) -> None:
    corners = style.KM * fine.corners
    cells = np.arange(3 * len(corners)).reshape(-1, 3)
    slip = style.draw_cells(ax, corners.reshape(-1, 2), cells, fine.slip, style.light(), Normalize(0.0, top))
    style.colour_bar(ax, slip, "slip [m]", style.beyond(fine.slip, top))
    latest = float(np.nanmax(fine.time)) if np.isfinite(fine.time).any() else 0.0
    step = style.nice_step(latest, MAX_CONTOURS, STEPS)
    levels = np.arange(step, latest, step)
    looks = (
        (fine, measured.fine.resolution.size, "solid", 0.9),
        (coarse, measured.coarse.resolution.size, "dashed", 0.7),
    )
    for rupture, size, lines, width in looks:
        s, d = lattice(rupture.fault, size)
        time = rupture.on(s, d)
        if len(levels) and np.isfinite(time).sum() > 3:
            found = ax.contour(
                style.KM * s, style.KM * d, time, levels, colors=style.INK, linestyles=lines, linewidths=width
            )
            if rupture is fine:
                ax.clabel(found, levels[1::2], fmt=lambda level: f"{level:g}", fontsize=7)
    start = measured.benchmark.start
    if start.fault == fine.fault.name:
        ax.plot(*(style.KM * x for x in start.place), marker="*", ms=11, mfc="white", mec=style.INK, mew=0.8, zorder=5)
    drawn, places = next(iter(measured.benchmark.stations.items()))
    stations = places[:MAX_STATIONS] if drawn == fine.fault.name else ()
    for (along, down), colour in zip(stations, style.COLOURS, strict=False):
        place = style.KM * along, style.KM * down
        ax.plot(*place, marker="o", ms=5, mfc=colour, mec="white", mew=0.8, zorder=5, clip_on=False)
    ax.set_ylim(style.KM * fine.fault.down[1], style.KM * fine.fault.down[0])
    ax.set_ylabel("down dip [km]")
    ax.set_xlabel("along strike [km]")
    ax.set_title(f"{measured.benchmark.name.upper()}, {fine.fault.name} fault: slip, rupture front every {step:g} s")


def _histories(ax: Axes, measured: Measured, made_of: str) -> None:
    """Plot slip rates of both runs at the first stations of the first fault with stations."""
    name = next(iter(measured.benchmark.stations))
    for (s, d), colour in zip(measured.benchmark.stations[name][:MAX_STATIONS], style.COLOURS, strict=False):
        for run, lines in ((measured.fine, "solid"), (measured.coarse, "dashed")):
            trace = run.stations[name, s, d]
            rate = np.hypot(trace.columns["SRs"], trace.columns["SRd"])
            label = f"({s / 1e3:g}, {d / 1e3:g}) km" if lines == "solid" else None
            ax.plot(trace.time, rate, color=colour, linestyle=lines, label=label, lw=1.1 if lines == "solid" else 0.8)
    sizes = measured.fine.resolution.size, measured.coarse.resolution.size
    ax.set_title(
        f"slip rate; {made_of} of {sizes[0]:g} m (solid) and {sizes[1]:g} m (dashed), order {measured.fine.resolution.order}"
    )
    ax.set_xlabel("time [s]")
    ax.set_ylabel("slip rate [m/s]")
    ax.set_xlim(0.0, measured.fine.resolution.end_time)
    ax.set_ylim(bottom=0.0)
    ax.legend(loc="best", title="(along strike, down dip)", title_fontsize=7.5)
