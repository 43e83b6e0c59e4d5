"""Forecast of time and memory of a whole run from a measured sequence of steps.

It touches only a part of the memory. Waves at the edge of the executed fraction are undefined: the numbers have no use,
the time does. It wraps a synchronous backend; everything other than launches and buffers is delegated to it.

run = set-up + first touch + steps + looks + snapshots

Set-up is the set-up of the forecast itself, which reads and plans as a run does. In the first step the system allocates
pages: its additional duration per byte is scaled to all bytes. Later steps give the rate, with friction, clusters and
receivers. Checks for non-finite numbers are as frequent as in ``stepping``. The first snapshots are taken and timed,
and scaled by the bytes to write; writing is concurrent with the steps and counts only as far as it takes longer than
them.

Of a mesh whose operator needs more than ``TRIED`` bytes, or whose largest step more than ``UPDATES``, a fraction is
stepped (``dg.run_forecast``), so that a forecast neither touches all of its memory nor waits for all of its cells. The
memory of a run is then the memory of the process plus the buffers that it has not touched.
"""

from __future__ import annotations

import time as clock
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from faultwave import backends
from faultwave.backends.base import Backend, Bound, Buffer, Launch, Store
from faultwave.base.processes.host import nonresident_bytes, peak_memory, resident_memory
from faultwave.dg.checks.memory import minimum_memory
from faultwave.dg.planning.plan import Plan
from faultwave.dg.solver import UNSEEN, Solver
from faultwave.dg.stepping.replays import AHEAD
from faultwave.engine.forecast import CountingFiles, RunTime
from faultwave.kernels.expr import Table
from faultwave.kernels.language import Kernel

if TYPE_CHECKING:
    Kept = TypeVar("Kept", bound=Buffer)


class PartialBackend:
    """Backend that executes ``share`` of each launch's items, at least one vector of them.

    Attributes
    ----------
    requested, done : int
        Numbers of requested and of executed items so far.
    """

    def __init__(self, inner: Backend, share: float):
        self.inner, self.share = inner, share
        self.requested = self.done = 0
        self._buffers: list[Callable[[], Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def batch(self, *given: Any, **options: Any) -> Buffer:
        return self._record(self.inner.batch(*given, **options))

    def store(self, *given: Any, **options: Any) -> Store:
        return self._record(self.inner.store(*given, **options))

    def first_touch(self, buffers: Sequence[Buffer], ranges: Iterable[tuple[int, int]]) -> None:
        """Do nothing: pages are allocated only where they are used."""

    def _record(self, buffer: Kept) -> Kept:
        self._buffers.append(weakref.ref(buffer))
        return buffer

    def places(self) -> Iterator[tuple[int, int]]:
        """Yield the address of the first byte and the size of every buffer in use."""
        for buffer in (ref() for ref in self._buffers):
            if buffer is not None:
                yield buffer.storage.ctypes.data, buffer.storage.nbytes

    def compile(self, kernels: Iterable[Kernel]) -> Mapping[str, Callable[[Mapping[str, Bound]], _PartialLaunch]]:
        made = self.inner.compile(kernels)
        return {name: self._binder(bind) for name, bind in made.items()}

    def _binder(self, bind: Callable[[Mapping[str, Bound]], Launch]) -> Callable[[Mapping[str, Bound]], _PartialLaunch]:
        return lambda buffers: _PartialLaunch(self, bind(buffers))


class _PartialLaunch:
    """Launch that executes the first of the requested items."""

    def __init__(self, backend: PartialBackend, launch: Launch):
        self.backend, self.launch = backend, launch
        self.lanes = max(backend.inner.lanes, backend.inner.fixed_lanes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.launch, name)

    def __call__(self, begin: int, end: int, **scalars: Table) -> None:
        some = -(-int(self.backend.share * (end - begin)) // self.lanes) * self.lanes
        some = min(max(some, self.lanes), end - begin)
        self.backend.requested += end - begin
        self.backend.done += some
        self.launch(begin, begin + some, **scalars)


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
    made = backends.make(numerics.backend, numerics.precision, numerics.threads, plan.world.device_number)
    chosen: Backend | PartialBackend = made if made.capabilities.asynchronous else PartialBackend(made, share)
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
    unseen = min(seconds, UNSEEN, 0.02 * first.wall * updates / max(first.updates, 1))
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
    output = files.output_time(taken, steps, Path(solver.plan.case.output.folder))
    more = nonresident_bytes(solver.backend.places()) or 0 if isinstance(solver.backend, PartialBackend) else 0
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
    if not isinstance(solver.backend, PartialBackend):
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
    started, observed, updates = clock.perf_counter(), solver.timeline.seconds["observe"], solver.updates
    advance()
    solver.backend.finish()
    wall = clock.perf_counter() - started
    return _Stretch(wall, min(wall, solver.timeline.seconds["observe"] - observed), solver.updates - updates)


def _after(seconds: float) -> Callable[[], bool]:
    """Return a function that is True once ``seconds`` have passed from now."""
    soon = clock.perf_counter() + seconds
    return lambda: clock.perf_counter() > soon


def _share(solver: Solver) -> float:
    """Return the fraction of the requested items of launches that were executed."""
    backend = solver.backend
    return float(backend.done / max(backend.requested, 1)) if isinstance(backend, PartialBackend) else 1.0


def _looks(solver: Solver, steps: float) -> float:
    """Return the seconds of checks for non-finite numbers in a run whose steps take ``steps`` seconds."""
    if solver.backend.capabilities.asynchronous:
        return 0.0
    started = clock.perf_counter()
    look(solver)
    one = clock.perf_counter() - started
    return one * (1.0 + min(steps / UNSEEN, solver.plan.case.end_time / solver.march.longest))


def look(solver: Solver) -> None:
    """Execute the work of ``StateMonitor.check`` for any numbers, and store the state that it stores."""
    solver.operator.finite()
    solver.monitor.store(solver.time)
