"""Figure of faults before rupture: loads, strength, S ratio, points in the cohesive zone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, Normalize
from matplotlib.tri import Triangulation

from faultwave.observe.model import Model, Sheet
from faultwave.output.faultplane import fit_plane
from faultwave.plot import style
from faultwave.plot.plans import _frame

SHOWN = ("normal stress", "shear stress", "nucleated", "strength", "excess", "S ratio", "cohesive points")
SAME = ("shear stress", "nucleated", "strength")
"""Quantities with a common colour scale."""
S_LEVELS = (0.0, 0.25, 0.5, 1.0, 1.77, 2.5, 4.0)
"""Levels of the S ratio.

Below 1.77 a rupture in a plane may become supershear (Andrews 1976), above about 3 rupture hardly propagates.
"""
ZONE = (0.0, 1.0, 2.0, 3.0, 5.0, 10.0)
"""Levels of the number of points in the cohesive zone; 3 and more are advised (Day et al. 2005)."""


@dataclass(frozen=True)
class _Flat:
    """Unrolled fault: xy (p, 2) along strike and down dip, cells (n, 3), indices (m,) of the triangles in the sheet."""

    title: str
    xy: np.ndarray
    cells: np.ndarray
    chosen: np.ndarray


def draw(model: Model, folder: Path) -> Path | None:
    """Draw fault: a column for each fault, a row for each quantity."""
    sheets = [s for s in model.of("fault") if s.values]
    if not sheets:
        return None
    sheet = sheets[0]
    names = [name for name in SHOWN if name in sheet.values]
    flats = _flats(sheet, _frame.unit(model))
    single = len(flats) == 1
    panels = [(name, flat) for name in names for flat in flats]
    columns = 2 if single else min(len(flats), 4)
    rows = -(-len(panels) // columns)
    aspect = max(np.ptp(f.xy[:, 1]) / max(np.ptp(f.xy[:, 0]), 1e-9) for f in flats)
    width = 5.6 / columns
    fig = style.figure(height=rows * (float(np.clip(width * aspect, 0.6, 4.0)) + 0.55) + 0.7)
    axes = style.mosaic(fig, rows, columns)
    for ax, (name, flat) in zip(axes.flat, panels, strict=False):
        _panel(ax, sheet, name, flat, "" if single else flat.title)
    for ax in list(axes.flat)[len(panels) :]:
        ax.set_visible(False)
    for ax in axes[:, 0]:
        ax.set_ylabel(f"down dip [{_frame.unit(model).name}]")
    for number, ax in enumerate(axes.flat):
        if number + columns >= len(panels):
            ax.set_xlabel(f"along strike [{_frame.unit(model).name}]")
    line = ", outlined: fails by itself" if "breaks" in sheet.values and (sheet.values["breaks"] > 0.5).any() else ""
    _frame.head(fig, model, f"fault before the run{line}; grey: no such value")
    return style.save(fig, folder / "fault.png")


def _flats(sheet: Sheet, unit: _frame.Unit) -> list[_Flat]:
    tags = sheet.tags if sheet.tags is not None else np.zeros(len(sheet.cells), int)
    found = []
    for tag in np.unique(tags):
        chosen = np.flatnonzero(tags == tag)
        plane = fit_plane(sheet.points, sheet.cells[chosen])
        used, cells = np.unique(sheet.cells[chosen], return_inverse=True)
        points = sheet.points[used]
        xy = unit.scale * np.column_stack([plane.along_strike(points), plane.down_dip(points)])
        found.append(_Flat(f"fault {tag}, dip {plane.dip_angle:.0f}°", xy, cells.reshape(-1, 3), chosen))
    return found


def _panel(ax: Axes, sheet: Sheet, name: str, flat: _Flat, title: str) -> None:
    values, label = sheet.values[name][flat.chosen], sheet.labels[name]
    together = SAME if name in SAME else (name,)
    colours, norm = _look(name, np.concatenate([sheet.values[n] for n in together if n in sheet.values]))
    extend = "max" if isinstance(norm, BoundaryNorm) else _frame.ends(values, norm)
    known = np.isfinite(values)
    patches = style.draw_cells(ax, flat.xy, flat.cells[known], values[known], style.colours(colours), norm)
    breaks = sheet.values.get("breaks")
    if breaks is not None:
        _outline(ax, flat, breaks[flat.chosen])
    ax.set_xlim(flat.xy[:, 0].min(), flat.xy[:, 0].max())
    ax.set_ylim(flat.xy[:, 1].max(), flat.xy[:, 1].min())
    ax.set_facecolor("#e6e6e6")  # barriers, and triangles without a value
    unit = f" [{label.unit}]" if label.unit else ""
    ax.set_title(f"{label.text}{unit}" + (f"\n{title}" if title else ""), fontsize=8.5)
    bar = style.colour_bar(ax, patches, "", extend)
    if name == "S ratio":
        bar.set_ticks(S_LEVELS)


def _look(name: str, values: np.ndarray) -> tuple[str, Normalize]:
    """Return colour map and scale of a quantity."""
    if name == "S ratio":
        return "RdYlBu", BoundaryNorm(S_LEVELS, 256)
    if name == "cohesive points":
        return "RdYlGn", BoundaryNorm(ZONE, 256)
    if name == "excess":
        top = float(np.nanpercentile(np.abs(values), 99)) or 1.0
        return "RdBu", Normalize(-top, top)
    return "viridis", _frame.scale(values)


def _outline(ax: Axes, flat: _Flat, breaks: np.ndarray) -> None:
    """Draw the outline of the region that ruptures spontaneously."""
    if not (breaks > 0.5).any() or (breaks > 0.5).all():
        return
    count = np.bincount(flat.cells.reshape(-1), minlength=len(flat.xy))
    at = np.bincount(flat.cells.reshape(-1), np.repeat(breaks, 3), minlength=len(flat.xy)) / np.maximum(count, 1)
    mesh = Triangulation(flat.xy[:, 0], flat.xy[:, 1], flat.cells)
    ax.tricontour(mesh, at, [0.5], colors="white", linewidths=2.0)
    ax.tricontour(mesh, at, [0.5], colors=style.INK, linewidths=0.9)
