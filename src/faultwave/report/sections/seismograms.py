"""Section on seismograms of receivers and histories on the fault, to select, filter and compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from faultwave.observe.dataset import QUANTITIES
from faultwave.observe.motions.goodness import anderson, grade
from faultwave.observe.motions.time_frequency import misfit
from faultwave.output.pairs import COMPONENTS, Pair
from faultwave.output.trace import Kind, Trace
from faultwave.report.blocks import Block, Browser, Plotted, Section, Table, Text, numbers
from faultwave.report.figures import length_unit
from faultwave.report.loaded import Run

ORDER = 40
NEAR = 0.01
"""Largest distance of matching receivers of two runs, as a fraction of the smallest distance between receivers."""
BYTES = 5_000_000
"""Maximum size of the samples of one browser [bytes]; of more stations an even selection is shown."""
TITLES: tuple[tuple[Kind, str, str], ...] = (
    ("receiver", "Receivers", "Motion at receivers in the rock and on the ground"),
    ("faultreceiver", "Fault receivers", "Slip rate, slip and traction at points of the fault"),
)


def sections(run: Run, other: Run | None) -> Iterator[Section]:
    """Yield the sections with seismograms."""
    blocks: list[Block] = []
    for kind, title, description in TITLES:
        traces = list(run.results.traces.get(kind, {}).values())
        if traces:
            blocks += _browser(title, description, traces, run, other, kind)
    yield Section("Seismograms", blocks)


def _browser(
    title: str, description: str, traces: Sequence[Trace], run: Run, other: Run | None, kind: Kind
) -> Iterator[Block]:
    size = sum(4 * len(t.time) * (1 + len(t.columns)) for t in traces) * (2 if other is not None else 1)
    count = max(1, min(len(traces), int(len(traces) * BYTES / max(size, 1))))
    chosen = [traces[i] for i in np.unique(np.round(np.linspace(0, len(traces) - 1, count)).astype(int))]
    quantities = {name: _unit(name, chosen) for name in dict.fromkeys(n for t in chosen for n in t.columns)}
    runs = [_series(run, chosen)]
    if other is not None:
        runs.append(_series(other, _matching(chosen, other.results.traces.get(kind, {}))))
    if kind == "receiver" and run.records:
        by_number = {pair.trace.number: pair for pair in run.records}
        runs.append({"name": "observed", "stations": [_recorded(by_number.get(t.number)) for t in chosen]})
        yield _scores(run)
    if len(chosen) < len(traces):
        yield Text(f"{len(chosen)} of {len(traces)} stations are in this report; all are in the files of the run.")
    text = f"{description}. Choose a station, its quantities and a filter; the table of the largest values follows."
    scale, unit = length_unit(np.array([t.location for t in traces]))
    yield Browser(title, text, [_name(t, scale, unit) for t in chosen], quantities, runs)


def _series(run: Run, traces: Sequence[Trace | None]) -> Plotted:
    stations = [
        None if t is None else {"time": numbers(t.time), "values": {name: numbers(v) for name, v in t.columns.items()}}
        for t in traces
    ]
    return {"name": run.name, "stations": stations}


def _recorded(pair: Pair | None) -> Plotted | None:
    """Return the observed record of a receiver in the format of ``_series``."""
    if pair is None:
        return None
    rows = zip(COMPONENTS, pair.observed, pair.recorded, strict=True)
    return {"time": numbers(pair.time), "values": {name: numbers(row) for name, row, there in rows if there}}


def _scores(run: Run) -> Table:
    """Return the goodness-of-fit scores of the observed records."""
    rows = []
    for pair in run.records:
        for letter, mine, theirs, there in zip("xyz", pair.synthetic, pair.observed, pair.recorded, strict=True):
            value, bands, _ = anderson(mine, theirs, pair.step)
            if there and len(bands):
                tf = misfit(mine, theirs, pair.step, *bands[0])
                scores = f"{value:.1f} ({grade(value)})", f"{tf.envelope_score:.1f}", f"{tf.phase_score:.1f}"
                rows.append((pair.record.name, letter, *scores))
    title = (
        f"Goodness of fit to {run.data}, 0 to 10: Anderson (2004), envelope and phase after Kristekova et al. (2009)"
    )
    return Table(title, ("station", "component", "Anderson", "envelope", "phase"), rows)


def _matching(traces: Sequence[Trace], others: dict[int, Trace]) -> list[Trace | None]:
    """Return the matching receiver of another run for each receiver, or None.

    The match is the nearest receiver within ``NEAR`` times the smallest distance between ``traces``, as programs move receivers slightly;
    times the distance from the origin if there is only one.
    """
    if not others:
        return [None] * len(traces)
    mine = np.array([t.location for t in traces], float)
    theirs = np.array([t.location for t in others.values()], float)
    distances = np.linalg.norm(mine[:, None] - theirs[None], axis=2)
    apart = np.linalg.norm(mine[:, None] - mine[None], axis=2)
    spacing = apart[apart > 0].min() if (apart > 0).any() else np.linalg.norm(mine[0])
    found, nearest = list(others.values()), distances.argmin(1)
    return [found[n] if distances[i, n] <= NEAR * spacing else None for i, n in enumerate(nearest)]


def _name(trace: Trace, scale: float, unit: str) -> str:
    called = ".".join(word for word in (trace.network, trace.station) if word)
    place = ", ".join(f"{scale * x:.6g}" for x in trace.location)
    return f"{trace.number} {called} ({place}) {unit}".replace("  ", " ")


def _unit(name: str, traces: Sequence[Trace]) -> str:
    """Return the unit that the files state for a quantity; files of SeisSol state none, and have its quantities."""
    for trace in traces:
        if name in trace.units:
            return trace.units[name]
    return QUANTITIES.get(name, ("", ""))[0]
