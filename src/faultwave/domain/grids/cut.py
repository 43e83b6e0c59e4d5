"""Partition of a grid into boxes, one per process."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Cut:
    """Partition into ``counts`` boxes along (z, y, x) of a grid of ``shape`` points; ``around``: periodic axes."""

    shape: Triple
    counts: Triple
    around: tuple[bool, bool, bool]

    def coordinates(self, rank: int) -> Triple:
        """Return the indices along (z, y, x) of the box of a process."""
        z, y, x = np.unravel_index(rank, self.counts)
        return int(z), int(y), int(x)

    def rank(self, coordinates: Triple) -> int:
        """Return the process of a box."""
        return int(np.ravel_multi_index(coordinates, self.counts))

    def span(self, coordinates: Triple) -> tuple[Triple, Triple]:
        """Return the first point of a box and the one after its last, along (z, y, x)."""
        lo = [n * c // p for n, c, p in zip(self.shape, coordinates, self.counts, strict=True)]
        hi = [n * (c + 1) // p for n, c, p in zip(self.shape, coordinates, self.counts, strict=True)]
        return (lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2])

    def rank_of(self, points: np.ndarray) -> np.ndarray:
        """Return the process (n,) that owns each of the points (n, 3); points outside the grid belong to the nearest box."""
        index = []
        for k in range(3):
            ends = np.array([self.shape[k] * (c + 1) // self.counts[k] for c in range(self.counts[k])])
            index.append(np.searchsorted(ends, np.clip(points[:, k], 0, self.shape[k] - 1), side="right"))
        return np.asarray(np.ravel_multi_index(index, self.counts))


def best_cut(shape: Triple, count: int, around: tuple[bool, bool, bool], least: int) -> Cut | None:
    """Return the partition into ``count`` boxes with the smallest interface area, or None if impossible.

    No box is narrower than ``least`` points along a partitioned axis. Of equal ones, the partition that does not cut
    rows along x is chosen.
    """
    found: list[tuple[float, Triple]] = []
    for z in (n for n in range(1, count + 1) if count % n == 0):
        for y in (n for n in range(1, count // z + 1) if count // z % n == 0):
            counts = (z, y, count // z // y)
            if all(n // p >= least or (p == 1 and not a) for n, p, a in zip(shape, counts, around, strict=True)):
                area = sum(
                    (p if a else p - 1) * np.prod(shape) / n for n, p, a in zip(shape, counts, around, strict=True)
                )
                found.append((float(area) * (1 + 1e-9 * counts[2]) + 1e-3 * counts[1], counts))
    return Cut(shape, min(found)[1], around) if found else None


__all__ = ["Cut", "Triple", "best_cut"]
