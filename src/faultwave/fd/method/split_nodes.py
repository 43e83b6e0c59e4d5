"""Split nodes of a fault: position of the fault plane, and stencils near it, whose two sides may slide past each other.

The plane lies on centres of cells. Velocities along it, and stresses that act within it alone, have one value on each
side; arrays of the grid hold the values of the lower side, ``fault_plane.high`` names the arrays of the upper one. Each
side has differences across the plane with a summation-by-parts (SBP) closure and the norms

    on the plane, and one spacing from it: 11/24, 25/24;      half a spacing from it, and further: 1.

The differences of quantities on the plane, evaluated half a spacing from it, are (-25, 26, -1)/24; the others follow
from the SBP property. They are exact for linear functions, and their highest frequency is below the highest one of
interior differences. Where the sides do not slide, they combine to differences of second order that do not reach across
the plane.

The normal velocity is the same on both sides: the plane itself has no mass, and its velocity follows from the balance
of normal traction. Therefore tractions do no work except for friction with the slip rate, whatever the rock
(``docs/theory/grids.md``). In attenuating rock each side has memory variables of its own, that of the fault-normal
stress included, because the sides deform differently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.case.settings.grid import PlaneOfFault
from faultwave.fd.method.grid import Grid
from faultwave.fd.method.stencils import (
    AXES,
    SHEAR,
    STRAINS,
    STRESS,
    STRESS_DERIVATIVES,
    VELOCITY,
    StencilPlace,
    along_axis,
    damped,
    memory,
    normal_stresses,
    shear_stress,
    total,
)
from faultwave.kernels import math as m
from faultwave.kernels.expr import Named, Number
from faultwave.kernels.stencil import Axis, Box, Layout, Point, Stencil

MARGIN = 3
"""Points around the fault that are split without slipping; beyond them both sides move alike."""
EVEN = 1e-6
"""Tolerance relative to a spacing within which places coincide with points of the grid."""


@dataclass(frozen=True)
class FaultPlane:
    """Vertical plane of split points in a grid.

    Attributes
    ----------
    axis : {"x", "y"}
        Axis normal to the plane.
    index : int
        Number of the cells along that axis whose centres lie in the plane.
    first, end : tuple of int
        Range (z, along) of the split points.
    """

    axis: Axis
    index: int
    first: tuple[int, int]
    end: tuple[int, int]

    @property
    def along(self) -> Axis:
        """Horizontal axis in the plane."""
        return "y" if self.axis == "x" else "x"

    @property
    def normal(self) -> str:
        """Normal stress on the plane."""
        return f"s{self.axis}{self.axis}"

    @property
    def sliding(self) -> dict[Axis, str]:
        """Velocities that jump across the plane, by axis."""
        return {axis: name for name, axis in VELOCITY.items() if axis != self.axis}

    @property
    def doubled(self) -> tuple[str, ...]:
        """Quantities in the plane that differ between its sides; the arrays of the grid hold the lower side."""
        shear = next(name for name, axes in SHEAR.items() if self.axis not in axes)
        return (*self.sliding.values(), f"s{self.along}{self.along}", "szz", shear)

    @property
    def doubled_memory(self) -> tuple[str, ...]:
        """Memory variables in the plane that differ between its sides, in attenuating rock."""
        return tuple(memory(n) for n in (*self.doubled, self.normal) if n in STRESS)

    def sheet(self, box: Box) -> Box:
        """Return the part of a box within the plane."""
        k = "zyx".index(self.axis)
        lo, hi = list(box.lo), list(box.hi)
        lo[k], hi[k] = self.index, self.index + 1
        return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))

    def of_sheet(self, plane: np.ndarray) -> np.ndarray:
        """Return the part of a horizontal plane (ny, nx) of the grid within the fault plane."""
        at = slice(self.index, self.index + 1)
        return plane[at] if self.axis == "y" else plane[:, at]

    @property
    def box(self) -> Box:
        """Box of the split points."""
        k, a = "zyx".index(self.axis), "zyx".index(self.along)
        lo, hi = [self.first[0], 0, 0], [self.end[0], 0, 0]
        lo[a], hi[a], lo[k], hi[k] = self.first[1], self.end[1], self.index, self.index + 1
        return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))

    def layouts(self, box: Box, halo: int, attenuation: bool) -> dict[str, Layout]:
        """Return the layouts of the arrays of the upper side and of the locking tractions."""
        doubled = self.doubled + self.doubled_memory * attenuation
        names = (*(high(n) for n in doubled), *(locked(a) for a in self.sliding))
        return dict.fromkeys(names, Layout(self.sheet(box), group="split", halo=halo))


def high(name: str) -> str:
    """Return the name of the array of the upper side, the one of larger x or y."""
    return f"{name}_high"


def locked(axis: Axis) -> str:
    """Return the name of the array of the traction along an axis that would lock the fault."""
    return f"locked_{axis}"


def normal_axis(setting: PlaneOfFault) -> Axis:
    """Return the axis normal to a fault plane.

    Raises
    ------
    InputError
        If the plane is not vertical along x or y.
    """
    lower: np.ndarray = np.array(setting.lower)
    upper: np.ndarray = np.array(setting.upper)
    flat = np.flatnonzero(lower == upper).tolist()
    if len(flat) != 1 or flat[0] == 2 or (lower > upper).any():
        corners = " and ".join("({:g}, {:g}, {:g})".format(*c) for c in (lower, upper))
        advice = "Use engine: dg for faults that dip, bend, or strike in other directions."
        allowed = "corners of one vertical rectangle with the same x, or the same y"
        raise InputError(
            Problem("grid.fault", f"{corners} do not define a fault that a grid supports", allowed, advice)
        )
    return "x" if flat[0] == 0 else "y"


def plane_of(setting: PlaneOfFault, grid: Grid) -> FaultPlane:
    """Return the plane of a fault in a grid, moved to the nearest cell centres."""
    axis = normal_axis(setting)
    k = "xyz".index(axis)
    corner, h = np.array(grid.lower), grid.spacing
    lower: np.ndarray = (np.array(setting.lower) - corner) / h
    upper: np.ndarray = (np.array(setting.upper) - corner) / h
    index = round(float(lower[k]) - 0.5)
    first = [int(np.floor(lower[n])) - MARGIN for n in (2, 1 - k)]
    end = [int(np.ceil(upper[n])) + MARGIN + 1 for n in (2, 1 - k)]
    top = grid.shape[0]
    at_top = upper[2] > top - EVEN
    return FaultPlane(axis, index, (first[0], first[1]), (top + 1 if at_top else end[0], end[1]))


INSIDE = (1 / 24, -27 / 24, 27 / 24, -1 / 24)
FORWARD = {0: (0.0, -25 / 24, 26 / 24, -1 / 24), -1: (1 / 24, -26 / 24, 25 / 24, 0.0)}
"""Coefficients of differences half a point ahead, for points -1 to 2 ahead, by row relative to the plane."""
BACKWARD = {
    0: (1 / 22, -25 / 22, 25 / 22, -1 / 22),
    1: (0.0, -26 / 25, 27 / 25, -1 / 25),
    -1: (1 / 25, -27 / 25, 26 / 25, 0.0),
}
"""Coefficients of differences half a point behind, for points -2 to 1 ahead.

