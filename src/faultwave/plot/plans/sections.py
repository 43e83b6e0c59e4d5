"""Vertical sections of the material along and across the fault."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from faultwave.observe.model import CLUSTER, RESOLUTION, Model
from faultwave.plot import style
from faultwave.plot.plans import _frame


def draw(model: Model, folder: Path) -> Path | None:
    """Draw sections: a row per quantity that varies, a column per line; return None if nothing varies."""
    if model.cut is None:
        return None
    shown = _frame.limits(model)
    lines = _frame.lines(model, shown)
    cuts = [model.cut(line.start, line.end) for line in lines]
    names = [n for n in model.labels if n not in (RESOLUTION, CLUSTER)]
    if not all(len(section.cells) for section in cuts):
        return None
    spread = {n: np.concatenate([section.values[n] for section in cuts]) for n in names}
    varying = [n for n in names if np.ptp(spread[n]) > 1e-6 * np.abs(spread[n]).max()]
    if not varying:
        return None
    fig = style.figure(height=len(varying) * _frame.tall(model, shown, lines) + 0.5)
    axes = _frame.two(fig, lines, len(varying))
    for row, name in zip(axes, varying, strict=True):
        label, norm = model.labels[name], _frame.scale(spread[name])
        for ax, line, section in zip(row, lines, cuts, strict=True):
            colours = style.colours("RdYlBu" if name in model.speeds else "PuBuGn")
            patches = _frame.draw_section(ax, model, section, name, colours, norm)
            _frame.frame_section(ax, line, shown, model)
        row[0].set_ylabel(_frame.along(model, 2))
        unit = f" [{label.unit}]" if label.unit else ""
        style.colour_bar(row[1], patches, f"{label.text}{unit}", _frame.ends(spread[name], norm))
    for ax, line in zip(axes[-1], lines, strict=True):
        ax.set_xlabel(_frame.distance(model, line))
    same = [
        f"{model.labels[n].text} {_number(spread[n][0])} {model.labels[n].unit}".strip()
        for n in names
        if n not in varying
    ]
    _frame.head(fig, model, f"material{'; everywhere ' if same else ''}{', '.join(same)}")
    return style.save(fig, folder / "sections.png")


def _number(value: float) -> str:
    return f"{value:,.0f}" if 10 <= abs(value) < 1e6 else f"{value:.4g}"
