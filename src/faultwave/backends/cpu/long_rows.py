"""Blocking of long rows along x: each piece is processed in all rows of a tile before the next piece.

Otherwise long rows evict each other from the first-level cache before the next row reads them again. No value changes.
"""

from __future__ import annotations

from collections.abc import Sequence

from faultwave.backends.cpu.two_planes import numbers_read
from faultwave.kernels.stencil import Launch

LONGEST = 768
"""Size of a piece of each array [bytes]."""
WIDE = 60
"""Number of reads per point from which pieces pay on one plane too (curvilinear stencils); others gain on two planes only."""


def longest(itemsize: int) -> int:
    """Return the points of a piece for numbers of ``itemsize`` bytes."""
    return LONGEST // itemsize


def wide(row: Sequence[Launch]) -> bool:
    """Return True if rows of one plane are cut into pieces: rows of a single stencil with many reads."""
    return len(row) == 1 and numbers_read(row[0].stencil) >= WIDE


__all__ = ["longest", "wide"]
