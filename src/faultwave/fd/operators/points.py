"""Points between grid points: interpolation of order 4 or 8, samplers, and injection of sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Protocol

import numpy as np

from faultwave.domain.grid_relief import Relief
from faultwave.domain.grids import RegularGrid
from faultwave.fd.method.differences import WHOLE
from faultwave.fd.method.grid import HALF, Grid
from faultwave.fd.method.scheme import LEVELS, Scheme
from faultwave.fd.method.stencils import AXES
from faultwave.kernels.stencil import Axis, Box, Injection, SampleBuffer

ACROSS = ("sxz", "syz")
"""Stresses that are zero on a free surface, as are the strains that belong to them."""
SHEAR_FADE_DEPTH = 0.25
"""Depth, in spacings, over which shear across the free surface fades to its zero surface value."""
MOMENT = ("sxx", "syy", "szz", "sxy", "syz", "sxz")
"""Stresses in the order of a source's moment and of the law's quantities."""
RECORDED = (*MOMENT, "u", "v", "w")
"""Fields in the order of the law's quantities: s_xx ... s_xz, v1, v2, v3."""


def lagrange(x: np.ndarray, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return values and slopes (n, m) at ``x`` (n,) of the Lagrange polynomials on ``nodes`` (n, m)."""
    away = x[:, None] - nodes
    value, slope = np.zeros(away.shape), np.zeros(away.shape)
    count = nodes.shape[1]
    for m in range(count):
        others = [away[:, n] for n in range(count) if n != m]
        scale = 1.0 / np.prod([nodes[:, m] - nodes[:, n] for n in range(count) if n != m], axis=0)
        value[:, m] = _product_of([scale, *others])
        left_out = [others[:n] + others[n + 1 :] for n in (len(others) - 1, *range(len(others) - 1))]
        slope[:, m] = scale * sum(map(_product_of, left_out[1:]), start=_product_of(left_out[0]))
    return value, slope


def _product_of(factors: Sequence[np.ndarray]) -> np.ndarray:
    return reduce(np.multiply, factors)


@dataclass(frozen=True)
class Stencils:
    """Interpolation stencils at n points.

    Attributes
    ----------
    points : ndarray (n, m, 3) of int
        Indices (z, y, x) of grid points.
    value : ndarray (n, m)
        Weights of the value.
    slope : ndarray (n, 3, m)
        Weights of d/dx, d/dy and d/dz [1/m].
    """

    points: np.ndarray
    value: np.ndarray
    slope: np.ndarray


@dataclass(frozen=True)
class AxisInterpolation:
    """Grid points along one axis with the weights of the value and of its slope, each (n, m)."""

    nodes: np.ndarray
    value: np.ndarray
    slope: np.ndarray


def _product(x: AxisInterpolation, y: AxisInterpolation, z: AxisInterpolation) -> Stencils:
    count = len(x.nodes)
    shape = (count, z.nodes.shape[1], y.nodes.shape[1], x.nodes.shape[1])
    total = int(np.prod(shape[1:]))
    spread = z.nodes[:, :, None, None], y.nodes[:, None, :, None], x.nodes[:, None, None, :]
    places = [np.broadcast_to(nodes, shape).reshape(count, total) for nodes in spread]

    def product(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return np.einsum("nz,ny,nx->nzyx", z, y, x).reshape(count, total)

    slopes = [
        product(x.slope, y.value, z.value),
        product(x.value, y.slope, z.value),
        product(x.value, y.value, z.slope),
    ]
    return Stencils(np.stack(places, -1), product(x.value, y.value, z.value), np.stack(slopes, 1))


def along(scheme: Scheme, name: str, points: np.ndarray, axis: Axis) -> AxisInterpolation:
    """Return the interpolation along an axis at points (n, 3) [m].

    Near a side of the grid the polynomial uses the nearest points inside, among them the free surface and faces to
    other grids.
    """
    k = "xyz".index(axis)
    h, count = scheme.grid.spacing, scheme.grid.shape[2 - k]
    x = scheme.grid.index(points, HALF[name])[:, 2 - k]
    order = scheme.order
    start = np.floor(x + 1e-9).astype(np.int64) - (order // 2 - 1)
    on_surface = axis == "z" and scheme.ends.upper and name not in WHOLE
    if axis not in scheme.periodic:
        start = np.clip(start, scheme.ends.first if axis == "z" else 0, count + on_surface - order)
    nodes = start[:, None] + np.arange(order)
    places = np.where(nodes < count, nodes, count - 0.5) if on_surface else nodes
    if axis == "z" and name not in WHOLE and scheme.joined_below:
        places = np.where(nodes < 0, -0.5, places)
    value, slope = lagrange(x, places)
    return AxisInterpolation(nodes % count if axis in scheme.periodic else nodes, value, slope / h)


def interpolation_stencils(scheme: Scheme, name: str, points: np.ndarray) -> Stencils:
    """Return the stencils with which a quantity is read, and driven, at points (n, 3) [m].

    Sources use the same weights as receivers, so that the discrete operator remains self-adjoint (reciprocal) for
    sources and receivers anywhere. The interpolant is a polynomial along each axis, cubic at order 4.
    """
    x, y, z = (along(scheme, name, points, axis) for axis in AXES)
    if scheme.free_surface and name in ACROSS:
        z = _faded_surface_shear(scheme, points, z)
    found = _product(x, y, z)
    return found if scheme.grid.relief is None else _cartesian_slopes(scheme.grid.relief, points, found)


def _cartesian_slopes(relief: Relief, points: np.ndarray, of: Stencils) -> Stencils:
    """Return the stencils with slopes along x, y and z instead of along the lines of a curvilinear grid."""
    flat = relief.down(points)
    rise, jacobian = relief.rise(flat[:, 2]), relief.jacobian(flat)
    vertical = of.slope[:, 2] / jacobian[:, None]
    along = relief.slopes(flat[:, 0], flat[:, 1])
    slopes = [of.slope[:, k] - (rise * along[k])[:, None] * vertical for k in (0, 1)]
    return Stencils(of.points, of.value, np.stack([*slopes, vertical], 1))


def vertical_stretch(grid: Grid, name: str, points: np.ndarray) -> np.ndarray:
    """Return the vertical stretch of the cells of a quantity at points (..., 3) of a grid below a topography.

    1 if flat.
    """
    if grid.relief is None:
        return np.ones(points.shape[:-1])
    place = RegularGrid.place(grid, points, HALF[name])
    place[..., 2] = np.minimum(place[..., 2], grid.upper[2])
    return grid.relief.jacobian(place)


def _faded_surface_shear(scheme: Scheme, points: np.ndarray, z: AxisInterpolation) -> AxisInterpolation:
    """Return the interpolation along z of shear stresses across the free surface.

    They are zero on the surface, where the grid's value is an error of second order. That value has weight zero on the
    surface and full weight from ``SHEAR_FADE_DEPTH`` spacings down, where it compensates for errors of the planes below.
    """
    depth = (scheme.grid.upper[2] - scheme.grid.down(points)[:, 2]) / scheme.grid.spacing
    share = np.maximum(1.0 - depth / SHEAR_FADE_DEPTH, 0.0)[:, None]
    on = z.nodes == scheme.grid.shape[0] - 1
    slope = (share > 0) / (SHEAR_FADE_DEPTH * scheme.grid.spacing)
    return AxisInterpolation(z.nodes, z.value - on * share, z.slope - on * slope)


def norm_weights(scheme: Scheme, name: str, plane: int | np.ndarray) -> np.ndarray:
    """Return the weights of planes in the norm H in which the scheme is self-adjoint (``Weights.norm`` in ``fd.method.differences``).

    They are fractions of a cell: 1 except near the free surface and faces to other grids.
    """
    return scheme.ends.norm(name, plane)


MARGIN, BENT = {4: 6, 8: 14}, 14
"""Number of points around a place within which a source or receiver there acts, by order.

The last value holds along z below a topography.
"""


def near(scheme: Scheme, box: Box, points: np.ndarray) -> np.ndarray:
    """Return a mask of the places (n, 3) [m] that may touch points of a box."""
    cells, found = scheme.grid.cell(points), np.ones(len(points), bool)
    for k, axis in enumerate("zyx"):
        count = scheme.grid.shape[k]
        shifts = (-count, 0, count) if axis in scheme.periodic else (0,)
        margin = BENT if axis == "z" and scheme.grid.relief is not None else MARGIN[scheme.order]
        low, high = box.lo[k] - margin, box.hi[k] + margin
        found &= np.any([(cells[:, k] + s >= low) & (cells[:, k] + s < high) for s in shifts], axis=0)
    return found


def images(scheme: Scheme, box: Box, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the grid points that lie in a box or on the free surface above it, periodic images included.

    Parameters
    ----------
    scheme : Scheme
    box : Box
    points : ndarray (n, 3) of int
        Indices (z, y, x).

    Returns
    -------
    number : ndarray (m,)
        Index of each found point in ``points``; may repeat along periodic axes.
    place : ndarray (m, 3)
        Indices of the found points or their images.
    """
    number, found, box = np.arange(len(points)), points, scheme.filled(box)
    for k, axis in enumerate("zyx"):
        if axis in scheme.periodic:
            shifts = np.array([-1, 0, 1])[:, None] * scheme.grid.shape[k] * np.eye(3, dtype=np.int64)[k]
            number, found = np.tile(number, 3), (found + shifts[:, None]).reshape(-1, 3)
    inside = ((found >= box.lo) & (found < box.hi)).all(1)
    order = np.argsort(number[inside], kind="stable")
    return number[inside][order], found[inside][order]


class Sampler(Protocol):
    """Sample buffers around places, and the conversion of their content into values at the places."""

    @property
    def sample_buffers(self) -> Sequence[SampleBuffer]: ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the values of one place."""

    @property
    def mine(self) -> np.ndarray:
        """Indices of the places whose values this process receives."""

    def values(self, sample_buffers: Sequence[np.ndarray]) -> np.ndarray:
        """Return values (steps, places, *shape) from the recorded buffers."""


def outside(grid: Grid, lower: np.ndarray, upper: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the distance (n,) [m] of each point from the box, 0 inside.

    Below a topography the ground is its upper side.
    """
    points = np.array(points, float)
    if grid.relief is not None:
        beyond = points[:, 2] - grid.relief.ground(np.clip(points, lower, upper))
        points[:, 2] = np.where(beyond > 0, upper[2] + beyond, np.minimum(points[:, 2], upper[2]))
    gap = np.maximum(np.maximum(lower - points, points - upper), 0.0)
    distance: np.ndarray = np.linalg.norm(gap, axis=1)
    return np.where(distance > 1e-6 * grid.spacing, distance, 0.0)


class Drive(Protocol):
    """Protocol of the sources of one kind; ``injections`` refer to them by numbers below ``count``."""

    @property
    def injections(self) -> Sequence[Injection]: ...

    @property
    def count(self) -> int: ...

    def amplitudes(self, first: int, steps: int) -> np.ndarray:
        """Return the amplitudes of ``steps`` steps from number ``first`` on.

        Returns
        -------
        ndarray, shape (levels, steps, count)
            Velocities are forced around t = n dt, stresses over n dt to (n + 1) dt.
        """


class Drives:
    """Source injectors of all kinds, numbered consecutively."""

    def __init__(self, drives: Sequence[Drive]):
        self.drives = tuple(drives)
        self.injections: list[Injection] = []
        total = 0
        for drive in self.drives:
            self.injections += [replace(i, sources=i.sources + total) for i in drive.injections]
            total += drive.count
        self.count = max(1, total)  # a program has at least one source

    def amplitudes(self, first: int, steps: int) -> np.ndarray:
        """Return the amplitudes (levels, steps, count) of all injectors (see ``Drive.amplitudes``)."""
        found = [drive.amplitudes(first, steps) for drive in self.drives if drive.count]
        return np.concatenate(found, 2) if found else np.zeros((LEVELS, steps, 1))
