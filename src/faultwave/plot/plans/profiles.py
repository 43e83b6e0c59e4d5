"""Profiles of the material by depth below a few places."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from faultwave.observe.model import CLUSTER, RESOLUTION, Model, Section
from faultwave.plot import style
from faultwave.plot.plans import _frame

SAMPLES = 600


def draw(model: Model, folder: Path) -> Path | None:
    """Draw profiles: a panel per quantity, below the middle and the ends of the sections; identical profiles are drawn once."""
    if model.cut is None:
        return None
    shown = _frame.limits(model)
    names = [n for n in model.labels if n not in (RESOLUTION, CLUSTER)]
    z = _frame.evenly(shown[:, 2], SAMPLES)
    below = _different(model, shown, names, z)
    fig = style.figure(height=4.4)
    axes = style.mosaic(fig, 1, len(names), sharey=True)[0]
    for number, (title, values) in enumerate(below):
        for ax, name in zip(axes, names, strict=True):
            ax.plot(
                values[name],
                _frame.unit(model).scale * z,
                color=style.COLOURS[number],
                lw=1.3 - 0.12 * number,
                label=title,
            )
    for ax, name in zip(axes, names, strict=True):
        label = model.labels[name]
        ax.set_xlabel(f"{label.text} [{label.unit}]" if label.unit else label.text)
        ax.margins(x=0.08)
        ax.grid(lw=0.3, color="#dddddd")
    axes[0].set_ylabel(_frame.along(model, 2))
    axes[0].set_ylim(*(_frame.unit(model).scale * shown[:, 2]))
    if len(below) > 1:
        fig.legend(
            *axes[0].get_legend_handles_labels(),
            loc="outside lower center",
            ncols=len(below),
            title=f"below [{_frame.unit(model).name}]",
        )
    _frame.head(fig, model, "profiles of the material" + ("" if len(below) > 1 else ", everywhere the same"))
    return style.save(fig, folder / "profiles.png")


def _different(
    model: Model, shown: np.ndarray, names: list[str], z: np.ndarray
) -> list[tuple[str, dict[str, np.ndarray]]]:
    """Return values (n,) by name at heights ``z`` (n,) below described places; of identical profiles only the first."""
    found: list[tuple[str, dict[str, np.ndarray]]] = []
    grain = 10.0 ** np.floor(np.log10(_frame.unit(model).scale * np.ptp(shown, axis=0)[:2].max()) - 2)
    for place, at, section in _places(model, shown):
        cell = column(section, at, z)
        values = {name: np.where(cell >= 0, section.values[name][cell], np.nan) for name in names}
        alike = any(all(np.allclose(v[n], values[n], rtol=1e-9, equal_nan=True) for n in names) for _, v in found)
        if not alike and (cell >= 0).any():
            x, y = (np.round(_frame.unit(model).scale * place / grain) * grain + 0.0).tolist()
            found.append((f"({x:.6g}, {y:.6g})", values))
    return found


def _places(model: Model, shown: np.ndarray) -> list[tuple[np.ndarray, float, Section]]:
    """Return the places (2,) of profiles, their distance along a section, and the section."""
    assert model.cut is not None
    found = []
    for line, shares in zip(_frame.lines(model, shown), ((0.5, 0.03, 0.97), (0.03, 0.97)), strict=True):
        section = model.cut(line.start, line.end)
        found += [(line.start + s * (line.end - line.start), s * line.length, section) for s in shares]
    return found


def column(section: Section, at: float, z: np.ndarray) -> np.ndarray:
    """Return the cell (n,) of a section at a distance along it and heights ``z`` (n,), -1 if there is none."""
    corners = section.points[section.cells]
    reach = (corners[..., 0].min(1) <= at) & (corners[..., 0].max(1) >= at)
    found = np.full(len(z), -1)
    for cell in np.flatnonzero(reach):
        low, high = _span(corners[cell], at)
        found[(z >= low) & (z <= high)] = cell
    return found


def _span(polygon: np.ndarray, at: float) -> tuple[float, float]:
    """Return the lowest and highest point of a convex polygon (k, 2) at a distance."""
    heights = []
    for a, b in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        if min(a[0], b[0]) <= at <= max(a[0], b[0]):
            share = (at - a[0]) / (b[0] - a[0]) if b[0] != a[0] else 0.0
            heights += [a[1] + share * (b[1] - a[1])] + ([b[1]] if b[0] == a[0] else [])
    return (min(heights), max(heights)) if heights else (np.inf, -np.inf)
