"""Protocols that connect a run with an engine: plan, solver, report, progress and the run's controls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from faultwave.base.errors import NotBuiltError, Problem
from faultwave.base.types import Record, Setting, Settings
from faultwave.comm import World
from faultwave.engine.balance import ProcessWork
from faultwave.engine.capability import BlockState, Capability, State
from faultwave.observe.model import Model


@dataclass(frozen=True)
class Progress:
    """Progress of a run.

    Attributes
    ----------
    time, end_time : float
        Simulated time and end time [s].
    updates : int
        Cell or grid-point updates so far.
    rate : float
        Updates per second.
    eta : float
        Estimated time left [s].
    """

    time: float
    end_time: float
    updates: int
    rate: float
    eta: float


Sections = list[tuple[str, list[tuple[str, ...]]]]


TimeErrors = Callable[[np.ndarray, float, float], np.ndarray]
"""Function that estimates the time-stepping error of time series.

Arguments are series (n, ...) at multiples of a sampling interval, that interval [s], and the factor by which the time steps of another run
of the same case are shorter. The result is the change of the series due to the time steps.
"""


class BlowUp(Exception):
    """Raised if the state is not finite or grows as no physical solution does."""


class Control(Protocol):
    """Controls of a run, as the solver sees them.

    The flags may differ between processes; the solver agrees on them with the other processes before it acts.
    """

    @property
    def stop_requested(self) -> bool:
        """True if a signal requested this process to stop."""

    stopped: bool
    """True if the solver stopped on request, before the end; set by the solver."""

    @property
    def keeps(self) -> bool:
        """True if checkpoints can be taken."""

    @property
    def checkpoint_interval(self) -> float:
        """Simulated time [s] between checkpoints, infinite if none are due by simulated time."""

    def overdue(self) -> bool:
        """Return True if a checkpoint is due by wall-clock time (collective)."""

    def checkpoint(self) -> None:
        """Write a checkpoint now (collective); no sample may be half recorded."""

    def progress(self, state: Progress) -> None:
        """Show the progress of the run."""


@dataclass
class Unattended:
    """``Control`` of unattended runs, which take no checkpoints and are never stopped."""

    stop_requested: bool = False
    stopped: bool = False
    keeps: bool = False
    checkpoint_interval: float = np.inf

    def overdue(self) -> bool:
        return False

    def checkpoint(self) -> None:
        raise NotImplementedError("this solver stores no checkpoint")

    def progress(self, state: Progress) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class Diagnosis:
    """Diagnosis of a blow-up.

    Attributes
    ----------
    text : str
        Explanation for the user.
    time : float
        Time [s] at which ``fields`` were taken.
    points, cells : ndarray or None
        Points (n, 3) and tetrahedra (m, 4) around the blow-up, for visualisation.
    static, fields : mapping of str to ndarray or None
        Constant and time-dependent fields (m,) on these cells.
    """

    text: str
    time: float = 0.0
    points: np.ndarray | None = None
    cells: np.ndarray | None = None
    static: Mapping[str, np.ndarray] | None = None
    fields: Mapping[str, np.ndarray] | None = None


class Plan(Protocol):
    """Plan of a run as other packages see it: a frozen dataclass of an engine."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def case(self) -> Setting:
        """Case with the settings that apply after automatic choices."""

    @property
    def world(self) -> World:
        """Processes of the run."""

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Possible mistakes."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Automatic choices with their reasons."""


