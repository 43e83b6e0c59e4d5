"""Means between cell centres and the places of shear stresses below a topography, weighted with the stretch of cells.

Energies are weighted there with the vertical stretch J of cells. Means A of stresses to centres and means B of losses
to shear stresses are adjoint to each other if J_c A_ce = J_e B_ec = w K_ec, with w the weight in the flat grid and K a
stretch of the pair of centre c and shear stress e. Both are exact for uniform fields if the mean of K around any centre
is its J, and around any shear stress the J there. To the same accuracy they then are contractions, as in the flat grid, so
that elements cannot gain energy.
With K the J at the centre, the mean of a uniform loss would be wrong by the curvature of J, an error of second order
that grows with the loss. Here K = 1 + height * rate, with heights and rates between the two places for which both
conditions hold to fourth order (``BETWEEN``).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import numpy as np

from faultwave.domain.grid_relief import BETWEEN
from faultwave.fd.method.differences import PlanePosition, other
from faultwave.fd.method.scheme import PlaneKind, Scheme
from faultwave.fd.rheology.cell_means import IN_PLANE, mean, mean_line, mean_lines
from faultwave.kernels.expr import Number
from faultwave.kernels.stencil import Axis, Box, Layout, Point

HALO = 1
"""Number of points around a box at which heights are read."""


def rate_line(to: PlanePosition, offset: int) -> str:
    """Return the name of the profile of rates [1/m] between planes ``to`` and those ``offset`` planes above."""
    return f"rate_{mean_line(to, offset)}"


def sheet(sides: Mapping[str, int]) -> str:
    """Return the name of the array of heights [m] on one side of shear stresses along each axis."""
    return "ground_between_" + "".join(f"{axis}{side}" for axis, side in sides.items())


def _all_sides() -> Iterator[dict[str, int]]:
    """Yield the sides of each shear stress on which there is a centre, by horizontal axis."""
    for axes in IN_PLANE.values():
        level: list[str] = [axis for axis in axes if axis != "z"]
        for sides in itertools.product((0, 1), repeat=len(level)):
            yield dict(zip(level, sides, strict=True))


def stretch_arrays(scheme: Scheme, box: Box) -> dict[str, Layout]:
    """Return the layouts of the heights and rates that the means of a box read."""
    plane = Box((0, *box.lo[1:]), (1, *box.hi[1:]))
    arrays = {sheet(sides): Layout(plane, group="relief between", halo=HALO) for sides in _all_sides()}
    return arrays | dict.fromkeys(stretch_lines(scheme), Layout(scheme.filled(scheme.grid.box), "line", "z"))


def stretch_sheets(scheme: Scheme, box: Box) -> dict[str, np.ndarray]:
    """Return the heights (ny, nx) [m] in a box and ``HALO`` points around it."""
    relief = scheme.grid.relief
    assert relief is not None
    first = (box.lo[1] - HALO, box.lo[2] - HALO)
    count = (box.shape[1] + 2 * HALO, box.shape[2] + 2 * HALO)
    return {sheet(sides): relief.between(sides, first, count) for sides in _all_sides()}


def stretch_lines(scheme: Scheme) -> dict[str, np.ndarray]:
    """Return the profiles of rates [1/m], which are constant near the surface and zero below the curvilinear layer."""
    grid, relief, first = scheme.grid, scheme.grid.relief, scheme.ends.first
    assert relief is not None
    planes = np.arange(first, grid.shape[0] + scheme.ends.upper)

    def level(kind: PlanePosition, numbers: np.ndarray) -> np.ndarray:
        return grid.lower[2] + grid.spacing * (numbers + (1.0 if kind == PlanePosition.WHOLE else 0.5))

    found = dict[str, np.ndarray]()
    for to in PlanePosition:
        for offset in (o for o in range(-2, 3) if mean_line(to, o) in mean_lines(scheme)):
            a, b = level(to, planes), level(other(to), planes + offset)
            nodes = (2 * a - b, a, b, 2 * b - a)
            rates = [weight * relief.rate(z) for weight, z in zip(BETWEEN, nodes, strict=True)]
            found[rate_line(to, offset)] = np.sum(rates, 0)
    return found


def stretched_mean(p: Point, name: str, axes: tuple[Axis, Axis], ahead: int, kind: PlaneKind) -> Number:
    """Return the mean over the surrounding points of an array times the stretch between these and the point.

    Parameters
    ----------
    p : Point
    name : str
        Array.
    axes : tuple of str
    ahead : {1, -1}
        Direction of the neighbours: 1 for means of centres, -1 for means of shear stresses.
    kind : PlaneKind
        Kind of the planes (``planes_of``).
    """
    to = PlanePosition.HALF if ahead < 0 else PlanePosition.WHOLE

    def at(**far: int) -> Number:
        sides: dict[str, int] = {axis: abs(far[axis]) for axis in axes if axis != "z"}
        height = p.on(sheet(sides), 0, **{axis: min(far[axis], 0) for axis in sides})
        rate = p.line(rate_line(to, far["z"]) if "z" in axes else "stretch_half", "z")
        return (1.0 + height * rate) * p.at(name, **far)

    return mean(p, at, axes, ahead, kind)
