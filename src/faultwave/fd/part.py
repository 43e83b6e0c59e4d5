"""What a capability of the engine fd says of itself: one file each in ``fd/parts``.

A module there has a function ``plan(planning)`` that gives a ``GridPart``, or None where the case does not ask for it. The part is
planned in the order in which things become known, and collects problems on the way: ``plan`` knows the case and its files, ``placed`` the
grid, ``checked`` the material and the step. ``attach`` gives its living half.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np

from faultwave.base.errors import Problem, Problems
from faultwave.base.projection import Projection
from faultwave.case.model import Case
from faultwave.case.plausibility import advice_outside
from faultwave.comm import World
from faultwave.engine.part import Attached, Planned
from faultwave.fd.drives import Drive
from faultwave.fd.grid import Grid, SideKind
from faultwave.fd.laid import Laid
from faultwave.fd.media import Medium
from faultwave.fd.operator import Machine, Operator, Shared
from faultwave.fd.points import Sampler, outside
from faultwave.fd.program import Observer, Scheme
from faultwave.fd.resources import Memory
from faultwave.fd.topography import placed
from faultwave.kernels.stencil import Box
from faultwave.media.attenuation import Relaxation
from faultwave.media.field import Field
from faultwave.observe.points import exchange_advice
from faultwave.physics.sources.table import Sources
from faultwave.physics.waves import Law

Solution = Callable[[np.ndarray, float], np.ndarray]
"""Values (n, 9) of the wave field at points (n, 3) [m] and a time [s]."""


@dataclass(frozen=True)
class Planning:
    """The case, its law, the box asked for (3,) [m] and its sides; what is wrong goes to ``problems``."""

    case: Case
    law: Law
    lower: np.ndarray
    upper: np.ndarray
    sides: Mapping[str, SideKind]
    problems: Problems


@dataclass(frozen=True)
class Placing:
    """The grid, which is the uppermost of its ``blocks``, and the box of whole cells (3,) [m] that its layers surround."""

    case: Case
    law: Law
    grid: Grid
    lower: np.ndarray
    upper: np.ndarray
    problems: Problems
    blocks: tuple[Laid, ...] = ()
    """From the uppermost down."""

    @property
    def faces(self) -> tuple[float, ...]:
        """Heights [m] of the faces between blocks, from the uppermost down."""
        return tuple(float(block.lower[2]) for block in self.blocks[:-1])

    @property
    def order(self) -> int:
        """Of differences in the uppermost block."""
        return self.blocks[0].order

    def block_at(self, z: np.ndarray) -> np.ndarray:
        """Numbers of the blocks in which heights z (n,) [m] lie."""
        return np.asarray((np.asarray(z)[:, None] < np.array(self.faces)).sum(1))

    def of_block(self, number: int) -> Placing:
        """Of one block alone."""
        if len(self.blocks) == 1:
            return self
        block = self.blocks[number]
        return replace(self, grid=block.grid, lower=block.lower, upper=block.upper, blocks=(block,))

    @property
    def surface(self) -> tuple[int, int]:
        """Points of the surface along x and y, without layers."""
        nx, ny = np.round((self.upper - self.lower) / self.grid.spacing).astype(int)[:2].tolist()
        return nx, ny

    def check_inside(self, named: Sequence[tuple[str, np.ndarray]], what: str = "") -> None:
        """Errors of what (name, place) lies outside of the box; z of ``what``, receivers for example, may have been given as depth."""
        for (name, p), distance in zip(named, self.outside(np.array([p for _, p in named])), strict=True):
            if distance > 0:
                x = ", ".join(f"{v:g}" for v in p)
                self.problems.error(
                    f"{name} at ({x})",
                    f"lies {distance:.6g} m outside the box" + self.above(p, what),
                    f"a point in {self.box} m",
                    self.exchanged(p, float(distance)),
                    places=[p],
                )

    def outside(self, points: np.ndarray) -> np.ndarray:
        """How far (n,) [m] points (n, 3) lie outside of the box."""
        return np.asarray(outside(self.grid, self.lower, self.upper, points.reshape(-1, 3)))

    def exchanged(self, point: np.ndarray, distance: float) -> str:
        """Return that a point so far outside would be in the box with its longitude and latitude, depth or unit changed, if it would."""
        exchanged = exchange_advice(self.case.projection, point, distance, self.lower, self.upper)
        return exchanged or advice_outside(point, self.lower, self.upper)

    def above(self, point: np.ndarray, what: str) -> str:
        """That a point of sources or receivers (``what``) is above the ground, if it is, for messages."""
        if self.grid.relief is None:
            return ""
        ground = float(self.grid.relief.ground(np.clip(point, self.lower, self.upper)))
        setting = None if self.case.grid is None else self.case.grid.topography
        deep = getattr(setting, what, None) == "depth"
        signs = "; given as depth, z is negative: -500 is 500 m deep" * deep
        return f", above the ground, which is at z = {ground:.6g} m there{signs}" if point[2] > ground else ""

    def located(self, points: np.ndarray, what: str, references: np.ndarray | None = None) -> np.ndarray:
        """Return places (n, 3) [m] of sources or receivers (``what``), whose z may be depth below the ground: as the case says, or as
        ``references`` (n,) do."""
        setting = None if self.case.grid is None else self.case.grid.topography
        return placed(self.grid.relief, points, None if setting is None else getattr(setting, what), references)

    @property
    def box(self) -> str:
        """Its extent, for messages."""
        if self.grid.relief is not None:
            sides = " x ".join(f"[{a:g}, {b:g}]" for a, b in zip(self.lower[:2], self.upper[:2], strict=True))
            return f"{sides} x [{self.lower[2]:g}, ground]"
        return " x ".join(f"[{a:g}, {b:g}]" for a, b in zip(self.lower, self.upper, strict=True))


@dataclass(frozen=True)
class Checking:
    """The material, also ``coarse``: rho, lambda and mu on a lattice of the box; the frequency [Hz] that is resolved everywhere, the step
    [s] and how many; of the blocks, from the uppermost down, what each feels of the material, and its grid and the box of this process."""

    placing: Placing
    field: Field
    coarse: Mapping[str, np.ndarray]
    sides: Mapping[str, SideKind]
    resolved: float
    step: float
    steps: int
    media: Sequence[Medium]
    blocks: Sequence[tuple[Grid, Box]]
    world: World = World()

    def of_block(self, number: int) -> Checking:
        """Of one block alone."""
        media, blocks = [self.media[number]], [self.blocks[number]]
        return replace(self, placing=self.placing.of_block(number), media=media, blocks=blocks)

    @property
    def medium(self) -> Medium:
        """Of the uppermost block."""
        return self.media[0]

    @property
    def case(self) -> Case:
        return self.placing.case

    @property
    def box(self) -> Box:
        """Of this process in the uppermost block."""
        return self.blocks[0][1]

    @property
    def problems(self) -> Problems:
        return self.placing.problems


@dataclass(frozen=True)
class FdPlan:
    """Frozen answer to: what exactly will be computed. ``lower`` and ``upper`` (3,) [m] bound the box asked for, which
    absorbing layers surround."""

    case: Case
    law: Law
    scheme: Scheme
    lower: np.ndarray
    upper: np.ndarray
    medium: Medium
    relaxation: Relaxation | None
    frequency: float  # resolved everywhere [Hz]
    steps: int
    parts: Mapping[str, GridPart]
    warnings: tuple[Problem, ...]
    material: Field  # as the case gives it
    shared: Shared | None = None  # where other processes have the rest of the grid
    below: tuple[FdPlan, ...] = ()  # blocks of larger spacing below this one, without parts
    notes: tuple[str, ...] = ()  # what was chosen for the case, and why
    seconds: float = 0.0  # that planning took, with libraries where the process began with it

    def __repr__(self) -> str:
        name = self.case.title or self.case.output.prefix
        return f"<Plan '{name}': {self.points:,} grid points, {self.steps:,} steps>"

    @property
    def machine(self) -> Machine:
        """What computes."""
        numerics = self.case.numerics
        return Machine(numerics.backend, numerics.precision, numerics.threads)

    @property
    def projection(self) -> Projection | None:
        """How x and y become longitude and latitude."""
        p = self.case.projection
        return None if p is None else Projection(p.crs, p.origin, p.azimuth)

    @property
    def world(self) -> World:
        """The processes of the run."""
        return self.shared.world if self.shared else World()

    @property
    def points(self) -> int:
        """Of the whole grid."""
        return sum(block.scheme.grid.box.points for block in self.blocks)

    @property
    def blocks(self) -> tuple[FdPlan, ...]:
        """Of the grid, from the uppermost down."""
        return (self, *self.below)

    def shares(self, part: GridPart) -> list[Share]:
        """Of a part: what of its places lies in each block that holds some."""
        places = part.places
        if not self.below:
            return [Share(0, np.arange(len(places)), part, self)]
        floors = np.array([block.scheme.grid.lower[2] for block in self.blocks[:-1]])
        number = (places[:, 2, None] < floors).sum(1)
        listed = [(n, np.flatnonzero(number == n), block) for n, block in enumerate(self.blocks)]
        return [Share(n, numbers, part.some(numbers), block) for n, numbers, block in listed if len(numbers)]

    @property
    def box(self) -> Box:
        """What this process computes on."""
        return self.shared.subdomain.box if self.shared else self.scheme.grid.box

    @property
    def sources(self) -> Sources:
        """Point sources of all parts."""
        return Sources.joined([part.sources for part in self.parts.values()])

    @property
    def source_material(self) -> np.ndarray:
        """Lambda, mu and rho (n, 3) at the sources."""
        return np.concatenate([np.zeros((0, 3)), *(part.source_material for part in self.parts.values())])

    @property
    def radiating(self) -> Sources:
        """All that radiates: its time functions and strengths, wherever it acts."""
        return Sources.joined([part.radiating for part in self.parts.values()])


@dataclass(frozen=True)
class Share:
    """What of a part lies in the block number ``block``: the ``numbers`` of its places, the part with these, the plan of the block."""

    block: int
    numbers: np.ndarray
    part: GridPart
    plan: FdPlan


class GridPart(Planned):
    """A planned capability, frozen; what does not apply stays as it is here."""

    name: str
    on_surface = False
    """Whether it looks at the motion of the free surface, which the program then computes."""

    sources: Sources = Sources.of(())
    source_material: np.ndarray = np.zeros((0, 3))
    radiating: Sources = Sources.of(())
    boxed = False
    """Whether it pushes or reads around a box, which keeps away from faces between blocks by itself."""
    acts_until: float = 0.0
    """Time [s] until which it pushes the grid in ways that ``radiating`` does not tell."""
    must_match: Any = None
    """What must be the same in a run that goes on from a checkpoint, as JSON."""

    @property
    def places(self) -> np.ndarray:
        """Where (n, 3) [m] it pushes or reads the grid; what a part has elsewhere is in one block."""
        return np.zeros((0, 3))

    @property
    def forced(self) -> np.ndarray:
        """At which (n,) of its places it pushes velocities, not stresses alone."""
        return np.ones(len(self.places), bool)

    def some(self, numbers: np.ndarray) -> Self:
        """The same with some of its places only."""
        return self

    def placed(self, placing: Placing) -> Self:
        """The same where it lies in the grid."""
        return self

    def checked(self, checking: Checking) -> Self:
        """The same in the material, all its checks done."""
        return self

    def memory(self, steps: int, world: World) -> Memory | None:
        """What it keeps of a run of so many steps, on the first process."""
        return None

    def observers(self, box: Box, step: float) -> Sequence[Observer]:
        """What the program computes for it in a box whose upper side is the surface; its motion is there, where it is asked for."""
        return ()

    def volume_observers(self, scheme: Scheme, box: Box) -> Sequence[Observer]:
        """What the program computes for it at all points of a box, which may be the whole grid's or that of one process."""
        return ()

    def drive(self, plan: FdPlan) -> Drive | None:
        """How it pushes the grid."""
        return None

    def sampler(self, plan: FdPlan) -> Sampler | None:
        """What it reads after every step."""
        return None

    def state(self, plan: FdPlan) -> Solution | None:
        """The wave field with which a run begins, where it is the part's."""
        return None

    def attach(self, solver: Running) -> GridAttached:
        """Its living half."""
        return GridAttached()


