"""From places to points of a staggered grid and back.

A place is (x, y, z) [m]. A point is known by its index along (z, y, x), as arrays are. Quantities of a staggered grid sit at the
centres of cells or half an edge further along some axes: ``half``, (x, y, z), says along which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

Half = tuple[int, int, int]
CENTRE: Half = (0, 0, 0)
LEAST_CELLS = {4: 8, 8: 16}
"""Along an axis of the smallest grid, by order of differences."""


class Mapping(Protocol):
    """What sources, receivers and the material ask of a grid, whether its cells are cubes or follow a topography."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Cells along (z, y, x)."""

    def place(self, index: np.ndarray, half: Half = CENTRE) -> np.ndarray:
        """Places (n, 3) [m] of the points ``index`` (n, 3) of a quantity."""

    def index(self, place: np.ndarray, half: Half = CENTRE) -> np.ndarray:
        """Where places (n, 3) [m] lie among the points of a quantity: (n, 3) along (z, y, x), fractional."""

    def cell(self, place: np.ndarray) -> np.ndarray:
        """The cells (n, 3) along (z, y, x) that hold the places (n, 3) [m]; beyond the grid they are counted on."""


@dataclass(frozen=True)
class RegularGrid:
    """A box of cubic cells: ``lower`` corner (x, y, z) [m], edge ``spacing`` [m], ``shape`` (nz, ny, nx)."""

    lower: tuple[float, float, float]
    spacing: float
    shape: tuple[int, int, int]

    @property
    def upper(self) -> tuple[float, float, float]:
        x, y, z = (a + self.spacing * n for a, n in zip(self.lower, self.shape[::-1], strict=True))
        return (x, y, z)

    def first(self, half: Half = CENTRE) -> np.ndarray:
        """Place (x, y, z) [m] of point (0, 0, 0) of a quantity."""
        return np.array(self.lower) + 0.5 * self.spacing * (1 + np.array(half))

    def place(self, index: np.ndarray, half: Half = CENTRE) -> np.ndarray:
        """As ``Mapping.place``."""
        return np.asarray(self.first(half) + self.spacing * np.asarray(index)[..., ::-1])

    def index(self, place: np.ndarray, half: Half = CENTRE) -> np.ndarray:
        """As ``Mapping.index``."""
        return np.asarray((np.asarray(place) - self.first(half)) / self.spacing)[..., ::-1]

    def cell(self, place: np.ndarray) -> np.ndarray:
        """As ``Mapping.cell``."""
        found = np.floor((np.asarray(place) - np.array(self.lower)) / self.spacing)
        return found[..., ::-1].astype(np.int64)

    def middle(self, cell: np.ndarray) -> np.ndarray:
        """Places (n, 3) [m] of the centres of cells (n, 3), counted from the corner of the grid."""
        return np.asarray(np.array(self.lower) + self.spacing * (np.asarray(cell)[..., ::-1] + 0.5))

    def line(self, axis: int, numbers: np.ndarray, half: Half = CENTRE) -> np.ndarray:
        """Coordinates [m] along x, y or z (``axis`` 0, 1, 2) of a quantity's points with these numbers there."""
        return np.asarray(self.first(half)[axis] + self.spacing * np.asarray(numbers))

    def inside(self, axis: int, numbers: np.ndarray, parts: int) -> np.ndarray:
        """Coordinates [m] along an axis of the middles of cells cut into so many ``parts``, counted from the corner."""
        return np.asarray(self.lower[axis] + self.spacing / parts * (np.asarray(numbers) + 0.5))


__all__ = ["CENTRE", "LEAST_CELLS", "Half", "Mapping", "RegularGrid"]
