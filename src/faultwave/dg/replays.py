"""Largest time steps that are alike, recorded once and replayed at once: launches then cost next to nothing.

A recording holds some largest steps of all clusters. It can be done again where nothing of them needs the host: every call that has
something to do acts on the device alone, and nothing is exchanged. Launches are the same each time but for what depends on the time,
which each call tells in a table: scalars of friction, how much each point source acts, the moments of samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from faultwave.backends.base import Recording
from faultwave.dg.method_of_lines import MethodOfLines
from faultwave.engine.part import Call, OnDevice
from faultwave.march.clusters import never

LAUNCHES = 256
"""About so many launches make the cost of one replay small beside theirs."""

TABLE = 16 << 20
"""Bytes of tables at most that a recording takes."""

AHEAD = 4096
"""Largest steps at most that a processor takes at once: their ends are listed."""

SOON, MOST = 8, 64
"""So many recordings are made when they are first asked for; others, up to so many, when they are asked for again."""

Event = tuple[Call, int, float, float]
"""A call that launched something: cluster, time and step."""


@dataclass(frozen=True)
class Recorded:
    """``events``: call, cluster, ticks since the start, length; what the counters are afterwards."""

    recording: Recording
    events: tuple[tuple[Call, int, int, float], ...]
    updates: int
    turns: tuple[int, ...]
    sums: tuple[int, ...]


class Replays:
    """Advances a solver by largest time steps. ``replayed``: how many were not computed step by step."""

    def __init__(self, solver: Any):
        self.solver, self.replayed = solver, 0
        rates = [c.rate for c in solver.march.clocks]
        self.each = [max(rates) // r for r in rates]  # steps of each cluster in a largest one, of three launches or so
        self.most = 1 << max(0, (LAUNCHES // (3 * sum(self.each))).bit_length() - 1)
        self.made: dict[tuple, Recorded | None] = {}  # None: the host had a part in it after all
        self.asked: set[tuple] = set()

    def advance(self, most: int = 1, pause: Callable[[], bool] = never) -> None:
        """One largest step, or several up to ``most``: where they can be replayed, or until ``pause()`` where nothing else keeps clusters
        from going on. Where they meet, correction and prediction are two passes through memory."""
        solver, march, op = self.solver, self.solver.march, self.solver.operator
        clustered = not isinstance(op, MethodOfLines)
        if clustered and not solver.backend.asynchronous and not solver.exchange:
            march.advance(march.time_after(min(most, AHEAD)), pause)
            return
        steps = self._at_once(most) if clustered and solver.backend.asynchronous else 0
        until = march.time_after(steps)
        if not steps or not self.on_device(until):
            march.advance(march.time + march.longest, pause)
            return
        calls = self.device_calls()
        ahead, due = [steps * n for n in self.each], tuple(call.due(until) for call, _ in calls)
        key = (steps, due, *op.turns, *op.sums, *(device.key(ahead) for _, device in calls))
        if key not in self.made and self._wanted(key):
            with self._begun(due):
                self.made[key] = self._record(until)
            return
        known = self.made.get(key)
        if known is None:
            march.advance(march.time + march.longest)
            return
        with self._begun(due):
            self._replay(known, until, {id(call) for (call, _), d in zip(calls, due, strict=True) if d})
        self.replayed += steps

    def device_calls(self) -> list[tuple[Call, OnDevice]]:
        """Those whose launches change from replay to replay, in a fixed order."""
        found = [call for listed in self.solver.calls.values() for call in listed]
        return [(call, call.on_device) for call in found if call.on_device is not None]

    def on_device(self, until: float) -> bool:
        """Whether no step that ends before a time needs the host for more than to be started and to fill tables."""
        if self.solver.exchange:
            return False
        found = [c for when, listed in self.solver.calls.items() if when != "end of largest step" for c in listed]
        return all(call.on_device is not None or not call.due(until) for call in found)

    def _at_once(self, most: int) -> int:
        """How many largest steps to replay, up to ``most``; none where their tables were too large."""
        steps = 1 << (min(most, self.most).bit_length() - 1)
        while steps and self._table_bytes(steps) > TABLE:
            steps //= 2
        return steps

    def _table_bytes(self, steps: int) -> int:
        until, each = self.solver.march.time_after(steps), [steps * n for n in self.each]
        return sum(device.table_bytes(each) for call, device in self.device_calls() if call.due(until))

    def _wanted(self, key: tuple) -> bool:
        """Whether to record what is asked for: what never comes again is not worth it, nor its place on the device."""
        again = key in self.asked
        self.asked.add(key)
        return len(self.made) < (MOST if again else SOON)

    @contextmanager
    def _begun(self, due: Sequence[bool]) -> Iterator[None]:
        calls = self.device_calls()
        for (_, device), has in zip(calls, due, strict=True):
            device.begin(has)
        yield
        for _, device in calls:
            device.end()

    def _record(self, until: float) -> Recorded | None:
        solver, march, op = self.solver, self.solver.march, self.solver.operator
        start, before = march.time, solver.updates
        events: list[Event] = []
        solver.events = events
        recording = solver.backend.record(lambda: march.advance(until))
        solver.events = None
        if recording is None:
            return None
        found = [(call, cluster, round((t - start) / march.tick), step) for call, cluster, t, step in events]
        return Recorded(recording, tuple(found), solver.updates - before, tuple(op.turns), tuple(op.sums))

    def _replay(self, known: Recorded, until: float, due: set[int]) -> None:
        solver, march, op = self.solver, self.solver.march, self.solver.operator
        known.recording.replay(self._tables(known, due))
        march.time = until
        solver.updates += known.updates
        op.turns[:], op.sums[:] = known.turns, known.sums

    def _tables(self, known: Recorded, due: set[int]) -> list[Mapping[str, Any]]:
        """What changes, launch by launch. Afterwards parts that wait for samples read them from the sample buffers."""
        tables: list[Mapping[str, Any]] = []
        for call, cluster, ticks, step in known.events:
            if id(call) in due and call.on_device is not None:
                tables += call.on_device.tables(cluster, self.solver.march.moment(ticks), step)
        return tables


__all__ = ["LAUNCHES", "MOST", "SOON", "TABLE", "Event", "Recorded", "Replays"]