On the plane, where its sides move together.
"""
WEIGHTS = {0: 22 / 24, 1: 25 / 24, -1: 25 / 24}
"""Norm weights, by row, of quantities on cell centres across the plane.

Half of the weight on the plane for each side.
"""
INVERSE_SIDE_NORM = 24 / 11
"""Inverse norm weight of one side on the plane."""


class FaultRows(Enum):
    """Rows near a fault by their stencils; the values are parts of kernel names."""

    LOW = "fault_low"
    LOCKED = "fault_on"  # on the plane, where the sides move together
    SPLIT = "split"  # on the plane, where they may slide
    HIGH = "fault_high"


ROWS = {FaultRows.LOW: (-2, 0), FaultRows.LOCKED: (0, 1), FaultRows.HIGH: (1, 2)}
"""Rows relative to the plane that have stencils of their own; those on it are then divided."""


LINES = tuple(f"split_{way}{n}" for way in ("forward", "backward") for n in range(4))
"""Names of the profiles of differences across the plane."""


def lines(plane: FaultPlane, count: int) -> dict[str, np.ndarray]:
    """Return the profiles of differences across the plane, ``count`` points long."""
    found = {}
    for forward, tables in ((True, FORWARD), (False, BACKWARD)):
        for n in range(4):
            profile = np.full(count, INSIDE[n])
            for row, table in tables.items():
                profile[plane.index + row] = table[n]
            found[_line(forward, n)] = profile
    return found


def shares(plane: FaultPlane, name: str, count: int) -> np.ndarray:
    """Return the norm weights (ny, 1) or (nx,) of a quantity's points across the plane; on it, of the lower side."""
    found = np.ones(count)
    if on_centres(plane, name):
        for row, weight in WEIGHTS.items():
            found[plane.index + row] = weight if row else 1.0 / INVERSE_SIDE_NORM
    return found[:, None] if plane.axis == "y" else found


