"""The grid: where each quantity lives, and what is at each side."""

from __future__ import annotations

from typing import Literal

import numpy as np

from faultwave.domain.grids.mapping import Half, RegularGrid
from faultwave.kernels.stencil import Box

SideKind = Literal["absorbing", "free-surface", "periodic", "rigid"]
SIDES = ("x-", "x+", "y-", "y+", "z-", "z+")

HALF: dict[str, Half] = {
    "u": (1, 0, 0), "v": (0, 1, 0), "w": (0, 0, 1), "sxx": (0, 0, 0), "syy": (0, 0, 0), "szz": (0, 0, 0),
    "sxy": (1, 1, 0), "sxz": (1, 0, 1), "syz": (0, 1, 1),
}  # fmt: skip
"""Whether a quantity sits half an edge further along (x, y, z) than the cell's centre."""


class Grid(RegularGrid):
    """Cubic cells with the staggered quantities of elastic waves."""

    @property
    def box(self) -> Box:
        """All points."""
        return Box((0, 0, 0), self.shape)

    def places(self, name: str, box: Box) -> np.ndarray:
        """Places (nz, ny, nx, 3) [m] of a quantity in a box; a plane above the last one is the upper face."""
        axes = [self.line(2 - k, np.arange(box.lo[k], box.hi[k]), HALF[name]) for k in range(3)]
        axes[0] = np.minimum(axes[0], self.upper[2])
        z, y, x = np.meshgrid(*axes, indexing="ij")
        return np.stack([x, y, z], -1)


__all__ = ["HALF", "SIDES", "Grid", "SideKind"]
