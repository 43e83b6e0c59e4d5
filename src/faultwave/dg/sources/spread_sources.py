"""Point sources spread over the cells around them (docs/theory/sources.md, "Spread over cells").

The field of a point is rough on any mesh, and the predictor of ``ader``, which does not see faces, turns that into a
force. A source is therefore a smooth function around its location whose moments up to a degree equal the moments of a
point, so that waves longer than its width do not distinguish the two. It is a bell times a polynomial. The polynomial
is determined by moments over the permitted cells alone, so that the source stays on its side of faults, boundaries and
material interfaces.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from faultwave.dg.checks.resolution import edge_length
from faultwave.dg.mesh.layers import damped
from faultwave.dg.mesh.placement import Planning
from faultwave.dg.method.basis import tet_basis, tet_quadrature
from faultwave.domain import tets
from faultwave.physics.sources.table import Sources

RADIUS, RADIUS_OF_HIGH_ORDERS = 1.0, 0.8
"""Radius of the function in edges of a regular cell of the local mean volume, below order 7 and from order 7 on.

Cells of high orders are a larger part of a wavelength.
"""
MANY = 100
"""Number of sources of a case up to which each has the widest function; more are subfaults, whose joint field is less rough."""
RADIUS_OF_MANY, DEGREE_OF_MANY = 0.7, 5
"""Radius and degree of the function of each of many sources, which costs a third."""
BELL = 3
"""Power p of the bell (1 - r^2)^p."""
INEXACT = 1e-6
"""Error of a moment from which a source stays a point, as too few quadrature points lie in the permitted cells."""
CONTRAST = 0.03
"""Relative difference of impedance up to which the function crosses a face."""


@dataclass(frozen=True)
class Spread:
    """Spread sources in cells, one entry per source and cell.

    Attributes
    ----------
    source : ndarray (k,)
        Source of each entry.
    cells : ndarray (k,)
        Cell of each entry.
    rows : ndarray (k, B3)
        Modes of the function in the cell.
    radius : ndarray (n,)
        Radius of each source's function [m].
    moment : ndarray (n, 6)
        Moment tensor of each source, slip included.
    """

    source: np.ndarray
    cells: np.ndarray
    rows: np.ndarray
    radius: np.ndarray
    moment: np.ndarray

    def of(self, sources: np.ndarray, entries: np.ndarray, cells: np.ndarray) -> Spread:
        """Return the ascending ``sources`` (m,) with the listed ``entries``, whose cells have the new indices ``cells``."""
        source = np.searchsorted(sources, self.source[entries])
        return Spread(source, cells, self.rows[entries], self.radius[sources], self.moment[sources])


@dataclass(frozen=True)
class Around:
    """Cells near sources.

    Attributes
    ----------
    number : ndarray (m,)
        Numbers in the whole mesh, ascending.
    corners : ndarray (m, 4, 3)
        Vertices [m].
    beyond : ndarray (m, 4)
        Numbers of the cells across faces that waves cross, -1 elsewhere.
    impedance : ndarray (m, k)
        Impedances along x, y and z, and a column of damping if there are absorbing layers.
    volume : ndarray (m,)
        Volumes [m^3].
    """

    number: np.ndarray
    corners: np.ndarray
    beyond: np.ndarray
    impedance: np.ndarray
    volume: np.ndarray

    @classmethod
    def joined(cls, parts: list[Around]) -> Around:
        """Join the cells of all processes."""
        columns = [np.concatenate([getattr(p, name) for p in parts]) for name in cls.__dataclass_fields__]
        order = np.argsort(columns[0])
        return cls(*(c[order] for c in columns))

    def near(self) -> np.ndarray:
        """Return the indices (m, 4) of adjacent cells of the same rock across each face, -1 elsewhere."""
        at = np.minimum(np.searchsorted(self.number, self.beyond), max(len(self.number) - 1, 0))
        there = (self.beyond >= 0) & (self.number[at] == self.beyond)
        own, other = self.impedance[:, None], self.impedance[at]
        there &= (np.abs(own - other) <= CONTRAST * np.maximum(np.abs(own), np.abs(other))).all(-1)
        for face in range(4):  # periodic neighbours do not touch
            corners = np.delete(self.corners, face, axis=1)[:, :, None]
            there[:, face] &= (corners == self.corners[at[:, face]][:, None]).all(-1).any(2).all(1)
        return np.where(there, at, -1)


def spread(planning: Planning, sources: Sources, cells: np.ndarray, tensors: np.ndarray) -> Spread:
    """Spread sources over the cells around them (collective).

    Parameters
    ----------
    planning : Planning
        The mesh, its material and the processes.
    sources : Sources
        All n sources of the case.
    cells : ndarray (n,) of int
        Cell of this process that contains each source, negative if it lies on another process.
    tensors : ndarray (n, 6)
        Moment tensors [N m] per unit of the time functions, slip included.
    """
    whole, order = planning.whole, planning.case.numerics.order
    spread_for = planning.case.numerics.source_spread_order or order
    here = cells >= 0
    many = len(sources) > MANY
    radius = np.zeros(len(sources))
    radius[here] = edges(spread_for, many) * edge_length(_mean_volume(planning)[cells[here]])
    home = np.where(here, planning.numbers[np.maximum(cells, 0)], -1)
    reported = whole.everywhere((radius, home))
    radius, home = (np.max([t[i] for t in reported], axis=0) for i in (0, 1))
    around = Around.joined(whole.everywhere(_around(planning, sources.location, radius)))
    near = around.near()
    numbers, found, rows = planning.numbers, [], []
    made = dict[tuple[float, ...], tuple[np.ndarray, np.ndarray]]()  # slip directions of a subfault share a location
    for i in np.flatnonzero(home >= 0):
        start = int(np.searchsorted(around.number, home[i]))
        place = tuple(sources.location[i].tolist())
        if place not in made:
            made[place] = shape(around, near, start, (sources.location[i], radius[i]), order, spread_for, many)
        touched, modes = made[place]
        at = np.minimum(np.searchsorted(numbers, around.number[touched]), len(numbers) - 1)
        own = numbers[at] == around.number[touched]
        found.append(np.stack([np.full(own.sum(), i), at[own]], 1))
        rows.append(modes[own])
    listed = np.concatenate([np.zeros((0, 2), np.int64), *found])
    size = len(tet_basis(np.zeros((1, 3)), order - 1)[0])
    return Spread(listed[:, 0], listed[:, 1], np.concatenate([np.zeros((0, size)), *rows]), radius, tensors)


def edges(order: int, many: bool = False) -> float:
    """Return the radius of the function in edges; ``many`` if the case has more than ``MANY`` sources."""
    if many:
        return RADIUS_OF_MANY
    return RADIUS if order < 7 else RADIUS_OF_HIGH_ORDERS


def degree(order: int, many: bool = False) -> int:
    """Return the degree up to which moments equal the moments of a point; it is odd, as all odd moments of the bell vanish."""
    return min(2 * (order // 2) + 1, DEGREE_OF_MANY if many else 7)


def shape(
    around: Around,
    near: np.ndarray,
    start: int,
    ball: tuple[np.ndarray, float],
    order: int,
    spread_for: int,
    many: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells that the function of a source reaches, and its modes there.

    Parameters
    ----------
    around : Around
        Cells near sources.
    near : ndarray (m, 4)
        Adjacent cells that may be entered, from ``Around.near``.
    start : int
        Cell of the source.
    ball : (ndarray (3,), float)
        Location and radius of the source [m].
    order : int
        Order of the modes.
    spread_for : int
        Order for which the function is constructed.
    many : bool
        True for one of many sources.

    Returns
    -------
    cells : ndarray (c,)
        Indices in ``around``.
    modes : ndarray (c, B3)
        Modes of the function.
    """
    reference, weights = tet_quadrature(max(order, spread_for) + 2)
    listed, bell, y = _reached(around, near, start, ball, reference)
    function = _function(bell * weights * around.volume[listed, None], y, degree(spread_for, many))
    if function is None:
        corners = around.corners[start]
        local = np.linalg.solve((corners[1:] - corners[0]).T, ball[0] - corners[0])
        return np.array([start]), tet_basis(local[None], order - 1) / (6.0 * around.volume[start])
    rows = function @ _modes(order, max(order, spread_for) + 2) / (6.0 * around.volume[listed, None])
    return listed, rows