@dataclass(frozen=True)
class AfterSteps:
    """``act()`` is called after so many steps since the start; those of a pass that end between them are taken together."""

    steps: frozenset[int]
    act: Callable[[], None]


class GridAttached(Attached):
    """A part on a solver of a grid; what does not apply stays as it is here. All processes call everything at the same steps."""

    @property
    def after(self) -> Sequence[AfterSteps]:
        """What it does while the run goes on."""
        return ()

    def start(self, state: Solution | None) -> None:
        """The run begins with this state, at time zero and half a step before it; with rest, if None."""

    def sampled(self, values: np.ndarray) -> None:
        """What its sampler saw after each of some steps, (steps, places, ...)."""


class Running(Protocol):
    """A solver, as parts see it."""

    @property
    def plan(self) -> FdPlan: ...

    @property
    def operator(self) -> Operator: ...

    @property
    def samplers(self) -> Mapping[str, Sampler]:
        """By part."""


def surface_needed(parts: Mapping[str, GridPart]) -> bool:
    """Whether a part looks at the motion of the surface."""
    return any(part.on_surface for part in parts.values())


__all__ = [
    "AfterSteps",
    "Checking",
    "FdPlan",
    "GridAttached",
    "GridPart",
    "Placing",
    "Planning",
    "Running",
    "Solution",
    "surface_needed",
]
