"""Lattice of values with linear interpolation, of which only the required columns are read from the file."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faultwave.media.points import Floats, Integers

ROCK, WATER, AIR, POISON, HOLE = 0, 1, 2, 3, 4
"""Kinds of lattice points.

POISON is a point inside the model without valid numbers, HOLE a point below rock that lacks only its S speed.
"""

GROWTH = 0.25
"""Fraction by which the columns in memory grow beyond the requested ones.

A scan across a model then reads its file only a few times.
"""

Columns = dict[str, NDArray[np.float32]]
Read = Callable[[slice, slice], tuple[Columns, NDArray[np.bool_]]]
"""Reader of the columns of two slices.

It returns values (ni, nj, nk) by name, NaN where missing, and a mask of missing values that are air.
"""


def position(x: Floats, nodes: Floats) -> Floats:
    """Return fractional indices along an axis with ascending ``nodes``.

    Positions beyond the ends are extrapolated with the outermost spacing; the index is 0 if there is one node.
    """
    if len(nodes) == 1:
        return np.zeros(len(x))
    index = np.interp(x, nodes, np.arange(len(nodes)))
    below, above = x < nodes[0], x > nodes[-1]
    index[below] = (x[below] - nodes[0]) / (nodes[1] - nodes[0])
    index[above] = len(nodes) - 1 + (x[above] - nodes[-1]) / (nodes[-1] - nodes[-2])
    return index


def within(index: Floats, count: int) -> NDArray[np.bool_]:
    """Return a mask of the positions that lie on an axis, up to one spacing beyond its ends."""
    if count == 1:
        return np.ones(len(index), bool)
    return np.asarray((index >= -1.0 - 1e-9) & (index <= count + 1e-9))


@dataclass(frozen=True)
class CellWeights:
    """Corners (8, n) of the cells that contain points, as indices into the lattice's memory, and their weights (8, n)."""

    corners: Integers
    weights: Floats


class Lattice:
    """Lattice of ``shape`` (nx, ny, nz) points with the values ``names``; ``read`` loads columns into memory."""

    def __init__(self, shape: tuple[int, int, int], names: Sequence[str], read: Read):
        self.shape, self.names, self._read = shape, tuple(names), read
        self._first, self._last = (0, 0), (0, 0)
        self.columns: Columns = {}
        self.kinds: NDArray[np.uint8] = np.zeros((0, 0, 0), np.uint8)

    def between(self, index: Sequence[Floats]) -> CellWeights:
        """Return cells and linear weights at fractional indices along x, y, z.

        Positions beyond the ends get the outermost values.
        """
        low, share = [], []
        for x, count in zip(index, self.shape, strict=True):
            inside = np.clip(x, 0.0, count - 1.0)
            start = np.minimum(np.floor(inside).astype(np.int64), max(count - 2, 0))
            low.append(start)
            share.append(inside - start)
        self._load_columns(low)
        strides = (self.kinds.shape[1] * self.shape[2], self.shape[2], 1)
        base = sum((i - f) * s for i, f, s in zip(low, (*self._first, 0), strides, strict=True))
        corners, weights = [], []
        for corner in itertools.product((0, 1), repeat=3):
            weight = np.ones(len(low[0]))
            for step, w in zip(corner, share, strict=True):
                weight = weight * (w if step else 1.0 - w)
            # along an axis of one point the far corner has no weight and does not exist
            steps = [c if n > 1 else 0 for c, n in zip(corner, self.shape, strict=True)]
            corners.append(base + int(np.dot(steps, strides)))
            weights.append(weight)
        return CellWeights(np.stack(corners), np.stack(weights))

    def _load_columns(self, low: Sequence[Integers]) -> None:
        """Load the columns around these points into memory."""
        if not len(low[0]):
            need = tuple((0, min(2, n)) for n in self.shape[:2])
        else:
            need = tuple((int(i.min()), min(int(i.max()) + 2, n)) for i, n in zip(low[:2], self.shape[:2], strict=True))
        held = tuple(zip(self._first, self._last, strict=True))
        if self.columns and all(h[0] <= a and b <= h[1] for h, (a, b) in zip(held, need, strict=True)):
            return
        first, last = [], []
        for (a, b), (c, d), count in zip(need, held, self.shape[:2], strict=True):
            if self.columns:
                a, b = min(a, c), max(b, d)
                more = int(GROWTH * (b - a)) + 1
                a, b = (a - more if a < c else a), (b + more if b > d else b)
            first.append(max(a, 0))
            last.append(min(b, count))
        self._first, self._last = (first[0], first[1]), (last[0], last[1])
        self.columns, air = self._read(slice(first[0], last[0]), slice(first[1], last[1]))
        self.kinds = _kinds(self.columns, air)


def _kinds(columns: Columns, air: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return the kind of each point; values that are zero, negative or not finite are invalid.

    A missing S speed means water if it is zero, or if it is missing continuously from the top down; below rock it is a
    hole.
    """
    good = {name: np.isfinite(v) & (v > 0) for name, v in columns.items()}
    main = [good[name] for name in ("rho", "vp") if name in good]
    sound = np.logical_and.reduce(main) if main else np.ones(air.shape, bool)
    solid = good.get("vs", np.ones(air.shape, bool))
    rock = sound & solid
    for name in ("Qp", "Qs"):
        if name in good:
            rock &= good[name]
    fluid = sound & ~solid
    kinds = np.full(air.shape, POISON, np.uint8)
    kinds[rock] = ROCK
    kinds[fluid] = HOLE
    kinds[air & ~sound] = AIR
    from_top = np.logical_and.accumulate((kinds == HOLE) | (kinds == AIR), axis=2)
    kinds[fluid & (from_top | (columns["vs"] == 0 if "vs" in columns else False))] = WATER
    return kinds
