"""Sources in the cells of a mesh: impulses at points, impulses spread over cells, and the error of the spreading (docs/theory/sources.md).

The field of a point is rough on any mesh, and the predictor of ``ader``, which does not see faces, turns that into a
force. A source is therefore a smooth function around its location whose moments up to a degree equal the moments of a
point, so that waves longer than its width do not distinguish the two. It is a bell times a polynomial. The polynomial
is determined by moments over the permitted cells alone, so that the source stays on its side of faults, boundaries and
material interfaces.

A plane wave of wavenumber k sees a source K(x) as the integral of K(x) exp(-i k.x), and a point as 1. Runs of other
orders with the same sources do not show the difference. See the section "Spread sources".
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.backends import Points
from faultwave.backends.base import Buffer
from faultwave.dg.checks.accuracy import edge_length, slowest_speed
from faultwave.dg.mesh.boundaries import damped_cells
from faultwave.dg.mesh.placement import Planning
from faultwave.dg.method.basis import tet_basis, tet_quadrature
from faultwave.dg.operators.operator import Operator
from faultwave.domain import tets
from faultwave.physics.sources.point import Sources
from faultwave.physics.waves.law import Law, role

if TYPE_CHECKING:
    from faultwave.dg.planning.plan import Plan


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
    modes = _modes(order, max(order, spread_for) + 2)
    rows = np.einsum("cp,pb->cb", function, modes) / (6.0 * around.volume[listed, None])
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
        y = _spread_points(around.corners[front], reference, *ball)
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

    The polynomial gives them the moments of a point up to ``degree``; None if no polynomial does. Sums are by einsum: the
    rounding of BLAS depends on its number of threads, hence on the number of processes on a machine.
    """
    total = weights.sum()
    if not total > 0:
        return None
    w = weights.reshape(-1) / total
    inside = w > 0
    powers = _powers(y.reshape(-1, 3)[inside], degree)
    normal = np.einsum("mn,kn->mk", w[inside] * powers, powers)
    scale = 1.0 / np.sqrt(np.diag(normal))
    one = np.zeros(len(scale))
    one[0] = 1.0
    c = scale * np.linalg.lstsq(scale[:, None] * normal * scale, scale * one, rcond=1e-13)[0]
    if np.abs(normal @ c - one).max() > INEXACT:
        return None
    found = np.zeros(len(w))
    found[inside] = w[inside] * np.einsum("m,mn->n", c, powers)
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


def _spread_points(corners: np.ndarray, reference: np.ndarray, place: np.ndarray, radius: float) -> np.ndarray:
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
    absorbing = damped_cells(planning.material)
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


STRONGEST = 8
"""Largest number of sources in the estimate, the strongest ones."""
DIRECTIONS = 12
"""Number of wave directions, spread evenly over half the sphere."""
RADII = np.linspace(0.0, 8.0, 33)
"""Wavenumbers times the radius of the largest source, in the fastest rock around a source."""


def errors_of_spread(part: Any, plan: Plan) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the relative errors of S waves by frequency (collective).

    Returns
    -------
    frequencies : ndarray (k,)
        Frequencies [Hz].
    errors : ndarray (k,)
        Relative errors, root mean square over directions and, weighted by moment, over sources. None on all processes
        but the first.
    """
    over, world = part.spread, plan.world
    sizes = np.linalg.norm(np.concatenate([over.moment, part.sources.force, part.sources.porous], 1), axis=1)
    here = part.cells >= 0
    at = {name: values[part.cells[here]] for name, values in plan.material.items()}
    reported = world.gather((part.items[here], sizes[here], slowest_speed(plan.law, at), over.radius[here]))
    chosen = None
    if reported is not None:
        item, size, speed, radius = (np.concatenate([t[i] for t in reported]) for i in range(4))
        strongest = np.argsort(-size, kind="stable")[:STRONGEST]
        item, size, speed = (x[strongest] for x in (item, size, speed))
        frequencies = RADII / radius[strongest].max() * speed.max() / (2.0 * np.pi)
        chosen = item, size, frequencies, 2.0 * np.pi * np.outer(1.0 / speed, frequencies)
    item, size, frequencies, wavenumbers = world.broadcast(chosen)
    met = world.gather(_met(part, plan, item, wavenumbers))
    if met is None:
        return None
    wrong = (np.abs(np.sum(met, axis=0) - 1.0) ** 2).mean(2)  # (sources, frequencies)
    return frequencies, np.sqrt(np.average(wrong, axis=0, weights=size**2 if size.any() else None))


def _met(part: Any, plan: Plan, items: np.ndarray, wavenumbers: np.ndarray) -> np.ndarray:
    """Return the amplitude (n, k, directions) of sources ``items`` in this process's cells for waves of ``wavenumbers`` (n, k)."""
    over: Spread = part.spread
    order = plan.case.numerics.order
    points, weights = tet_quadrature(order + 4)
    values = weights[:, None] * tet_basis(points, order - 1)
    found = np.zeros((*wavenumbers.shape, DIRECTIONS), complex)
    number = np.arange(DIRECTIONS) + 0.5
    z, turn = number / DIRECTIONS, np.pi * (1.0 + 5.0**0.5) * number
    flat = np.sqrt(1.0 - z**2)
    directions = np.stack([flat * np.cos(turn), flat * np.sin(turn), z], 1)
    for n, item in enumerate(items):
        mine = np.flatnonzero(part.items[over.source] == item)
        if not len(mine):
            continue
        corners = plan.geometry.corners_of(over.cells[mine])
        edges = corners[:, 1:] - corners[:, :1]
        away = corners[:, :1] - part.sources.location[over.source[mine[0]]]
        x = (away + np.einsum("pj,cjk->cpk", points, edges)).reshape(-1, 3) @ directions.T
        share = (6.0 * plan.geometry.volume[over.cells[mine], None] * (over.rows[mine] @ values.T)).reshape(-1)
        for i, k in enumerate(wavenumbers[n]):
            found[n, i] = share @ np.exp(-1j * k * x)
    return found


