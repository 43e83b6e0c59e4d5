"""Stencils of the curvilinear layer below a topography.

There the vertical grid lines are compressed or stretched: z = r + height(x, y) rise(r), with r the level in the flat
grid. With J = 1 + height rise' (``stretch``) and the slopes of the ground, the velocities u along x, y, z are
unchanged, and

    J du/dx = J D1 u - rise M1[slope_x Mz(Dz u)]                J du/dz = Dz u
    rho J du/dt = D1(J sxx) + D2(J sxy) + Dz[sxz - slope_x Mz(rise M1 sxx) - slope_y Mz(rise M2 sxy)]

and so on, with differences D and means M along each axis. The differences of stresses are minus the adjoints of the
differences of velocities, and the means are adjoints of each other. Therefore the second line is minus the adjoint of
the first in the norm with weights J, and energy is conserved for any material and any ground ([1]_, with the
staggered operators of [2]_). The free surface has no traction across its slope, as the differences of ``differences``
impose.

Buoyancies and moduli are stored divided by J. Then stresses, multiplied by J in the equation of motion, and strains
times J lead to the same statements as in the flat grid.

Common terms are stored between levels, so that no mean runs over a square of points. Before the stresses ``MEANS``
hold the mean of the difference times the rise, Mz(Dz u) rise. Before the velocities they hold the stresses that act
across a slope, times the rise, (slope_x M1 sxx + slope_y M2 sxy) rise, of which forces take the difference of the
mean, Dz Mz. A mean along z and one in the plane commute, because slopes depend on x and y alone and the rise on z
alone. Mean and difference along z are one formula, seven planes wide, without the point's own plane.

References
----------
.. [1] O'Reilly et al. (2022), Bull. Seismol. Soc. Am. 112.
.. [2] O'Reilly & Petersson (2019), arXiv:1907.01105.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Mapping

import numpy as np

from faultwave.fd.method.differences import (
    BENT,
    CURVILINEAR_PLANES,
    M1,
    M2,
    PlanePosition,
    curvilinear_line,
    curvilinear_planes,
    curvilinear_weights,
    grid_of,
)
from faultwave.fd.method.grid import HALF, Grid
from faultwave.fd.method.stencils import (
    STRAINS,
    STRESS,
    STRESS_DERIVATIVES,
    VELOCITY,
    StencilPlace,
    Times,
    damped,
    difference,
    difference_near_end,
    in_layer,
    normal_stresses,
    shear_stress,
)
from faultwave.kernels.expr import Number
from faultwave.kernels.math import named
from faultwave.kernels.stencil import Axis, Point, Stencil

MEANS = {"u": "mean_u", "v": "mean_v", "w": "mean_w"}
"""Arrays, by velocity, of the mean of its vertical difference, then of the stresses across the ground's slope."""
TRACTION = {"u": "sxz", "v": "syz", "w": "szz"}
ALONG: dict[str, tuple[tuple[str, Axis, bool], ...]] = {  # by velocity: (stress, axis of its mean, True if it looks forward)
    "u": (("sxx", "x", True), ("sxy", "y", False)),
    "v": (("sxy", "x", False), ("syy", "y", True)),
    "w": (("sxz", "x", False), ("syz", "y", False)),
}  # fmt: skip
PLACES = {(0, 0): "centre", (1, 0): "x", (0, 1): "y", (1, 1): "xy"}
"""Places of points in a plane by their offsets: cell centres, or half an edge further along x or y."""
MEAN = (M2, M1, M1, M2)


def place_of(name: str) -> str:
    """Return the place of a quantity's points in a plane."""
    return PLACES[HALF[name][:2]]


def ground(place: str) -> str:
    """Return the name of the array of ground heights [m] above the lowest point."""
    return f"ground_{place}"


def slope(axis: Axis, place: str) -> str:
    """Return the name of the array of ground slopes along an axis."""
    return f"slope_{axis}_{place}"


def sheets() -> dict[str, tuple[str, Axis | None]]:
    """Return the arrays of one plane: (place, axis of the slope, or None for the height) by name."""
    found: dict[str, tuple[str, Axis | None]] = {ground(place): (place, None) for place in PLACES.values()}
    return found | {slope(axis, place): (place, axis) for axis in ("x", "y") for place in ("centre", "x", "y")}


def weights() -> list[tuple[str, float]]:
    """Return the weights of means of differences along z away from the surface, by name."""
    return [(f"m{n}", weight) for n, weight in enumerate(BENT, 1)]


