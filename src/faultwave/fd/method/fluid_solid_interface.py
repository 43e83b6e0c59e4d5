"""Finite differences next to a fluid-solid interface that do not reach across it and conserve energy.

At an interface the stress along it jumps: shear stress ends, and the normal stresses along the two other axes differ.
A difference of fourth order is a second-order one, d, of f - L f / 24, where L is the second difference of the field
f: d (f - L f / 24). Here L is left out on cell faces between fluid and rock and on edges shared by both (``chi`` = 0
there, else 1), so that no value of the other side is read except the normal velocity on the interface. Differences in
the other direction are minus the adjoints, d g - L (chi d g) / 24, divided by the norm H = 1 - L chi / 24 that makes
them exact for linear functions. The operator is therefore self-adjoint in the energy norm with weights H for an
interface of any shape. On straight interfaces it is of first order, and of fourth order three cells away.

Buoyancies are stored divided by the H of their velocity, the moduli of shear stresses divided by the H along both of
their axes. ``size`` is 24 H of shear stresses, which is an integer. Each shear stress is multiplied by the ``size``
along the axis of the velocity that it accelerates; strain rates likewise.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from faultwave.fd.method.differences import WEIGHTS, low_planes
from faultwave.fd.method.effective_medium import Medium
from faultwave.fd.method.stencils import (
    AXES,
    SHEAR,
    STRAINS,
    STRESS,
    STRESS_DERIVATIVES,
    VELOCITY,
    StencilPlace,
    Times,
    damped,
    in_layer,
    normal_stresses,
    shear_stress,
    total,
)
from faultwave.kernels.expr import Number
from faultwave.kernels.stencil import Axis, Box, Point, Stencil

ARRAYS = (
    *(f"chi_{axis}" for axis in AXES), *(f"chi_{name[1:]}" for name in SHEAR),
    *(f"size_{name[1:]}_{axis}" for name, axes in SHEAR.items() for axis in axes),
)  # fmt: skip
"""Arrays that the interface stencils read in addition to the coefficients."""
FAR = 3
"""Distance from an interface, in cells, within which it changes differences."""


def velocity(sponge: bool, place: StencilPlace) -> Stencil:
    """Return the stencil of the velocities near a fluid-solid interface (compare ``stencils.velocity``)."""

    def function(p: Point) -> dict[str, Number]:
        result: dict[str, Number] = {}
        for name, axis in VELOCITY.items():
            forces: list[Number] = []
            for of, along, forward in STRESS_DERIVATIVES[name]:
                if of in SHEAR:
                    d = _to_centres(p, of, along, f"chi_{of[1:]}", _times(p, f"size_{of[1:]}_{axis}", along))
                else:
                    d = _to_faces(p, of, along, f"chi_{axis}", False)
                forces.append(in_layer(p, d, along, forward, f"psi_{name}_{along}", place, result))
            result[name] = p.at(name) + p.at(f"b_{axis}") * total(forces)
        return damped(p, result, VELOCITY, sponge, place)

    return Stencil("velocity_border" + "_sponge" * sponge + place.name, function)


def stress(attenuation: bool, sponge: bool, place: StencilPlace) -> Stencil:
    """Return the stencil of the stresses near a fluid-solid interface (compare ``stencils.stress``)."""

    def function(p: Point) -> dict[str, Number]:
        result: dict[str, Number] = {}
        e: dict[Axis, Number] = {}
        for of, axis in VELOCITY.items():
            d = _to_centres(p, of, axis, f"chi_{axis}", None)
            e[axis] = in_layer(p, d, axis, False, f"psi_e{of}_{axis}", place, result)
        result |= normal_stresses(p, e, attenuation)
        for name, parts in STRAINS.items():
            strains: list[Number] = []
            for of, axis in parts:
                d = _to_faces(p, of, axis, f"chi_{name[1:]}", True)
                d = in_layer(p, d, axis, True, f"psi_e{of}_{axis}", place, result)
                strains.append(p.at(f"size_{name[1:]}_{VELOCITY[of]}") * d)
            result |= shear_stress(p, name, total(strains), attenuation)
        return damped(p, result, STRESS, sponge, place)

    return Stencil("stress_border" + "_q" * attenuation + "_sponge" * sponge + place.name, function)


def _times(p: Point, name: str, axis: Axis) -> Times:
    return lambda offset: p.at(name, **{axis: offset})


def _scale(p: Point, of: str, power: int) -> Number:
    """Return dt/h, times the unit of the coefficient that multiplies it, divided by 24 to this ``power``."""
    return p.scalar(f"border{power}{'v' if of in VELOCITY else 's'}")


def _to_centres(p: Point, of: str, axis: Axis, chi: str, times: Times | None) -> Number:
    """Return the difference along an axis of a field half an edge above, divided by 24 if ``times`` is given.

    ``times`` yields the factor of each value, 24 H of a shear stress.
    """

    def value(n: int) -> Number:
        own = p.at(of, **{axis: n})
        return own if times is None else times(n) * own

    f, power = [value(n) for n in (-2, -1, 0, 1)], int(times is not None)
    ahead, behind = ((f[n + 1] - f[n]) - (f[n] - f[n - 1]) for n in (2, 1))
    bent = p.at(chi) * ahead - p.at(chi, **{axis: -1}) * behind
    return _scale(p, of, power) * (f[2] - f[1]) - _scale(p, of, power + 1) * bent


def _to_faces(p: Point, of: str, axis: Axis, chi: str, over: bool) -> Number:
    """Return H times the difference along an axis of a field at cell centres, divided by 24 if ``over``."""
    d = {n: p.at(of, **{axis: n + 1}) - p.at(of, **{axis: n}) for n in (-1, 0, 1)}
    retained = {n: p.at(chi, **{axis: n}) * d[n] for n in d}
    bent = (retained[1] - retained[0]) - (retained[0] - retained[-1])
    return _scale(p, of, int(over)) * d[0] - _scale(p, of, int(over) + 1) * bent


def scalars(share: float, buoyancy: float, modulus: float) -> dict[str, float]:
    """Return the scalars of the interface stencils; ``share`` is dt/h."""
    units = (("s", buoyancy), ("v", modulus))
    return {f"border{power}{kind}": share * unit / 24.0**power for power in range(3) for kind, unit in units}


def altered_end_planes(order: int) -> tuple[int, int]:
    """Return the numbers of planes at the lower and upper end where an interface would alter modified differences.

    The lower end counts for a grid that is joined to one below, the upper end for any grid.
    """
    return len(low_planes(order)) - 1 + FAR, WEIGHTS[order].read + FAR


def at_ends(fluid: np.ndarray, box: Box, top: int, order: int) -> tuple[frozenset[bool], frozenset[bool]]:
    """Return the kinds of the cells (True: fluid) in these planes of a box, at the lower and at the upper end.

    Parameters
    ----------
    fluid : ndarray of bool
        True where a cell is fluid; 1 long along axes without variation.
    box : Box
    top : int
        Number of planes of the grid.
    order : int

    Returns
    -------
    tuple of frozenset of bool
    """
    low, high = altered_end_planes(order)
    k = np.arange(box.lo[0], box.hi[0]) if len(fluid) > 1 else np.zeros(1)
    below, above = (fluid[near] if len(fluid) > 1 else fluid for near in (k < low, k >= top - high))
    return frozenset(np.unique(below).tolist()), frozenset(np.unique(above).tolist())


def bordered(
    medium: Medium, box: Box, shape: tuple[int, int, int], periodic: frozenset[Axis], fluid: np.ndarray, joined_below: bool = False,
) -> Medium:  # fmt: skip
    """Return a medium with the arrays of the interface stencils, or the same medium if there is no interface.

    Parameters
    ----------
    medium : Medium
        Coefficients on ``box``.
    box : Box
    shape : tuple of int
        Numbers of points (nz, ny, nx) of the grid.
    periodic : frozenset
        Periodic axes.
    fluid : ndarray of bool
        True for the fluid cells of ``grown(box)``; 1 long along axes without variation.
    joined_below : bool
        True if another grid is joined below.
    """
    cells, top = _around(fluid, box, shape, periodic), shape[0]
    chi, rock = _inside_one(cells)
    planes = np.arange(cells.shape[0]) + box.lo[0] - FAR
    low, high = altered_end_planes(4)
    near = (planes >= top - high) & (cells.shape[0] > 1)
    shallow = not all(each[near].all() for each in chi.values())
    near |= (planes < low) & (cells.shape[0] > 1) & joined_below
    for each in (*chi.values(), *rock.values()):  # free surface and faces have their own stencils
        each[near] = True
    found = np.flatnonzero(~np.all([each.all((1, 2)) for each in chi.values()], axis=0))
    if not len(found):
        return replace(medium, shallow=shallow)
    values = {name: each.astype(float) for name, each in chi.items()}
    norms = {f"b_{axis}": _norm(values[f"chi_{axis}"], axis) for axis in AXES}
    for name, axes in SHEAR.items():
        along = [_norm(values[f"chi_{name[1:]}"], axis) for axis in axes]
        values |= {f"size_{name[1:]}_{axis}": 24.0 * h for axis, h in zip(axes, along, strict=True)}
        norms[f"mu_{name[1:]}"] = along[0] * along[1]
    coefficients, dtype = dict(medium.coefficients), medium.coefficients["lam"].dtype
    for name, norm in norms.items():
        retained = _inner(rock[name], dtype) if name in rock else 1.0  # cells with some fluid count as fluid
        coefficients[name] = np.asarray(retained * coefficients[name] / _inner(norm, dtype), dtype)
    every = np.broadcast_shapes(*(v.shape for v in medium.coefficients.values()))
    coefficients |= {name: np.array(np.broadcast_to(_inner(values[name], dtype), every)) for name in ARRAYS}
    first, last = int(planes[found].min()) - FAR, int(planes[found].max()) + FAR
    bounds = (0, top) if cells.shape[0] == 1 else (max(0, first), min(last + 1, top))
    return replace(medium, coefficients=coefficients, border=bounds, shallow=shallow)


def _inside_one(cells: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return chi of faces and edges (True between cells of one kind), and True for edges between rock cells only."""
    chi: dict[str, np.ndarray] = {f"chi_{axis}": cells == _ahead(cells, axis) for axis in AXES}
    rock: dict[str, np.ndarray] = {}
    for name, (a, b) in SHEAR.items():
        corners = [cells, _ahead(cells, a), _ahead(cells, b), _ahead(_ahead(cells, a), b)]
        fluids = np.sum(corners, axis=0, dtype=int)
        chi[f"chi_{name[1:]}"], rock[f"mu_{name[1:]}"] = fluids % 4 == 0, fluids == 0
    return chi, rock


