"""Snapshots of the slip rate on a fault, all on one scale."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.output.results import Results
from faultwave.plot import style
from faultwave.plot.fault import FaultMap, draw_values, fault_maps, frame_fault

_SNAPSHOTS = 8
_MOVES = 0.03
"""Minimum mean slip rate of a snapshot that is shown, as a fraction of the largest."""


def _rate(file: VtkHdfReader, step: int) -> np.ndarray:
    return np.asarray(np.hypot(file.field("SRs", step), file.field("SRd", step)), dtype=np.float64)


def chosen_steps(means: np.ndarray, count: int = _SNAPSHOTS) -> np.ndarray:
    """Return the indices of at most ``count`` snapshots, evenly distributed over those with significant mean slip rates (n,)."""
    moving = np.flatnonzero(means > _MOVES * means.max(initial=0.0)) if len(means) else np.zeros(0, int)
    if len(moving) <= count:
        return moving
    return np.asarray(moving[np.round(np.linspace(0, len(moving) - 1, count)).astype(int)])


@style.house()
def plot_slip_rate(path: Path, target: Path) -> Path | None:
    """Draw the slip rate at up to eight times; return None if the file has no slip rates, or the fault does not slip."""
    with VtkHdfReader(path) as file:
        if not len(file.cells) or "SRs" not in file or "SRd" not in file:
            return None
        steps = chosen_steps(np.array([_rate(file, step).mean() for step in range(len(file.times))]))
        times = file.times[steps]
        rates = {f"{step}": _rate(file, int(step)) for step in steps}
        maps = fault_maps(file, rates, None)
    if not rates:
        return None
    every = np.concatenate(list(rates.values()))
    moving = every[every > 0.01 * every.max()]  # most of the fault does not slip most of the time
    top = style.top_value(moving, 98.0)
    return _draw(maps, list(rates), times, (top, style.beyond(every, top)), target)


def _draw(maps: list[FaultMap], names: list[str], times: np.ndarray, scale: tuple[float, str], target: Path) -> Path:
    columns = min(2, len(names))
    rows = -(-len(names) // columns)
    heights = [float(np.clip(2.9 * np.ptp(m.xy[:, 1]) / max(np.ptp(m.xy[:, 0]), 1e-9), 0.7, 3.5)) for m in maps]
    fig = style.figure(height=rows * sum(height + 0.3 for height in heights) + 0.5)
    ratios = [height for height in heights for _ in range(rows)]
    alone = len(maps) == 1
    axes = style.mosaic(
        fig, rows * len(maps), columns, sharex=alone, sharey=alone, gridspec_kw={"height_ratios": ratios}
    )
    norm, colours = Normalize(0.0, scale[0]), style.colours("magma_r")
    for i, fault in enumerate(maps):
        for k in range(rows * columns):
            ax = axes[i * rows + k // columns, k % columns]
            if k >= len(names):
                ax.set_visible(False)
                continue
            draw_values(ax, fault, fault.values[names[k]], colours, norm)
            frame_fault(ax, fault)
            ax.set_title(f"{fault.title}, t = {times[k]:.4g} s" if fault.title else f"t = {times[k]:.4g} s")
    for ax in axes[:, 0]:
        ax.set_ylabel("down dip [km]")
    for ax in axes[-1]:
        ax.set_xlabel("along strike [km]")
    fig.colorbar(
        ScalarMappable(norm, colours),
        ax=axes,
        label="slip rate [m/s]",
        extend=scale[1],
        shrink=0.8,
        aspect=30,
        pad=0.015,
    )
    return style.save(fig, target)


def pictures(results: Results, stem: str) -> Iterator[Path | None]:
    """Draw PREFIX-slip-rate."""
    file = results.folder / f"{results.prefix}-fault.vtkhdf"
    if file.exists():
        yield plot_slip_rate(file, Path(f"{stem}-slip-rate.png"))
