"""Stencils of the curvilinear cap below a topography.

There the grid's vertical lines are squeezed or stretched: z = r + height(x, y) rise(r), with r the level in the flat grid. With
J = 1 + height rise' (``stretch``) and the ground's slopes, velocities u along x, y, z stay what they are, and

    J du/dx = J D1 u - rise M1[slope_x Mz(Dz u)]                J du/dz = Dz u
    rho J du/dt = D1(J sxx) + D2(J sxy) + Dz[sxz - slope_x Mz(rise M1 sxx) - slope_y Mz(rise M2 sxy)]

and so on, with differences D and means M along each axis. As the differences of stresses are minus the adjoints of those of velocities,
and the means adjoints of each other, the second line is minus the adjoint of the first in the norm with weights J: energy is kept for
any material and any ground (O'Reilly et al. 2022, Bull. Seismol. Soc. Am. 112, with the staggered operators of O'Reilly & Petersson
2019). The free surface bears no traction across its slope: that is what the differences of ``differences`` impose.

Coefficients are kept over J: one over density and the moduli. So stresses, which are multiplied with J where they push, and strains
times J make the same statements as in the flat grid.

What is common to many of these terms is kept between levels, so that no mean runs over a square of points. In ``ACROSS`` that is the
difference Dz of each velocity, later the traction that pushes it. In ``MEANS`` it is the mean of that difference times the rise,
Mz(Dz u), later the stresses that act across a slope, slope_x M1 sxx + slope_y M2 sxy, of which the traction takes the mean Mz. A mean
along z and one along the planes can change places, because slopes depend on x and y alone and the rise on z alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from faultwave.fd.differences import DEEP, M1, M2, READ, grid_of, mean_weights, other, planes
from faultwave.fd.grid import HALF, Grid
from faultwave.fd.stencils import (
    FORCES,
    STRAINS,
    STRESS,
    VELOCITY,
    Place,
    Times,
    beside_end,
    damped,
    difference,
    in_layer,
    normal_stresses,
    shear_stress,
)
from faultwave.kernels.stencil import Axis, Point, Stencil

ACROSS = {"u": "across_u", "v": "across_v", "w": "across_w"}
"""Of each velocity: its difference across the planes of the grid, then the traction that pushes it."""
MEANS = {"u": "mean_u", "v": "mean_v", "w": "mean_w"}
"""Of each velocity, at its own points: the mean of that difference, then the stresses across the ground's slope."""
TRACTION = {"u": "sxz", "v": "syz", "w": "szz"}
ALONG: dict[str, tuple[tuple[str, Axis, bool], ...]] = {  # of each traction: stress, axis of its mean, whether it looks forward
    "u": (("sxx", "x", True), ("sxy", "y", False)),
    "v": (("sxy", "x", False), ("syy", "y", True)),
    "w": (("sxz", "x", False), ("syz", "y", False)),
}  # fmt: skip
PLACES = {(0, 0): "centre", (1, 0): "x", (0, 1): "y", (1, 1): "xy"}
"""Of points of a plane: at centres of cells, or half an edge further."""
MEAN = (M2, M1, M1, M2)
NEAR = len(MEAN)


def place_of(name: str) -> str:
    """Where a quantity's points lie in a plane."""
    return PLACES[HALF[name][:2]]


def ground(place: str) -> str:
    """The array of heights of the ground [m] above its lowest point."""
    return f"ground_{place}"


def slope(axis: Axis, place: str) -> str:
    """The array of its slopes."""
    return f"slope_{axis}_{place}"


def sheets() -> dict[str, tuple[str, Axis | None]]:
    """Arrays of one plane: (place, axis of the slope or None for the height)."""
    found: dict[str, tuple[str, Axis | None]] = {ground(place): (place, None) for place in PLACES.values()}
    return found | {slope(axis, place): (place, axis) for axis in ("x", "y") for place in ("centre", "x", "y")}


def share(kind: str, grid: str, number: int, surface: bool) -> str:
    """The profile of weights of a mean along z of what lives on planes of ``grid``, times the rise: that of the plane it is for in strains,
    that of the planes it is of in tractions."""
    return f"rise_{kind}_{grid}{number}" + "_surface" * surface


