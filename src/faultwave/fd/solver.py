"""Solver of a planned run on a grid, which advances the wave field and calls the capabilities between steps."""

from __future__ import annotations

import bisect
import time as clock
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial

import numpy as np

from faultwave import backends
from faultwave.base.errors import NotBuiltError, Problem
from faultwave.base.spans import phase
from faultwave.base.types import Record, Settings
from faultwave.engine.balance import ProcessWork
from faultwave.engine.capability import BlockState, State
from faultwave.engine.solver import BlowUp, Control, Diagnosis, Progress, TimeErrors
from faultwave.engine.timeline import UNTIMED, Timeline
from faultwave.fd.blocks.coupled_blocks import operator_of, samplers_of
from faultwave.fd.capability import FdPlan, GridCapability, Solution, StepCallback
from faultwave.fd.checkpoint import blocks, check_identity, identity
from faultwave.fd.checks.instability_monitor import InstabilityMonitor, explain_blowup
from faultwave.fd.operators.time_dispersion import Stepped, late, removes

CHUNK_SECONDS = 0.3
"""Wall time [s] between two readings of the clock."""
CHECK_SECONDS = 5.0
"""Wall time [s] between two checks that all numbers are finite."""


class FdSolver:
    """Solver on a grid, an implementation of ``engine.solver.Solver``.

    Attributes
    ----------
    plan : FdPlan
    world : World
        Processes of the run.
    operator : Operator
        Arrays and program of the grid.
    samplers : mapping of str to Sampler
        Samplers by the name of their capability.
    parts : dict of str to GridCapability
        Running capabilities by name.
    watch : InstabilityMonitor
        Monitor of instabilities.
    timeline : Timeline
        Timer of the run.
    """

    def __init__(self, plan: FdPlan):
        started = clock.perf_counter()
        self.plan, self.world = plan, plan.world
        self.samplers = samplers_of(plan)
        self.operator = operator_of(plan, list(self.samplers.values()))
        with phase("prepare kernels"):
            self.operator.prepare(plan.steps)
        with phase("attach capabilities"):
            self.parts: dict[str, GridCapability] = {name: part.attach(self) for name, part in plan.parts.items()}
        self.watch, self.wrong = InstabilityMonitor(plan, self.operator, tuple(self.parts.values())), ""
        for part in plan.parts.values():
            if (state := part.state(plan)) is not None:
                self.set_initial(state)
        self.timeline = Timeline(("step", "observe"), started)

    # ---- what it is and how far ----------------------------------------------------------------------------------

    @property
    def warnings(self) -> Sequence[Problem]:
        """Warnings of the plan."""
        return self.plan.warnings

    @property
    def runs_on(self) -> str:
        """Name of the backend in use."""
        name = self.plan.case.numerics.backend
        return backends.best(stencils=True) if name == "auto" else name

    @property
    def resolved_frequency(self) -> float:
        """Frequency [Hz] that is resolved everywhere in the grid."""
        return float(self.plan.frequency)

    @property
    def halo(self) -> str | None:
        """Path of halo exchanges between devices; None if there are no exchanges."""
        way = self.operator.overlap.way if self.operator.overlap else None
        return None if way is None else str(way)

    @property
    def time(self) -> float:
        """Simulated time reached [s]."""
        return self.operator.time

    @property
    def size(self) -> int:
        """Number of points of the whole grid."""
        return self.plan.points

    @property
    def wall(self) -> dict[str, float]:
        """Wall time [s] of set-up and stepping."""
        return self.timeline.wall

    def energies(self) -> dict[str, float]:
        """Return the energies [J] at the present time; the kinetic energy is half a step earlier."""
        found = self.operator.energies()
        for part in self.parts.values():
            own = part.energies()
            total = self.world.total(np.array(list(own.values())))
            found |= dict(zip(own, np.asarray(total).tolist(), strict=True))
        return found

    def time_errors(self) -> TimeErrors | None:
        """Return the law of time dispersion errors; None if seismograms are corrected for them."""
        if removes(self.plan.case):
            return None
        squares, moments = self.world.total(sum(op.pushed for op in self.operator.blocks))
        step = self.plan.scheme.step
        return partial(late, Stepped(step, step * moments / squares if squares else 0.0))

    def set_initial(self, solution: Solution) -> None:
        """Start from a wave field, ``solution(points (n, 3), time) -> (n, 9)``, at time 0 and half a step before."""
        self.operator.set_state(solution)
        self.watch.start(self.energies())
        for part in self.parts.values():
            part.start(solution)

    def error(self, solution: Solution, inside: Callable[[np.ndarray], np.ndarray] | None = None) -> np.ndarray:
        """Return the relative L2 error (9,) against ``solution(points (n, 3), time) -> (n, 9)``.

        Velocities are compared half a step before the present time.
        """
        if inside is not None:
            raise NotBuiltError(Problem("error", "a grid computes the error of its whole box only"))
        return self.operator.error(solution)

    def sample(self, points: np.ndarray) -> np.ndarray:
        """Return the present state (n, 9) at points (n, 3) [m], velocities half a step earlier; NaN outside the box."""
        return self.operator.sample(points)

    def take_memory(self) -> None:
        """Do nothing: set-up has already written to all memory."""

    def refresh_callbacks(self) -> None:
        """Do nothing: capabilities supply their callbacks when a run begins."""

    def rates(self) -> dict[str, float]:
        """Return numbers of updates, threads, processes and messages."""
        updates = float(self.operator.steps) * self.plan.points
        return {
            "point_updates": updates,
            "point_updates_per_second": updates / max(self.wall["stepping"], 1e-9),
            "threads": float(getattr(self.operator.runner, "threads", 1)),
            "processes": float(self.world.size),
            **self._messages(),
        }

    def _messages(self) -> dict[str, float]:
        """Return the volume of messages of this process and the error of their rounding."""
        if self.operator.overlap is None:
            return {}
        halo = self.operator.overlap.halo
        found = {"messages": float(halo.messages), "message_bytes": float(halo.bytes)}
        exact = self.plan.case.numerics.halo_compression == "exact"
        return found | ({} if exact else {"halo_error_rms": halo.loss.rms})

    def timings(self) -> dict[str, float]:
        """Return the wall time [s] of each part of the run."""
        halo = self.operator.overlap.halo.seconds if self.operator.overlap else {}
        return {**self.timeline.timings(), **{f"messages_{name}": seconds for name, seconds in halo.items()}}

    def work(self) -> ProcessWork:
        """Return the time that this process has spent in the steps."""
        return ProcessWork(self.timeline.busy, self.timeline.waited)

    # ---- stepping --------------------------------------------------------------------------------------------------

    def run(self, end: float, control: Control) -> None:
        """Advance to ``end`` [s], or until stopped; raises BlowUp if the solution is unstable."""
        with self.timeline.stepping():
            self._run(end, control)

    def _run(self, end: float, control: Control) -> None:
        op = self.operator
        last, first = int(np.ceil(end / self.plan.scheme.step * (1 - 1e-9))), op.steps
        for part in self.parts.values():
            part.begin()
        calls = self._calls()
        checkpoints = self._checkpoint_steps(control)
        events = sorted(checkpoints.union(*(call.steps for call in calls)))
        if op.steps == 0:
            _call(calls, 0)
        chunk, checked = self.steps_of_pass, self.timeline.start_timer(UNTIMED)
        stopping = look = False  # values of the previous reading, known to all processes
        while op.steps < last and not stopping:
            following = bisect.bisect_right(events, op.steps)
            now, chunk = self._advance(min([last, op.steps + chunk, *events[following : following + 1]]))
            _call(calls, op.steps)
            if look or op.steps == last:
                checked = now
                self._check_finite()
            if op.steps < last:
                self._keep(control, checkpoints)
            if self.world.first:
                spent, updates = self.timeline.lap(now), (op.steps - first) * self.plan.points
                left = spent * (last - op.steps) / max(op.steps - first, 1)
                control.progress(Progress(op.time, end, updates, updates / max(spent, 1e-9), left))
            late = clock.perf_counter() - checked > CHECK_SECONDS
            chunk, stopping, look = self._together(chunk, control.stop_requested, late)
        control.stopped = stopping
        if stopping and control.keeps:
            control.checkpoint()

    def _calls(self) -> list[StepCallback]:
        """Return the callbacks of capabilities and of the instability monitor."""
        found = [call for part in self.parts.values() for call in part.after]
        return [*found, StepCallback(self.watch.steps(), self._look)]

    def take(self, steps: int) -> None:
        """Execute the callbacks that are due after ``steps`` steps."""
        _call(self._calls(), steps)

    @property
    def steps_of_pass(self) -> int:
        """Number of fused steps of one pass."""
        return self.operator.steps_at_once

    def _advance(self, stop: int) -> tuple[float, int]:
        """Advance to ``stop`` steps; return the clock [s] and the number of steps until its next reading."""
        before, count = self.timeline.start_timer("step"), stop - self.operator.steps
        for name, values in zip(self.samplers, self.operator.advance(count), strict=True):
            self.parts[name].sampled(values)
        now = self.timeline.start_timer("observe")
        return now, self.steps_of_pass * max(
            1, int(CHUNK_SECONDS / max((now - before) / count, 1e-9) / self.steps_of_pass)
        )

    def _checkpoint_steps(self, control: Control) -> frozenset[int]:
        """Return the steps after which checkpoints are due by simulated time."""
        interval, case = control.checkpoint_interval, self.plan.case
        if not control.keeps or not interval < np.inf:
            return frozenset()
        count = int(case.end_time / interval * (1 + 1e-9))
        return frozenset(int(np.ceil(k * interval / self.plan.scheme.step * (1 - 1e-9))) for k in range(1, count + 1))

    def _keep(self, control: Control, due: frozenset[int]) -> None:
        """Take a checkpoint if one is due."""
        if not control.keeps:
            return
        overdue = control.overdue()
        if self.operator.steps in due or overdue:
            control.checkpoint()

    def _together(self, chunk: int, stop: bool, look: bool) -> tuple[int, bool, bool]:
        """Return values that all processes share.

        Returns
        -------
        chunk : int
            Steps until the next reading of the clock, the smallest of all processes.
        stop : bool
            True if one process was requested to stop.
        look : bool
            True if it is time to check that numbers are finite.
        """
        if self.world.size == 1:
            return chunk, stop, look
        least, stopped, due = self.world.largest([-float(chunk), float(stop), float(look)])
        return int(-least), bool(stopped), bool(due)

    def _look(self) -> None:
        """Raise BlowUp if motion grows faster than waves can."""
        self.wrong = self.watch.look()
        if self.wrong:
            raise BlowUp

    def _check_finite(self) -> None:
        if not self.operator.finite():
            self.wrong = "velocities are no longer finite numbers"
            raise BlowUp

    def diagnose(self) -> Diagnosis:
        """Return the location of the largest motion, the material there and likely causes of the instability."""
        return Diagnosis(explain_blowup(self.watch, self.wrong))

    # ---- checkpoints -----------------------------------------------------------------------------------------------

    def state(self) -> Mapping[str, Mapping[str, State | BlockState]]:
        """Return every array that a step changes, for checkpoints."""
        return blocks(self.operator)

    def notes(self) -> Settings:
        """Return the metadata of a checkpoint: identity of the grid, time, steps and timings."""
        return {
            "time": self.time,
            "steps": self.operator.steps,
            "wall": dict(self.wall),
            "grid": self._identity,
            "seconds": self.timeline.seconds_of_steps(),
            "pushed": self.watch.bound(),
        }

    @cached_property
    def _identity(self) -> Settings:
        """Identity of the grid; computed by all processes together."""
        return identity(self.plan, self.operator)

    def accept(self, notes: Record, where: str) -> bool:
        """Return True if the checkpoint fits, whatever its number of processes.

        Raises InputError if the grid differs.
        """
        check_identity(where, notes.get("grid"), self._identity)
        return True

    def restored(self, notes: Record) -> None:
        """Complete a restart after the arrays have been restored."""
        self.operator.restored()
        self.operator.steps, self.watch.root = int(notes["steps"]), float(notes["pushed"])
        self.timeline.restore(notes["wall"], notes["seconds"])


def _call(calls: Sequence[StepCallback], steps: int) -> None:
    for call in calls:
        if steps in call.steps:
            call.act()
