"""Largest time steps that are alike, recorded once and replayed at once: launches then cost next to nothing.

A recording holds some largest steps of all clusters. It can be done again where nothing of them needs the host: no observer has
something to take, no source acts, nothing is exchanged. Launches are the same each time but for the scalars of friction, which
knows the time; they are worked out anew for every replay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultwave.backends.base import Recording
from faultwave.engines.dg.lines import Lines

if TYPE_CHECKING:
    from faultwave.run.engine import Engine

LAUNCHES = 256
"""About so many launches make the cost of one replay small beside theirs."""


@dataclass(frozen=True)
class Recorded:
    """``moments``: ticks since the start and length of each step with friction; what the counters are afterwards."""

    recording: Recording
    moments: tuple[tuple[int, float], ...]
    updates: int
    turns: tuple[int, ...]
    sums: tuple[int, ...]


class Replays:
    """Advances an engine by largest time steps. ``replayed``: how many were not computed step by step."""

    def __init__(self, engine: Engine):
        self.engine, self.replayed = engine, 0
        rates = [c.rate for c in engine.march.clocks]
        each = 3 * sum(max(rates) // r for r in rates)  # launches, about
        self.most = 1 << max(0, (LAUNCHES // each).bit_length() - 1)
        self.made: dict[tuple, Recorded | None] = {}  # None: the host had a part in it after all

    def advance(self, most: int = 1) -> None:
        """One largest step, or several up to ``most`` where they can be replayed."""
        march, op = self.engine.march, self.engine.operator
        steps = 1 << (min(most, self.most).bit_length() - 1)
        until = march.time + steps * march.longest
        if isinstance(op, Lines) or not self.engine.backend.ahead or not self.engine.quiet(until):
            march.advance(march.time + march.longest)
            return
        key = (steps, *op.turns, *op.sums)
        if key not in self.made:
            self.made[key] = self._record(until)
            return
        known = self.made[key]
        if known is None:
            march.advance(march.time + march.longest)
        else:
            self._replay(known, until)
            self.replayed += steps

    def _record(self, until: float) -> Recorded | None:
        engine, march, op = self.engine, self.engine.march, self.engine.operator
        start, before, fault = march.time, engine.updates, engine.fault
        if fault:
            fault.moments.clear()
        recording = engine.backend.record(lambda: march.advance(until))
        if recording is None:
            return None
        moments = [(round((t - start) / march.tick), step) for t, step in (fault.moments if fault else ())]
        return Recorded(recording, tuple(moments), engine.updates - before, tuple(op.turns), tuple(op.sums))

    def _replay(self, known: Recorded, until: float) -> None:
        engine, march, op = self.engine, self.engine.march, self.engine.operator
        tables = []
        for ticks, step in known.moments:
            assert engine.fault is not None
            tables.append(engine.fault.changing(march.time + ticks * march.tick, step))
        known.recording.replay(tables)
        march.time = until
        engine.updates += known.updates
        op.turns[:], op.sums[:] = known.turns, known.sums


__all__ = ["LAUNCHES", "Recorded", "Replays"]
