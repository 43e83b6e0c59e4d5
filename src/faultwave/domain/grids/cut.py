"""A grid cut into boxes, one a process: who owns which points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Cut:
    """``counts`` of boxes along (z, y, x) of a grid of ``shape`` points; ``around``: axes that are periodic."""

    shape: Triple
    counts: Triple
    around: tuple[bool, bool, bool]

    def coordinates(self, rank: int) -> Triple:
        """Where the box of a process stands among the others, along (z, y, x)."""
        z, y, x = np.unravel_index(rank, self.counts)
        return int(z), int(y), int(x)

    def rank(self, coordinates: Triple) -> int:
        """The process whose box stands there."""
        return int(np.ravel_multi_index(coordinates, self.counts))

    def span(self, coordinates: Triple) -> tuple[Triple, Triple]:
        """The first point of the box there and the one after its last."""
        lo = [n * c // p for n, c, p in zip(self.shape, coordinates, self.counts, strict=True)]
        hi = [n * (c + 1) // p for n, c, p in zip(self.shape, coordinates, self.counts, strict=True)]
        return (lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2])

    def rank_of(self, points: np.ndarray) -> np.ndarray:
        """The process (n,) that owns each of the points (n, 3); those above the grid belong to who is below them."""
        index = []
        for k in range(3):
            ends = np.array([self.shape[k] * (c + 1) // self.counts[k] for c in range(self.counts[k])])
            index.append(np.searchsorted(ends, np.clip(points[:, k], 0, self.shape[k] - 1), side="right"))
        return np.asarray(np.ravel_multi_index(index, self.counts))


def best_cut(shape: Triple, count: int, around: tuple[bool, bool, bool], least: int) -> Cut | None:
    """The cut into ``count`` boxes with the least surface between them, no box narrower than ``least`` where it is cut; None
    where there is none. Of equals, that which leaves rows along x whole."""
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
