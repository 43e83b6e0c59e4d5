"""Long rows are cut into pieces along x, each worked on in all rows of a tile before the next: rows that are longer push each other out of
the first cache before the next row reads them again. No value depends on it."""

from __future__ import annotations

from collections.abc import Sequence

from faultwave.backends.cpu.two_planes import numbers_read
from faultwave.kernels.stencil import Launch

LONGEST = 768
"""Bytes of a piece, of each array."""
WIDE = 60
"""Numbers of arrays around a point: stencils that read as many, those below hills, gain on one plane, too; others on two alone."""


def longest(itemsize: int) -> int:
    """Points of a piece, of numbers of so many bytes."""
    return LONGEST // itemsize


def wide(row: Sequence[Launch]) -> bool:
    """Whether rows of one plane go in pieces: those of one stencil that reads much."""
    return len(row) == 1 and numbers_read(row[0].stencil) >= WIDE


__all__ = ["longest", "wide"]
