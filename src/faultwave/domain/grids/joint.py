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
def restriction(ratio: int, half: bool) -> tuple[list[int], np.ndarray]:
    """Of the coarse point i, the fine points less ratio i that it is made of, in ascending order, and their weights: the transpose."""
    first, weights = interpolation(ratio, half)
    reads = sorted(
        (ratio * -(int(first[phase]) + n) + phase, float(weights[phase, n]) / ratio)
        for phase in range(ratio) for n in range(4) if weights[phase, n]
    )  # fmt: skip
    return [offset for offset, _ in reads], np.array([weight for _, weight in reads])


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

    def finer(self, values: np.ndarray, start: int, low: int, high: int, k: int) -> np.ndarray:
        """Fine points [low, high) along axis ``k`` of an array of coarse ones from ``start`` on."""
        shape = list(values.shape)
        shape[k] = high - low
        found = np.empty(shape, values.dtype)
        first, weights = interpolation(self.ratio, self.half)
        for phase in range(self.ratio):
            begin = low + (phase - low) % self.ratio
            count = len(range(begin, high, self.ratio))
            at = begin // self.ratio + int(first[phase]) - start
            made = _weighted(values, weights[phase], [at, at + 1, at + 2, at + 3], count, 1, k)
            found[_along(k, slice(begin - low, None, self.ratio))] = made
        return found

    def coarser(self, values: np.ndarray, start: int, low: int, high: int, k: int) -> np.ndarray:
        """Coarse points [low, high) along axis ``k`` of an array of fine ones from ``start`` on."""
        offsets, weights = restriction(self.ratio, self.half)
        starts = [self.ratio * low + offset - start for offset in offsets]
        return _weighted(values, weights, starts, high - low, self.ratio, k)


def _along(k: int, part: slice) -> tuple[slice, ...]:
    return (slice(None),) * k + (part,)


def _weighted(
    values: np.ndarray, weights: np.ndarray, starts: list[int], count: int, stride: int, k: int
) -> np.ndarray:  # fmt: skip
    """Sum of weights times ``count`` values from each start on, always in the same order, so that no cut changes a bit."""
    shape = list(values.shape)
    shape[k] = count
    found, term = np.zeros(shape, values.dtype), np.empty(shape, values.dtype)
    for weight, at in zip(weights.astype(values.dtype), starts, strict=True):
        if weight:
            part = values[_along(k, slice(at, at + stride * count, stride))]
            found += np.multiply(part, weight, out=term)
    return found


__all__ = ["AHEAD", "RATIOS", "Axis", "interpolation", "restriction"]