@dataclass(frozen=True)
class Entries:
    """Sources in cells, one entry per source and cell.

    Attributes
    ----------
    source : ndarray (k,)
        Source of each entry.
    cells : ndarray (k,)
        Cell of each entry.
    rows : ndarray (k, B3)
        Modes of a unit impulse in the cell.
    clusters : ndarray (n, clusters)
        1 where a source has entries on any process, 2 in the cluster of its location.
    moment : ndarray (n, 6), optional
        Moment tensors of the n sources, slip included. None if each source has one entry, whose cell determines it.
    """

    source: np.ndarray
    cells: np.ndarray
    rows: np.ndarray
    clusters: np.ndarray
    moment: np.ndarray | None = None


class SourceTerms:
    """Injection of point sources into the degrees of freedom.

    Parameters
    ----------
    operator : Operator
        Operator that holds the degrees of freedom.
    sources : Sources
        Time functions, moments and forces.
    entries : Entries
        Cells of the sources.
    centred : bool
        Shift the window of each impulse by half a step, which makes it second order in the step.

    Attributes
    ----------
    done : ndarray (n, clusters)
        End of the last window of each source [s].
    """

    def __init__(self, operator: Operator, sources: Sources, entries: Entries, centred: bool):
        self.operator, self.sources, self.centred = operator, sources, centred
        self.done = np.zeros(entries.clusters.shape)
        self.over = entries.clusters == 0  # sources that never act again, determined after their end
        self.end = sources.end
        self.acting = False  # True if impulses are launched even if zero, as recorded steps must be alike
        position = operator.layout.position[entries.cells] if len(entries.cells) else np.zeros(0, np.int64)
        cluster = clusters_of(operator, entries.cells)
        order = np.lexsort((np.arange(len(position)), position))  # entries of a cell are consecutive
        self.members = [order[cluster[order] == c] for c in range(operator.layout.clusters)]
        self.present = [np.flatnonzero(entries.clusters[:, c]) for c in range(operator.layout.clusters)]
        self.of = [
            np.searchsorted(listed, entries.source[m]) for listed, m in zip(self.present, self.members, strict=True)
        ]  # each member's source among those present
        self.scales, rows, columns = self._terms(entries)
        self.inject = [
            operator.backend.injector(_injection_points(operator.q, position[m], rows[m], columns[m]))
            if len(m)
            else None
            for m in self.members
        ]

    def _terms(self, entries: Entries) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the factors of an impulse's change of its cell.

        An impulse adds its size times scale (k,) times rows (k, B3) times columns (k, Q) to the degrees of freedom; the
        largest of rows and of columns are 1, so that single precision represents them.
        """
        op, cells, rows = self.operator, entries.cells, entries.rows
        self.roots = np.zeros(len(self.sources))
        if not len(cells):
            return np.zeros(0), np.zeros((0, op.b3)), np.zeros((0, op.form.Q))
        given = self._directions(entries)
        self.roots = self._roots(entries, given)
        columns = op.working(given[:, None], cells)[:, 0]
        largest = [np.abs(x).max(1, keepdims=True) for x in (rows, columns)]
        rows, columns = (x / np.where(m > 0, m, 1.0) for x, m in zip((rows, columns), largest, strict=True))
        return (largest[0] * largest[1])[:, 0], rows, columns

    def _directions(self, entries: Entries) -> np.ndarray:
        """Return the right-hand sides (k, Q) of unit time functions."""
        law, material, sources = self.operator.law, self.operator.cells.material, self.sources
        moments = entries.moment
        if moments is None:
            moments = moments_in(law, sources, {name: v[entries.cells] for name, v in material.items()})
        found = []
        for n, cell in zip(entries.source, entries.cells, strict=True):
            values = {k: float(v[cell]) for k, v in material.items()}
            moment, porous = moments[n], sources.porous[n]
            if "filtration" in law.roles and porous.any():
                found.append(law.source(moment, np.zeros(3), values))
                for name, part in zip(("velocity", "pressure", "filtration"), np.split(porous, [3, 4]), strict=True):
                    found[-1][role(law, name)] += part
            else:
                found.append(law.source(moment, sources.force[n], values))
        return np.stack(found)

    def _roots(self, entries: Entries, given: np.ndarray) -> np.ndarray:
        """Return a bound (n,) for the square root of the energy [J^(1/2)] that a unit impulse of each source adds to rock at rest.

        ``given`` are the right-hand sides (k, Q).
        """
        op, cells = self.operator, entries.cells
        material = {p.name: op.cells.material[p.name][cells] for p in op.law.parameters}
        found = op.law.energies(list(given.T), material)
        density = sum(np.broadcast_to(v, len(cells)) for name, v in found.items() if name.endswith("energy"))
        square = (entries.rows**2).sum(1) * 6.0 * op.cells.volume[cells]  # the basis is orthonormal
        return np.bincount(entries.source, np.sqrt(np.maximum(density, 0.0) * square), len(self.sources))

    def idle(self, until: float) -> bool:
        """Return True if no source acts between its last window and ``until``; reversals of earlier impulses count as action."""
        return not any(self._awake(cluster, until).any() for cluster in range(len(self.present)))

    def _awake(self, cluster: int, until: float) -> np.ndarray:
        """Return which sources of a cluster may act between their last windows and ``until``.

        A source may act if it has begun, and has not ended with a constant tail.
        """
        listed = self.present[cluster]
        done, over = self.done[listed, cluster], self.over[listed, cluster]
        ended = np.flatnonzero((done >= self.end[listed]) & ~over)
        if len(ended):
            last = done[ended] + self.sources.functions.end[listed[ended]]
            tail = self.sources.released(np.stack([done[ended], last], 1), listed[ended])
            over[ended] = tail[:, 1] == tail[:, 0]
            self.over[listed, cluster] = over
        return np.asarray((self.sources.onset[listed] < until) & ~over)

    def nbytes(self, steps: Sequence[int]) -> int:
        """Return the bytes of the amounts of ``steps`` steps of each cluster."""
        return sum(8 * n * len(m) for n, m in zip(steps, self.members, strict=True))

    def amounts(self, cluster: int, time: float, step: float) -> np.ndarray:
        """Return the impulse of each of the cluster's entries since its last window; windows are contiguous whatever the steps."""
        listed, end = self.present[cluster], time + (1.5 if self.centred else 1.0) * step
        awake = self._awake(cluster, end)
        found = np.zeros(len(listed))
        acting = listed[awake]
        if len(acting):
            window = np.stack([self.done[acting, cluster], np.full(len(acting), end)], 1)
            found[awake] = np.diff(self.sources.released(window, acting), axis=1)[:, 0]
        self.done[listed, cluster] = end
        return found[self.of[cluster]] * self.scales[self.members[cluster]]

    def add(self, cluster: int, time: float, step: float) -> bool:
        """Add the impulses to the corrected degrees of freedom; return True if a kernel was launched."""
        if not len(self.present[cluster]):
            return False
        amounts, inject = self.amounts(cluster, time, step), self.inject[cluster]
        if inject is None or not (self.acting or amounts.any()):
            return False
        inject(amounts)
        return True


