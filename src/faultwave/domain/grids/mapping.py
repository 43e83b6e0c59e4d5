"""Mapping between positions and points of a staggered grid.

A position is (x, y, z) [m]. A point is an index along (z, y, x), as for arrays. Quantities of a staggered grid are
located at the centres of cells or half an edge further along the axes marked in ``half``, (x, y, z).
"""

from __future__ import annotations

from dataclasses import dataclass
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


__all__ = ["CENTRE", "MIN_CELLS", "Half", "Mapping", "RegularGrid"]
