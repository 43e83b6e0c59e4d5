"""What a run asks of an engine: a plan, a solver that steps it, a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from faultwave.base.errors import NotBuiltError, Problem
from faultwave.comm import World
from faultwave.engine.part import Attached, BlockState, State
from faultwave.engine.progress import Progress
from faultwave.observe.model import Model

Sections = list[tuple[str, list[tuple[str, ...]]]]


TimeErrors = Callable[[np.ndarray, float, float], np.ndarray]
"""Of series (n, ...) at multiples of an interval [s], of a run of the same case whose steps are so many times shorter: by how much its
steps in time change them."""


class BlowUp(Exception):
    """The state holds numbers that are not finite, or grows as nothing physical does."""


class Control(Protocol):
    """The run, as a solver that steps sees it. Its flags may differ between processes; what the solver does with them it agrees upon."""

    @property
    def stop_asked(self) -> bool:
        """Whether a signal asked this process to stop."""

    stopped: bool
    """Set by the solver: whether it stopped for that, before the end."""

    @property
    def keeps(self) -> bool:
        """Whether checkpoints can be taken."""

    @property
    def checkpoint_interval(self) -> float:
        """Simulated time [s] between checkpoints; infinite where none are due by it."""

    def overdue(self) -> bool:
        """Whether the wall clock asks for a checkpoint. All processes ask."""

    def checkpoint(self) -> None:
        """Take one now. All processes together; nothing may be half recorded."""

    def progress(self, state: Progress) -> None:
        """Show how far the run is."""


@dataclass
class Unattended:
    """A ``Control`` of runs that nobody watches: nothing is kept on the way, nothing stops them."""

    stop_asked: bool = False
    stopped: bool = False
    keeps: bool = False
    checkpoint_interval: float = np.inf

    def overdue(self) -> bool:
        return False

    def checkpoint(self) -> None:
        raise NotImplementedError("nothing is kept")

    def progress(self, state: Progress) -> None:
        """Nobody looks."""


@dataclass(frozen=True)
class Diagnosis:
    """Why a run blew up: text for the user and, where it helps, cells (m, 4) of points (n, 3) with named fields (m,) at a good time
    [s] to look at."""

    text: str
    time: float = 0.0
    points: np.ndarray | None = None
    cells: np.ndarray | None = None
    static: Mapping[str, np.ndarray] | None = None
    fields: Mapping[str, np.ndarray] | None = None


class Solver(Protocol):
    """A plan in memory, ready to step."""

    @property
    def plan(self) -> Any: ...

    @property
    def world(self) -> World: ...

    @property
    def parts(self) -> Mapping[str, Attached]:
        """Attached parts by name, in the order in which they act."""

    @property
    def wall(self) -> dict[str, float]:
        """Seconds of set-up and stepping; a resumed run adds to those before."""

    @property
    def warnings(self) -> Sequence[Problem]: ...

    @property
    def time(self) -> float:
        """Simulated time reached [s]."""

    @property
    def size(self) -> int:
        """Cells or grid points of this process's plan."""

    @property
    def runs_on(self) -> str:
        """Backend and device, for the manifest."""

    @property
    def resolved_frequency(self) -> float:
        """Highest frequency [Hz] that the mesh or grid of this process resolves everywhere."""

    @property
    def halo(self) -> str | None:
        """How halo exchanges between devices go; None where there are none."""

    def take_memory(self) -> None:
        """A run begins: take memory that only steps write to, beside what comes before them. Not earlier, when what set-up and restarts
        need for a moment is still held."""

    def hook(self) -> None:
        """Take the parts' calls as they are now."""

    def run(self, end: float, control: Control) -> None:
        """Advance to ``end`` [s] or until stopped. Raises BlowUp, and RunError where a device fails."""

    def diagnose(self) -> Diagnosis:
        """Of a blow-up. All processes ask together."""

    def state(self) -> Mapping[str, Mapping[str, State | BlockState]]:
        """What a checkpoint keeps besides the parts' states: group -> name -> state."""

    def notes(self) -> dict[str, Any]:
        """What a checkpoint tells of the run: numbers and texts, as JSON. All processes ask together."""

    def accept(self, notes: Mapping[str, Any], where: str) -> bool:
        """Before a restart: raise InputError where the run cannot go on from a checkpoint in ``where`` with these notes; whether its
        clusters are the same. All processes ask together."""

    def restored(self, notes: Mapping[str, Any]) -> None:
        """All states are back in their places: take what else the notes say."""

    def energies(self) -> dict[str, float]:
        """Energies, work and moment now, summed over all processes on the first. All processes ask together."""

    def sample(self, points: np.ndarray) -> np.ndarray:
        """State (n, Q) at points (n, 3) now; NaN outside."""

    def time_errors(self) -> TimeErrors | None:
        """What steps in time do to seismograms, where a law says it; None where none does. All processes ask together, after the run."""

    def error(self, solution: Callable[..., np.ndarray], inside: Any = None) -> np.ndarray:
        """Relative L2 error (Q,) against solution(points (n, 3), time) -> (n, Q)."""

    def set_initial(self, solution: Callable[..., np.ndarray]) -> None:
        """Start from solution(points (n, 3), time) -> (n, Q)."""

    def rates(self) -> dict[str, float]:
        """What was computed and how fast; the unit is in the name."""

    def timings(self) -> dict[str, float]:
        """Seconds of each part of the run."""


def _no_model(plan: Any) -> Model:
    raise NotBuiltError(Problem("engine", "this engine cannot show a plan in pictures"))


@dataclass(frozen=True)
class Engine:
    """An engine: ``plan(case)`` and, for one of several processes, ``share(case, world)`` raise InputError with every problem;
    ``solver(plan)``; ``report(plan, case)``: sections for ``faultwave plan``; ``going_on(case, notes)``: the case of a run that goes on
    from a checkpoint to another end, with what must stay as it was; ``model(plan)``: a plan as pictures see it; ``processes(plan, count)``:
    why a whole plan cannot be shared by so many processes."""

    name: str
    plan: Callable[[Any], Any]
    share: Callable[[Any, World], Any]
    solver: Callable[[Any], Solver]
    report: Callable[[Any, Any], Sections]
    going_on: Callable[[Any, Mapping[str, Any]], Any] = lambda case, notes: case
    model: Callable[[Any], Model] = _no_model
    processes: Callable[[Any, int], Sequence[Problem]] = lambda plan, count: ()


__all__ = ["BlowUp", "Control", "Diagnosis", "Engine", "Sections", "Solver", "TimeErrors", "Unattended"]
