"""Values on the plane that two grids share, whose spacings are as 1 to 2 or 3: from the coarser to the finer one and back.

From coarse to fine values are cubic polynomials along each axis, T. From fine to coarse they are means with the transposed weights over
the ratio, R = T^t / ratio, along each axis: so powers over the plane are the same on both sides, and both ways are exact for polynomials
up to the third degree. Beyond the ends of an axis that is not periodic values are zero, as those of a grid are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

RATIOS = (2, 3)
"""Of spacings."""
AHEAD = 2
"""Coarse points to either side that a fine one is made of."""


@cache
def interpolation(ratio: int, half: bool) -> tuple[np.ndarray, np.ndarray]:
    """Of the fine points ratio i, ratio i + 1, ..., the first coarse point less i (ratio,), and the weights (ratio, 4) of it and the next
    three. Points lie in the middle of cells that begin together, or ``half`` a cell further, on their ends."""
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
    """Of the coarse point i, the first fine point less ratio i that it is made of, and the weights of it and the next: the transpose."""
    first, weights = interpolation(ratio, half)
    reads = {
        ratio * -(int(first[phase]) + n) + phase: float(weights[phase, n]) / ratio
        for phase in range(ratio) for n in range(4) if weights[phase, n]
    }  # fmt: skip
    low = min(reads)
    return low, np.array([reads.get(at, 0.0) for at in range(low, max(reads) + 1)])


@dataclass(frozen=True)
class Axis:
    """Of one axis of the shared plane: the ``ratio``, and whether points lie ``half`` a cell further than its middle."""

    ratio: int
    half: bool

    def needed(self, low: int, high: int, finer: bool) -> tuple[int, int]:
        """Which points [low, high) of the other grid the points [low, high) of one are made of; ``finer``: of the fine one."""
        if finer:
            return low // self.ratio - AHEAD, (high - 1) // self.ratio + AHEAD + 1
        return self.ratio * (low - AHEAD), self.ratio * (high + AHEAD)

    def finer(self, start: int, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
        """Of the fine points [low, high), the first of the coarse points from ``start`` on, and the weights (points, 4) from it on."""
        first, weights = interpolation(self.ratio, self.half)
        places, phases = np.divmod(np.arange(low, high), self.ratio)
        return places + first[phases] - start, weights[phases]

    def coarser(self, start: int, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
        """Of the coarse points [low, high), the first of the fine points from ``start`` on, and the weights (points, n) from it on."""
        offset, weights = restriction(self.ratio, self.half)
        return self.ratio * np.arange(low, high) + offset - start, np.tile(weights, (high - low, 1))


__all__ = ["AHEAD", "RATIOS", "Axis", "interpolation", "restriction"]
