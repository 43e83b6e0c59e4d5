"""Incident waves at points of the grid: exact samples of a record of the same grid, interpolated ones of any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from faultwave.domain.grids import RegularGrid
from faultwave.fd.injection.total_field import Points
from faultwave.fd.method.grid import HALF, Grid
from faultwave.fd.method.stencils import VELOCITY
from faultwave.fd.operators.points import RECORDED, lagrange
from faultwave.observe import boxes
from faultwave.observe.boxes import STRESSES, BoxRecord, Nodes

if TYPE_CHECKING:
    from scipy import sparse

QUANTITY = dict(zip(RECORDED, boxes.RECORDED, strict=True))
"""Names in files of the grid's fields."""
SAME = 1e-6
"""Tolerance relative to a spacing or a step within which points and times coincide."""
POINTS = 4
"""Number of points of an interpolating polynomial along an axis."""
TIMES = 6
"""Number of samples of an interpolating polynomial in time."""


class Incident(Protocol):
    """Wave field at points of the grid that were passed to its constructor."""

    def values(self, first: int, count: int) -> Mapping[str, np.ndarray]:
        """Return the values (count, points) of each array in ``count`` steps of the scheme from ``first`` on.

        Stresses are taken at the beginning of a step, velocities in its middle.
        """


def times(name: str, first: int, count: int, step: float) -> np.ndarray:
    """Return the times [s] at which steps need a quantity."""
    return np.asarray(step * (first + np.arange(count) + (0.5 if name in VELOCITY else 0.0)))


@dataclass(frozen=True)
class Between:
    """Interpolation from the nodes of a record to points.

    Attributes
    ----------
    weights : sparse array, shape (points, nodes)
    same : ndarray of int or None
        Numbers of the nodes that coincide with the points, if all do.
    missing : ndarray of int
        Numbers of the points outside the record.
    """

    weights: sparse.csr_array
    same: np.ndarray | None
    missing: np.ndarray  # numbers of points outside the record

    def of(self, values: np.ndarray) -> np.ndarray:
        """Return values (times, points) interpolated from values (times, nodes)."""
        return values[:, self.same] if self.same is not None else np.asarray((self.weights @ values.T).T)


def between(nodes: Nodes, grid: Grid, name: str, points: Points) -> Between:
    """Return the interpolation from nodes to points (n, 3) of the grid.

    It selects nodes where all points coincide with one, and else uses cubic polynomials along each axis.
    """
    columns = _Columns(nodes)
    if abs(nodes.spacing - grid.spacing) < SAME * grid.spacing:
        regular = RegularGrid.place(grid, points, HALF[name])
        index = (regular - nodes.origin) / nodes.spacing
        at = columns.of(np.rint(index).astype(np.int64))
        if np.abs(index - np.rint(index)).max() < SAME and (at >= 0).all():
            from scipy import sparse

            return Between(sparse.csr_array((len(points), len(nodes.index))), at, np.zeros(0, np.int64))
    place = grid.place(points, HALF[name])
    place[:, 2] = np.minimum(place[:, 2], grid.upper[2])
    return _cubic(nodes, columns, place)


def at_places(nodes: Nodes, places: np.ndarray) -> Between:
    """Return the interpolation from nodes to places (n, 3) [m] by cubic polynomials along each axis."""
    return _cubic(nodes, _Columns(nodes), places)


def gradients_at(nodes: Nodes, places: np.ndarray) -> list[sparse.csr_array]:
    """Return the weights (points, nodes) [1/m] of the derivatives along x, y and z of the interpolating polynomials."""
    columns = _Columns(nodes)
    return [_cubic(nodes, columns, places, axis).weights for axis in range(3)]


def _cubic(nodes: Nodes, columns: _Columns, place: np.ndarray, slope: int | None = None) -> Between:
    """Return the interpolation by polynomials through four points along each axis, or its derivative along ``slope``.

    The points surround the place, or are the last four at an end.
    """
    from scipy import sparse  # takes long to import, and few runs need it

    count, last = len(place), nodes.index.max(0) - (POINTS - 1)
    fraction = (place - nodes.origin) / nodes.spacing
    start = np.clip(np.floor(fraction + SAME).astype(np.int64) - 1, nodes.index.min(0), last)
    weights = [_along(nodes, place, start, k, k == slope) for k in range(3)]
    cols, factors = list[np.ndarray](), list[np.ndarray]()
    for i, j, k in np.ndindex(POINTS, POINTS, POINTS):
        cols.append(columns.of(start + np.array([i, j, k])))
        factors.append(weights[0][:, i] * weights[1][:, j] * weights[2][:, k])
    at = np.stack(cols, 1)
    beyond = ((fraction < nodes.index.min(0) - SAME) | (place > nodes.places().max(0) + SAME * nodes.spacing)).any(1)
    whole = (at >= 0).all(1) & ~beyond
    rows = np.repeat(np.flatnonzero(whole), at.shape[1])
    data = (np.stack(factors, 1)[whole].ravel(), (rows, at[whole].ravel()))
    return Between(sparse.csr_array(data, (count, len(nodes.index))), None, np.flatnonzero(~whole))