def upper_side_norm(plane: FaultPlane, name: str) -> float:
    """Return the norm weight of the upper side on the plane."""
    return 1.0 / INVERSE_SIDE_NORM if on_centres(plane, name) else 0.0


def on_centres(plane: FaultPlane, name: str) -> bool:
    """Return True if a quantity has values on the plane."""
    axes: tuple[str, ...] = SHEAR.get(name, (VELOCITY[name],) if name in VELOCITY else ())
    return plane.axis not in axes


def _line(forward: bool, number: int) -> str:
    return f"split_{'forward' if forward else 'backward'}{number}"


class _High:
    """Point of a stencil as seen by the upper side of the fault."""

    def __init__(self, point: Point, plane: FaultPlane):
        self.point, self.names = point, {n: high(n) for n in plane.doubled + plane.doubled_memory}
        self.line, self.parity, self.scalar = point.line, point.parity, point.scalar

    def at(self, name: str, x: int = 0, y: int = 0, z: int = 0) -> Number:
        return self.point.at(self.names.get(name, name), x=x, y=y, z=z)

    def on(self, name: str, plane: int, x: int = 0, y: int = 0) -> Number:
        return self.point.on(self.names.get(name, name), plane, x=x, y=y)


@dataclass(frozen=True)
class Rows:
    """Stencils of the rows near a fault.

    Attributes
    ----------
    plane : FaultPlane
    part : FaultRows
    """

    plane: FaultPlane
    part: FaultRows

    def velocity(self, sponge: bool, place: StencilPlace) -> Stencil:
        """Return the stencil of the velocities.

        At split nodes the sides move as if they were free, and the traction that would lock them is stored.
        """

        def function(p: Point) -> dict[str, Number]:
            result: dict[str, Number] = {}
            for name, axis in VELOCITY.items():
                if self.part is FaultRows.SPLIT and axis != self.plane.axis:
                    result |= self._free(p, name, axis, place)
                    continue
                result[name] = p.at(name) + p.at(f"b_{axis}") * self._force(p, name, place, result)
            result = damped(p, result, VELOCITY, sponge, place) if self.part is not FaultRows.SPLIT else result
            return result | self._mirror_to_upper_side(result)

        return Stencil(self._name("velocity", sponge, place), function)

    def stress(self, attenuation: bool, sponge: bool, place: StencilPlace) -> Stencil:
        """Return the stencil of the stresses."""

        def function(p: Point) -> dict[str, Number]:
            result: dict[str, Number] = {}
            if self.part is FaultRows.SPLIT:
                result |= self._split_stresses(p, attenuation, place)
            else:
                e = {axis: self._slope(p, p, of, axis, False, place, result) for of, axis in VELOCITY.items()}
                result |= normal_stresses(p, e, attenuation)
            for name, axes in SHEAR.items():
                if self.part is FaultRows.SPLIT and self.plane.axis not in axes:
                    continue
                parts = [self._slope(p, p, of, axis, True, place, result) for of, axis in STRAINS[name]]
                result |= shear_stress(p, name, parts[0] + parts[1], attenuation)
            result = damped(p, result, STRESS, sponge, place) if self.part is not FaultRows.SPLIT else result
            return result | self._mirror_to_upper_side(result)

        return Stencil(self._name("stress" + "_q" * attenuation, sponge, place), function)

    def _name(self, of: str, sponge: bool, place: StencilPlace) -> str:
        return f"{of}_{self.part.value}_{self.plane.axis}" + "_sponge" * sponge + place.name

    def _mirror_to_upper_side(self, result: Named) -> dict[str, Number]:
        """Return the values of the upper side where it moves with the lower one."""
        if self.part is not FaultRows.LOCKED:
            return {}
        return {high(n): result[n] for n in self.plane.doubled + self.plane.doubled_memory if n in result}

    def _force(self, p: Point, name: str, place: StencilPlace, result: dict[str, Number]) -> Number:
        return total(
            self._across(p, of, forward)
            if along == self.plane.axis
            else along_axis(p, of, along, forward, f"psi_{name}_{along}", place, result)
            for of, along, forward in STRESS_DERIVATIVES[name]
        )

    def _slope(
        self, p: Point, q: Point, of: str, axis: Axis, forward: bool, place: StencilPlace, result: dict[str, Number]
    ) -> Number:  # fmt: skip
        """Return the derivative of a velocity along an axis; ``q`` is the point as seen by one of the sides."""
        if axis == self.plane.axis:
            return self._across(p, of, forward)
        return along_axis(q, of, axis, forward, f"psi_e{of}_{axis}", place, result)

    def _across(self, p: Point, of: str, forward: bool) -> Number:
        """Return the difference across the plane, including dt/h and the unit of the coefficient that multiplies it."""
        axis, start, terms = self.plane.axis, -1 if forward else -2, list[Number]()
        on_plane = {FaultRows.HIGH: -1, FaultRows.LOCKED: 0, FaultRows.SPLIT: 0}.get(self.part)
        for n in range(4):
            upper = forward and start + n == on_plane and of in self.plane.doubled
            terms.append(p.line(_line(forward, n), axis) * p.at(high(of) if upper else of, **{axis: start + n}))
        return _share(p, of) * total(terms)

    def _side(self, p: Point, of: str, upper: bool) -> Number:
        """Return the value extrapolated to the plane from one side, times the norm there.

        The weights are 25/24 of the value half a spacing from the plane and -1/24 of the next.
        """
        near, far = (0, 1) if upper else (-1, -2)
        axis = self.plane.axis
        return (25 / 24) * p.at(of, **{axis: near}) - (1 / 24) * p.at(of, **{axis: far})

    def _free(self, p: Point, name: str, axis: Axis, place: StencilPlace) -> dict[str, Number]:
        """Return both sides of a velocity for unchanged traction on the plane, and the traction that would lock them."""
        moved, unused = [], dict[str, Number]()
        b = p.at(f"b_{axis}")
        for upper, q in ((False, p), (True, _High(p, self.plane))):
            forces: list[Number] = []
            for of, along, forward in STRESS_DERIVATIVES[name]:
                if along == self.plane.axis:
                    d = (INVERSE_SIDE_NORM if upper else -INVERSE_SIDE_NORM) * (
                        _share(p, of) * self._side(p, of, upper)
                    )
                else:
                    d = along_axis(q, of, along, forward, "", place, unused)
                forces.append(d)
            moved.append(q.at(name) + b * total(forces))
        lower, higher = moved
        freed = compliance(p, axis)
        moves = freed > 0.0
        return {
            name: lower,
            high(name): higher,
            locked(axis): m.where(moves, (higher - lower) / m.where(moves, freed, 0.0 * freed + 1.0), 0.0 * freed),
        }

    def _split_stresses(self, p: Point, attenuation: bool, place: StencilPlace) -> dict[str, Number]:
        """Return normal stresses and the in-plane shear stress of both sides, with their memory variables.

        The fault-normal stress is common to them.
        """
        plane, unused = self.plane, dict[str, Number]()
        upper_point = _High(p, plane)
        normal = next(name for name, axis in VELOCITY.items() if axis == plane.axis)
        sides: list[dict[Axis, Number]] = []
        for q in (p, upper_point):
            sides.append({a: self._slope(p, q, of, a, False, place, unused) for a, of in plane.sliding.items()})
        mean = (0.5 * INVERSE_SIDE_NORM) * (
            _share(p, normal) * (self._side(p, normal, True) - self._side(p, normal, False))
        )
        apart = 0.5 * self._apart(p, sides, attenuation)
        result: dict[str, Number] = {}
        shear = next(name for name, axes in SHEAR.items() if plane.axis not in axes)
        upper_names = plane.doubled + plane.doubled_memory
        for q, e, own, name_of in ((p, sides[0], mean + apart, str), (upper_point, sides[1], mean - apart, high)):
            whole = {a: own if a == plane.axis else e[a] for a in AXES}
            made = normal_stresses(q, whole, attenuation)
            parts = [self._slope(p, q, of, a, True, place, unused) for of, a in STRAINS[shear]]
            made |= shear_stress(q, shear, parts[0] + parts[1], attenuation)
            result |= {name_of(n): v for n, v in made.items() if name_of is str or n in upper_names}
        return result

    def _apart(self, p: Point, sides: Sequence[Mapping[Axis, Number]], attenuation: bool) -> Number:
        """Return the fault-normal strain increment of the lower side less that of the upper one.

        With it both sides have the same change of fault-normal stress. ``sides`` holds the increments along the plane.
        """
        lam, mu2 = p.at("lam"), p.at("mu2")
        along, across = lam, lam + mu2
        if attenuation:  # what a step adds to the memory variables reduces the moduli
            shear = p.at("defect_s") * mu2
            volume = p.at("defect_p") * (lam + mu2) - shear
            along, across = lam - p.parity("B") * volume, across - p.parity("B") * (volume + shear)
        some = across > 0.0
        stiff = m.where(some, across, 0.0 * across + 1.0)
        areas = [sum(e[a] for a in self.plane.sliding) for e in sides]
        found = m.where(some, along / stiff, 0.0 * across) * (areas[1] - areas[0])
        if not attenuation:
            return found
        name = memory(self.plane.normal)
        relaxes = (1.0 + p.parity("A")) * (p.at(high(name)) - p.at(name))
        return found + m.where(some, relaxes / stiff, 0.0 * across)