def plain(medium: Medium) -> Medium:
    """Return the medium of a process without an interface, with neutral arrays, where other processes have one."""
    shape = np.broadcast_shapes(*(v.shape for v in medium.coefficients.values()))
    dtype = medium.coefficients["lam"].dtype
    made = {name: np.full(shape, 24.0 if name.startswith("size") else 1.0, dtype) for name in ARRAYS}
    return replace(medium, coefficients=medium.coefficients | made)


def grown(box: Box, shape: tuple[int, int, int], periodic: frozenset[Axis]) -> Box:
    """Return the cells that determine the interfaces in a box: FAR points more, inside the grid.

    Along periodic axes these are all cells.
    """
    lo = [0 if axis in periodic else max(0, a - FAR) for a, axis in zip(box.lo, "zyx", strict=True)]
    ends = zip(box.hi, shape, "zyx", strict=True)
    hi = [n if axis in periodic else min(n, b + FAR) for b, n, axis in ends]
    return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))


def _around(fluid: np.ndarray, box: Box, shape: tuple[int, int, int], periodic: frozenset[Axis]) -> np.ndarray:
    """Return the cells of the box and FAR around, extended by edge values or periodically."""
    given = grown(box, shape, periodic)
    for k, axis in enumerate("zyx"):
        at = np.arange(box.lo[k] - FAR, box.hi[k] + FAR)
        at = at % shape[k] if axis in periodic else np.clip(at, given.lo[k], given.hi[k] - 1)
        fluid = np.take(fluid, at - given.lo[k], axis=k) if fluid.shape[k] > 1 else fluid
    return fluid


def _ahead(values: np.ndarray, axis: Axis) -> np.ndarray:
    """Return the values of the next cell along an axis; the last cell has its own."""
    k = "zyx".index(axis)
    return np.take(values, np.minimum(np.arange(values.shape[k]) + 1, values.shape[k] - 1), axis=k)


def _norm(chi: np.ndarray, axis: Axis) -> np.ndarray:
    """Return the norm H along an axis."""
    k, count = "zyx".index(axis), chi.shape["zyx".index(axis)]
    number = np.arange(count)
    ahead, behind = (np.take(chi, np.clip(number + n, 0, count - 1), axis=k) for n in (1, -1))
    return np.asarray(1.0 - (ahead - 2.0 * chi + behind) / 24.0)


def _inner(values: np.ndarray, dtype: npt.DTypeLike) -> np.ndarray:
    """Return the values without the FAR cells around."""
    inner = tuple(slice(FAR, n - FAR) if n > 1 else slice(None) for n in values.shape)
    return np.asarray(values[inner], dtype)
