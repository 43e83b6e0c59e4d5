"""Figure of the clusters of time steps and their cost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm

from faultwave.observe.model import CLUSTER, Model
from faultwave.plot import style
from faultwave.plot.plans import _frame

SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"), (1e-12, "ps"), (1e-15, "fs"))


def draw(model: Model, folder: Path) -> Path | None:
    """Draw clusters: in sections, with the cells and the updates of each; return None for a single time step."""
    if model.cut is None or CLUSTER not in model.labels or len(model.steps) < 2:
        return None
    shown = _frame.limits(model, whole=True)
    lines = _frame.lines(model, shown)
    cuts = [model.cut(line.start, line.end) for line in lines]
    count = len(model.steps)
    norm = BoundaryNorm(np.arange(count + 1) - 0.5, 256)
    high = _frame.tall(model, shown, lines) + 0.5
    fig = style.figure(height=high + 2.0)
    upper, lower = _frame.stacked(fig, high, 2.0)
    axes = _frame.two(upper, lines)[0]
    for ax, line, section in zip(axes, lines, cuts, strict=True):
        patches = _frame.draw_section(ax, model, section, CLUSTER, style.colours("plasma"), norm, edges=True)
        _frame.frame_section(ax, line, shown, model)
        ax.set_xlabel(_frame.distance(model, line))
    axes[0].set_ylabel(_frame.along(model, 2))
    bar = style.colour_bar(axes[1], patches, "")
    bar.set_ticks(range(count), labels=[f"{k}: {_time(s)}" for k, s in enumerate(model.steps)])
    bar.minorticks_off()
    _bars(lower.subplots(), model)
    _frame.head(upper, model, f"{model.counts.sum():,} cells in {count} clusters of local time steps")
    return style.save(fig, folder / "clusters.png")


def _time(step: float) -> str:
    size, unit = next(((s, u) for s, u in SECONDS if step >= s), SECONDS[-1])
    return f"{step / size:.3g} {unit}"


def _bars(ax: Axes, model: Model) -> None:
    """Draw the percentages of the cells and of the updates in each cluster."""
    number = np.arange(len(model.steps))
    updates = model.counts / model.steps
    for k, (values, text) in enumerate(((model.counts, "cells"), (updates, "updates"))):
        share = 100.0 * values / values.sum()
        bars = ax.bar(number + 0.4 * k - 0.2, share, 0.38, color=style.COLOURS[k], label=text)
        ax.bar_label(bars, [f"{s:.2g} %" for s in share], fontsize=7, padding=1.5)
    ax.set_xticks(number, [f"{k}\n{_time(s)}" for k, s in enumerate(model.steps)])
    ax.set_ylabel("share [%]")
    ax.set_ylim(0, 1.3 * ax.get_ylim()[1])
    gain = updates.sum()
    whole = model.counts.sum() / model.steps.min()
    ax.legend(title=f"{whole / gain:.3g} times fewer updates than with one step", ncols=2, loc="upper right")
