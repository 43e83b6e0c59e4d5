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

What is common to many of these terms is kept between levels, so that no mean runs over a square of points. In ``MEANS`` that is, before
stresses, the mean of the difference times the rise, Mz(Dz u) rise. Before velocities it is the stresses that act across a slope, times
the rise, (slope_x M1 sxx + slope_y M2 sxy) rise, of which forces take the difference of the mean, Dz Mz. A mean along z and one along the
planes can change places, because slopes depend on x and y alone and the rise on z alone. Mean and difference along z are one formula,
seven planes wide, in which the point's own plane does not enter.
"""

from __future__ import annotations

import functools
import itertools
import operator
from typing import Any

import numpy as np

from faultwave.fd.differences import BENT, BENT_DEEP, M1, M2, bent_line, bent_planes, bent_weights, grid_of
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
from faultwave.kernels.math import named
from faultwave.kernels.stencil import Axis, Point, Stencil

MEANS = {"u": "mean_u", "v": "mean_v", "w": "mean_w"}
"""Of each velocity, at its own points: the mean of its difference across planes, then the stresses across the ground's slope."""
TRACTION = {"u": "sxz", "v": "syz", "w": "szz"}
ALONG: dict[str, tuple[tuple[str, Axis, bool], ...]] = {  # of each traction: stress, axis of its mean, whether it looks forward
    "u": (("sxx", "x", True), ("sxy", "y", False)),
    "v": (("sxy", "x", False), ("syy", "y", True)),
    "w": (("sxz", "x", False), ("syz", "y", False)),
}  # fmt: skip
PLACES = {(0, 0): "centre", (1, 0): "x", (0, 1): "y", (1, 1): "xy"}
"""Of points of a plane: at centres of cells, or half an edge further."""
MEAN = (M2, M1, M1, M2)


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


def weights() -> list[tuple[str, float]]:
    """Numbers of means of differences along z, away from the surface."""
    return [(f"m{n}", weight) for n, weight in enumerate(BENT, 1)]


def profiles(top: int, rise: dict[str, np.ndarray], stretch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All profiles (top + 1,) along z; ``rise`` and its slope ``stretch`` [1/m] by grid, on planes 0 to ``top`` of the arrays."""
    found = {f"stretch_{grid}": values for grid, values in stretch.items()}
    found |= {f"rise_{grid}": values for grid, values in rise.items()}
    below = np.zeros(top + 1 - BENT_DEEP)
    for grid, stresses in itertools.product(rise, (False, True)):
        table = bent_weights(grid, stresses)
        found |= {bent_line(grid, stresses, n): np.r_[below, values] for n, values in enumerate(table.T)}
    return found


def rise_at(grid: Grid, name: str, planes_of: np.ndarray) -> np.ndarray:
    """The rise on planes (...) of the arrays of a quantity; on the face to a grid below, which is plane -1, that of the lowest: zero."""
    assert grid.relief is not None
    return np.asarray(grid.relief.rise(grid.levels(grid_of(name)))[np.maximum(planes_of, 0)])


def slope_at(grid: Grid, name: str, axis: Axis, points: np.ndarray) -> np.ndarray:
    """The slope of the ground along x or y at points (..., 3) of a quantity, whatever their plane."""
    assert grid.relief is not None
    x, y = (grid.line(k, points[..., 2 - k], HALF[name]) for k in (0, 1))
    return grid.relief.slopes(x, y)["xy".index(axis)]


def stretched(p: Point, name: str, axis: Axis) -> Times:
    """J at the place of a quantity, so many points ahead along x or y."""
    place, along_z = place_of(name), p.line(f"stretch_{grid_of(name)}", "z")
    return lambda offset: 1.0 + p.on(ground(place), 0, **{axis: offset}) * along_z


def bent(p: Point, name: str, place: Place) -> Any:
    """The mean along z of the difference along z, or the difference of the mean, at the quantity's own place; with the factors of a
    difference."""
    grid, stresses = grid_of(name), name not in VELOCITY
    kind = "s" if stresses else "v"
    if place.near is None:
        terms = [p.scalar(f"m{n}{kind}") * (p.at(name, z=n) - p.at(name, z=-n)) for n in range(1, len(BENT) + 1)]
        return named(f"mean_d{name}_dz", functools.reduce(operator.add, terms))
    listed = enumerate(bent_planes(grid, place.near).tolist())
    terms = [p.line(bent_line(grid, stresses, n), "z") * p.on(name, plane) for n, plane in listed]
    return named(f"mean_d{name}_dz", p.scalar(f"share_{kind}") * functools.reduce(operator.add, terms))


def raised(p: Point, name: str) -> Any:
    """The rise at the planes of a quantity."""
    return p.line(f"rise_{grid_of(name)}", "z")


def mean(values: Times, forward: bool) -> Any:
    """The mean along x or y of ``values`` so many points ahead, half a point ahead or behind."""
    first = -1 if forward else -2
    outer, inner = (values(first + n) + values(first + 3 - n) for n in (0, 1))
    return M2 * outer + M1 * inner


def vertical(p: Point, name: str, place: Place, forward: bool) -> Any:
    """The difference across planes, as everywhere."""
    return beside_end(p, name, place) if place.at_end else difference(p, name, "z", forward)


def mean_gradients(place: Place) -> Stencil:
    """Means of the differences of velocities across the planes of the grid, times the rise."""

    def function(p: Point) -> dict[str, Any]:
        return {mean_of: raised(p, name) * bent(p, name, place) for name, mean_of in MEANS.items()}

    return Stencil("mean_gradients" + place.name, function)


def slope_forces() -> Stencil:
    """Stresses across the slope of the ground, times the rise: on every plane alike, also beside the surface."""

    def function(p: Point) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for name, of in MEANS.items():
            along, aside = (_along(p, stress, axis, forward) for stress, axis, forward in ALONG[name])
            at = place_of(name)
            result[of] = raised(p, name) * (p.on(slope("x", at), 0) * along + p.on(slope("y", at), 0) * aside)
        return result

    return Stencil("slope_forces", function)


def _along(p: Point, name: str, axis: Axis, forward: bool) -> Any:
    return mean(lambda offset: p.at(name, **{axis: offset}), forward)


def velocity(sponge: bool, place: Place) -> Stencil:
    """One step of the velocities."""

    def function(p: Point) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for name, axis in VELOCITY.items():
            total = vertical(p, TRACTION[name], place, name == "w") - bent(p, MEANS[name], place)
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
                return vertical(p, of, place, of != "w")
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
    "MEAN",
    "MEANS",
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
    "velocity",
    "weights",
]
