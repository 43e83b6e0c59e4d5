"""Forecast of time and memory of a whole run from a measured sequence of steps.

    run = set-up + first touch + steps + looks + snapshots

Set-up is the set-up of the forecast itself, which reads and plans as a run does. In the first step the system allocates
pages: its additional duration per byte is scaled to all bytes. Later steps give the rate, with friction, clusters and
receivers. Checks for non-finite numbers are as frequent as in ``stepping``. The first snapshots are taken and timed,
and scaled by the bytes to write; writing is concurrent with the steps and counts only as far as it takes longer than
them.

Of a mesh whose operator needs more than ``TRIED`` bytes, or whose largest step more than ``UPDATES``, a fraction is
stepped (``dg.planning.partial_backend``), so that a forecast neither touches all of its memory nor waits for all of its cells. The
memory of a run is then the memory of the process plus the buffers that it has not touched.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave import backends
from faultwave.backends.base import Backend
from faultwave.base.processes.memory import nonresident_bytes, peak_memory, resident_memory
from faultwave.dg.checks.memory import minimum_memory
from faultwave.dg.operators import stepping
from faultwave.dg.operators.replays import AHEAD
from faultwave.dg.planning.partial_backend import Partial
from faultwave.dg.planning.plan import Plan
from faultwave.dg.solver import Solver
from faultwave.engine.forecast import CountingFiles, RunTime, writing_time

TRIED = 1 << 30
"""Size of modes and waves up to which all cells are stepped; of larger meshes, the fraction with this size is stepped [bytes]."""

UPDATES = 4e6
"""Element updates in a largest step up to which all cells are stepped; of larger steps, the fraction with this many updates."""


PATIENCE = 3.0
"""Multiple of the requested duration after which the first largest step is left unfinished.

A sliver whose steps are a million times shorter than other cells' extends that step to minutes.
"""


class _Enough(Exception):
    """Signal that a largest step is left unfinished."""


def solver_to_try(plan: Plan) -> Solver:
    """Return the solver of a run, or of a large mesh a solver that executes a fraction of every step."""
    numerics = plan.case.numerics
    often = np.rint(plan.clustering.steps.max() / plan.clustering.steps)
    share = min(
        TRIED / minimum_memory(plan.case, plan.cells), UPDATES / float((plan.clustering.histogram * often).sum())
    )
    if share >= 1.0 or numerics.integrator != "ader" or nonresident_bytes(()) is None:
        return Solver(plan)
    made = backends.make(numerics.backend, numerics.precision, numerics.threads, plan.world.local_rank)
    chosen: Backend | Partial = made if made.asynchronous else Partial(made, share)
    return Solver(plan, chosen)


def run_time(solver: Solver, files: CountingFiles, updates: float, seconds: float) -> RunTime:
    """Step for some ``seconds`` and return the forecast of the run; ``updates`` are the element updates until its end.

    The solver must not be used afterwards.
    """
    held = resident_memory() or 0
    first = _stretch(solver, lambda: advance_for(solver, PATIENCE * seconds))
    held = (resident_memory() or 0) - held
    later = _Stretch(0.0, 0.0, 0)
    if unfinished(solver):
        first, later = _Stretch(0.0, 0.0, 0), first
    # steps after the run's end would grow records beyond their size in the run
    unseen = min(seconds, stepping.UNSEEN, 0.02 * first.wall * updates / max(first.updates, 1))
    while not unfinished(solver) and (
        not later.updates or (later.wall < seconds and first.updates + later.updates < updates)
    ):
        later += _stretch(solver, lambda: solver.replays.advance(AHEAD, _after(unseen)))
    one, share = first.updates / later.updates, _share(solver)
    taken = max(0.0, first.observed - one * later.observed) if files.first else 0.0
    touching = max(0.0, first.wall - one * later.wall - taken)
    rate = later.updates / (later.observed + (later.wall - later.observed) / share)
    steps = updates / rate
    steps += _looks(solver, steps)
    output = taken * files.whole / max(files.first, 1)
    output += max(0.0, writing_time(Path(solver.plan.case.output.folder), files.whole) - steps)
    more = nonresident_bytes(solver.backend.places()) or 0 if isinstance(solver.backend, Partial) else 0
    touch = touching * (1.0 + more / held) if held > 0 else touching
    return RunTime(rate, share, solver.plan.seconds + solver.wall["setup"] - solver.compiling, touch, steps, output)


def advance_for(solver: Solver, seconds: float) -> None:
    """Take one largest step, or leave it unfinished after ``seconds``; the solver must then not be used for more steps."""
    late = _after(seconds)

    def pause() -> bool:
        if late() and solver.updates > begun:
            raise _Enough
        return False

    begun = solver.updates
    with suppress(_Enough):
        solver.replays.advance(pause=pause)


def unfinished(solver: Solver) -> bool:
    """Return True if the solver was left in the middle of a largest step."""
    return any(c.corrected < c.limit for c in solver.march.clocks)


def whole_memory(solver: Solver) -> float | None:
    """Return the largest memory of a run [bytes], if the process has not yet held as much; None if it has, or if unknown."""
    if not isinstance(solver.backend, Partial):
        return None
    more, now, most = nonresident_bytes(solver.backend.places()), resident_memory(), peak_memory()
    return None if more is None or now is None else float(max(now + more, most or 0))


@dataclass(frozen=True)
class _Stretch:
    """Measured steps: total seconds, seconds of observation, and element updates as in whole steps."""

    wall: float
    observed: float
    updates: int

    def __add__(self, other: _Stretch) -> _Stretch:
        return _Stretch(self.wall + other.wall, self.observed + other.observed, self.updates + other.updates)


def _stretch(solver: Solver, advance: Callable[[], None]) -> _Stretch:
    started, observed, updates = clock.perf_counter(), solver.seconds["observe"], solver.updates
    advance()
    solver.backend.finish()
    wall = clock.perf_counter() - started
    return _Stretch(wall, min(wall, solver.seconds["observe"] - observed), solver.updates - updates)


def _after(seconds: float) -> Callable[[], bool]:
    """Return a function that is True once ``seconds`` have passed from now."""
    soon = clock.perf_counter() + seconds
    return lambda: clock.perf_counter() > soon


def _share(solver: Solver) -> float:
    """Return the fraction of the requested items of launches that were executed."""
    backend = solver.backend
    return float(backend.done / max(backend.asked, 1)) if isinstance(backend, Partial) else 1.0


def _looks(solver: Solver, steps: float) -> float:
    """Return the seconds of checks for non-finite numbers in a run whose steps take ``steps`` seconds."""
    if solver.backend.asynchronous:
        return 0.0
    started = clock.perf_counter()
    look(solver)
    one = clock.perf_counter() - started
    return one * (1.0 + min(steps / stepping.UNSEEN, solver.plan.case.end_time / solver.march.longest))


def look(solver: Solver) -> None:
    """Execute the work of ``stepping.check`` for any numbers, and store the state that it stores."""
    solver.operator.finite()
    solver.good = None
    solver.good = (solver.time, solver.operator.raw_means())


__all__ = ["advance_for", "look", "run_time", "solver_to_try", "unfinished", "whole_memory"]
