"""Advance of a run by largest time steps, with replays of recorded steps on a device.

A recording holds some largest steps of all clusters. It can be replayed if none of them needs the host: every due
callback acts on the device alone, and no messages are exchanged. Launches are equal each time except for numbers that
depend on time, which each callback provides in a table: scalars of friction, amounts of point sources, times of
samples.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from faultwave.backends.base import Recording
from faultwave.dg.operators.method_of_lines import MethodOfLines
from faultwave.dg.operators.operator import Operator
from faultwave.dg.stepping.callbacks import StepCallbacks
from faultwave.dg.stepping.cluster_actions import ClusterActions
from faultwave.dg.stepping.local_time_stepping import never
from faultwave.engine.capability import Callback, OnDevice
from faultwave.kernels.expr import Scalars

LAUNCHES = 256
"""Approximate number of launches in a recording that makes the cost of one replay small in comparison."""

TABLE = 16 << 20
"""Largest size of the tables of a recording [bytes]."""

AHEAD = 4096
"""Largest number of largest steps that a host backend takes at once, as their ends are listed."""

SOON, MOST = 8, 64
"""Number of recordings that are made on first request, and largest number that is made on later requests."""


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
    """Advance of a run by largest time steps.

    Attributes
    ----------
    replayed : int
        Number of replayed largest steps.
    each : list of int
        Number of steps of each cluster in a largest step, about three launches each.
    most : int
        Largest number of largest steps in a recording.
    made : dict
        Recordings by key; None where the host was needed after all.
    """

    def __init__(self, actions: ClusterActions, operator: Operator, callbacks: StepCallbacks, has_messages: bool):
        self.actions, self.march, self.callbacks = actions, actions.march, callbacks
        self.operator, self.backend, self.has_messages = operator, operator.backend, has_messages
        self.has_clusters = not isinstance(operator, MethodOfLines)
        self.replayed = 0
        rates = [c.rate for c in self.march.clocks]
        self.each = [max(rates) // r for r in rates]
        self.most = 1 << max(0, (LAUNCHES // (3 * sum(self.each))).bit_length() - 1)
        self.made: dict[tuple[Hashable, ...], Recorded | None] = {}
        self.requested: set[tuple[Hashable, ...]] = set()

    def advance(self, most: int = 1, pause: Callable[[], bool] = never) -> None:
        """Advance by one largest step, or by several up to ``most``.

        Several steps are taken if they can be replayed, or, on the host in a single process, until ``pause()`` returns
        True: clusters that do not meet combine correction and prediction in one pass through memory.
        """
        march, op, advance = self.march, self.operator, self.actions.advance
        if self.has_clusters and not self.backend.asynchronous and not self.has_messages:
            advance(march.time_after(min(most, AHEAD)), pause)
            return
        steps = self._at_once(most) if self.has_clusters and self.backend.asynchronous else 0
        until = march.time_after(steps)
        if not steps or not self.on_device(until):
            advance(march.time + march.longest, pause)
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
            advance(march.time + march.longest)
            return
        with self._begun(due):
            self._replay(known, until, {id(call) for (call, _), d in zip(calls, due, strict=True) if d})
        self.replayed += steps

    def device_calls(self) -> list[tuple[Callback, OnDevice]]:
        """Return the callbacks whose launches change from replay to replay, in a fixed order."""
        found = [call for listed in self.callbacks.by_position.values() for call in listed]
        return [(call, call.on_device) for call in found if call.on_device is not None]

    def on_device(self, until: float) -> bool:
        """Return True if no step that ends before a time needs the host except to start it and to fill tables."""
        if self.has_messages:
            return False
        positions = self.callbacks.by_position.items()
        found = [c for when, listed in positions if when != "end of largest step" for c in listed]
        return all(call.on_device is not None or not call.due(until) for call in found)

    def _at_once(self, most: int) -> int:
        """Return the number of largest steps to replay, up to ``most``; 0 if their tables were too large."""
        steps = 1 << (min(most, self.most).bit_length() - 1)
        while steps and self._table_bytes(steps) > TABLE:
            steps //= 2
        return steps

    def _table_bytes(self, steps: int) -> int:
        until, each = self.march.time_after(steps), [steps * n for n in self.each]
        return sum(device.table_bytes(each) for call, device in self.device_calls() if call.due(until))

    def _wanted(self, key: tuple[Hashable, ...]) -> bool:
        """Return True if a key is to be recorded: a key that never recurs is not worth the recording and its memory on the device."""
        again = key in self.requested
        self.requested.add(key)
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
        actions, march, op = self.actions, self.march, self.operator
        start, before = march.time, actions.updates
        with self.callbacks.recording() as events:
            recording = self.backend.record(lambda: actions.advance(until))
        if recording is None:
            return None
        found = [(call, cluster, round((t - start) / march.tick), step) for call, cluster, t, step in events]
        return Recorded(recording, tuple(found), actions.updates - before, tuple(op.turns), tuple(op.sums))

    def _replay(self, known: Recorded, until: float, due: set[int]) -> None:
        op = self.operator
        known.recording.replay(self._tables(known, due))
        self.march.time = until
        self.actions.updates += known.updates
        op.turns[:], op.sums[:] = known.turns, known.sums

    def _tables(self, known: Recorded, due: set[int]) -> list[Scalars]:
        """Return the changing arguments, launch by launch; capabilities later read their samples from the sample buffers."""
        tables: list[Scalars] = []
        for call, cluster, ticks, step in known.events:
            if id(call) in due and call.on_device is not None:
                tables += call.on_device.tables(cluster, self.march.moment(ticks), step)
        return tables
