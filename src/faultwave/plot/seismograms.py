"""Figures of seismograms: one row per receiver, one column per quantity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from faultwave.observe.stations.codes import default_code
from faultwave.output.results import Results
from faultwave.output.trace import Trace
from faultwave.plot import style

MOST = 40
"""Maximum number of rows in a figure; of more receivers an even selection is drawn and the title says so."""


_ROW = 0.9  # fraction of the row distance filled by the strongest trace


@dataclass(frozen=True)
class Column:
    """Quantities ``names`` drawn together, the first strongest; ``factor`` converts to ``unit``; ``change``: relative to the start."""

    title: str
    names: tuple[str, ...]
    unit: str
    factor: float = 1.0
    change: bool = False


VELOCITY = tuple(Column(f"v{sign}", (f"v{i}",), "m/s") for i, sign in enumerate("₁₂₃", 1))
AXES = ("x", "y", "z")
FAULT = (
    Column("slip rate", ("SRs", "SRd"), "m/s"),
    Column("slip", ("Sls", "Sld"), "m"),
    Column("change of shear traction", ("Ts0", "Td0"), "MPa", 1e-6, True),
)


def plot_receivers(traces: Sequence[Trace], path: Path) -> Path | None:
    """Draw the velocities of off-fault receivers; return None without velocities.

    Each receiver has its own scale, common to its components; its peak speed is printed next to its name.
    """
    traces = [t for t in traces if any(name in t.columns for c in VELOCITY for name in c.names)]
    if not traces:
        return None
    chosen = _choose(traces)
    peaks = {t.number: _peak(t) for t in chosen}
    labels = [f"{label}\npeak {peaks[t.number]:.3g} m/s" for t, label in zip(chosen, _labels(chosen), strict=True)]
    scales = [[_range([t], VELOCITY) for t in chosen]] * 3
    title = _title("Receivers: particle velocity, each receiver on its own scale", traces, chosen)
    return _section(chosen, _velocities(), scales, labels, title, path, bars=False)


def _velocities() -> tuple[Column, ...]:
    """Return the velocity columns, whose titles include the directions if these have names."""
    named = zip(VELOCITY, AXES, style.options().axes, strict=True)
    return tuple(
        column if axis == name else replace(column, title=f"{name} ({column.title})") for column, axis, name in named
    )


def plot_fault_receivers(traces: Sequence[Trace], path: Path) -> Path | None:
    """Draw slip rate, slip and shear traction of fault receivers, along strike (blue) and dip (orange).

    Each column has one scale, shown by a bar. The result is None if no quantity exists.
    """
    columns = [c for c in FAULT if any(name in t.columns for t in traces for name in c.names)]
    if not columns:
        return None
    chosen = _choose(traces)
    scales = [[_range(chosen, [column])] * len(chosen) for column in columns]
    title = _title("Fault receivers: along strike (blue) and down dip (orange)", traces, chosen)
    return _section(chosen, columns, scales, _labels(chosen), title, path, bars=True)


def _choose(traces: Sequence[Trace]) -> list[Trace]:
    if len(traces) <= MOST:
        return list(traces)
    return [traces[i] for i in np.round(np.linspace(0, len(traces) - 1, MOST)).astype(int)]


def _title(text: str, traces: Sequence[Trace], chosen: Sequence[Trace]) -> str:
    return text if len(chosen) == len(traces) else f"{text} ({len(chosen)} of {len(traces)})"


def _labels(traces: Sequence[Trace]) -> list[str]:
    """Return number and place of each receiver, in metres if the model is so small that kilometres would show zeros."""
    places = np.array([t.location for t in traces])
    small = np.nanmax(np.abs(places), initial=0.0) < 100.0 and np.any(places)
    return [_label(t, 1.0 if small else style.KM, "m" if small else "km") for t in traces]


def _label(trace: Trace, scale: float, unit: str) -> str:
    name = f"{trace.number}" if trace.station in ("", default_code(trace.number)) else trace.station
    if not np.isfinite(trace.location).all():
        return name
    digits = 4 if unit == "m" else 2
    place = ", ".join(f"{round(scale * x, digits) + 0.0:g}" for x in trace.location)
    return f"{name}  ({place}) {unit}"


def _series(trace: Trace, column: Column, name: str) -> np.ndarray:
    values = column.factor * trace.columns[name]
    return values - values[0] if column.change else values


def _peak(trace: Trace) -> float:
    parts = [np.square(trace.columns[n]) for c in VELOCITY for n in c.names if n in trace.columns]
    return float(np.sqrt(np.nanmax(sum(parts))))


def _range(traces: Sequence[Trace], columns: Sequence[Column]) -> float:
    """Return the largest amplitude range of the traces, by which rows are scaled so that they do not overlap."""
    parts = [_series(t, c, n) for t in traces for c in columns for n in c.names if n in t.columns]
    return max((float(np.nanmax(p, initial=0.0) - np.nanmin(p, initial=0.0)) for p in parts), default=0.0)


@style.house()
def _section(
    traces: Sequence[Trace],
    columns: Sequence[Column],
    scales: Sequence[Sequence[float]],
    labels: Sequence[str],
    title: str,
    path: Path,
    bars: bool,
) -> Path:
    count = len(traces)
    fig = style.figure(height=1.1 + max(1.6, min(9.5, 0.52 * count)))
    axes = style.mosaic(fig, 1, len(columns), sharex=True, sharey=True)[0]
    fig.suptitle(title, x=0.01, ha="left", fontsize=9.5)
    for ax, column, scale in zip(axes, columns, scales, strict=True):
        for row, trace in enumerate(traces):
            _draw(ax, trace, column, row, scale[row])
        ax.set_title(column.title, fontsize=9)
        ax.set_xlabel("time [s]")
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.margins(x=0.01)
        if bars and scale[0] > 0:
            _bar(ax, scale[0], column.unit)
    size = 7.5 if count <= 16 else 6.0
    axes[0].set_yticks(range(count), labels, fontsize=size)
    axes[0].set_ylim(count - 0.3, -0.85)
    return style.save(fig, path)


def _draw(ax: Axes, trace: Trace, column: Column, row: int, scale: float) -> None:
    ax.axhline(row, color="#cccccc", lw=0.5, zorder=0)
    # the weaker component first, so that it does not hide the stronger
    for colour, name in reversed(list(zip(("#1f4e79", "#e39b6b"), column.names, strict=False))):
        if name in trace.columns:
            values = _series(trace, column, name)
            ax.plot(trace.time, row - _ROW * values / (scale or 1.0), color=colour, lw=0.9, clip_on=False)


def _bar(ax: Axes, scale: float, unit: str) -> None:
    """Draw a vertical scale bar of a round length at the right, in the column's unit."""
    length = 10.0 ** np.floor(np.log10(scale))
    length *= next((m for m in (5.0, 2.0) if m * length <= scale), 1.0)
    height = _ROW * length / scale
    place = ax.get_yaxis_transform()
    ax.plot([1.02, 1.02], [0, -height], transform=place, color=style.INK, lw=2, clip_on=False, solid_capstyle="butt")
    text = f"{length:g} {unit}"
    ax.text(1.035, -0.5 * height, text, transform=place, va="center", ha="left", fontsize=7.5, rotation=90)


IN_REPORT = True
"""True since reports contain an interactive version of this figure."""


def pictures(results: Results, stem: str) -> Iterator[Path | None]:
    """Draw PREFIX-receivers and PREFIX-fault-receivers."""
    yield plot_receivers(list(results.traces["receiver"].values()), Path(f"{stem}-receivers.png"))
    yield plot_fault_receivers(list(results.traces["faultreceiver"].values()), Path(f"{stem}-fault-receivers.png"))
