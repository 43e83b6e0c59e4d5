"""A grid cut into boxes, one a process: who owns what, who overlaps whom, and what each must be told."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from faultwave.fd.grid import Grid
from faultwave.kernels.overlap import Owned, Points3, meet
from faultwave.kernels.stencil import REACH, Axis, Box, Layout, Program

AXES: tuple[Axis, ...] = ("z", "y", "x")
DIRECTIONS = list(itertools.product((-1, 0, 1), repeat=3))
FUSED = 3
"""Steps between two exchanges at most: more of them need more overlap than they save waiting."""
WORTH = 24
"""Points a part must be wide, along the axes that are cut, for every step between two exchanges."""


@dataclass(frozen=True)
class Cut:
    """``counts`` of parts along (z, y, x) of a grid of ``shape`` points; ``around``: axes that are periodic."""

    shape: Points3
    counts: Points3
    around: tuple[bool, bool, bool]

    def coordinates(self, rank: int) -> Points3:
        z, y, x = np.unravel_index(rank, self.counts)
        return int(z), int(y), int(x)

    def box(self, coordinates: Points3) -> Box:
        """What the part there owns."""
        lo = [n * c // p for n, c, p in zip(self.shape, coordinates, self.counts, strict=True)]
        hi = [n * (c + 1) // p for n, c, p in zip(self.shape, coordinates, self.counts, strict=True)]
        return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))

    def owned(self, coordinates: Points3) -> Owned:
        """The same, and at which sides others follow."""
        inner = [
            tuple(
                a or (c > 0 if end == 0 else c + 1 < p)
                for a, c, p in zip(self.around, coordinates, self.counts, strict=True)
            )
            for end in (0, 1)
        ]
        return Owned(self.box(coordinates), (inner[0], inner[1]))  # type: ignore[arg-type]

    def rank_of(self, points: np.ndarray) -> np.ndarray:
        """The part (n,) that owns each of the points (n, 3); those above the grid belong to who is below them."""
        index = []
        for k in range(3):
            ends = np.array([self.shape[k] * (c + 1) // self.counts[k] for c in range(self.counts[k])])
            index.append(np.searchsorted(ends, np.clip(points[:, k], 0, self.shape[k] - 1), side="right"))
        return np.asarray(np.ravel_multi_index(index, self.counts))


def best_cut(shape: Points3, parts: int, around: tuple[bool, bool, bool], least: int) -> Cut | None:
    """The cut into so many parts with the least surface between them, no part narrower than ``least`` where it is cut; None
    where there is none. Of equals, that which leaves rows along x whole."""
    found: list[tuple[float, Points3]] = []
    for z in (n for n in range(1, parts + 1) if parts % n == 0):
        for y in (n for n in range(1, parts // z + 1) if parts // z % n == 0):
            counts = (z, y, parts // z // y)
            if all(n // p >= least or (p == 1 and not a) for n, p, a in zip(shape, counts, around, strict=True)):
                area = sum(
                    (p if a else p - 1) * np.prod(shape) / n for n, p, a in zip(shape, counts, around, strict=True)
                )
                found.append((float(area) * (1 + 1e-9 * counts[2]) + 1e-3 * counts[1], counts))
    return Cut(shape, min(found)[1], around) if found else None


@dataclass(frozen=True)
class Part:
    """The part of process ``rank``; ``steps`` from one exchange to the next, for which it must know ``depth`` points beyond its
    border, by array."""

    cut: Cut
    rank: int
    steps: int
    margin: Points3

    @property
    def coordinates(self) -> Points3:
        return self.cut.coordinates(self.rank)

    @property
    def owned(self) -> Owned:
        return self.cut.owned(self.coordinates)

    @property
    def box(self) -> Box:
        """What it computes on: what it owns and the overlap."""
        found = self.owned.grown(self.margin)
        lo = [max(a, b - m) for a, b, m in zip(found.lo, self.owned.box.lo, self.margin, strict=True)]
        hi = [min(a, b + m) for a, b, m in zip(found.hi, self.owned.box.hi, self.margin, strict=True)]
        lo = [a if i else b for a, b, i in zip(lo, self.owned.box.lo, self.owned.inner[0], strict=True)]
        hi = [a if i else b for a, b, i in zip(hi, self.owned.box.hi, self.owned.inner[1], strict=True)]
        return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))

    @property
    def own(self) -> tuple[slice, slice, slice]:
        """What it owns, in arrays over ``box``."""
        z, y, x = (
            slice(a - b, c - b) for a, b, c in zip(self.owned.box.lo, self.box.lo, self.owned.box.hi, strict=True)
        )
        return z, y, x

    def neighbours(self) -> Iterator[tuple[Points3, int, Points3]]:
        """(direction, rank, shift): part ``rank`` is seen ``shift`` points from where it counts its own points."""
        for direction in DIRECTIONS:
            there = [c + d for c, d in zip(self.coordinates, direction, strict=True)]
            shift = [0, 0, 0]
            for k in range(3):
                count, size = self.cut.counts[k], self.cut.shape[k]
                if self.cut.around[k]:
                    shift[k] = size * (there[k] // count)
                    there[k] %= count
            if direction != (0, 0, 0) and all(0 <= c < p for c, p in zip(there, self.cut.counts, strict=True)):
                rank = int(np.ravel_multi_index(there, self.cut.counts))
                z, y, x = direction
                yield (z, y, x), rank, (shift[0], shift[1], shift[2])

    def told(
        self, program: Program, depth: Mapping[str, Points3]
    ) -> list[tuple[int, int, list[tuple[str, Box]], list[tuple[str, Box]]]]:
        """(rank, direction, what is sent there, what comes from there): boxes of the arrays of this part's program."""
        mine, found = self._filled(self.owned.box), []
        for direction, rank, shift in self.neighbours():
            theirs = self.cut.owned(self.cut.coordinates(rank))
            moved = Owned(_moved(theirs.box, shift), theirs.inner)
            source = _moved(self._filled(theirs.box), shift)
            out, into = list[tuple[str, Box]](), list[tuple[str, Box]]()
            for name, far in depth.items():
                if name not in program.arrays or not any(far) or program.arrays[name].half:
                    continue
                room = _room(program.arrays[name])
                leaves, comes = meet(mine, moved.grown(far)), meet(source, self.owned.grown(far))
                for boxes, box in ((out, meet(leaves, room)), (into, meet(comes, room))):
                    if all(a < b for a, b in zip(box.lo, box.hi, strict=True)):
                        boxes.append((name, box))
            found.append((rank, DIRECTIONS.index(direction), out, into))
        return found

    def _filled(self, box: Box) -> Box:
        """With the planes above the surface, which belong to who is below them."""
        top = box.hi[0] == self.cut.shape[0] and not self.cut.around[0]
        return Box(box.lo, (box.hi[0] + REACH * top, *box.hi[1:]))

    def kept(self, halo: int) -> Box:
        """What it owns, with the halo at the ends of the grid: together, all parts have every number once."""
        lows, highs = self.owned.inner
        lo = [a - (0 if inner else halo) for a, inner in zip(self.owned.box.lo, lows, strict=True)]
        hi = [b + (0 if inner else halo) for b, inner in zip(self.owned.box.hi, highs, strict=True)]
        return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))


def _room(layout: Layout) -> Box:
    """An array's box with its halo."""
    lo, hi, halo = layout.box.lo, layout.box.hi, layout.halo
    return Box((lo[0] - halo, lo[1] - halo, lo[2] - halo), (hi[0] + halo, hi[1] + halo, hi[2] + halo))


def _moved(box: Box, by: Points3) -> Box:
    lo, hi = ([v + d for v, d in zip(c, by, strict=True)] for c in (box.lo, box.hi))
    return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))


def whole(grid: Grid) -> Part:
    """All of a grid in one process: nobody to be told."""
    return Part(Cut(grid.shape, (1, 1, 1), (False, False, False)), 0, 0, (0, 0, 0))


__all__ = ["DIRECTIONS", "FUSED", "WORTH", "Cut", "Part", "best_cut", "whole"]