def profiles(
    top: int, rise: Mapping[PlanePosition, np.ndarray], stretch: Mapping[PlanePosition, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return all profiles (top + 1,) along z of the layer.

    Parameters
    ----------
    top : int
        Number of planes of the grid.
    rise, stretch : dict of ndarray
        Rise and its derivative [1/m] on planes 0 to ``top``, by grid (``whole`` or ``half``).
    """
    found = {f"stretch_{grid}": values for grid, values in stretch.items()}
    found |= {f"rise_{grid}": values for grid, values in rise.items()}
    below = np.zeros(top + 1 - CURVILINEAR_PLANES)
    for grid, stresses in itertools.product(rise, (False, True)):
        table = curvilinear_weights(grid, stresses)
        found |= {curvilinear_line(grid, stresses, n): np.r_[below, values] for n, values in enumerate(table.T)}
    return found


def rise_at(grid: Grid, name: str, planes_of: np.ndarray) -> np.ndarray:
    """Return the rise on planes (...) of a quantity; plane -1, the face to a grid below, has the zero of plane 0."""
    assert grid.relief is not None
    return np.asarray(grid.relief.rise(grid.levels(grid_of(name)))[np.maximum(planes_of, 0)])


def slope_at(grid: Grid, name: str, axis: Axis, points: np.ndarray) -> np.ndarray:
    """Return the slope of the ground along x or y at points (..., 3) of a quantity in any plane."""
    assert grid.relief is not None
    x, y = (grid.line(k, points[..., 2 - k], HALF[name]) for k in (0, 1))
    return grid.relief.slopes(x, y)["xy".index(axis)]


def stretched(p: Point, name: str, axis: Axis) -> Times:
    """Return a function of the offset along x or y, in points, that gives J at the place of a quantity."""
    place, along_z = place_of(name), p.line(f"stretch_{grid_of(name)}", "z")
    return lambda offset: 1.0 + p.on(ground(place), 0, **{axis: offset}) * along_z


def bent(p: Point, name: str, place: StencilPlace) -> Number:
    """Return the mean along z of the difference along z at the points of a quantity, scaled as a difference.

    Mean and difference commute: stresses take the difference of the mean.
    """
    grid, stresses = grid_of(name), name not in VELOCITY
    kind = "s" if stresses else "v"
    if place.near is None:
        terms = [p.scalar(f"m{n}{kind}") * (p.at(name, z=n) - p.at(name, z=-n)) for n in range(1, len(BENT) + 1)]
        return named(f"mean_d{name}_dz", functools.reduce(operator.add, terms))
    listed = enumerate(curvilinear_planes(grid, place.near).tolist())
    terms = [p.line(curvilinear_line(grid, stresses, n), "z") * p.on(name, plane) for n, plane in listed]
    return named(f"mean_d{name}_dz", p.scalar(f"share_{kind}") * functools.reduce(operator.add, terms))


def raised(p: Point, name: str) -> Number:
    """Return the rise at the planes of a quantity."""
    return p.line(f"rise_{grid_of(name)}", "z")


def mean(values: Times, forward: bool) -> Number:
    """Return the mean along x or y of ``values``, a function of the offset in points, half a point ahead or behind."""
    first = -1 if forward else -2
    outer, inner = (values(first + n) + values(first + 3 - n) for n in (0, 1))
    return M2 * outer + M1 * inner


def vertical(p: Point, name: str, place: StencilPlace, forward: bool) -> Number:
    """Return the difference across planes, with the modified weights at the ends along z."""
    return difference_near_end(p, name, place) if place.at_end else difference(p, name, "z", forward)


def mean_gradients(place: StencilPlace) -> Stencil:
    """Return the stencil of the means of velocity differences across planes, times the rise."""

    def function(p: Point) -> dict[str, Number]:
        return {mean_of: raised(p, name) * bent(p, name, place) for name, mean_of in MEANS.items()}

    return Stencil("mean_gradients" + place.name, function)


def slope_forces() -> Stencil:
    """Return the stencil of the stresses across the slope of the ground, times the rise, alike on every plane."""

    def function(p: Point) -> dict[str, Number]:
        result: dict[str, Number] = {}
        for name, of in MEANS.items():
            along, aside = (_along(p, stress, axis, forward) for stress, axis, forward in ALONG[name])
            at = place_of(name)
            result[of] = raised(p, name) * (p.on(slope("x", at), 0) * along + p.on(slope("y", at), 0) * aside)
        return result

    return Stencil("slope_forces", function)


def _along(p: Point, name: str, axis: Axis, forward: bool) -> Number:
    return mean(lambda offset: p.at(name, **{axis: offset}), forward)


def velocity(sponge: bool, place: StencilPlace) -> Stencil:
    """Return the stencil of one step of the velocities."""

    def function(p: Point) -> dict[str, Number]:
        result: dict[str, Number] = {}
        for name, axis in VELOCITY.items():
            total = vertical(p, TRACTION[name], place, name == "w") - bent(p, MEANS[name], place)
            for of, along, forward in STRESS_DERIVATIVES[name]:
                if along != "z":
                    d = difference(p, of, along, forward, stretched(p, of, along))
                    total = total + in_layer(p, d, along, forward, f"psi_{name}_{along}", place, result)
            result[name] = p.at(name) + p.at(f"b_{axis}") * total
        return damped(p, result, VELOCITY, sponge, place)

    return Stencil("velocity_cap" + "_sponge" * sponge + place.name, function)


def stress(attenuation: bool, sponge: bool, place: StencilPlace) -> Stencil:
    """Return the stencil of one step of the stresses and memory variables."""

    def function(p: Point) -> dict[str, Number]:
        result: dict[str, Number] = {}

        def rate(of: str, name: str, axis: Axis, forward: bool) -> Number:
            """Return J times the derivative of a velocity along an axis at the place of the stress ``name``."""
            if axis == "z":
                return vertical(p, of, place, of != "w")
            d = in_layer(p, difference(p, of, axis, forward), axis, forward, f"psi_e{of}_{axis}", place, result)
            sheet = slope(axis, place_of(of))

            def across(offset: int) -> Number:
                return p.on(sheet, 0, **{axis: offset}) * p.at(MEANS[of], **{axis: offset})

            return stretched(p, name, axis)(0) * d - mean(across, forward)

        e = {axis: rate(of, f"s{axis}{axis}", axis, False) for of, axis in VELOCITY.items()}
        result |= normal_stresses(p, e, attenuation)
        for name, parts in STRAINS.items():
            first, second = (rate(of, name, axis, True) for of, axis in parts)
            result |= shear_stress(p, name, first + second, attenuation)
        return damped(p, result, STRESS, sponge, place)

    return Stencil("stress_cap" + "_q" * attenuation + "_sponge" * sponge + place.name, function)
