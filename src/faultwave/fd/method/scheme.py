"""Discretisation of a block of the grid, and the levels of a time step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum

import numpy as np

from faultwave.fd.method.absorbing import Absorber, AbsorberKind
from faultwave.fd.method.differences import CURVILINEAR_PLANES, LOWS, WEIGHTS, Ends, Weights
from faultwave.fd.method.grid import Grid, SideKind, periodic_axes
from faultwave.fd.method.split_nodes import FaultPlane
from faultwave.kernels.overlap import FAR
from faultwave.kernels.stencil import REACH, Axis, Box, Layout

PLANES_BELOW_CURVILINEAR = 4
"""Planes below the lowest curvilinear one that are computed as curvilinear, because it reads them."""


class PlaneKind(StrEnum):
    """Kind of a plane by its distance from the ends of the grid along z; planes of a kind have the same stencils.

    Attributes
    ----------
    LOW
        Next to the face to a grid below.
    INSIDE
        Away from both ends.
    INSIDE_UPPER
        Near the upper end.
    LAST
        Next below the surface; the upper shear stresses of its cells are on the surface.
    SURFACE
        On the surface.
    """

    LOW = "low"
    INSIDE = "inside"
    INSIDE_UPPER = "inside_upper"
    LAST = "last"
    SURFACE = "surface"


class Level(IntEnum):
    """Level of a time step, in which launches update quantities that only depend on other levels.

    Attributes
    ----------
    VELOCITY, STRESS
        Updates of velocities and of stresses, after which sources act.
    LOSS, YIELD
        In rock that yields, after the stresses: fraction of the deviator lost at centres, then the reduced stresses.
    FRICTION, VERTICAL_FRICTION
        On a fault, between velocities and stresses: friction of horizontal, then of vertical slip. Only the second reads a
        plane above its own, so that a pass needs no more planes in cache than without a fault.
    """

    VELOCITY = 0
    STRESS = 1
    LOSS = 2
    YIELD = 3
    FRICTION = 4
    VERTICAL_FRICTION = 5


LEVELS = 2
"""Number of levels after which sources act: those of velocities and of stresses."""


@dataclass(frozen=True)
class Scheme:
    """Discretisation of a block: all that the program, sources and receivers depend on.

    Attributes
    ----------
    grid : Grid
    step : float
        Time step [s].
    speed : float
        Largest P speed [m/s].
    sides : mapping of str to SideKind
        Boundary condition of each side.
    absorber : Absorber
        Absorbing layers.
    attenuation : bool
        True if stresses have memory variables.
    order : int
        Order of spatial differences, 4 or 8.
    border : tuple of int or None
        First plane and end of the planes around fluid-solid interfaces (``fd.method.fluid_solid_interface``).
    joined_above, joined_below : bool
        True if another grid adjoins in that direction.
    yields : bool
        True if rock yields beyond its strength.
    fault : FaultPlane or None
        Plane on which nodes are split.
    """

    grid: Grid
    step: float
    speed: float
    sides: Mapping[str, SideKind]
    absorber: Absorber
    attenuation: bool
    order: int = 4
    border: tuple[int, int] | None = None
    joined_above: bool = False
    joined_below: bool = False
    yields: bool = False
    fault: FaultPlane | None = None

    @property
    def differences(self) -> Weights:
        """Difference weights of the scheme's order."""
        return WEIGHTS[self.order]

    @property
    def deep(self) -> int:
        """Number of planes below a free surface or a face to a grid above whose stencils differ from interior ones."""
        return self.differences.deep if self.cap is None else CURVILINEAR_PLANES

    @property
    def reach(self) -> int:
        """Number of points to either side that stencils read."""
        return self.differences.reach

    @property
    def weights(self) -> tuple[tuple[str, float], ...]:
        """Difference weights away from the free surface, by the names that stencils use."""
        return tuple((f"c{n}", c) for n, c in enumerate(self.differences.inside, 1))

    @property
    def ends(self) -> Ends:
        """Closures of the differences at the ends of the grid along z."""
        return Ends(self.grid.shape[0], self.free_surface, self.joined_above, self.joined_below, self.order)

    @property
    def levels(self) -> Mapping[Level, int]:
        """Numbers of the program's levels.

        With a topography, velocities and stresses each come after a level of preparations of the curvilinear layer. On a
        fault, friction comes between velocities and stresses.
        """
        if self.fault is not None:
            return {Level.VELOCITY: 0, Level.FRICTION: 1, Level.VERTICAL_FRICTION: 2, Level.STRESS: 3}
        velocity, stress = (0, 1) if self.cap is None else (1, 3)
        yielding = {Level.LOSS: stress + 1, Level.YIELD: stress + 2} if self.yields else {}
        return {Level.VELOCITY: velocity, Level.STRESS: stress} | yielding

    @property
    def stages(self) -> tuple[tuple[int, ...], ...]:
        """Levels that run together between two exchanges with adjoining grids; empty without such grids."""
        if not (self.joined_above or self.joined_below):
            return ()
        before = 1 if self.cap is None else 2
        return tuple(range(before)), tuple(range(before, 2 * before + 2 * self.yields))

    @property
    def interior_planes(self) -> tuple[int, int]:
        """First plane and end of the planes whose differences do not involve a face to another grid."""
        first = LOWS[self.order] - 1 if self.joined_below else -FAR
        return first, self.grid.shape[0] + 1 - self.differences.deep if self.joined_above else FAR

    @property
    def sponge(self) -> bool:
        """True if sponges absorb waves."""
        return self.absorber.kind == AbsorberKind.SPONGE and SideKind.ABSORBING in self.sides.values()

    @property
    def free_surface(self) -> bool:
        return self.sides["z+"] == SideKind.FREE_SURFACE

    @property
    def periodic(self) -> frozenset[Axis]:
        return periodic_axes(self.sides)

    @property
    def cap(self) -> int | None:
        """Lowest plane of the curvilinear layer below a topography, None without one."""
        relief = self.grid.relief
        if relief is None:
            return None
        return int(np.floor((relief.bottom - self.grid.lower[2]) / self.grid.spacing)) - PLANES_BELOW_CURVILINEAR

    def across(self, box: Box) -> Box | None:
        """Return the box of intermediate arrays of the curvilinear layer within ``box``.

        None if the layer is not in it.
        """
        if self.cap is None or box.hi[0] <= self.cap - REACH:
            return None
        return Box((max(box.lo[0], self.cap - REACH), *box.lo[1:]), box.hi)

    def last_level(self, level: Level) -> int:
        """Return the number of the level after which velocities or stresses are read.

        Stresses are read after yielding, velocities after friction.
        """
        if level is Level.VELOCITY and self.fault is not None:
            return self.levels[Level.VERTICAL_FRICTION]
        return self.levels[Level.YIELD if level is Level.STRESS and self.yields else level]

    def observed_level(self, level: Level) -> int:
        """Return the number of the level after which observers act on velocities or stresses."""
        return self.last_level(level) if level is Level.VELOCITY else self.levels[level]

    def together(self, box: Box) -> int | None:
        """Return the lowest plane of ``box`` from which levels are run on all planes at once; None if there is none."""
        if not self.surfaced(box):
            return None
        return self.grid.shape[0] + 1 - self.deep - (self.cap is not None)  # curvilinear stencils read a plane farther

    def surfaced(self, box: Box) -> bool:
        """Return True if a free surface or a face to a grid above bounds ``box``.

        Quantities on half planes then have one more plane, which lies on it.
        """
        return self.ends.upper and box.hi[0] == self.grid.shape[0]

    def filled(self, box: Box) -> Box:
        """Return ``box`` with the planes on the free surface and on faces to other grids that bound it."""
        lowest = box.lo[0] - (self.joined_below and box.lo[0] == 0)
        return Box((lowest, *box.lo[1:]), (box.hi[0] + self.surfaced(box), *box.hi[1:]))


def line_of(scheme: Scheme, box: Box, axis: Axis) -> Layout:
    """Return the layout of a profile along an axis of the grid.

    Along a periodic axis it covers ``box``, which may extend beyond the ends of the grid.
    """
    return Layout(scheme.filled(box if axis in scheme.periodic else scheme.grid.box), "line", axis)


def above(box: Box) -> Box:
    """Return the plane above the last one of a box."""
    (_, y0, x0), (nz, y1, x1) = box.lo, box.hi
    return Box((nz, y0, x0), (nz + 1, y1, x1))