def compliance(p: Point, axis: Axis) -> Number:
    """Return the decrease of the slip rate in a step per increase of traction along an axis of the plane [m/s/Pa]."""
    return (2.0 * INVERSE_SIDE_NORM) * (p.scalar("share_s") * p.at(f"b_{axis}"))


def _share(p: Point, of: str) -> Number:
    return p.scalar("share_v" if of in VELOCITY else "share_s")


def regions(plane: FaultPlane, part: FaultRows, region: Box, in_layer: bool) -> list[tuple[Rows, Box]]:
    """Return stencils and boxes of a region of rows; on the plane, split nodes are separated from locked ones."""
    if part is not FaultRows.LOCKED or in_layer:
        return [(Rows(plane, part), region)]
    rest, found = region, []
    for k, axis in enumerate("zyx"):
        if axis == plane.axis:
            continue
        for lo, hi in ((rest.lo[k], plane.box.lo[k]), (plane.box.hi[k], rest.hi[k])):
            a, b = max(rest.lo[k], lo), min(rest.hi[k], hi)
            if a < b:
                found.append((Rows(plane, part), _bounded(rest, k, a, b)))
        a, b = max(rest.lo[k], plane.box.lo[k]), min(rest.hi[k], plane.box.hi[k])
        if a >= b:
            return found
        rest = _bounded(rest, k, a, b)
    return [*found, (Rows(plane, FaultRows.SPLIT), rest)]


def _bounded(box: Box, axis: int, first: int, end: int) -> Box:
    lo, hi = list(box.lo), list(box.hi)
    lo[axis], hi[axis] = first, end
    return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))
