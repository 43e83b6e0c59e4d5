"""Grids of points: positions and indices, the shared plane of two spacings, and the partition into boxes, one per process.

A position is (x, y, z) [m]. A point is an index along (z, y, x), as for arrays. Quantities of a staggered grid are
located at the centres of cells or half an edge further along the axes marked in ``half``, (x, y, z).

From coarse to fine, values are cubic polynomials along each axis, T. From fine to coarse, they are means with the
transposed weights over the ratio, R = T^t / ratio, along each axis. Therefore the power through the plane is equal on
both sides, and both operators are exact for polynomials up to the third degree. Beyond the ends of an axis that is not
periodic, values are zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np

Half = tuple[int, int, int]
CENTRE: Half = (0, 0, 0)
MIN_CELLS = {4: 8, 8: 16}
"""Number of cells along an axis of the smallest grid, by order of differences."""


class Mapping(Protocol):
    """Interface of grids for sources, receivers and the material, with cubic cells or following a topography."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of cells along (z, y, x)."""

    def place(self, index: np.ndarray, half: Half = CENTRE) -> np.ndarray:
        """Return the positions (n, 3) [m] of points ``index`` (n, 3) of a quantity."""

    def index(self, place: np.ndarray, half: Half = CENTRE) -> np.ndarray:
        """Return the fractional indices (n, 3) along (z, y, x) of positions (n, 3) [m] among the points of a quantity."""

    def cell(self, place: np.ndarray) -> np.ndarray:
        """Return the cells (n, 3) along (z, y, x) that contain positions (n, 3) [m], extrapolated beyond the grid."""


@dataclass(frozen=True)
class RegularGrid:
    """Box of cubic cells: ``lower`` corner (x, y, z) [m], edge ``spacing`` [m], ``shape`` (nz, ny, nx)."""

    lower: tuple[float, float, float]
    spacing: float
    shape: tuple[int, int, int]

    @property
    def upper(self) -> tuple[float, float, float]:
        x, y, z = (a + self.spacing * n for a, n in zip(self.lower, self.shape[::-1], strict=True))
        return (x, y, z)

    def first(self, half: Half = CENTRE) -> np.ndarray:
        """Return the position (x, y, z) [m] of point (0, 0, 0) of a quantity."""
        return np.array(self.lower) + 0.5 * self.spacing * (1 + np.array(half))

    def place(self, index: np.ndarray, half: Half = CENTRE) -> np.ndarray:
        """Return the positions of points, as ``Mapping.place``."""
        return np.asarray(self.first(half) + self.spacing * np.asarray(index)[..., ::-1])

    def index(self, place: np.ndarray, half: Half = CENTRE) -> np.ndarray:
        """Return the indices of positions, as ``Mapping.index``."""
        return np.asarray((np.asarray(place) - self.first(half)) / self.spacing)[..., ::-1]

    def cell(self, place: np.ndarray) -> np.ndarray:
        """Return the cells of positions, as ``Mapping.cell``."""
        found = np.floor((np.asarray(place) - np.array(self.lower)) / self.spacing)
        return found[..., ::-1].astype(np.int64)

    def middle(self, cell: np.ndarray) -> np.ndarray:
        """Return the centres (n, 3) [m] of cells (n, 3), counted from the corner of the grid."""
        return np.asarray(np.array(self.lower) + self.spacing * (np.asarray(cell)[..., ::-1] + 0.5))

    def line(self, axis: int, numbers: np.ndarray, half: Half = CENTRE) -> np.ndarray:
        """Return coordinates [m] along x, y or z (``axis`` 0, 1, 2) of the points of a quantity with these indices."""
        return np.asarray(self.first(half)[axis] + self.spacing * np.asarray(numbers))

    def inside(self, axis: int, numbers: np.ndarray, parts: int) -> np.ndarray:
        """Return coordinates [m] along an axis of the centres of cells divided into ``parts``, counted from the corner."""
        return np.asarray(self.lower[axis] + self.spacing / parts * (np.asarray(numbers) + 0.5))


RATIOS = (2, 3)
"""Supported ratios of spacings."""
AHEAD = 2
"""Number of coarse points on either side of a fine point that its value depends on."""


