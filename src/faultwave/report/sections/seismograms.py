"""Seismograms of receivers, and what points of the fault went through: to choose, filter and compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from faultwave.output.trace import Kind, Trace
from faultwave.report.blocks import Block, Browser, Section, Text, numbers
from faultwave.report.loaded import Run

ORDER = 40
BYTES = 5_000_000
"""Of the samples of one browser; of more stations an even choice is taken."""
UNITS = {
    "v": "m/s",
    "s_": "Pa",
    "SR": "m/s",
    "Sl": "m",
    "AS": "m",
    "PS": "m/s",
    "Ts": "Pa",
    "Td": "Pa",
    "Pn": "Pa",
    "u": "m",
    "RT": "s",
    "DS": "s",
}
TITLES: tuple[tuple[Kind, str, str], ...] = (
    ("receiver", "Receivers", "Motion at receivers in the rock and on the ground"),
    ("faultreceiver", "Fault receivers", "Slip rate, slip and traction at points of the fault"),
)


def sections(run: Run, other: Run | None) -> Iterator[Section]:
    blocks: list[Block] = []
    for kind, title, told in TITLES:
        traces = list(run.results.traces.get(kind, {}).values())
        if traces:
            blocks += _browser(title, told, traces, run, other, kind)
    yield Section("Seismograms", blocks)


def _browser(
    title: str, told: str, traces: Sequence[Trace], run: Run, other: Run | None, kind: Kind
) -> Iterator[Block]:
    size = sum(4 * len(t.time) * (1 + len(t.columns)) for t in traces) * (2 if other is not None else 1)
    count = max(1, min(len(traces), int(len(traces) * BYTES / max(size, 1))))
    chosen = [traces[i] for i in np.unique(np.round(np.linspace(0, len(traces) - 1, count)).astype(int))]
    quantities = {name: _unit(name, chosen) for name in dict.fromkeys(n for t in chosen for n in t.columns)}
    runs = [_series(run, chosen)]
    if other is not None:
        runs.append(_series(other, [_same(t, other.results.traces.get(kind, {})) for t in chosen]))
    if len(chosen) < len(traces):
        yield Text(f"{len(chosen)} of {len(traces)} stations are in this report; all are in the files of the run.")
    description = f"{told}. Choose a station, its quantities and a filter; the table of the largest values follows."
    yield Browser(title, description, [_name(t) for t in chosen], quantities, runs)


def _series(run: Run, traces: Sequence[Trace | None]) -> dict[str, Any]:
    stations = [
        None if t is None else {"time": numbers(t.time), "values": {name: numbers(v) for name, v in t.columns.items()}}
        for t in traces
    ]
    return {"name": run.name, "stations": stations}


def _same(trace: Trace, others: dict[int, Trace]) -> Trace | None:
    """The receiver of another run at the same place, within a metre."""
    for found in others.values():
        if np.linalg.norm(np.asarray(found.location) - trace.location) < 1.0:
            return found
    return None


def _name(trace: Trace) -> str:
    called = ".".join(word for word in (trace.network, trace.station) if word)
    place = ", ".join(f"{x / 1000.0:.6g}" for x in trace.location)
    return f"{trace.number} {called} ({place}) km".replace("  ", " ")


def _unit(name: str, traces: Sequence[Trace]) -> str:
    for trace in traces:
        if name in trace.units:
            return trace.units[name]
    return next((unit for start, unit in UNITS.items() if name.startswith(start)), "")
