"""Maps of a finished rupture: speed of the front, stress drop, points in the cohesive zone, fracture energy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize

from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.output.results import Results
from faultwave.plot import style
from faultwave.plot.fault import FaultMap, draw_contours, draw_values, fault_maps, frame_fault

UNKNOWN = "#e8e8e8"
"""Colour of faces without a value."""


@dataclass(frozen=True)
class Panel:
    """Quantity of one panel: field, title with unit, factor from SI, colour map, and scale from 'zero' or 'signed'."""

    field: str
    title: str
    factor: float
    colours: str
    scale: str
    contours: bool = False


PANELS = (
    Panel("rupture_speed", "rupture speed [km/s]", 1e-3, "viridis", "zero", contours=True),
    Panel("stress_drop", "stress drop [MPa]", 1e-6, "RdBu_r", "signed"),
    Panel("cohesive_zone_points", "points in the cohesive zone", 1.0, "cividis", "zero"),
    Panel("fracture_energy", "fracture energy [MJ/m²]", 1e-6, "viridis", "zero"),
)


@style.house()
def plot_maps(path: Path, target: Path) -> Path | None:
    """Draw the panels of every fault of a PREFIX-rupture.vtkhdf; return None if nothing has ruptured."""
    with VtkHdfReader(path) as file:
        if not len(file.cells) or not np.isfinite(file.field("rupture_time")).any():
            return None
        shown = [p for p in PANELS if p.field in file and np.isfinite(file.field(p.field)).any()]
        values = {p.field: p.factor * np.asarray(file.field(p.field), float) for p in shown}
        maps = fault_maps(file, values, np.asarray(file.field("rupture_time"), float))
    if not shown:
        return None
    columns, rows = 2, -(-len(shown) // 2)
    heights = [float(np.clip(2.75 * np.ptp(m.xy[:, 1]) / max(np.ptp(m.xy[:, 0]), 1e-9), 0.8, 4.0)) for m in maps]
    fig = style.figure(height=sum(rows * (height + 0.4) for height in heights) + 0.2)
    ratios = [height for height in heights for _ in range(rows)]
    axes = style.mosaic(
        fig,
        rows * len(maps),
        columns,
        sharex=len(maps) == 1,
        sharey=len(maps) == 1,
        gridspec_kw={"height_ratios": ratios},
    )
    for i, fault in enumerate(maps):
        for k in range(rows * columns):
            ax = axes[i * rows + k // columns, k % columns]
            if k < len(shown):
                _draw(ax, fault, shown[k])
            else:
                ax.set_visible(False)
    for ax in axes[:, 0]:
        ax.set_ylabel("down dip [km]")
    for ax in axes[-1]:
        ax.set_xlabel("along strike [km]")
    return style.save(fig, target)


def _draw(ax: Axes, fault: FaultMap, panel: Panel) -> None:
    values = fault.values[panel.field]
    norm, extend = _scale(values, panel.scale)
    ax.set_facecolor(UNKNOWN)
    patches = draw_values(ax, fault, values, style.colours(panel.colours), norm)
    if panel.contours:
        draw_contours(ax, fault)
    frame_fault(ax, fault)
    ax.set_title(f"{fault.title}: {panel.title}" if fault.title else panel.title)
    style.colour_bar(ax, patches, "", extend)


def _scale(values: np.ndarray, scale: str) -> tuple[Normalize, str]:
    """Return the colour scale from the 2nd to the 98th percentile, so that single faces at patch edges do not determine it."""
    known = values[np.isfinite(values)]
    if not len(known):
        return Normalize(0.0, 1.0), "neither"
    low, high = (float(np.percentile(known, p)) for p in (2.0, 98.0))
    if scale == "signed":
        size = max(abs(low), abs(high)) or 1.0
        return Normalize(-size, size), "both" if np.abs(known).max() > size else "neither"
    top = high if high > 0 else 1.0
    return Normalize(0.0, top), style.beyond(known, top)


IN_REPORT = True
"""True since reports contain an interactive version of this figure."""


def pictures(results: Results, stem: str) -> Iterator[Path | None]:
    """Draw PREFIX-rupture-maps."""
    file = results.folder / f"{results.prefix}-rupture.vtkhdf"
    if file.exists():
        yield plot_maps(file, Path(f"{stem}-rupture-maps.png"))