@functools.cache
def _modes(order: int, points: int) -> np.ndarray:
    """Return the modes (p, B3) of an order at the points of a quadrature."""
    return tet_basis(tet_quadrature(points)[0], order - 1)


def _reached(
    around: Around, near: np.ndarray, start: int, ball: tuple[np.ndarray, float], reference: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the ascending cells (c,) that the ball reaches from ``start`` through permitted faces, the bell and the points.

    The bell (c, p) and the positions (c, p, 3), relative to the centre and in radii, are evaluated at the ``reference``
    points.
    """
    cells, bells, places, seen, front = [], [], [], {start}, np.array([start])
    while len(front):
        front = front[_may_touch(around.corners[front], *ball) | (front == start)]
        y = _points(around.corners[front], reference, *ball)
        bell = np.maximum(1.0 - (y**2).sum(-1), 0.0) ** BELL
        touched = (bell > 0).any(1) | (front == start)
        cells.append(front[touched])
        bells.append(bell[touched])
        places.append(y[touched])
        beyond = near[front[touched]]
        front = np.array(sorted({int(c) for c in beyond[beyond >= 0]} - seen), np.int64)
        seen.update(front.tolist())
    listed = np.concatenate(cells)
    ascending = np.argsort(listed)
    return listed[ascending], np.concatenate(bells)[ascending], np.concatenate(places)[ascending]


def _may_touch(corners: np.ndarray, place: np.ndarray, radius: float) -> np.ndarray:
    """Return which cells (c,) may intersect the ball: the sphere about the mean of their corners does."""
    middle = corners.mean(1)
    size = np.linalg.norm(corners - middle[:, None], axis=2).max(1)
    return np.asarray(np.linalg.norm(middle - place, axis=1) < radius + size)


def _function(weights: np.ndarray, y: np.ndarray, degree: int) -> np.ndarray | None:
    """Return the weights (c, p) of the source at the points of the bell: the bell's ``weights`` times a polynomial.

    The polynomial gives them the moments of a point up to ``degree``; None if no polynomial does.
    """
    total = weights.sum()
    if not total > 0:
        return None
    w = weights.reshape(-1) / total
    inside = w > 0
    powers = _powers(y.reshape(-1, 3)[inside], degree)
    normal = (w[inside] * powers) @ powers.T
    scale = 1.0 / np.sqrt(np.diag(normal))
    one = np.zeros(len(scale))
    one[0] = 1.0
    c = scale * np.linalg.lstsq(scale[:, None] * normal * scale, scale * one, rcond=1e-13)[0]
    if np.abs(normal @ c - one).max() > INEXACT:
        return None
    found = np.zeros(len(w))
    found[inside] = w[inside] * (c @ powers)
    return np.asarray((found / found.sum()).reshape(weights.shape))


def _powers(y: np.ndarray, degree: int) -> np.ndarray:
    """Return the monomials (m, n) up to a degree at positions (n, 3), the constant first."""
    exponents = [(i, j, d - i - j) for d in range(degree + 1) for i in range(d + 1) for j in range(d + 1 - i)]
    number = {powers: k for k, powers in enumerate(exponents)}
    coordinates, found = np.ascontiguousarray(y.T), np.ones((len(exponents), len(y)))
    for k, powers in enumerate(exponents[1:], 1):
        axis = next(a for a in range(3) if powers[a])
        i, j, m = (p - (a == axis) for a, p in enumerate(powers))
        np.multiply(found[number[i, j, m]], coordinates[axis], out=found[k])
    return found


def _points(corners: np.ndarray, reference: np.ndarray, place: np.ndarray, radius: float) -> np.ndarray:
    """Return the points (c, p, 3) of cells relative to the source's location, in radii."""
    origin = corners[:, :1]
    return np.asarray((reference @ ((corners[:, 1:] - origin) / radius)) + (origin - place) / radius)


def _mean_volume(planning: Planning) -> np.ndarray:
    """Return the mean volume (nc,) of each cell and the cells across its faces."""
    volume, near = planning.geometry.volume, planning.topology.neighbours
    beyond = planning.whole.beyond(volume, near)
    return np.asarray((volume + beyond.sum(1)) / (1.0 + (beyond > 0).sum(1)))


def _around(planning: Planning, places: np.ndarray, radius: np.ndarray) -> Around:
    """Return the cells of this process that any ball may intersect."""
    geometry, law = planning.geometry, planning.law
    acting = radius > 0
    away = radius[acting, None]
    cells = tets.cells_about(places[acting] - away, places[acting] + away, geometry)
    absorbing = damped(planning.material)
    crossed = (planning.across & ~planning.frictional)[cells]
    beyond = np.where(crossed, planning.whole.numbered(planning.topology.neighbours)[cells], -1)
    values = {name: v[cells] for name, v in planning.material.items()}
    impedance = [law.impedance_at(values, np.broadcast_to(axis, (len(cells), 3))) for axis in np.eye(3)]
    if absorbing is not None:
        impedance.append(1.0 + absorbing[cells, None])
    return Around(
        planning.numbers[cells],
        geometry.corners_of(cells),
        beyond,
        np.concatenate(impedance, 1),
        geometry.volume[cells],
    )


__all__ = ["Spread", "spread"]