def clusters_of(operator: Operator, cells: np.ndarray) -> np.ndarray:
    """Return the cluster (k,) of cells."""
    if not len(cells):
        return np.zeros(0, np.int64)
    ends = [end for _, end in operator.layout.plain_ranges]
    return np.asarray(np.searchsorted(ends, operator.layout.position[cells], side="right"))


def at_points(operator: Operator, cells: np.ndarray, local: np.ndarray) -> Entries:
    """Return the entries of sources at reference coordinates ``local`` (n, 3) of cells (n,)."""
    clusters = np.zeros((len(cells), operator.layout.clusters))
    clusters[np.arange(len(cells)), clusters_of(operator, cells)] = 2
    rows = np.zeros((0, operator.b3))
    if len(cells):
        rows = tet_basis(local, operator.order - 1) / (6.0 * operator.cells.volume[cells, None])
    return Entries(np.arange(len(cells)), cells, rows, clusters)


def moments_in(law: Law, sources: Sources, material: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the moment tensors (n, 6) of unit time functions in rock with the parameters ``material`` (n,) each."""
    none = np.zeros(len(sources))
    moments = sources.moment_tensors(*(material.get(k, none) for k in ("lambda", "mu")))
    for n in range(len(sources)):
        slip = law.stress_of(sources.potency[n], {k: float(v[n]) for k, v in material.items()})
        if slip is not None:
            moments[n] = sources.moment[n] + slip
    return moments


def _injection_points(q: Buffer, position: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> Points:
    items, first = np.unique(position, return_index=True)
    return Points(q, items, np.append(first, len(position)), rows, columns)
