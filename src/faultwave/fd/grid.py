"""The grid: where each quantity lives, and what is at each side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from faultwave.kernels.stencil import Box

SideKind = Literal["absorbing", "free-surface", "periodic", "rigid"]
SIDES = ("x-", "x+", "y-", "y+", "z-", "z+")

HALF: dict[str, tuple[int, int, int]] = {
    "u": (1, 0, 0), "v": (0, 1, 0), "w": (0, 0, 1), "sxx": (0, 0, 0), "syy": (0, 0, 0), "szz": (0, 0, 0),
    "sxy": (1, 1, 0), "sxz": (1, 0, 1), "syz": (0, 1, 1),
}  # fmt: skip
"""Whether a quantity sits half an edge further along (x, y, z) than the cell's centre."""


@dataclass(frozen=True)
class Grid:
    """A box of cubic cells: ``lower`` corner (x, y, z) [m], edge ``spacing`` [m], ``shape`` (nz, ny, nx)."""

    lower: tuple[float, float, float]
    spacing: float
    shape: tuple[int, int, int]

    @property
    def box(self) -> Box:
        return Box((0, 0, 0), self.shape)

    @property
    def upper(self) -> tuple[float, float, float]:
        x, y, z = (a + self.spacing * n for a, n in zip(self.lower, self.shape[::-1], strict=True))
        return (x, y, z)

    def origin(self, name: str) -> np.ndarray:
        """Place (x, y, z) of point (0, 0, 0) of a quantity [m]."""
        return np.array(self.lower) + 0.5 * self.spacing * (1 + np.array(HALF[name]))

    def places(self, name: str) -> np.ndarray:
        """Places (nz, ny, nx, 3) of a quantity [m]."""
        start = self.origin(name)
        axes = [start[a] + self.spacing * np.arange(n) for a, n in zip((2, 1, 0), self.shape, strict=True)]
        z, y, x = np.meshgrid(*axes, indexing="ij")
        return np.stack([x, y, z], -1)
