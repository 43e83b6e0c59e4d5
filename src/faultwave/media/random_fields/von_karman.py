"""Random fields with the correlation function of von Karman, as functions of position.

See docs/theory/random-fields.md for the method.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from faultwave.media.points import Floats, Integers
from faultwave.media.random_fields.noise import key_of, lattice_noise

WIDEST = 14.0
"""Largest value of s^2 / (2 a^2) of a scale s; wider scales have less than 1e-6 of the variance."""
FINEST = 0.25
"""Finest scale over the shortest wavelength, at which 60 to 90 % of the power are left."""
SPACING = 1.19
"""Spacing of a lattice over the scale of its field, at which cubic splines approximate Gaussian correlation best."""
SPLINE_VARIANCE = 151.0 / 315.0
"""Variance of white noise smoothed by cubic B-splines along one axis, averaged over the positions between points."""
TAPS = 4
"""Lattice points along an axis that a cubic B-spline weights."""
TILE = {2: 64, 3: 32}
"""Cells of the finest lattice along an axis of a tile, by dimensions."""
MANY = 128
"""Number of points above which the coefficients of a tile are computed and stored as a whole, as this is cheaper."""
BATCH = 4096
"""Number of points whose coefficients are computed at once otherwise."""
CACHE = 256 * 2**20
"""Memory [bytes] of the tiles that a field stores for later evaluations."""
FRACTIONS = 2.0**20
"""Positions are rounded to this fraction of a cell, so that they are exact in each tile and batch."""


@dataclass(frozen=True)
class Taper:
    """Factor that falls smoothly to 0 at the ends of ranges of coordinates.

    Attributes
    ----------
    ranges : ndarray (3, 2)
        Least and largest coordinate along each axis [m], beyond which the factor is 0; may be infinite.
    width : float
        Distance from the ends over which the factor rises to 1 [m].
    """

    ranges: Floats
    width: float

    def __call__(self, points: Floats) -> Floats:
        """Return the factor (n,) at points (n, 3)."""
        inside = np.minimum(points - self.ranges[:, 0], self.ranges[:, 1] - points)
        if not self.width:
            return np.asarray((inside >= 0).all(1), float)
        return np.asarray(np.prod(np.sin(0.5 * np.pi * np.clip(inside / self.width, 0.0, 1.0)) ** 2, axis=1))


@dataclass(frozen=True)
class VonKarman:
    """Gaussian random field of zero mean and unit variance with von Karman's correlation.

    The field is a sum of independent fields with Gaussian correlation, whose scales double from one to the next and whose
    variances are those of von Karman's correlation as a mixture of Gaussians. Each is white noise on its own unbounded
    lattice, smoothed by cubic B-splines. A spline on a lattice is also one on the next finer lattice, so that the sum is
    evaluated as one spline on the finest lattice.

    Attributes
    ----------
    hurst : float
        Hurst exponent, 0 to 1.
    lengths : ndarray (d,)
        Correlation lengths [m] along d axes, two or three.
    axes : ndarray (d, 3)
        Orthonormal directions of the axes.
    shortest : float
        Shortest wavelength [m] along the axis with the smallest correlation length.
    seed : int
        Seed.
    name : str
        Name, which makes fields with the same seed independent.
    where : str
        Path of the setting, for messages.
    tiles : dict
        Coefficients of the tiles evaluated last, by the first lattice point.
    """

    hurst: float
    lengths: Floats
    axes: Floats
    shortest: float
    seed: int
    name: str
    where: str = "random"
    tiles: OrderedDict[tuple[int, ...], Floats] = field(default_factory=OrderedDict, repr=False, compare=False)

    @cached_property
    def scales(self) -> Floats:
        """Scales of the Gaussian fields in units of the correlation lengths, the finest first."""
        finest = FINEST * self.shortest / self.lengths.min()
        return np.asarray(finest * 2.0 ** np.arange(math.floor(math.log2(math.sqrt(2 * WIDEST) / finest)) + 1))

    @cached_property
    def variances(self) -> Floats:
        """Variances of the Gaussian fields, whose sum is 1."""
        t = 0.5 * self.scales**2
        weights = t**self.hurst * np.exp(-t)
        return np.asarray(weights / weights.sum())

    @property
    def resolved(self) -> float:
        """Fraction of the variance of von Karman's correlation that belongs to the scales of the field; 0 if hurst is 0."""
        t = 0.5 * (self.scales[0] * 0.5 ** np.arange(1, math.ceil(40.0 / max(self.hurst, 1e-3)))) ** 2
        resolved = 0.5 * self.scales**2
        coarse, fine = (float((x**self.hurst * np.exp(-x)).sum()) for x in (resolved, t))
        return coarse / (coarse + fine) if self.hurst else 0.0

    def _shift(self, level: int) -> int:
        """Return the shift of the next coarser lattice, so that lattice points of all levels do not coincide.

        It counts levels from the coarsest, as the keys of the noise do: a shorter wavelength adds levels and changes no other.
        """
        return (len(self.scales) - 1 - level) % 2

    @property
    def _origin(self) -> int:
        """Lattice point of the finest level at the origin, where the coarsest lattice has its own."""
        return sum(self._shift(level) << level for level in range(len(self.scales) - 1))

    def correlation(self, distances: Floats) -> Floats:
        """Return the correlation at distances in units of the correlation length."""
        squares = np.asarray(distances, float)[..., None] ** 2
        return np.asarray((self.variances * np.exp(-0.5 * squares / self.scales**2)).sum(-1))

    def __call__(self, points: Floats) -> Floats:
        """Return the values (n,) of the field at points (n, 3) [m]."""
        if not len(points):
            return np.zeros(0)
        scaled = _products(points, self.axes / self.lengths[:, None])
        lattice = np.round(scaled * (FRACTIONS / (SPACING * self.scales[0]))) / FRACTIONS + self._origin
        owners, order, starts = _grouped(lattice, TILE[len(lattice)])
        result, few = np.empty(len(points)), []
        for start, end in zip(starts, [*starts[1:], len(order)], strict=True):
            rows = order[start:end]
            if end - start < MANY:
                few.append(rows)
                continue
            first = owners[:, rows[0]] * TILE[len(lattice)] - 1
            tile = self._tile(tuple(first.tolist()))
            result[rows] = _spline(tile, lattice[:, rows] - first[:, None])
        rest = np.concatenate(few) if few else np.empty(0, np.int64)
        for begin in range(0, len(rest), BATCH):
            rows = rest[begin : begin + BATCH]
            result[rows] = self._scattered(lattice[:, rows])
        return result

    def _scattered(self, lattice: Floats) -> Floats:
        """Return the values at points (d, n) in coordinates of the finest lattice, each with its own coefficients."""
        first = np.floor(lattice).astype(np.int64) - 1
        coefficients = self.coefficients(first, TAPS)
        local = lattice - first
        local[0] += TAPS * np.arange(lattice.shape[1])  # the neighbourhoods follow each other along the first axis
        stacked = coefficients.reshape(-1, *coefficients.shape[2:])
        return _spline(stacked, local)

    def _tile(self, first: tuple[int, ...]) -> Floats:
        """Return the coefficients of a tile, which begins at the lattice point ``first``."""
        if first in self.tiles:
            self.tiles.move_to_end(first)
            return self.tiles[first]
        count = TILE[len(first)] + TAPS - 1
        tile = self.coefficients(np.array(first)[:, None], count)[0]
        self.tiles[first] = tile
        while len(self.tiles) * tile.nbytes > CACHE:
            self.tiles.popitem(last=False)
        return tile

    def coefficients(self, first: Integers, count: int, level: int = 0) -> Floats:
        """Return the spline coefficients of a level and all coarser ones in cubes of the level's lattice.

        Parameters
        ----------
        first : ndarray (d, n)
            First lattice point of each cube.
        count : int
            Points along an axis of the cubes.
        level : int
            Level, 0 for the finest.

        Returns
        -------
        ndarray (n,) + (count,) * d
        """
        dimensions = len(first)
        scale = math.sqrt(self.variances[level] / SPLINE_VARIANCE**dimensions)
        result = scale * lattice_noise(first, count, key_of(self.seed, self.name, len(self.scales) - 1 - level))
        if level + 1 == len(self.scales):
            return result
        shifted = first - self._shift(level)
        cubes, owners = np.unique((shifted - 1) // 2, axis=1, return_inverse=True)  # neighbours have some in common
        coarser = self.coefficients(cubes, (count + 1) // 2 + 2, level + 1)[owners.reshape(-1)]
        for axis in range(dimensions):
            coarser = _refined(coarser, axis + 1, 1 - shifted[axis] % 2, count)
        return result + coarser


def _spline(coefficients: Floats, places: Floats) -> Floats:
    """Return the values (n,) of a cubic spline at places (d, n) in coordinates of its lattice."""
    from scipy.ndimage import map_coordinates  # takes long to import, and few runs need it

    return np.asarray(map_coordinates(coefficients, places, np.float64, order=3, prefilter=False))


def _refined(coarse: Floats, axis: int, skipped: Integers, count: int) -> Floats:
    """Return the coefficients (n, ..., count, ...) along an axis on the lattice of half the spacing.

    A cubic B-spline is the sum of five of half the width with the weights (1, 4, 6, 4, 1) / 8. ``skipped`` (n,) is the
    number of values to leave out at the beginning.
    """
    c = np.moveaxis(coarse, axis, -1)
    fine = np.empty((*c.shape[:-1], 2 * c.shape[-1] - 3))
    fine[..., 0::2] = 0.5 * (c[..., :-1] + c[..., 1:])
    fine[..., 1::2] = 0.125 * (c[..., :-2] + c[..., 2:]) + 0.75 * c[..., 1:-1]
    chosen = (skipped[:, None] + np.arange(count)).reshape(len(c), *(1,) * (c.ndim - 2), count)
    return np.moveaxis(np.take_along_axis(fine, chosen, -1), -1, axis)


def _products(points: Floats, rows: Floats) -> Floats:
    """Return the products (d, n) of points with vectors, each computed alike whatever the number of points."""
    return np.stack([points[:, 0] * x + points[:, 1] * y + points[:, 2] * z for x, y, z in rows])


def _grouped(lattice: Floats, size: int) -> tuple[Integers, Integers, Integers]:
    """Return the tile of each point (d, n), the points sorted by tile, and the first of each tile in that order."""
    owners = np.floor(lattice / size).astype(np.int64)
    order = np.lexsort(owners[::-1])
    ordered = owners[:, order]
    changes = (ordered[:, 1:] != ordered[:, :-1]).any(0)
    starts = np.concatenate([[0], np.flatnonzero(changes) + 1]) if len(order) else np.empty(0, np.int64)
    return owners, order, starts
