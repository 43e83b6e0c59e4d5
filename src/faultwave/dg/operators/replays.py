"""Recording of equal largest time steps and their replay on a device, which makes launches almost free.

A recording holds some largest steps of all clusters. It can be replayed if none of them needs the host: every due
callback acts on the device alone, and no messages are exchanged. Launches are equal each time except for numbers that
depend on time, which each callback provides in a table: scalars of friction, amounts of point sources, times of
samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultwave.backends.base import Recording
from faultwave.dg.operators.method_of_lines import MethodOfLines
from faultwave.engine.capability import Callback, OnDevice
from faultwave.kernels.types import Scalars
from faultwave.march.clusters import never

if TYPE_CHECKING:
    from faultwave.dg.running import Solver

LAUNCHES = 256
"""Approximate number of launches in a recording that makes the cost of one replay small in comparison."""

TABLE = 16 << 20
"""Largest size of the tables of a recording [bytes]."""

AHEAD = 4096
"""Largest number of largest steps that a host backend takes at once, as their ends are listed."""

SOON, MOST = 8, 64
"""Number of recordings that are made on first request, and largest number that is made on later requests."""

Event = tuple[Callback, int, float, float]
"""Callback that launched a kernel, with its cluster, time and step."""


@dataclass(frozen=True)
class Recorded:
    """Recording of some largest steps.

    Attributes
    ----------
    recording : Recording
        Launches on the backend.
    events : tuple
        Callback, cluster, ticks since the start, and length [s] of each event.
    updates : int
        Element updates of the recording.
    turns, sums : tuple of int
        Counters of the operator after the recording.
    """

    recording: Recording
    events: tuple[tuple[Callback, int, int, float], ...]
    updates: int
    turns: tuple[int, ...]
    sums: tuple[int, ...]


class Replays:
    """Advance of a solver by largest time steps; ``replayed`` counts the replayed ones."""

    def __init__(self, solver: Solver):
        self.solver, self.replayed = solver, 0
        rates = [c.rate for c in solver.march.clocks]
        self.each = [max(rates) // r for r in rates]  # steps in a largest step, about three launches each
        self.most = 1 << max(0, (LAUNCHES // (3 * sum(self.each))).bit_length() - 1)
        self.made: dict[tuple, Recorded | None] = {}  # None: the host was needed after all
        self.asked: set[tuple] = set()

    def advance(self, most: int = 1, pause: Callable[[], bool] = never) -> None:
        """Advance by one largest step, or by several up to ``most``.

        Several steps are taken if they can be replayed, or, on the host in a single process, until ``pause()`` returns
        True: clusters that do not meet combine correction and prediction in one pass through memory.
        """
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

    def device_calls(self) -> list[tuple[Callback, OnDevice]]:
        """Return the callbacks whose launches change from replay to replay, in a fixed order."""
        found = [call for listed in self.solver.callbacks.values() for call in listed]
        return [(call, call.on_device) for call in found if call.on_device is not None]

    def on_device(self, until: float) -> bool:
        """Return True if no step that ends before a time needs the host except to start it and to fill tables."""
        if self.solver.exchange:
            return False
        found = [c for when, listed in self.solver.callbacks.items() if when != "end of largest step" for c in listed]
        return all(call.on_device is not None or not call.due(until) for call in found)

    def _at_once(self, most: int) -> int:
        """Return the number of largest steps to replay, up to ``most``; 0 if their tables were too large."""
        steps = 1 << (min(most, self.most).bit_length() - 1)
        while steps and self._table_bytes(steps) > TABLE:
            steps //= 2
        return steps

    def _table_bytes(self, steps: int) -> int:
        until, each = self.solver.march.time_after(steps), [steps * n for n in self.each]
        return sum(device.table_bytes(each) for call, device in self.device_calls() if call.due(until))

    def _wanted(self, key: tuple) -> bool:
        """Return True if a key is to be recorded: a key that never recurs is not worth the recording and its memory on the device."""
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

    def _tables(self, known: Recorded, due: set[int]) -> list[Scalars]:
        """Return the changing arguments, launch by launch; capabilities later read their samples from the sample buffers."""
        tables: list[Scalars] = []
        for call, cluster, ticks, step in known.events:
            if id(call) in due and call.on_device is not None:
                tables += call.on_device.tables(cluster, self.solver.march.moment(ticks), step)
        return tables


__all__ = ["LAUNCHES", "MOST", "SOON", "TABLE", "Event", "Recorded", "Replays"]
