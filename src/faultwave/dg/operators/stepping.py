"""Advance of a run by largest time steps: the loop with the actions between them, and replays of recorded steps on a device.

A recording holds some largest steps of all clusters. It can be replayed if none of them needs the host: every due
callback acts on the device alone, and no messages are exchanged. Launches are equal each time except for numbers that
depend on time, which each callback provides in a table: scalars of friction, amounts of point sources, times of
samples.
"""

from __future__ import annotations

import bisect
import time as clock
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from faultwave.backends.base import Recording
from faultwave.base.errors import RunError
from faultwave.base.processes import host
from faultwave.dg.operators.local_time_stepping import never
from faultwave.dg.operators.method_of_lines import MethodOfLines
from faultwave.engine.capability import Callback, OnDevice
from faultwave.engine.solver import BlowUp, Control, Progress
from faultwave.kernels.expr import Scalars

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
        if clustered and not solver.backend.capabilities.asynchronous and not solver.exchange:
            march.advance(march.time_after(min(most, AHEAD)), pause)
            return
        steps = self._at_once(most) if clustered and solver.backend.capabilities.graphs else 0
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


LOOK = 1e7
"""Element updates between two checks on a device for non-finite numbers, for each of which the device has to stop."""

UNSEEN = 2.0
"""Seconds of computing between two reports of progress and checks for non-finite numbers, if largest steps are shorter."""


def run(solver: Solver, end: float, control: Control) -> None:
    """Advance to ``end`` [s], or until the run is stopped or over. Raises BlowUp, and RunError if a device fails."""
    try:
        with host.limit_threads(solver.threads):
            Loop(solver, end, control).run()
    except solver.backend.failures as error:
        text = f"{solver.backend.described} failed at t = {solver.time:g} s: {type(error).__name__}: {error}"
        raise RunError(text) from error


class Loop:
    """Loop over the largest steps of a run until ``end`` [s]."""

    def __init__(self, solver: Solver, end: float, control: Control):
        self.solver, self.end, self.control = solver, end, control
        self.parts = list(solver.parts.values())
        self.begun, self.looked = solver.time, solver.time
        self.checkpoint_due = self._next_checkpoint()

    def run(self) -> None:
        """Step until the end, a stop by a capability, or a request to stop."""
        solver, march, control = self.solver, self.solver.march, self.control
        self.started, self.first, self.spent_before = clock.perf_counter(), solver.updates, solver.wall["stepping"]
        solver.finish_reads()
        with solver.observing():
            for part in self.parts:
                part.begin()
        stops, stopping = self._sync_times(), False
        while march.time < self.end * (1 - 1e-12):
            later = bisect.bisect_right(stops, march.time * (1 + 1e-12) + 1e-300)
            stop = stops[later] if later < len(stops) else self.end
            if march.time + march.longest > stop * (1 - 1e-12):
                march.advance(stop)
            else:
                solver.replays.advance(self._free(stop), self._pause())
            solver.finish_reads(wait=False)
            checked = self._checked(march.time >= stop * (1 - 1e-12))
            with solver.observing():
                for call in solver.callbacks["end of largest step"]:
                    call.act(0, march.time, march.longest)
            self._tell()
            over = [part.over() for part in self.parts]  # called on all processes, as it is collective
            if any(over):
                break
            stopping = bool(solver.world.largest([control.stop_requested])[0])  # a signal to one process stops all
            if march.time < self.end * (1 - 1e-12) and control.keeps and not stopping:
                self._keep(checked)
            if stopping and (not control.keeps or self._settled()):
                if control.keeps:
                    if not checked:
                        check(solver)
                    control.checkpoint()
                break
        control.stopped = stopping  # a signal that comes later finds a finished run
        solver.finish_reads()

    def _tell(self) -> None:
        solver = self.solver
        spent, updates = clock.perf_counter() - self.started, solver.updates - self.first
        solver.wall["stepping"] = self.spent_before + spent
        if solver.world.first:
            updates = int(updates * solver.updates_share)
            rest = spent * (self.end - solver.time) / max(solver.time - self.begun, 1e-300)
            self.control.progress(Progress(solver.time, self.end, updates, updates / max(spent, 1e-9), rest))

    def _pause(self) -> Callable[[], bool]:
        """Return a function that requests a look between largest steps: after some time, or if the run is to stop."""
        soon, control = clock.perf_counter() + UNSEEN, self.control
        return lambda: control.stop_requested or clock.perf_counter() > soon

    def _free(self, stop: float) -> int:
        """Return the number of largest steps until the next action between them."""
        solver = self.solver
        retained = [self.checkpoint_due] if self.control.keeps else []
        until = min([stop, *retained, *(call.next() for call in solver.callbacks["end of largest step"])])
        if until <= solver.time:
            return 1
        return max(1, int((until - solver.time) / solver.march.longest + 1e-9))

    def _sync_times(self) -> list[float]:
        """Return the times at which all clusters must meet: the end and, with output.sync, every output time."""
        times = {self.end}
        if self.solver.plan.case.output.sync:
            for part in self.parts:
                if part.interval is not None and part.interval < self.end:
                    count = int(self.end / part.interval + 1e-9)
                    times |= {k * part.interval for k in range(1, count + 1)}
        return sorted(t for t in times if self.begun < t <= self.end * (1 + 1e-12))

    # ---- checkpoints ----------------------------------------------------------------------------------------------

    def _next_checkpoint(self) -> float:
        interval = self.control.checkpoint_interval
        return float((np.floor(self.solver.time / interval + 1e-9) + 1) * interval)

    def _keep(self, checked: bool) -> None:
        """Take a checkpoint if one is due and all records are complete; the numbers are checked first, also on a device."""
        overdue = self.control.overdue()
        if (self.solver.time >= self.checkpoint_due * (1 - 1e-9) or overdue) and self._settled():
            if not checked:
                check(self.solver)
            self.checkpoint_due = self._next_checkpoint()
            self.control.checkpoint()

    def _settled(self) -> bool:
        """Return True if all records are complete on all processes (collective)."""
        return not self.solver.world.largest([not all(part.samples_complete for part in self.parts)])[0]

    # ---- finite numbers -------------------------------------------------------------------------------------------

    def _checked(self, must: bool) -> bool:
        """Call ``check`` if it is cheap or if much has been computed since the last one; return True if it was called."""
        solver = self.solver
        if solver.backend.capabilities.asynchronous and not must:
            whole = solver.plan.clustering
            done = (solver.time - self.looked) * float((whole.histogram / whole.steps).sum())  # equal on all processes
            if 0.0 <= done < LOOK:
                return False
        self.looked = solver.time
        check(solver)
        return True


def check(solver: Solver) -> None:
    """Raise BlowUp if numbers are no longer finite on any process; store the last good state for the diagnosis."""
    (bad,) = solver.world.largest([not solver.operator.finite()])
    if bad:
        raise BlowUp
    solver.good = None  # frees the old state first: a large mesh has no memory for two
    solver.good = (solver.time, solver.operator.raw_means())
