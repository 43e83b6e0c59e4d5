"""Loop of a run over largest time steps, with the actions between them, checkpoints and early ends."""

from __future__ import annotations

import bisect
import time as clock
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.errors import RunError
from faultwave.base.processes import cores
from faultwave.engine.progress import Progress
from faultwave.engine.solver import BlowUp, Control

if TYPE_CHECKING:
    from faultwave.dg.running import Solver

LOOK = 1e7
"""Element updates between two checks on a device for non-finite numbers, for each of which the device has to stop."""

UNSEEN = 2.0
"""Seconds of computing between two reports of progress and checks for non-finite numbers, if largest steps are shorter."""


def run(solver: Solver, end: float, control: Control) -> None:
    """Advance to ``end`` [s], or until the run is stopped or over. Raises BlowUp, and RunError if a device fails."""
    try:
        with cores.limit_threads(solver.threads):
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
        if solver.backend.asynchronous and not must:
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


__all__ = ["LOOK", "check", "run"]
