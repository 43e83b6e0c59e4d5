"""Point sources spread over the cells around them (docs/theory/sources.md, "Spread over cells").

The field of a point is rough whatever the mesh, and the predictor of ``ader``, which sees no faces, makes a force of that. A source is
therefore a smooth function around its place, whose moments up to a degree are those of a point: waves longer than the function is wide
cannot tell it from one. It is a bell times a polynomial. The polynomial follows from the moments over those cells alone that it may
reach, so that it stays on its side of faults, boundaries and borders of rock.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from faultwave.dg.basis import tet_basis, tet_quadrature
from faultwave.dg.layers import damped
from faultwave.dg.planning import Planning
from faultwave.dg.resolved import edge_length
from faultwave.domain import tets
from faultwave.physics.sources.table import Sources

RADIUS, RADIUS_OF_HIGH_ORDERS = 1.0, 0.8
"""Of the function, in edges of a regular cell of the mean volume there; from order 7 on, whose cells are a larger part of a wavelength."""
MANY = 100
"""Sources of a case up to which each has the widest function; more are subfaults of a surface, whose field is less rough."""
RADIUS_OF_MANY, DEGREE_OF_MANY = 0.7, 5
"""Of the function of each of many sources, which costs a third."""
BELL = 3
"""Power p of (1 - r^2)^p."""
INEXACT = 1e-6
"""Error of a moment from which a source stays a point: too few points of the quadrature lie in what it may reach."""
CONTRAST = 0.03
"""Share by which an impedance may differ across a face that the function crosses."""


@dataclass(frozen=True)
class Spread:
    """Sources in cells: ``source`` (k,) acts in cell ``cells`` (k,) with ``rows`` (k, B3), the modes of the function there. ``radius`` (n,)
    [m] and ``moment`` (n, 6) of the sources, slip included."""

    source: np.ndarray
    cells: np.ndarray
    rows: np.ndarray
    radius: np.ndarray
    moment: np.ndarray

    def of(self, sources: np.ndarray, entries: np.ndarray, cells: np.ndarray) -> Spread:
        """Of ``sources`` (m,) ascending, and of ``entries``, which are now in ``cells``."""
        source = np.searchsorted(sources, self.source[entries])
        return Spread(source, cells, self.rows[entries], self.radius[sources], self.moment[sources])


@dataclass(frozen=True)
class Around:
    """Cells near sources: ``number`` (m,) in the whole mesh, ascending; ``corners`` (m, 4, 3); numbers ``beyond`` (m, 4) of cells across
    faces that waves cross, -1 elsewhere; ``impedance`` (m, k) along x, y and z; ``volume`` (m,)."""

    number: np.ndarray
    corners: np.ndarray
    beyond: np.ndarray
    impedance: np.ndarray
    volume: np.ndarray

    @classmethod
    def joined(cls, parts: list[Around]) -> Around:
        """Of all processes."""
        columns = [np.concatenate([getattr(p, name) for p in parts]) for name in cls.__dataclass_fields__]
        order = np.argsort(columns[0])
        return cls(*(c[order] for c in columns))

    def near(self) -> np.ndarray:
        """(m, 4) places in this list of the cells beyond that are of the same rock and in touch, -1 elsewhere."""
        at = np.minimum(np.searchsorted(self.number, self.beyond), max(len(self.number) - 1, 0))
        there = (self.beyond >= 0) & (self.number[at] == self.beyond)
        own, other = self.impedance[:, None], self.impedance[at]
        there &= (np.abs(own - other) <= CONTRAST * np.maximum(np.abs(own), np.abs(other))).all(-1)
        for face in range(4):  # across a period nothing touches
            corners = np.delete(self.corners, face, axis=1)[:, :, None]
            there[:, face] &= (corners == self.corners[at[:, face]][:, None]).all(-1).any(2).all(1)
        return np.where(there, at, -1)


def spread(planning: Planning, sources: Sources, cells: np.ndarray, tensors: np.ndarray) -> Spread:
    """Spread sources in ``cells`` (n,), negative where other processes have them. All processes ask together.

    Parameters
    ----------
    planning : Planning
        The mesh, its material and the processes.
    sources : Sources
        All n of the case.
    cells : ndarray (n,) of int
        Cells of this process that hold them.
    tensors : ndarray (n, 6)
        Their moment tensors [N m] per unit of their time functions, slip included.
    """
    whole, order = planning.whole, planning.case.numerics.order
    spread_for = planning.case.numerics.source_spread_order or order
    here = cells >= 0
    many = len(sources) > MANY
    radius = np.zeros(len(sources))
    radius[here] = edges(spread_for, many) * edge_length(_mean_volume(planning)[cells[here]])
    home = np.where(here, planning.numbers[np.maximum(cells, 0)], -1)
    told = whole.everywhere((radius, home))
    radius, home = (np.max([t[i] for t in told], axis=0) for i in (0, 1))
    around = Around.joined(whole.everywhere(_around(planning, sources.location, radius)))
    near = around.near()
    numbers, found, rows = planning.numbers, [], []
    made = dict[tuple[float, ...], tuple[np.ndarray, np.ndarray]]()  # directions of slip of a subfault are at one place
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
    """Return the radius of the function in edges; ``many``: of each of more than ``MANY`` sources."""
    if many:
        return RADIUS_OF_MANY
    return RADIUS if order < 7 else RADIUS_OF_HIGH_ORDERS


def degree(order: int, many: bool = False) -> int:
    """Return up to which moments are those of a point: odd, as the bell has no odd ones of its own."""
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
    """Return the cells (c,) of ``around`` that the function of a source in cell ``start`` reaches, and its modes (c, B3) there: those of
    ``order``, of the function that is made for order ``spread_for`` and for one of ``many`` sources or of few."""
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
    """Cells (c,) ascending that the ball reaches from ``start`` through faces that may be crossed; the bell (c, p) and places (c, p, 3)
    from the centre, in radii, at ``reference`` points."""
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
    """Return which cells (c,) may touch the ball: those whose sphere about the mean of their corners does."""
    middle = corners.mean(1)
    size = np.linalg.norm(corners - middle[:, None], axis=2).max(1)
    return np.asarray(np.linalg.norm(middle - place, axis=1) < radius + size)


def _function(weights: np.ndarray, y: np.ndarray, degree: int) -> np.ndarray | None:
    """(c, p) shares of the points of a bell, whose ``weights`` (c, p) it has, times the polynomial with the moments of a point; None where
    there is no such polynomial."""
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
    """Return the monomials (m, n) up to a degree at places (n, 3), the constant first; each is one of a degree less times a coordinate."""
    exponents = [(i, j, d - i - j) for d in range(degree + 1) for i in range(d + 1) for j in range(d + 1 - i)]
    number = {powers: k for k, powers in enumerate(exponents)}
    coordinates, found = np.ascontiguousarray(y.T), np.ones((len(exponents), len(y)))
    for k, powers in enumerate(exponents[1:], 1):
        axis = next(a for a in range(3) if powers[a])
        i, j, m = (p - (a == axis) for a, p in enumerate(powers))
        np.multiply(found[number[i, j, m]], coordinates[axis], out=found[k])
    return found


def _points(corners: np.ndarray, reference: np.ndarray, place: np.ndarray, radius: float) -> np.ndarray:
    """(c, p, 3) points of cells from the source's place, in radii."""
    origin = corners[:, :1]
    return np.asarray((reference @ ((corners[:, 1:] - origin) / radius)) + (origin - place) / radius)


def _mean_volume(planning: Planning) -> np.ndarray:
    """(nc,) of each cell and those across its faces."""
    volume, near = planning.geometry.volume, planning.topology.neighbours
    beyond = planning.whole.beyond(volume, near)
    return np.asarray((volume + beyond.sum(1)) / (1.0 + (beyond > 0).sum(1)))


def _around(planning: Planning, places: np.ndarray, radius: np.ndarray) -> Around:
    """Cells of this process that any ball may touch."""
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
