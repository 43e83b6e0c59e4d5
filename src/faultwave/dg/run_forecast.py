"""What a whole run takes, time and memory, told by a stretch of it.

    run = set-up + first touch + steps + looks + snapshots

Set-up is that of the forecast itself, which reads and plans as a run does. The first step touches memory that the system gives then:
what it takes longer than later ones, per byte, times all bytes. Later steps give the rate, friction, clusters and receivers included.
A look whether numbers are finite comes as often as in ``stepping``. The first snapshots are taken, and timed, and count as often as bytes
are written; writing them goes on beside the steps and is counted where it takes longer than these.

Of a mesh whose operator takes more than ``TRIED`` bytes, or whose largest step more than ``UPDATES``, a share is stepped
(``dg.partial``), so that a forecast neither touches all of its memory nor waits for all of its cells. What a run holds is then what the
process holds, and the memory of buffers that it has not touched.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from faultwave import backends
from faultwave.base.memory import peak_memory, resident_memory, untouched
from faultwave.dg import stepping
from faultwave.dg.partial import Partial
from faultwave.dg.plan import Plan
from faultwave.dg.replays import AHEAD
from faultwave.dg.room import least_memory
from faultwave.dg.solver import Solver
from faultwave.engine.forecast import RunTime, Unwritten, writing_time

TRIED = 1 << 30
"""Bytes of modes and waves up to which all cells are stepped; of a larger mesh as many as take that."""

UPDATES = 4e6
"""Updates of elements in a largest step up to which all cells are stepped; of a step of more as many as that."""


PATIENCE = 3.0
"""How many times as long as it was asked for a forecast steps before its first largest step is left unfinished: where a sliver has
steps a million times as short as other cells, that one takes minutes."""


class _Enough(Exception):
    """A largest step is left unfinished."""


def solver_to_try(plan: Plan) -> Solver:
    """The solver of a run, or one that does a share of every step where the mesh is large."""
    numerics = plan.case.numerics
    often = np.rint(plan.clustering.steps.max() / plan.clustering.steps)
    share = min(TRIED / least_memory(plan.case, plan.cells), UPDATES / float((plan.clustering.histogram * often).sum()))
    if share >= 1.0 or numerics.integrator != "ader" or untouched(()) is None:
        return Solver(plan)
    made = backends.make(numerics.backend, numerics.precision, numerics.threads, plan.world.local_rank)
    chosen: Any = made if made.asynchronous else Partial(made, share)
    return Solver(plan, chosen)


def run_time(solver: Any, files: Unwritten, updates: float, seconds: float) -> RunTime:
    """Step for some ``seconds``; ``updates`` of elements until the end. The solver is of no use afterwards."""
    held = resident_memory() or 0
    first = _stretch(solver, lambda: advance_for(solver, PATIENCE * seconds))
    held = (resident_memory() or 0) - held
    later = _Stretch(0.0, 0.0, 0)
    if unfinished(solver):
        first, later = _Stretch(0.0, 0.0, 0), first
    # beyond the run's end records would grow that the run never holds
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
    more = untouched(solver.backend.places()) or 0 if isinstance(solver.backend, Partial) else 0
    touch = touching * (1.0 + more / held) if held > 0 else touching
    return RunTime(rate, share, solver.plan.seconds + solver.wall["setup"] - solver.compiling, touch, steps, output)


def advance_for(solver: Any, seconds: float) -> None:
    """Take one largest step, or leave it unfinished after so many seconds; the solver is then of no use for more steps."""
    late = _after(seconds)

    def pause() -> bool:
        if late() and solver.updates > begun:
            raise _Enough
        return False

    begun = solver.updates
    with suppress(_Enough):
        solver.replays.advance(pause=pause)


def unfinished(solver: Any) -> bool:
    """Return whether the solver was left in the middle of a largest step."""
    return any(c.corrected < c.limit for c in solver.march.clocks)


def whole_memory(solver: Any) -> float | None:
    """Bytes that a run holds at most, where the process has not yet held as much as it will; None where it has, or nobody knows."""
    if not isinstance(solver.backend, Partial):
        return None
    more, now, most = untouched(solver.backend.places()), resident_memory(), peak_memory()
    return None if more is None or now is None else float(max(now + more, most or 0))


@dataclass(frozen=True)
class _Stretch:
    """Seconds in all, seconds of them that observing took, and updates of elements as a whole step has them."""

    wall: float
    observed: float
    updates: int

    def __add__(self, other: _Stretch) -> _Stretch:
        return _Stretch(self.wall + other.wall, self.observed + other.observed, self.updates + other.updates)


def _stretch(solver: Any, advance: Callable[[], None]) -> _Stretch:
    started, observed, updates = clock.perf_counter(), solver.seconds["observe"], solver.updates
    advance()
    solver.backend.finish()
    wall = clock.perf_counter() - started
    return _Stretch(wall, min(wall, solver.seconds["observe"] - observed), solver.updates - updates)


def _after(seconds: float) -> Callable[[], bool]:
    """Whether so much time has passed since now."""
    soon = clock.perf_counter() + seconds
    return lambda: clock.perf_counter() > soon


def _share(solver: Any) -> float:
    """Of the items that launches were given, those that were done."""
    backend = solver.backend
    return float(backend.done / max(backend.asked, 1)) if isinstance(backend, Partial) else 1.0


def _looks(solver: Any, steps: float) -> float:
    """Seconds of looks whether numbers are finite, in a run whose steps take so long."""
    if solver.backend.asynchronous:
        return 0.0
    started = clock.perf_counter()
    look(solver)
    one = clock.perf_counter() - started
    return one * (1.0 + min(steps / stepping.UNSEEN, solver.plan.case.end_time / solver.march.longest))


def look(solver: Any) -> None:
    """What ``stepping.check`` does, whatever the numbers are, and keeps."""
    solver.operator.finite()
    solver.good = None
    solver.good = (solver.time, solver.operator.raw_means())


__all__ = ["advance_for", "look", "run_time", "solver_to_try", "unfinished", "whole_memory"]
