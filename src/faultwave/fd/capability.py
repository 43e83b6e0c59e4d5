"""Interfaces between the finite-difference engine and its capabilities, one file each in ``fd/capabilities``.

A module of ``fd/capabilities`` has a function ``plan(planning)``, which returns a ``GridCapabilityPlan``, or None if the case does not
request the capability. Planning proceeds in the order in which data become known, and problems are collected on the
way: ``plan`` knows the case and its files, ``placed`` the grid, ``checked`` the material and the time step. ``attach``
then returns the running counterpart of the plan on a solver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np

from faultwave.base.errors import Problem
from faultwave.base.projection import Projection
from faultwave.base.types import Json
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.engine.capability import Capability, CapabilityPlan, output_size
from faultwave.engine.energies import TimeTable
from faultwave.fd.contexts import MaterialContext, PlacementContext
from faultwave.fd.method.effective_medium import Medium
from faultwave.fd.method.program import Observer
from faultwave.fd.method.scheme import Scheme
from faultwave.fd.method.surface_motion import observe_surface
from faultwave.fd.operators.operator import Machine, Operator
from faultwave.fd.operators.overlap import ProcessPartition
from faultwave.fd.operators.points import Drive, Sampler
from faultwave.fd.operators.resources import Memory
from faultwave.kernels.stencil import Box
from faultwave.media.attenuation import Relaxation
from faultwave.media.field import Field
from faultwave.observe.dataset import sample_count
from faultwave.physics.sources.point import Sources
from faultwave.physics.waves import Law

Solution = Callable[[np.ndarray, float], np.ndarray]
"""Wave field as a function of points (n, 3) [m] and a time [s], with values (n, 9): stresses and velocities."""


@dataclass(frozen=True)
class FdPlan:
    """Frozen plan of a run on a grid: everything that determines what will be computed.

    Attributes
    ----------
    case : Case
        Case with the choices of planning, such as the precision; the case that was planned is unchanged.
    law : Law
    scheme : Scheme
        Grid, time step, boundary conditions and order of the uppermost block.
    lower, upper : ndarray (3,)
        Corners of the requested box [m], which absorbing layers surround.
    medium : Medium
        Effective medium of the uppermost block.
    relaxation : Relaxation or None
        Maxwell elements of attenuation, None for an elastic case.
    frequency : float
        Frequency that is resolved everywhere [Hz].
    steps : int
        Number of time steps.
    parts : mapping of str to GridCapabilityPlan
        CapabilityPlan capabilities by name.
    """

    case: Case
    law: Law
    scheme: Scheme
    lower: np.ndarray
    upper: np.ndarray
    medium: Medium
    relaxation: Relaxation | None
    frequency: float  # resolved everywhere [Hz]
    steps: int
    parts: Mapping[str, GridCapabilityPlan]
    warnings: tuple[Problem, ...]
    material: Field  # as the case gives it
    partition: ProcessPartition | None = None  # where other processes have the rest of the grid
    below: tuple[FdPlan, ...] = ()  # blocks of larger spacing below this one, without capabilities
    notes: tuple[str, ...] = ()  # automatic choices for the case, with reasons
    seconds: float = 0.0  # wall time of planning, imports included if planning began the process

    def __repr__(self) -> str:
        name = self.case.title or self.case.output.prefix
        return f"<Plan '{name}': {self.points:,} grid points, {self.steps:,} steps>"

    @property
    def output_size(self) -> float:
        """Size [bytes] of the files that the run writes, without checkpoints."""
        return output_size(self.parts.values())

    @property
    def machine(self) -> Machine:
        """Backend, precision and number of threads that compute the run."""
        numerics = self.case.numerics
        return Machine(numerics.backend, numerics.precision, numerics.threads)

    @property
    def projection(self) -> Projection | None:
        """Map projection between x, y and longitude, latitude; None if the case has none."""
        p = self.case.projection
        return None if p is None else Projection(p.crs, p.origin, p.azimuth)

    @property
    def world(self) -> World:
        """Processes of the run."""
        return self.partition.world if self.partition else World()

    @property
    def points(self) -> int:
        """Number of points of the whole grid, all blocks together."""
        return sum(block.scheme.grid.box.points for block in self.blocks)

    @property
    def blocks(self) -> tuple[FdPlan, ...]:
        """Plans of the blocks of the grid, from the uppermost down."""
        return (self, *self.below)

    def block_parts(self, part: GridCapabilityPlan) -> list[BlockPart]:
        """Return the part of a capability in each block that contains some of its places."""
        places = part.places
        if not self.below:
            return [BlockPart(0, np.arange(len(places)), part, self)]
        floors = np.array([block.scheme.grid.lower[2] for block in self.blocks[:-1]])
        number = (places[:, 2, None] < floors).sum(1)
        listed = [(n, np.flatnonzero(number == n), block) for n, block in enumerate(self.blocks)]
        return [
            BlockPart(n, numbers, part.select(numbers), replace(block, parts=self.parts))
            for n, numbers, block in listed
            if len(numbers)
        ]

    @property
    def box(self) -> Box:
        """Box that this process computes on, its overlap with neighbours included."""
        return self.partition.subdomain.box if self.partition else self.scheme.grid.box

    @property
    def sources(self) -> Sources:
        """Point sources of all capabilities."""
        return Sources.joined([part.sources for part in self.parts.values()])

    @property
    def source_material(self) -> np.ndarray:
        """Lambda, mu and rho (n, 3) at the point sources."""
        return np.concatenate([np.zeros((0, 3)), *(part.source_material for part in self.parts.values())])

    @property
    def radiating(self) -> Sources:
        """Time functions and strengths of everything that radiates, wherever it acts."""
        return Sources.joined([part.radiating for part in self.parts.values()])


@dataclass(frozen=True)
class BlockPart:
    """BlockPart of a capability in one block of the grid.

    Attributes
    ----------
    block : int
        Number of the block.
    numbers : ndarray (n,) of int
        Indices of the capability's places in the block.
    part : GridCapabilityPlan
        Capability restricted to these places.
    plan : FdPlan
        Plan of the block, with the capabilities of the run.
    """

    block: int
    numbers: np.ndarray
    part: GridCapabilityPlan
    plan: FdPlan


class GridCapabilityPlan(CapabilityPlan):
    """Base class of planned, frozen capabilities on a grid; its methods are the defaults."""

    name: str
    on_surface = False
    """True if it reads the motion of the free surface, which the program then computes."""

    sources: Sources = Sources.of(())
    source_material: np.ndarray = np.zeros((0, 3))
    radiating: Sources = Sources.of(())
    boxed = False
    """True if it acts on or reads a whole box, which itself keeps its distance from faces between blocks."""
    acts_until: float = 0.0
    """Time [s] until which it drives the grid in ways that ``radiating`` does not include."""

    @property
    def must_match(self) -> Json:
        """Data that must be equal in a run that continues from a checkpoint."""
        return None

    @property
    def places(self) -> np.ndarray:
        """Places (n, 3) [m] at which it drives or reads the grid; empty if it acts elsewhere, within one block."""
        return np.zeros((0, 3))

    @property
    def forced(self) -> np.ndarray:
        """Mask (n,) of the places at which it drives velocities, not stresses alone."""
        return np.ones(len(self.places), bool)

    def select(self, numbers: np.ndarray) -> Self:
        """Return the capability restricted to the places ``numbers`` (n,)."""
        return self

    def locate(self, placing: PlacementContext) -> Self:
        """Return the capability positioned in the grid."""
        return self

    def check(self, checking: MaterialContext) -> Self:
        """Return the capability in the material, with all checks done."""
        return self

    def memory(self, steps: int, world: World) -> Memory | None:
        """Return the memory that it needs on the first process for a run of ``steps`` time steps.

        None if negligible.
        """
        return None

    def observers(self, box: Box, step: float) -> Sequence[Observer]:
        """Return its launches on the free surface of a box whose upper side is the surface.

        Arrays of the surface motion exist there if ``on_surface`` is True. ``step`` is the time step [s].
        """
        return ()

    def volume_observers(self, scheme: Scheme, box: Box) -> Sequence[Observer]:
        """Return its launches at all points of a box, which is the whole grid or the box of one process."""
        return ()

    def drive(self, plan: FdPlan) -> Drive | None:
        """Return the source injector of the capability, None if it drives nothing."""
        return None

    def sampler(self, plan: FdPlan) -> Sampler | None:
        """Return the sampler of the values that it reads after every step, None if it reads none."""
        return None

    def state(self, plan: FdPlan) -> Solution | None:
        """Return the initial wave field, None if the capability does not define it."""
        return None

    def attach(self, solver: Running) -> GridCapability:
        """Return the running counterpart of the capability on a solver."""
        return GridCapability()


@dataclass(frozen=True)
class StepCallback:
    """Callback of a run, ``act()``, after certain numbers of ``steps`` since the start.

    A pass of several fused steps ends at each of these numbers, so that the callback sees the state after exactly that
    step.
    """

    steps: frozenset[int]
    act: Callable[[], None]


def steps_at(interval: float, plan: FdPlan) -> frozenset[int]:
    """Return the numbers of steps, at least 1, that end nearest to the multiples of ``interval`` [s] above 0."""
    count = sample_count(plan.case.end_time, interval)
    return frozenset(max(1, round(k * interval / plan.scheme.step)) for k in range(1, count))


class GridCapability(Capability):
    """Base class of capabilities on a running grid solver; its methods are the defaults.

    All processes call every method after the same steps.
    """

    @property
    def after(self) -> Sequence[StepCallback]:
        """Callbacks during the run."""
        return ()

    def start(self, state: Solution | None) -> None:
        """Start a run from a wave field at time 0 (stresses) and half a step before (velocities).

        None means from rest.
        """

    def sampled(self, values: np.ndarray) -> None:
        """Take the values of its sampler after each of some steps, (steps, places, ...)."""


class ScheduledTable(TimeTable, GridCapability):
    """Table of a grid with rows nearest to the multiples of an interval; ``due`` are the numbers of steps."""

    due: frozenset[int]

    @property
    def after(self) -> Sequence[StepCallback]:
        return [StepCallback(self.due, self.record)]


class Running(Protocol):
    """Interface of the solver that capabilities use."""

    @property
    def plan(self) -> FdPlan: ...

    @property
    def operator(self) -> Operator: ...

    @property
    def samplers(self) -> Mapping[str, Sampler]:
        """Samplers by the name of their capability."""

    @property
    def parts(self) -> Mapping[str, GridCapability]:
        """Running capabilities by name."""


def needs_surface_motion(parts: Mapping[str, GridCapabilityPlan]) -> bool:
    """Return True if a capability reads the motion of the surface."""
    return any(part.on_surface for part in parts.values())


def observers(parts: Mapping[str, GridCapabilityPlan], scheme: Scheme, box: Box) -> list[Observer]:
    """Return the observers of all capabilities in a box of a grid or block, and on the surface above it."""
    found = [observer for part in parts.values() for observer in part.volume_observers(scheme, box)]
    if scheme.joined_above or not needs_surface_motion(parts) or box.hi[0] != scheme.grid.shape[0]:
        return found
    found.append(observe_surface(box, scheme.step, scheme.order))
    return found + [observer for part in parts.values() for observer in part.observers(box, scheme.step)]
