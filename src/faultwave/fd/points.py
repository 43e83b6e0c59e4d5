"""Places anywhere between the points of the grid, to read and to push at: cubic Lagrange weights, order 4 like the stencils."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from faultwave.fd.grid import HALF, Grid
from faultwave.fd.program import Scheme
from faultwave.fd.stencils import AXES, SURFACE, VELOCITY
from faultwave.kernels.stencil import Axis, Box, SampleBuffer

ACROSS = ("sxz", "syz")  # zero on a free surface
POINTS = 4  # of a stencil along an axis
MOMENT = ("sxx", "syy", "szz", "sxy", "syz", "sxz")
"""Stresses in the order of a source's moment and of the law's quantities."""
RECORDED = (*MOMENT, "u", "v", "w")
"""Fields in the order of the law's quantities: s_xx ... s_xz, v1, v2, v3."""


def lagrange(x: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, slopes and curvatures (n, 4) at x (n,) of the cubic polynomials that are 1 at one of start, ..., start + 3."""
    away = x[:, None] - (start[:, None] + np.arange(POINTS))
    value, slope, curvature = (np.zeros(away.shape) for _ in range(3))
    for m in range(POINTS):
        a, b, c = (n for n in range(POINTS) if n != m)
        scale = 1.0 / ((m - a) * (m - b) * (m - c))
        p, q, r = (away[:, n] for n in (a, b, c))
        value[:, m] = scale * p * q * r
        slope[:, m] = scale * (p * q + q * r + r * p)
        curvature[:, m] = 2.0 * scale * (p + q + r)
    return value, slope, curvature


@dataclass(frozen=True)
class Stencils:
    """Around points (n, 3): grid points (n, m, 3) as (z, y, x), weights of the value (n, m) and of d/dx, d/dy, d/dz (n, 3, m)
    [1/m]."""

    points: np.ndarray
    value: np.ndarray
    slope: np.ndarray


@dataclass(frozen=True)
class _Axis:
    """Grid points along an axis, and weights on them of the value and of its slope, each (n, m)."""

    nodes: np.ndarray
    value: np.ndarray
    slope: np.ndarray


def _product(x: _Axis, y: _Axis, z: _Axis) -> Stencils:
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


def _along(scheme: Scheme, name: str, points: np.ndarray, axis: Axis, derivative: bool = False) -> _Axis:
    """Interpolation along an axis at points (n, 3), or that of the ``derivative``; near a side the polynomial is that of the four points
    inside."""
    k = "xyz".index(axis)
    h, count = scheme.grid.spacing, scheme.grid.shape[2 - k]
    x = scheme.grid.index(points, HALF[name])[:, 2 - k]
    start = np.floor(x + 1e-9).astype(np.int64) - 1
    if axis not in scheme.periodic:
        start = np.clip(start, 0, count - POINTS)
    nodes = start[:, None] + np.arange(POINTS)
    value, slope, curvature = lagrange(x, start)
    weights = (slope / h, curvature / h**2) if derivative else (value, slope / h)
    return _Axis(nodes % count if axis in scheme.periodic else nodes, *weights)


NODES = np.array([-2.5, -1.5, -0.5])
"""Where u and v lie below the free surface, the three uppermost."""


def _quadratic(depth: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """At depths (n,) the quadratic polynomials (n, 3) that are 1 at one of NODES, their slopes (n, 3), and slopes at the surface (3,)."""
    t = -depth[:, None]
    value, slope, start = np.zeros((len(t), 3)), np.zeros((len(t), 3)), np.zeros(3)
    for m in range(3):
        a, b = (NODES[n] for n in range(3) if n != m)
        scale = 1.0 / ((NODES[m] - a) * (NODES[m] - b))
        value[:, m] = (scale * (t - a) * (t - b))[:, 0]
        slope[:, m] = (scale * (2 * t - a - b))[:, 0]
        start[m] = -scale * (a + b)
    return value, slope, start


def hermite(depth: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """At depths (n,) the cubic polynomials of three values (n, 3) at NODES and of the slope upwards at the surface (n,), then the slopes
    of both."""
    value, slope, start = _quadratic(depth)
    p, q, r = (-depth - x for x in NODES)
    at_surface = NODES[0] * NODES[1] + NODES[1] * NODES[2] + NODES[2] * NODES[0]
    g, dg = p * q * r / at_surface, (p * q + q * r + r * p) / at_surface
    return value - g[:, None] * start, g, slope - dg[:, None] * start, dg


def vanishing(depth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At depths (n,) the cubic polynomials of three values (n, 3) at NODES that are zero on the surface, then their slopes."""
    value, slope, _ = _quadratic(depth)
    t = -depth[:, None]
    return t * value / NODES, (value + t * slope) / NODES


def readings(scheme: Scheme, name: str, points: np.ndarray) -> list[tuple[str, Stencils]]:
    """What a quantity at points (n, 3) [m] is read from: arrays and weights, which pushes there are given in, too, so that a grid that is
    self-adjoint stays it for what is read and pushed anywhere.

    Everything is cubic along each axis. Of u and v beside the free surface of a solid the slope is known in place of a fourth
    value: that of no shear traction, minus the slope of w along the surface; on a fluid they are zero, as pressure is all along it.
    Shear across the surface is zero on it.
    """
    x, y, z = (_along(scheme, name, points, axis) for axis in AXES)
    if not scheme.free_surface:
        return [(name, _product(x, y, z))]
    if name in ACROSS:
        on = z.nodes == scheme.grid.shape[0] - 1
        return [(name, _product(x, y, _Axis(z.nodes, np.where(on, 0.0, z.value), np.where(on, 0.0, z.slope))))]
    if name not in ("u", "v"):
        return [(name, _product(x, y, z))]
    own, surface = _beside_surface(scheme, points, z)
    wx, wy = (_along(scheme, "w", points, axis, derivative=axis == VELOCITY[name]) for axis in ("x", "y"))
    return [(name, _product(x, y, own)), ("w", _product(wx, wy, surface))]


def _beside_surface(scheme: Scheme, points: np.ndarray, z: _Axis) -> tuple[_Axis, _Axis]:
    """Of u or v, interpolated along z as ``z`` far from the surface: weights on their own planes, and on the surface's slope of w.

    The surface counts above the second plane of u and v, 1.5 spacings deep: between the first and the second, four points of u all from
    0.5 down lie to one side, and err twice as much. At 0.5 and 1.5 both are the value there, so that nothing jumps. Points further
    down have a part of w too, of no weight, 16 numbers beside 64, so that all receivers have sample buffers of one shape.
    """
    grid, h = scheme.grid, scheme.grid.spacing
    depth = (grid.upper[2] - points[:, 2]) / h
    near = depth < 1.5 - 1e-9
    depth = np.where(near, depth, 0.0)
    value, g, slope, dg = hermite(depth)
    fluid = np.zeros(len(points), bool)
    if scheme.fluid is not None and near.any():
        fluid[near] = scheme.fluid(points[near])
    for solid, other in zip((value, slope), vanishing(depth), strict=True):
        solid[fluid] = other[fluid]
    own = _Axis(
        z.nodes,
        np.where(near[:, None], np.pad(value, ((0, 0), (1, 0))), z.value),
        np.where(near[:, None], np.pad(slope, ((0, 0), (1, 0))) / h, z.slope),
    )
    plane = np.where(near, grid.shape[0] - 1, z.nodes[:, -1])  # without weight: one of the same process
    sheared = near & ~fluid
    surface = (-np.where(sheared, w, 0.0)[:, None] for w in (h * g, dg))
    return own, _Axis(plane[:, None], *surface)


def held(scheme: Scheme, name: str, plane: int | np.ndarray) -> np.ndarray:
    """Weights of planes of the grid in the norm H, in which it is self-adjoint (``stencils.SURFACE``): shares of a cell, 1 but on and right
    below the free surface."""
    below = scheme.grid.shape[0] - 1 - np.asarray(plane)
    share = np.ones(below.shape)
    if scheme.free_surface and name in ("w", *ACROSS):
        for depth, weight in enumerate(SURFACE):
            share = np.where(below == depth, weight, share)
    return share


MARGIN = 6
"""Points around a place within which everything lies that a source or receiver there touches."""


def near(scheme: Scheme, box: Box, points: np.ndarray) -> np.ndarray:
    """Which places (n, 3) [m] may touch points of a box."""
    cells, found = scheme.grid.cell(points), np.ones(len(points), bool)
    for k, axis in enumerate("zyx"):
        count = scheme.grid.shape[k]
        shifts = (-count, 0, count) if axis in scheme.periodic else (0,)
        low, high = box.lo[k] - MARGIN, box.hi[k] + MARGIN
        found &= np.any([(cells[:, k] + s >= low) & (cells[:, k] + s < high) for s in shifts], axis=0)
    return found


def images(scheme: Scheme, box: Box, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which of the points (n, 3) of the grid lie in a box, and where there: where the grid is periodic, each may more than once."""
    number, found = np.arange(len(points)), points
    for k, axis in enumerate("zyx"):
        if axis in scheme.periodic:
            shifts = np.array([-1, 0, 1])[:, None] * scheme.grid.shape[k] * np.eye(3, dtype=np.int64)[k]
            number, found = np.tile(number, 3), (found + shifts[:, None]).reshape(-1, 3)
    inside = ((found >= box.lo) & (found < box.hi)).all(1)
    order = np.argsort(number[inside], kind="stable")
    return number[inside][order], found[inside][order]


class Sampler(Protocol):
    """Sample buffers of the grid points around places, and what a block of sample buffers says about each."""

    @property
    def sample_buffers(self) -> Sequence[SampleBuffer]: ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the values of a place."""

    @property
    def mine(self) -> np.ndarray:
        """Numbers of the places whose values this process gets."""

    def values(self, sample_buffers: Sequence[np.ndarray]) -> np.ndarray:
        """(steps, places, *shape)."""


def outside(grid: Grid, lower: np.ndarray, upper: np.ndarray, points: np.ndarray) -> np.ndarray:
    """How far (n,) each point lies outside the box asked for [m]; 0 inside."""
    gap = np.maximum(np.maximum(lower - points, points - upper), 0.0)
    distance: np.ndarray = np.linalg.norm(gap, axis=1)
    return np.where(distance > 1e-6 * grid.spacing, distance, 0.0)


__all__ = [
    "MOMENT",
    "RECORDED",
    "Sampler",
    "Stencils",
    "held",
    "hermite",
    "images",
    "lagrange",
    "near",
    "outside",
    "readings",
]
