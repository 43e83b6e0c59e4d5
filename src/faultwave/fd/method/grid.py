"""Staggered grid: positions of the quantities and kinds of the sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np

from faultwave.domain.grid_relief import Relief
from faultwave.domain.grids import CENTRE, Half, RegularGrid
from faultwave.fd.method.differences import PlanePosition, grid_of
from faultwave.kernels.stencil import Axis, Box


class SideKind(StrEnum):
    """Boundary condition of a side of the grid."""

    ABSORBING = "absorbing"
    FREE_SURFACE = "free-surface"
    PERIODIC = "periodic"
    RIGID = "rigid"


Side = Literal["x-", "x+", "y-", "y+", "z-", "z+"]
SIDES: tuple[Side, ...] = ("x-", "x+", "y-", "y+", "z-", "z+")


def periodic_axes(sides: Mapping[str, SideKind]) -> frozenset[Axis]:
    """Return the axes along which the grid is periodic."""
    axes: tuple[Axis, ...] = ("x", "y", "z")
    return frozenset(axis for axis in axes if sides[f"{axis}-"] == SideKind.PERIODIC)


HALF: dict[str, Half] = {
    "u": (1, 0, 0), "v": (0, 1, 0), "w": (0, 0, 1), "sxx": (0, 0, 0), "syy": (0, 0, 0), "szz": (0, 0, 0),
    "sxy": (1, 1, 0), "sxz": (1, 0, 1), "syz": (0, 1, 1),
}  # fmt: skip
"""Offsets (x, y, z) of each quantity from the cell centre, in half cell edges."""


@dataclass(frozen=True)
class Grid(RegularGrid):
    """Grid of cubic cells with staggered quantities of elastic waves.

    Attributes
    ----------
    relief : Relief or None
        Topography that the cells follow. ``lower``, ``upper`` and ``line`` then refer to the flat grid, places to rock.
    """

    relief: Relief | None = None

    @property
    def box(self) -> Box:
        """Box of all points."""
        return Box((0, 0, 0), self.shape)

    def place(self, index: np.ndarray, half: Half = CENTRE) -> np.ndarray:
        """Return the places of points, in rock (see ``Mapping.place``)."""
        return self.up(super().place(index, half))

    def index(self, place: np.ndarray, half: Half = CENTRE) -> np.ndarray:
        """Return the fractional indices of places in rock (see ``Mapping.index``)."""
        return super().index(self.down(place), half)

    def cell(self, place: np.ndarray) -> np.ndarray:
        """Return the cells that contain places in rock (see ``Mapping.cell``)."""
        return super().cell(self.down(place))

    def middle(self, cell: np.ndarray) -> np.ndarray:
        """Return the centre of a cell, in rock (see ``RegularGrid.middle``)."""
        return self.up(super().middle(cell))

    def up(self, place: np.ndarray) -> np.ndarray:
        """Return the places (n, 3) [m] in rock of places in the flat grid."""
        return np.asarray(place) if self.relief is None else self.relief.up(place)

    def down(self, place: np.ndarray) -> np.ndarray:
        """Return the places (n, 3) [m] in the flat grid of places in rock."""
        return np.asarray(place) if self.relief is None else self.relief.down(place)

    def places(self, name: str, box: Box) -> np.ndarray:
        """Return the places (nz, ny, nx, 3) [m] of a quantity in a box.

        Planes above the last and below the first are on the faces of the grid.
        """
        axes = [self.line(2 - k, np.arange(box.lo[k], box.hi[k]), HALF[name]) for k in range(3)]
        axes[0] = np.clip(axes[0], self.lower[2], self.upper[2])
        z, y, x = np.meshgrid(*axes, indexing="ij")
        return self.up(np.stack([x, y, z], -1))

    def stretch(self, name: str, box: Box) -> np.ndarray:
        """Return the vertical stretch of the cells around a quantity's points in a box, broadcastable to (nz, ny, nx)."""
        if self.relief is None:
            return np.ones((1, 1, 1))
        height = self.relief.sheet(HALF[name][:2], None, box.lo[1:], box.shape[1:])
        levels = self.line(2, np.arange(box.lo[0], box.hi[0]), (0, 0, int(grid_of(name) == PlanePosition.WHOLE)))
        rate = self.relief.rate(np.clip(levels, self.lower[2], self.upper[2]))
        return np.asarray(1.0 + rate[:, None, None] * height)

    def levels(self, grid: PlanePosition) -> np.ndarray:
        """Return the levels (nz + 1,) [m] of the whole or half planes, the last half plane on the surface."""
        found = self.line(2, np.arange(self.shape[0] + 1), (0, 0, int(grid == PlanePosition.WHOLE)))
        return np.minimum(found, self.upper[2])
