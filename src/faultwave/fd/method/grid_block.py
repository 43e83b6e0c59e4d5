"""Geometry of a block of a grid, and the part of it that one process computes and exchanges with its neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from faultwave.case.settings.model import Case
from faultwave.domain.grids import Cut, Triple
from faultwave.fd.method.absorbing import Absorber, AbsorberKind
from faultwave.fd.method.grid import Grid, SideKind
from faultwave.fd.method.scheme import Scheme
from faultwave.fd.method.split_nodes import plane_of
from faultwave.kernels.overlap import Owned, intersect
from faultwave.kernels.stencil import Axis, Box, Layout, Program

AXES: tuple[Axis, ...] = ("z", "y", "x")
DIRECTIONS = list(itertools.product((-1, 0, 1), repeat=3))
FUSED = 3
"""Largest number of steps between two exchanges; more steps cost more overlap than they save in waiting."""
WORTH = 24
"""Smallest width of a box, in points per step between exchanges, along the axes that are cut."""


def box_of(cut: Cut, coordinates: Triple) -> Box:
    """Return the box owned by the process at these coordinates."""
    return Box(*cut.span(coordinates))


def owned_of(cut: Cut, coordinates: Triple) -> Owned:
    """Return the owned box of a process and the sides at which others follow."""
    inner = [
        tuple(
            a or (c > 0 if end == 0 else c + 1 < p) for a, c, p in zip(cut.around, coordinates, cut.counts, strict=True)
        )
        for end in (0, 1)
    ]
    return Owned(box_of(cut, coordinates), (inner[0], inner[1]))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Subdomain:
    """Box of one process in a partitioned grid.

    Attributes
    ----------
    cut : Cut
        Partition of the grid.
    rank : int
        Number of the process.
    steps : int
        Steps from one exchange to the next.
    margin : tuple of int
        Points (z, y, x) beyond its border that the process computes to bridge these steps.
    below : bool
        True if another grid lies below; planes on the face to it belong to the process above them.
    """

    cut: Cut
    rank: int
    steps: int
    margin: Triple
    below: bool = False  # planes on the face belong to the process above them

    @cached_property
    def coordinates(self) -> Triple:
        return self.cut.coordinates(self.rank)

    @cached_property
    def owned(self) -> Owned:
        return owned_of(self.cut, self.coordinates)

    @cached_property
    def box(self) -> Box:
        """Box that the process computes: owned points and overlap."""
        found = self.owned.grown(self.margin)
        lo = [max(a, b - m) for a, b, m in zip(found.lo, self.owned.box.lo, self.margin, strict=True)]
        hi = [min(a, b + m) for a, b, m in zip(found.hi, self.owned.box.hi, self.margin, strict=True)]
        lo = [a if i else b for a, b, i in zip(lo, self.owned.box.lo, self.owned.inner[0], strict=True)]
        hi = [a if i else b for a, b, i in zip(hi, self.owned.box.hi, self.owned.inner[1], strict=True)]
        return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))

    @cached_property
    def own(self) -> tuple[slice, slice, slice]:
        """Slices of the owned points in arrays over ``box``."""
        z, y, x = (
            slice(a - b, c - b) for a, b, c in zip(self.owned.box.lo, self.box.lo, self.owned.box.hi, strict=True)
        )
        return z, y, x

    def neighbours(self) -> Iterator[tuple[Triple, int, Triple]]:
        """Yield (direction, rank, shift) of each neighbour; ``shift`` is added to its own numbering of points."""
        for direction in DIRECTIONS:
            there = [c + d for c, d in zip(self.coordinates, direction, strict=True)]
            shift = [0, 0, 0]
            for k in range(3):
                count, size = self.cut.counts[k], self.cut.shape[k]
                if self.cut.around[k]:
                    shift[k] = size * (there[k] // count)
                    there[k] %= count
            if direction != (0, 0, 0) and all(0 <= c < p for c, p in zip(there, self.cut.counts, strict=True)):
                rank = self.cut.rank((there[0], there[1], there[2]))
                z, y, x = direction
                yield (z, y, x), rank, (shift[0], shift[1], shift[2])

    def exchanges(
        self, program: Program, depth: Mapping[str, Triple]
    ) -> list[tuple[int, int, list[tuple[str, Box]], list[tuple[str, Box]]]]:
        """Return the exchanged boxes of the arrays of this process's program.

        Parameters
        ----------
        program : Program
        depth : mapping of str to tuple of int
            Points (z, y, x) around the owned box that each array needs.

        Returns
        -------
        list of tuple
            (rank, direction, sent boxes, received boxes) of each neighbour; boxes are pairs of array name and Box.
        """
        mine, found = self._filled(self.owned.box, program.reach), []
        for direction, rank, shift in self.neighbours():
            theirs = owned_of(self.cut, self.cut.coordinates(rank))
            moved = Owned(_moved(theirs.box, shift), theirs.inner)
            source = _moved(self._filled(theirs.box, program.reach), shift)
            out, into = list[tuple[str, Box]](), list[tuple[str, Box]]()
            for name, far in depth.items():
                if name not in program.arrays or not any(far) or program.arrays[name].half:
                    continue
                available = _storage_box(program.arrays[name])
                leaves, comes = intersect(mine, moved.grown(far)), intersect(source, self.owned.grown(far))
                for boxes, box in ((out, intersect(leaves, available)), (into, intersect(comes, available))):
                    if all(a < b for a, b in zip(box.lo, box.hi, strict=True)):
                        boxes.append((name, box))
            found.append((rank, DIRECTIONS.index(direction), out, into))
        return found

    def _filled(self, box: Box, reach: int) -> Box:
        """Return a box extended by the ``reach`` planes beyond the surface or lower face, if it ends there."""
        top = box.hi[0] == self.cut.shape[0] and not self.cut.around[0]
        bottom = self.below and box.lo[0] == 0
        return Box((box.lo[0] - reach * bottom, *box.lo[1:]), (box.hi[0] + reach * top, *box.hi[1:]))

    def stored_box(self, halo: int) -> Box:
        """Return the owned box with the halo at the ends of the grid; the processes cover every number once."""
        lows, highs = self.owned.inner
        lo = [a - (0 if inner else halo) for a, inner in zip(self.owned.box.lo, lows, strict=True)]
        hi = [b + (0 if inner else halo) for b, inner in zip(self.owned.box.hi, highs, strict=True)]
        return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))


def _storage_box(layout: Layout) -> Box:
    """Return the box of an array with its halo."""
    lo, hi, halo = layout.box.lo, layout.box.hi, layout.halo
    return Box((lo[0] - halo, lo[1] - halo, lo[2] - halo), (hi[0] + halo, hi[1] + halo, hi[2] + halo))


def _moved(box: Box, by: Triple) -> Box:
    lo, hi = ([v + d for v, d in zip(c, by, strict=True)] for c in (box.lo, box.hi))
    return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))


def undivided(grid: Grid) -> Subdomain:
    """Return the subdomain of a grid in one process, without neighbours."""
    return Subdomain(Cut(grid.shape, (1, 1, 1), (False, False, False)), 0, 0, (0, 0, 0))


@dataclass(frozen=True)
class GridBlock:
    """Geometry of a block.

    Attributes
    ----------
    grid : Grid
        Grid including the absorbing layers.
    lower, upper : ndarray, shape (3,)
        Corners [m] of the box without these layers.
    sides : mapping
        Kinds of the sides.
    width : int
        Thickness of the absorbing layers in points.
    joined_above, joined_below : bool
        True if another block is joined above or below.
    order : int
        Order of the differences in space.
    """

    grid: Grid
    lower: np.ndarray
    upper: np.ndarray
    sides: Mapping[str, SideKind]
    width: int
    joined_above: bool = False
    joined_below: bool = False
    order: int = 4

    def scheme(self, case: Case, step: float = 1.0, speed: float = 1.0) -> Scheme:
        """Return the scheme of the block; the defaults of step and speed stand for values not yet known."""
        setting = case.grid
        assert setting is not None
        absorber, attenuation = Absorber(AbsorberKind(setting.absorbing.kind), self.width), case.attenuation is not None
        made = Scheme(self.grid, step, speed, self.sides, absorber, attenuation, self.order)
        fault = plane_of(setting.fault, self.grid) if setting.fault is not None and case.fault is not None else None
        return replace(
            made, joined_above=self.joined_above, joined_below=self.joined_below, yields=case.yields,
            fault=fault,
        )  # fmt: skip


def order_of(case: Case, block: int) -> int:
    """Return the order of differences in a block; 4 in the uppermost block below a topography."""
    setting = case.grid
    assert setting is not None
    return 4 if block == 0 and setting.topography is not None else setting.order