@cache
def interpolation(ratio: int, half: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return offsets (ratio,) and weights (ratio, 4) of the interpolation at the fine points ratio i, ratio i + 1, ...

    An offset is the index of the first of four coarse points minus i. Points are in the middle of cells that start
    together, or, with ``half``, at their ends.
    """
    places = (np.arange(ratio) + (1.0 if half else 0.5)) / ratio - (1.0 if half else 0.5)
    first = np.floor(places + 1e-9)
    t = (places - first)[:, None]
    weights = np.concatenate(
        [
            -t * (t - 1) * (t - 2) / 6,
            (t + 1) * (t - 1) * (t - 2) / 2,
            -(t + 1) * t * (t - 2) / 2,
            (t + 1) * t * (t - 1) / 6,
        ],
        1,
    )
    return first.astype(int) - 1, np.where(np.abs(weights) < 1e-14, 0.0, weights)


@cache
def restriction(ratio: int, half: bool) -> tuple[int, np.ndarray]:
    """Return the offset and the weights of the restriction at coarse point i, the transpose of the interpolation.

    The offset is the index of the first fine point minus ratio i.
    """
    first, weights = interpolation(ratio, half)
    reads = {
        ratio * -(int(first[phase]) + n) + phase: float(weights[phase, n]) / ratio
        for phase in range(ratio) for n in range(4) if weights[phase, n]
    }  # fmt: skip
    low = min(reads)
    return low, np.array([reads.get(at, 0.0) for at in range(low, max(reads) + 1)])


@dataclass(frozen=True)
class Axis:
    """Interpolation along one axis of the shared plane: ``ratio``, and True for ``half`` if points are at the ends of cells."""

    ratio: int
    half: bool

    def needed(self, low: int, high: int, finer: bool) -> tuple[int, int]:
        """Return the range [low, high) of points of the other grid on which points [low, high) depend.

        ``finer`` is True if the latter are points of the fine grid.
        """
        if finer:
            return low // self.ratio - AHEAD, (high - 1) // self.ratio + AHEAD + 1
        return self.ratio * (low - AHEAD), self.ratio * (high + AHEAD)

    def finer(self, start: int, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
        """Return, for fine points [low, high), the first coarse point relative to ``start`` and the weights (points, 4)."""
        first, weights = interpolation(self.ratio, self.half)
        places, phases = np.divmod(np.arange(low, high), self.ratio)
        return places + first[phases] - start, weights[phases]

    def coarser(self, start: int, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
        """Return, for coarse points [low, high), the first fine point relative to ``start`` and the weights (points, n)."""
        offset, weights = restriction(self.ratio, self.half)
        return self.ratio * np.arange(low, high) + offset - start, np.tile(weights, (high - low, 1))


Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Cut:
    """Partition into ``counts`` boxes along (z, y, x) of a grid of ``shape`` points; ``around``: periodic axes."""

    shape: Triple
    counts: Triple
    around: tuple[bool, bool, bool]

    def coordinates(self, rank: int) -> Triple:
        """Return the indices along (z, y, x) of the box of a process."""
        z, y, x = np.unravel_index(rank, self.counts)
        return int(z), int(y), int(x)

    def rank(self, coordinates: Triple) -> int:
        """Return the process of a box."""
        return int(np.ravel_multi_index(coordinates, self.counts))

    def span(self, coordinates: Triple) -> tuple[Triple, Triple]:
        """Return the first point of a box and the one after its last, along (z, y, x)."""
        lo = [n * c // p for n, c, p in zip(self.shape, coordinates, self.counts, strict=True)]
        hi = [n * (c + 1) // p for n, c, p in zip(self.shape, coordinates, self.counts, strict=True)]
        return (lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2])

    def rank_of(self, points: np.ndarray) -> np.ndarray:
        """Return the process (n,) that owns each of the points (n, 3); points outside the grid belong to the nearest box."""
        index = []
        for k in range(3):
            ends = np.array([self.shape[k] * (c + 1) // self.counts[k] for c in range(self.counts[k])])
            index.append(np.searchsorted(ends, np.clip(points[:, k], 0, self.shape[k] - 1), side="right"))
        return np.asarray(np.ravel_multi_index(index, self.counts))


def best_cut(shape: Triple, count: int, around: tuple[bool, bool, bool], least: int) -> Cut | None:
    """Return the partition into ``count`` boxes with the smallest interface area, or None if impossible.

    No box is narrower than ``least`` points along a partitioned axis. Of equal ones, the partition that does not cut
    rows along x is chosen.
    """
    found: list[tuple[float, Triple]] = []
    for z in (n for n in range(1, count + 1) if count % n == 0):
        for y in (n for n in range(1, count // z + 1) if count // z % n == 0):
            counts = (z, y, count // z // y)
            if all(n // p >= least or (p == 1 and not a) for n, p, a in zip(shape, counts, around, strict=True)):
                area = sum(
                    (p if a else p - 1) * np.prod(shape) / n for n, p, a in zip(shape, counts, around, strict=True)
                )
                found.append((float(area) * (1 + 1e-9 * counts[2]) + 1e-3 * counts[1], counts))
    return Cut(shape, min(found)[1], around) if found else None
