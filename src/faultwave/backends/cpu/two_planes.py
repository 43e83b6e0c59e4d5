"""Variants of stencils that process two planes at once, which saves loads.

Each value is computed as on one plane alone, so that results do not depend on the pairing of planes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from faultwave.kernels.expr import Expr, Key, wrap
from faultwave.kernels.stencil import Axis, Launch, Point, Recorder, Stencil, record

MOST_READ = 45
"""Number of reads per point above which rows of one plane fill the first-level cache."""

LONG_ROW = 768
"""Size of a row [bytes] above which two planes of rows with absorbing layers at their ends cost more than they gain."""


class _Both(Recorder):
    """Recorder of the reads on both planes; keys of profiles and tables of the upper plane end with a 1."""

    def upper(self, *key: str | int) -> Expr:
        return self._input(*key, 1)


class _Upper:
    """Point one plane above the recorded point."""

    def __init__(self, lower: _Both):
        self.lower, self.on, self.scalar = lower, lower.on, lower.scalar

    def at(self, name: str, x: int = 0, y: int = 0, z: int = 0) -> Expr:
        return self.lower.at(name, x=x, y=y, z=z + 1)

    def line(self, name: str, axis: Axis) -> Expr:
        return self.lower.upper("line", name, axis) if axis == "z" else self.lower.line(name, axis)

    def parity(self, name: str) -> Expr:
        return self.lower.upper("parity", name, "")


def recorded(stencil: Stencil, planes: int) -> tuple[Mapping[Key, Expr], dict[tuple[str, int], Expr]]:
    """Return the reads of a stencil on one or two planes, and its writes by name and plane."""
    if planes == 1:
        reads, writes = record(stencil)
        return reads, {(name, 0): value for name, value in writes.items()}
    lower = _Both()
    points: Sequence[Point] = (lower, _Upper(lower))
    values = [stencil.function(point) for point in points]
    return lower.reads, {(name, n): wrap(values[n][name]) for name in values[0] for n in range(planes)}


def numbers_read(stencil: Stencil) -> int:
    """Return the number of array reads around a point."""
    return sum(key[0] in ("at", "on") for key in record(stencil)[0])


def can_pair_planes(row: Sequence[Launch], itemsize: int) -> bool:
    """Return True if two planes of adjacent launches can and should be processed at once.

    Long rows of several launches should not (``LONG_ROW``); ``itemsize`` is the size of a number [bytes].
    """
    if any(x.lag or x.stencil.changes or x.stencil.rows or x.box.shape[0] < 2 for x in row):
        return False
    if len(row) > 1 and sum(launch.box.shape[2] for launch in row) > LONG_ROW // itemsize:
        return False
    widest = max(row, key=lambda launch: launch.box.shape[2])
    return numbers_read(widest.stencil) <= MOST_READ