class Solver(Protocol):
    """Plan with its arrays in memory, ready to step."""

    @property
    def plan(self) -> Plan: ...

    @property
    def world(self) -> World: ...

    @property
    def parts(self) -> Mapping[str, Capability]:
        """Capability capabilities by name, in the order in which they act."""

    @property
    def wall(self) -> dict[str, float]:
        """Wall-clock time [s] of set-up and stepping; a resumed run adds to the values of the earlier run."""

    @property
    def warnings(self) -> Sequence[Problem]: ...

    @property
    def time(self) -> float:
        """Simulated time reached [s]."""

    @property
    def size(self) -> int:
        """Number of cells or grid points of this process's plan."""

    @property
    def runs_on(self) -> str:
        """Backend and device, for the manifest."""

    @property
    def resolved_frequency(self) -> float:
        """Highest frequency [Hz] that the mesh or grid of this process resolves everywhere."""

    @property
    def halo(self) -> str | None:
        """Path of halo messages between devices, None if there are none."""

    def take_memory(self) -> None:
        """Allocate memory that only time stepping writes to.

        It is called when the run begins and not before, because set-up and restart need temporary memory until then.
        """

    def refresh_callbacks(self) -> None:
        """Refresh the callbacks of the attached capabilities."""

    def run(self, end: float, control: Control) -> None:
        """Advance to ``end`` or until stopped.

        Parameters
        ----------
        end : float
            End time [s].
        control : Control
            Controls of the run.

        Raises
        ------
        BlowUp
            If the solution becomes unstable.
        RunError
            If a device fails.
        """

    def diagnose(self) -> Diagnosis:
        """Diagnose a blow-up (collective)."""

    def state(self) -> Mapping[str, Mapping[str, State | BlockState]]:
        """Return the arrays that a checkpoint stores in addition to the capabilities' states, by group and name."""

    def notes(self) -> Settings:
        """Return the metadata of a checkpoint, numbers and texts that JSON can hold (collective)."""

    def accept(self, notes: Record, where: str) -> bool:
        """Check that the run can resume from a checkpoint (collective).

        Parameters
        ----------
        notes : mapping
            Metadata of the checkpoint.
        where : str
            Location of the checkpoint, for messages.

        Returns
        -------
        bool
            True if the checkpoint has the same clusters.

        Raises
        ------
        InputError
            If the run cannot resume from it.
        """

    def restored(self, notes: Record) -> None:
        """Restore the remaining state from the metadata, after all arrays have been restored."""

    def energies(self) -> dict[str, float]:
        """Return current energies, work and moment [J, N m], summed over all processes on process 0 (collective)."""

    def sample(self, points: np.ndarray) -> np.ndarray:
        """Return the current state (n, Q) at points (n, 3) [m]; NaN outside of the domain."""

    def time_errors(self) -> TimeErrors | None:
        """Return the estimator of time-stepping errors, None if the wave law has none (collective, after the run)."""

    def error(
        self, solution: Callable[..., np.ndarray], inside: Callable[[np.ndarray], np.ndarray] | None = None
    ) -> np.ndarray:
        """Return the relative L2 error (Q,) with respect to ``solution(points (n, 3), time) -> (n, Q)``."""

    def set_initial(self, solution: Callable[..., np.ndarray]) -> None:
        """Set the initial state to ``solution(points (n, 3), time) -> (n, Q)``."""

    def rates(self) -> dict[str, float]:
        """Return counts of the work done and its rates; the unit is part of each name."""

    def timings(self) -> dict[str, float]:
        """Return the wall-clock time [s] of each phase of the run."""

    def work(self) -> ProcessWork:
        """Return the time that this process has spent in the steps since its start."""


def _no_model(plan: object) -> Model:
    raise NotBuiltError(Problem("engine", "this engine cannot show a plan in pictures"))


P = TypeVar("P", bound=Plan)


@dataclass(frozen=True)
class Engine(Generic[P]):
    """Engine as a record of functions.

    Attributes
    ----------
    name : str
        Name of the engine.
    plan : callable
        ``plan(case)`` returns the plan; raises InputError with every problem.
    process_plan : callable
        ``process_plan(case, world)`` returns the plan of one of several processes; raises InputError with every problem.
    solver : callable
        ``solver(plan)`` returns the solver.
    report : callable
        ``report(plan, case)`` returns the sections of ``faultwave plan``.
    resumed_case : callable
        ``resumed_case(case, notes)`` returns the case of a run that resumes from a checkpoint with another end time, with the settings that
        must not change.
    model : callable
        ``model(plan)`` returns the plan as pictures show it.
    processes : callable
        ``processes(plan, count)`` returns the reasons why a plan cannot be distributed over ``count`` processes.
    survey : callable or None
        ``survey(case)`` returns a plan for checks alone, which may read the material of a large domain at a sample of its points and
        says so in its ``notes``; None if the engine has nothing but ``plan``.
    """

    name: str
    plan: Callable[[Setting], P]
    process_plan: Callable[[Setting, World], P]
    solver: Callable[[P], Solver]
    report: Callable[[P, Setting], Sections]
    resumed_case: Callable[[Setting, Record], Setting] = lambda case, notes: case
    model: Callable[[P], Model] = _no_model
    processes: Callable[[P, int], Sequence[Problem]] = lambda plan, count: ()
    survey: Callable[[Setting], P] | None = None