def _along(nodes: Nodes, place: np.ndarray, start: np.ndarray, axis: int, slope: bool) -> np.ndarray:
    """Return the weights (n, 4) along an axis of values, or of the derivative if ``slope``.

    The uppermost point may lie on a free surface, closer to the next one.
    """
    index = start[:, axis, None] + np.arange(POINTS)
    at = nodes.origin[axis] + nodes.spacing * index
    at = np.minimum(at, nodes.top) if axis == 2 else at
    value, derivative = lagrange(place[:, axis] / nodes.spacing, at / nodes.spacing)
    return derivative / nodes.spacing if slope else value


class _Columns:
    """Numbers of nodes by their index; -1 where there is no node."""

    def __init__(self, nodes: Nodes):
        self.low = nodes.index.min(0)
        self.size = np.ptp(nodes.index, axis=0) + 1
        self.table = np.full(self.size, -1, np.int32)
        self.table[tuple((nodes.index - self.low).T)] = np.arange(len(nodes.index))

    def of(self, index: np.ndarray) -> np.ndarray:
        own = index - self.low
        inside = ((own >= 0) & (own < self.size)).all(1)
        found = np.full(len(index), -1)
        found[inside] = self.table[tuple(own[inside].T)]
        return found


class RecordedWaves:
    """Incident waves of a record; exactly its samples where lattices and steps agree."""

    def __init__(self, record: BoxRecord, grid: Grid, step: float, listed: Mapping[str, Points]):
        self.record, self.step = record, step
        self.between = {name: between(record.nodes[QUANTITY[name]], grid, name, of) for name, of in listed.items()}
        self.counts = {name: len(of) for name, of in listed.items()}

    def values(self, first: int, count: int) -> dict[str, np.ndarray]:
        """Return the values of steps by array (see ``Incident.values``)."""
        found = {}
        for name, between in self.between.items():
            quantity = QUANTITY[name]
            when = times(name, first, count, self.step)
            at = (when - self.record.first[quantity]) / self.record.frame.interval
            found[name] = between.of(in_time(self.record, quantity, at))
        return found

    @property
    def exact(self) -> bool:
        """True if no value is interpolated."""
        ratio = self.step / self.record.frame.interval
        same = all(between.same is not None for between in self.between.values())
        return same and all(
            abs(ratio - 1.0) < 1e-9
            and _whole(times(name, 0, 1, self.step)[0] - self.record.first[QUANTITY[name]], self.step)
            for name in self.between
        )


def _whole(shift: float, step: float) -> bool:
    return abs(shift / step - round(shift / step)) < SAME


class Samples(Protocol):
    """Protocol of a record that is read by ranges of samples."""

    @property
    def samples(self) -> int: ...

    def read(self, names: Sequence[str], begin: int, end: int) -> dict[str, np.ndarray]: ...


def in_time(record: Samples, quantity: str, at: np.ndarray) -> np.ndarray:
    """Return samples at increasing fractional numbers ``at`` (m,).

    Integers select samples; others are interpolated by polynomials through six samples, which are zero before the
    first. After the last sample velocities are zero and stresses constant: the state of rock that has come to rest.
    """
    last = record.samples - 1
    beyond = np.flatnonzero(at > last + SAME)
    if len(beyond):
        final = record.read([quantity], last, last + 1)[quantity]
        rest = np.repeat(final if quantity in STRESSES else np.zeros_like(final), len(beyond), 0)
        before = at[: len(at) - len(beyond)]
        return np.concatenate([in_time(record, quantity, before), rest]) if len(before) else rest
    whole = np.rint(at).astype(np.int64)
    if np.abs(at - whole).max() < SAME * max(1.0, float(np.ptp(at))) and (np.diff(whole) == 1).all():
        return record.read([quantity], int(whole[0]), int(whole[-1]) + 1)[quantity]
    start = np.minimum(np.floor(at).astype(np.int64) - TIMES // 2 + 1, record.samples - TIMES)
    low, high = int(start.min()), int(start.max()) + TIMES
    block = record.read([quantity], low, high)[quantity]
    weights = np.zeros((len(at), high - low))
    for m in range(TIMES):
        factor = np.ones(len(at))
        for n in range(TIMES):
            if n != m:
                factor *= (at - start - n) / (m - n)
        weights[np.arange(len(at)), start - low + m] = factor
    return np.asarray(weights @ block)


def unreached(record: BoxRecord, grid: Grid, listed: Mapping[str, Points]) -> Sequence[tuple[str, np.ndarray]]:
    """Return the points outside a record as pairs (array, numbers)."""
    found = [(name, between(record.nodes[QUANTITY[name]], grid, name, of).missing) for name, of in listed.items()]
    return [(name, missing) for name, missing in found if len(missing)]
