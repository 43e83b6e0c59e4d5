"""The grid: where each quantity lives, and what is at each side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from faultwave.domain.grids.mapping import CENTRE, Half, RegularGrid
from faultwave.domain.grids.relief import Relief
from faultwave.fd.differences import grid_of
from faultwave.kernels.stencil import Box

SideKind = Literal["absorbing", "free-surface", "periodic", "rigid"]
SIDES = ("x-", "x+", "y-", "y+", "z-", "z+")

HALF: dict[str, Half] = {
    "u": (1, 0, 0), "v": (0, 1, 0), "w": (0, 0, 1), "sxx": (0, 0, 0), "syy": (0, 0, 0), "szz": (0, 0, 0),
    "sxy": (1, 1, 0), "sxz": (1, 0, 1), "syz": (0, 1, 1),
}  # fmt: skip
"""Whether a quantity sits half an edge further along (x, y, z) than the cell's centre."""


@dataclass(frozen=True)
class Grid(RegularGrid):
    """Cubic cells with the staggered quantities of elastic waves; below a topography they follow its ``relief``: then ``lower``, ``upper``
    and ``line`` are those of the flat grid, places those of rock."""

    relief: Relief | None = None

    @property
    def box(self) -> Box:
        """All points."""
        return Box((0, 0, 0), self.shape)

    def place(self, index: np.ndarray, half: Half = CENTRE) -> np.ndarray:
        """As ``Mapping.place``."""
        return self.up(super().place(index, half))

    def index(self, place: np.ndarray, half: Half = CENTRE) -> np.ndarray:
        """As ``Mapping.index``."""
        return super().index(self.down(place), half)

    def cell(self, place: np.ndarray) -> np.ndarray:
        """As ``Mapping.cell``."""
        return super().cell(self.down(place))

    def middle(self, cell: np.ndarray) -> np.ndarray:
        """As ``RegularGrid.middle``."""
        return self.up(super().middle(cell))

    def up(self, place: np.ndarray) -> np.ndarray:
        """Places (n, 3) [m] in rock of those in the flat grid."""
        return np.asarray(place) if self.relief is None else self.relief.up(place)

    def down(self, place: np.ndarray) -> np.ndarray:
        """Places (n, 3) [m] in the flat grid of those in rock."""
        return np.asarray(place) if self.relief is None else self.relief.down(place)

    def places(self, name: str, box: Box) -> np.ndarray:
        """Places (nz, ny, nx, 3) [m] of a quantity in a box; planes above the last one and below the first are on the faces."""
        axes = [self.line(2 - k, np.arange(box.lo[k], box.hi[k]), HALF[name]) for k in range(3)]
        axes[0] = np.clip(axes[0], self.lower[2], self.upper[2])
        z, y, x = np.meshgrid(*axes, indexing="ij")
        return self.up(np.stack([x, y, z], -1))

    def stretch(self, name: str, box: Box) -> np.ndarray:
        """By how much cells around the points of a quantity in a box are stretched along z (nz, ny, nx)."""
        if self.relief is None:
            return np.ones((1, 1, 1))
        height = self.relief.sheet(HALF[name][:2], None, box.lo[1:], box.shape[1:])
        levels = self.line(2, np.arange(box.lo[0], box.hi[0]), (0, 0, int(grid_of(name) == "whole")))
        rate = self.relief.rate(np.clip(levels, self.lower[2], self.upper[2]))
        return np.asarray(1.0 + rate[:, None, None] * height)

    def levels(self, grid: str) -> np.ndarray:
        """Levels (nz + 1,) [m] of the whole or half planes, the last half plane on the surface."""
        found = self.line(2, np.arange(self.shape[0] + 1), (0, 0, int(grid == "whole")))
        return np.minimum(found, self.upper[2])


__all__ = ["HALF", "SIDES", "Grid", "SideKind"]
