"""Resolution of waves: points per wavelength in sections and on the ground."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import SubFigure
from matplotlib.ticker import FuncFormatter

from faultwave.observe.model import RESOLUTION, Model, Section
from faultwave.plot import style
from faultwave.plot.plans import _frame

LEVELS = (2, 3, 5, 7, 10, 14, 20, 30, 50, 100)
"""Levels with the same colours in every figure.

Below five points a wave is not resolved, with ten it is resolved at every order.
"""


def draw(model: Model, folder: Path) -> Path | None:
    """Draw resolution of the slowest wave at the frequency of the case."""
    if model.cut is None or RESOLUTION not in model.labels:
        return None
    shown = _frame.limits(model, whole=True)
    lines = _frame.lines(model, shown)
    cuts = [model.cut(line.start, line.end) for line in lines]
    values = np.concatenate([section.values[RESOLUTION] for section in cuts])
    values = values[np.isfinite(values)]  # undefined outside the region
    if not len(values):
        return None
    norm, colours = BoundaryNorm(LEVELS, 256, extend="both"), style.colours("RdYlBu")
    high = _frame.tall(model, shown, lines) + 0.5
    fig = style.figure(height=high + 1.7)
    upper, lower = _frame.stacked(fig, high, 1.7)
    axes = _frame.two(upper, lines)[0]
    for ax, line, section in zip(axes, lines, cuts, strict=True):
        patches = _frame.draw_section(ax, model, section, RESOLUTION, colours, norm, edges=True)
        _frame.frame_section(ax, line, shown, model)
        ax.set_xlabel(_frame.distance(model, line))
    axes[0].set_ylabel(_frame.along(model, 2))
    bar = style.colour_bar(axes[1], patches, "", "both")
    bar.set_ticks([3, 5, 10, 20, 50])
    bar.minorticks_off()
    _share(lower, cuts, float(values.min()))
    _frame.head(upper, model, f"points per wavelength of the slowest wave at {_hertz(model.frequency)}, {model.reason}")
    return style.save(fig, folder / "resolution.png")


def _share(fig: SubFigure, cuts: list[Section], low: float) -> None:
    """Draw the cumulative fraction of the sections' area against points per wavelength."""
    ax = fig.subplots()
    values = np.concatenate([section.values[RESOLUTION] for section in cuts])
    area = np.concatenate([_area(section.points[section.cells]) for section in cuts])
    values, area = values[np.isfinite(values)], area[np.isfinite(values)]
    order = np.argsort(values)
    share = 100 * np.cumsum(area[order]) / area.sum()
    ax.plot([low, *values[order]], [0.0, *share], color=style.COLOURS[0])
    ax.axvline(low, color=style.COLOURS[1], lw=0.8)
    ax.annotate(
        f"{low:.3g} at least", (low, 100), (4, -8), textcoords="offset points", color=style.COLOURS[1], fontsize=8
    )
    ax.set_xscale("log")
    ax.set_xlim(low / 1.2, 1.2 * max(float(values.max()), 2 * low))  # also if all cells have the same value
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.xaxis.set_minor_formatter(FuncFormatter(lambda x, _: f"{x:g}" if f"{x:e}"[0] in "25" else ""))
    ax.set_xlabel("points per wavelength")
    ax.set_ylabel("of the area up to [%]")
    ax.set_ylim(0, 103)


def _hertz(frequency: float) -> str:
    size, unit = next((s, u) for s, u in ((1e9, "GHz"), (1e6, "MHz"), (1e3, "kHz"), (0.0, "Hz")) if frequency >= s)
    return f"{frequency / (size or 1.0):.4g} {unit}"


def _area(polygons: np.ndarray) -> np.ndarray:
    """Return the areas (n,) of polygons (n, k, 2)."""
    x, y = polygons[..., 0], polygons[..., 1]
    return np.asarray(0.5 * np.abs((x * np.roll(y, -1, 1) - y * np.roll(x, -1, 1)).sum(1)))