def profiles(top: int, rise: dict[str, np.ndarray], stretch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All profiles (top + 1,) along z; ``rise`` and its slope ``stretch`` [1/m] by grid, on planes 0 to ``top`` of the arrays."""
    found = {f"stretch_{grid}": values for grid, values in stretch.items()}
    levels = np.arange(top + 1)
    for grid in rise:
        last = top - (grid == "whole")
        table = mean_weights(grid)
        for kind, of in (("strain", rise[other(grid)]), ("traction", rise[grid])):
            for n, weight in enumerate(MEAN):
                at = levels if kind == "strain" else np.clip(levels + n - _behind(grid), 0, last)
                found[share(kind, grid, n, False)] = weight * of[at]
            for n, plane in enumerate(planes(grid, top)):
                factor = of[levels[-DEEP:]] if kind == "strain" else of[plane]
                found[share(kind, grid, n, True)] = np.r_[np.zeros(top + 1 - DEEP), table[:, n] * factor]
    return found


def _behind(grid: str) -> int:
    """How many planes behind the first of a mean of what lives on ``grid`` is."""
    return 2 if grid == "whole" else 1


def rise_at(grid: Grid, name: str, planes_of: np.ndarray) -> np.ndarray:
    """The rise on planes (...) of the arrays of a quantity."""
    assert grid.relief is not None
    return np.asarray(grid.relief.rise(grid.levels(grid_of(name)))[planes_of])


def slope_at(grid: Grid, name: str, axis: Axis, points: np.ndarray) -> np.ndarray:
    """The slope of the ground along x or y at points (..., 3) of a quantity, whatever their plane."""
    assert grid.relief is not None
    x, y = (grid.line(k, points[..., 2 - k], HALF[name]) for k in (0, 1))
    return grid.relief.slopes(x, y)["xy".index(axis)]


def stretched(p: Point, name: str, axis: Axis) -> Times:
    """J at the place of a quantity, so many points ahead along x or y."""
    place, along_z = place_of(name), p.line(f"stretch_{grid_of(name)}", "z")
    return lambda offset: 1.0 + p.on(ground(place), 0, **{axis: offset}) * along_z


def risen(p: Point, name: str, kind: str, place: Place) -> Any:
    """The mean along z of a quantity, times the rise: ``kind`` of weights as in ``share``."""
    grid, at_surface = grid_of(name), place.top is not None
    total: Any = None
    for n in range(READ if at_surface else NEAR):
        value = p.at(name, z=n - _behind(grid)) if place.top is None else p.on(name, int(planes(grid, place.top)[n]))
        term = p.line(share(kind, grid, n, at_surface), "z") * value
        total = term if total is None else total + term
    return total


def mean(values: Times, forward: bool) -> Any:
    """The mean along x or y of ``values`` so many points ahead, half a point ahead or behind."""
    first = -1 if forward else -2
    outer, inner = (values(first + n) + values(first + 3 - n) for n in (0, 1))
    return M2 * outer + M1 * inner


def vertical(p: Point, name: str, place: Place, forward: bool) -> Any:
    """The difference across planes, as everywhere."""
    return beside_end(p, name, place) if place.at_end else difference(p, name, "z", forward)


def gradients(place: Place) -> Stencil:
    """Differences of velocities across the planes of the grid."""

    def function(p: Point) -> dict[str, Any]:
        return {across: vertical(p, name, place, name != "w") for name, across in ACROSS.items()}

    return Stencil("gradients" + place.name, function)


def mean_gradients(place: Place) -> Stencil:
    """Their means, times the rise."""

    def function(p: Point) -> dict[str, Any]:
        return {MEANS[name]: risen(p, across, "strain", place) for name, across in ACROSS.items()}

    return Stencil("mean_gradients" + place.name, function)


def slope_forces() -> Stencil:
    """Stresses across the slope of the ground: on every plane alike, also beside the surface."""

    def function(p: Point) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for name, of in MEANS.items():
            along, aside = (_along(p, stress, axis, forward) for stress, axis, forward in ALONG[name])
            at = place_of(name)
            result[of] = p.on(slope("x", at), 0) * along + p.on(slope("y", at), 0) * aside
        return result

    return Stencil("slope_forces", function)


def _along(p: Point, name: str, axis: Axis, forward: bool) -> Any:
    return mean(lambda offset: p.at(name, **{axis: offset}), forward)


def tractions(place: Place) -> Stencil:
    """Tractions across the planes of the grid."""

    def function(p: Point) -> dict[str, Any]:
        return {
            across: p.at(TRACTION[name]) - risen(p, MEANS[name], "traction", place) for name, across in ACROSS.items()
        }

    return Stencil("tractions" + place.name, function)


def velocity(sponge: bool, place: Place) -> Stencil:
    """One step of the velocities."""

    def function(p: Point) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for name, axis in VELOCITY.items():
            total = vertical(p, ACROSS[name], place, name == "w")
            for of, along, forward in FORCES[name]:
                if along != "z":
                    d = difference(p, of, along, forward, stretched(p, of, along))
                    total = total + in_layer(p, d, along, forward, f"psi_{name}_{along}", place, result)
            result[name] = p.at(name) + p.at(f"b_{axis}") * total
        return damped(p, result, VELOCITY, sponge, place)

    return Stencil("velocity_cap" + "_sponge" * sponge + place.name, function)


def stress(attenuation: bool, sponge: bool, place: Place) -> Stencil:
    """One step of the stresses and memory variables."""

    def function(p: Point) -> dict[str, Any]:
        result: dict[str, Any] = {}

        def rate(of: str, name: str, axis: Axis, forward: bool) -> Any:
            """J times the derivative of a velocity along an axis, at the place of the stress ``name``."""
            if axis == "z":
                return p.at(ACROSS[of])
            d = in_layer(p, difference(p, of, axis, forward), axis, forward, f"psi_e{of}_{axis}", place, result)
            sheet = slope(axis, place_of(of))

            def across(offset: int) -> Any:
                return p.on(sheet, 0, **{axis: offset}) * p.at(MEANS[of], **{axis: offset})

            return stretched(p, name, axis)(0) * d - mean(across, forward)

        e = {axis: rate(of, f"s{axis}{axis}", axis, False) for of, axis in VELOCITY.items()}
        result |= normal_stresses(p, e, attenuation)
        for name, parts in STRAINS.items():
            first, second = (rate(of, name, axis, True) for of, axis in parts)
            result |= shear_stress(p, name, first + second, attenuation)
        return damped(p, result, STRESS, sponge, place)

    return Stencil("stress_cap" + "_q" * attenuation + "_sponge" * sponge + place.name, function)


__all__ = [
    "ACROSS",
    "MEAN",
    "MEANS",
    "gradients",
    "ground",
    "mean_gradients",
    "place_of",
    "profiles",
    "rise_at",
    "sheets",
    "slope",
    "slope_at",
    "slope_forces",
    "stress",
    "tractions",
    "velocity",
]
