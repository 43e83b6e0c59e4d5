"""Flat box in which Gmsh builds a mesh: element sizes on its lattice, and plain arrays exchanged in files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, Problem
from faultwave.domain.build.region import Relief

Floats = NDArray[np.float64]

MOST = 400_000
"""Target number of points of the lattice."""
ELONGATED = 8.0
"""Factor by which this number may be exceeded in regions with one short side."""


@dataclass(frozen=True)
class Sizes:
    """Wanted edges (nx, ny, nz) [m] at the positions ``origin`` + index * ``spacing``."""

    origin: Floats
    spacing: Floats
    values: Floats

    def points(self) -> Floats:
        """Return the positions (n, 3) [m], in the order of the values."""
        axes = [o + h * np.arange(n) for o, h, n in zip(self.origin, self.spacing, self.values.shape, strict=True)]
        return np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")], 1)

    def cells(self) -> float:
        """Return the number of regular tetrahedra with these edges that fill the box."""
        middle = self.values
        for axis in range(3):
            low, high = (np.take(middle, range(k, middle.shape[axis] + k - 1), axis) for k in (0, 1))
            middle = 0.5 * (low + high)
        return float((6.0 * 2.0**0.5 * self.spacing.prod() / middle**3).sum())

    def at(self, points: Floats) -> Floats:
        """Return the edges (n,) at points (n, 3): trilinear between points of the lattice, constant beyond it."""
        from scipy.ndimage import map_coordinates

        index = ((points - self.origin) / self.spacing).T
        return np.asarray(map_coordinates(self.values, index, order=1, mode="nearest"))


def lattice(lower: Floats, upper: Floats, finest: float) -> Sizes:
    """Return a lattice as fine as the finest elements, but with at most about ``MOST`` points.

    Raises
    ------
    InputError
        If the region is so elongated that it needs many more.
    """
    extent = upper - lower
    h = max(finest, float((extent.prod() / MOST) ** (1 / 3)))
    if not np.isfinite(h) or (extent / h + 3.0).prod() > ELONGATED * MOST:
        sides = " x ".join(f"{side:.3g}" for side in extent)
        what = f"the region of {sides} m cannot be filled by elements of {finest:.3g} m"
        advice = "Are lower, upper and depth in metres, or does one contain an extra digit?"
        raise InputError(Problem("mesh.build", what, "sides of similar length", advice))
    count = np.maximum(np.ceil(extent / h).astype(int), 2) + 1
    return Sizes(np.asarray(lower, float), extent / (count - 1), np.full(count, np.inf))


def wanted(
    places: Sizes,
    relief: Relief,
    of_waves: Callable[[Floats], Floats],
    faults: Sequence[tuple[Floats, float]],
    growth: float,
) -> Sizes:
    """Return sizes that satisfy waves and faults and grow by at most ``growth`` per metre.

    Parameters
    ----------
    places
        Lattice.
    relief
        Relief.
    of_waves
        Function that returns the edges (n,) required by waves at true positions (n, 3).
    faults
        Flat facets (m, 4, 3) and element size of each fault.
    growth
        Largest growth per metre.
    """
    points = places.points()
    values = of_waves(relief.physical(points))
    reach = float(np.linalg.norm(places.spacing)) / 2
    for facets, size in faults:
        values = np.minimum(values, size + growth * np.maximum(_distance(points, facets, size) - reach, 0.0))
    return limited(replace(places, values=values.reshape(places.values.shape)), growth)


def _distance(points: Floats, facets: Floats, size: float) -> Floats:
    """Return the distance of points (n, 3) to the nearest sample of the facets; samples are less than an element apart."""
    from scipy.spatial import cKDTree

    return np.asarray(cKDTree(samples(facets, size)).query(points)[0])


def samples(facets: Floats, size: float) -> Floats:
    """Return sample points (k, 3) on facets (m, 4, 3)."""
    found = []
    for a, b, c, d in facets:
        along = max(np.linalg.norm(b - a), np.linalg.norm(c - d))
        down = max(np.linalg.norm(d - a), np.linalg.norm(c - b))
        s, t = (np.linspace(0, 1, int(np.clip(np.ceil(length / size), 1, 200)) + 1) for length in (along, down))
        s, t = s[:, None, None], t[None, :, None]
        found.append(((1 - t) * ((1 - s) * a + s * b) + t * ((1 - s) * d + s * c)).reshape(-1, 3))
    return np.concatenate(found)


def limited(sizes: Sizes, growth: float) -> Sizes:
    """Return sizes that grow by at most ``growth`` per metre, by alternating sweeps along each axis until convergence."""
    values = sizes.values.copy()
    for _ in range(20):
        before = values.copy()
        for axis, h in enumerate(sizes.spacing):
            most = growth * h
            for k in range(1, values.shape[axis]):
                _pull(values, axis, k, k - 1, most)
            for k in range(values.shape[axis] - 2, -1, -1):
                _pull(values, axis, k, k + 1, most)
        if np.array_equal(before, values):
            break
    return replace(sizes, values=values)


def _pull(values: Floats, axis: int, here: int, there: int, most: float) -> None:
    at = [slice(None)] * 3
    at[axis] = here  # type: ignore[call-overload]
    adjacent = [slice(None)] * 3
    adjacent[axis] = there  # type: ignore[call-overload]
    values[tuple(at)] = np.minimum(values[tuple(at)], values[tuple(adjacent)] + most)


def refined(sizes: Sizes, points: Floats, edges: Floats, ratio: Floats, growth: float) -> Sizes:
    """Return sizes reduced by ``ratio`` (n,) around cells that are too large.

    Parameters
    ----------
    sizes
        Sizes.
    points : (n, 3) array
        Centres of these cells in the flat box [m].
    edges : (n,) array
        Edges of these cells [m].
    ratio : (n,) array
        Edge relative to the required one.
    growth
        Largest growth per metre.
    """
    index = np.clip(np.round((points - sizes.origin) / sizes.spacing).astype(int), 0, np.array(sizes.values.shape) - 1)
    reach = np.maximum(1, np.ceil(0.5 * edges[:, None] / sizes.spacing).astype(int))
    factor = np.ones(sizes.values.shape)
    for low, high, share in zip(np.maximum(index - reach, 0), index + reach + 1, 1.0 / ratio, strict=True):
        around = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
        factor[around] = np.minimum(factor[around], share)
    return limited(replace(sizes, values=sizes.values * factor), growth)


Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Stored:
    """Base of dataclasses of arrays and numbers that are saved to a file and loaded from it."""

    def save(self, path: Path) -> None:
        np.savez(path, **{f.name: getattr(self, f.name) for f in fields(self)})

    @classmethod
    def load(cls, path: Path | BinaryIO) -> Self:
        with np.load(path, allow_pickle=False) as file:
            found = {name: file[name] for name in file.files}
        return cls(**{name: value[()] if value.ndim == 0 else value for name, value in found.items()})


@dataclass(frozen=True)
class FlatBox(Stored):
    """Flat box to be meshed, with faults, relief and element sizes.

    Attributes
    ----------
    lower, upper : (3,) array
        Corners [m].
    facets : (m, 4, 3) array
        Corners of the facets of faults.
    fault, variant : (m,) array
        Fault of each facet, and the way of cutting faults into facets that it belongs to, of which one is chosen.
    stops : (k, 2) array
        Pairs of a fault and the fault at which it ends.
    x, y, heights, levels, real
        Relief, see ``relief.Relief``.
    origin, spacing, values
        Element sizes, see ``sizes.Sizes``.
    sea : bool
        True if there is a sea.
    slope : float
        Smallest slope of the sea floor.
    """

    lower: Floats
    upper: Floats
    facets: Floats
    fault: Integers
    variant: Integers
    stops: Integers
    x: Floats
    y: Floats
    heights: Floats
    levels: Floats
    real: int
    origin: Floats
    spacing: Floats
    values: Floats
    sea: bool
    slope: float

    @property
    def relief(self) -> Relief:
        return Relief(self.x, self.y, self.heights, self.levels, float(self.lower[2]), int(self.real))

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.origin, self.spacing, self.values)


@dataclass(frozen=True)
class Meshed(Stored):
    """Result of Gmsh.

    Attributes
    ----------
    vertices : (nv, 3) array
        Vertices at their true positions [m].
    cells : (nc, 4) array
        Vertices of each cell.
    layer : (nc,) array
        Layer of each cell, counted from the top.
    triangles : (nt, 3) array
        Triangles of faults and boundaries.
    of : (nt,) array
        Fault number from 0, or GROUND or SIDES, of each triangle.
    wet : (nv,) array of bool
        Vertices of the ground below the sea.
    cut : (k,) array of bool
        True for each of the stops that was found.
    moved : float
        Largest vertical shift of the ground along the coast [m].
    """

    vertices: Floats
    cells: Integers
    layer: Integers
    triangles: Integers
    of: Integers
    wet: NDArray[np.bool_]
    cut: NDArray[np.bool_]
    moved: float


GROUND, SIDES = -1, -2
"""Kinds of triangles other than faults."""
