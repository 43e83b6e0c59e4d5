"""Interpolation and restriction on the shared plane of two grids whose spacings have the ratio 2 or 3.

From coarse to fine, values are cubic polynomials along each axis, T. From fine to coarse, they are means with the
transposed weights over the ratio, R = T^t / ratio, along each axis. Therefore the power through the plane is equal on
both sides, and both operators are exact for polynomials up to the third degree. Beyond the ends of an axis that is not
periodic, values are zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

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


__all__ = ["AHEAD", "RATIOS", "Axis", "interpolation", "restriction"]
