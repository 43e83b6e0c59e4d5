"""Variants of stencils that save loads: two planes at once, and long rows that are cut into pieces.

Each value is computed as on one plane alone, so that results do not depend on the pairing of planes.

Otherwise long rows evict each other from the first-level cache before the next row reads them again. No value changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from faultwave.kernels.expr import Expr, Key, wrap
from faultwave.kernels.stencil import Axis, Launch, Point, Recorder, Stencil, record

MOST_READ = 45
"""Number of reads per point above which rows of one plane fill the first-level cache."""


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


def interleave_planes(writes: Mapping[tuple[str, int], Expr]) -> Iterator[Expr]:
    """Yield the nodes of both planes' values, operands first, each next to its counterpart, so that shared reads occur once."""
    seen = set[int]()
    names = dict.fromkeys(name for name, _ in writes)
    planes = range(len(writes) // len(names))
    for name in names:
        waiting = [tuple(writes[name, n] for n in planes)]
        while waiting:
            same = waiting[-1]
            missing = [of for of in zip(*(e.args for e in same), strict=True) if of[0].id not in seen]
            if missing and same[0].id not in seen:
                waiting += reversed(missing)
                continue
            waiting.pop()
            if same[0].id not in seen:
                seen.add(same[0].id)
                yield from same


def numbers_read(stencil: Stencil) -> int:
    """Return the number of array reads around a point."""
    return sum(key[0] in ("at", "on") for key in record(stencil)[0])


def can_pair_planes(row: Sequence[Launch], most: int) -> bool:
    """Return True if two planes of adjacent launches can and should be processed at once.

    Rows of several launches and more than ``most`` points should not: layers at their ends cost more than two planes gain.
    """
    if any(x.lag or x.stencil.changes or x.stencil.rows or x.box.shape[0] < 2 for x in row):
        return False
    if len(row) > 1 and sum(launch.box.shape[2] for launch in row) > most:
        return False
    widest = max(row, key=lambda launch: launch.box.shape[2])
    return numbers_read(widest.stencil) <= MOST_READ


PIECE_BYTES = 768
"""Size of a piece of each array [bytes]."""
MANY_READS = 60
"""Number of reads per point from which pieces pay on one plane too (curvilinear stencils); others gain on two planes only."""


def piece_points(itemsize: int) -> int:
    """Return the points of a piece for numbers of ``itemsize`` bytes."""
    return PIECE_BYTES // itemsize


def cuts_long_rows(row: Sequence[Launch]) -> bool:
    """Return True if rows of one plane are cut into pieces: rows of a single stencil with many reads."""
    return len(row) == 1 and numbers_read(row[0].stencil) >= MANY_READS
