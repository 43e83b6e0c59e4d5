"""Elements of binary Gmsh files of version 2.2: blocks of elements of one type, often with one element each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

# Number of nodes of each element type, including those that are only skipped.
NODES = {1: 2, 2: 3, 3: 4, 4: 4, 5: 8, 6: 6, 7: 5, 8: 3, 9: 6, 10: 9, 11: 10, 12: 27, 13: 18, 14: 14, 15: 1, 16: 8,
         17: 20, 18: 15, 19: 13, 20: 9, 21: 10, 22: 12, 23: 15, 24: 15, 25: 21, 26: 4, 27: 5, 28: 6, 29: 20, 30: 35,
         31: 56}  # fmt: skip

_HEADER = 3
"""Number of integers before the elements of a block: type, number of elements, number of tags."""
_FIRST_PROBE, _LONGEST_PROBE = 64, 1 << 16
"""Number of blocks of one element that are compared together, at first and at most."""


class Bytes(Protocol):
    """Bytes in memory or of a mapped file."""

    def __getitem__(self, piece: slice, /) -> bytes: ...

    def __len__(self) -> int: ...


@dataclass(frozen=True)
class Run:
    """Consecutive elements of one type: type, count, number of tags, start of the first, and stride [bytes]."""

    kind: int
    count: int
    tags: int
    start: int
    stride: int


def binary_runs(data: Bytes, at: int, count: int, order: str) -> Iterator[Run]:
    """Yield the runs of equal elements of a section.

    Parameters
    ----------
    data, at
        File, and start of the first block.
    count : int
        Number of elements of the section.
    order : str
        Byte order, "<" or ">".

    Raises
    ------
    EOFError, ValueError
        If the file ends too early or an element has an unknown type.
    """
    while count > 0:
        kind, number, tags = _ints(data, at, _HEADER, order).tolist()
        if kind not in NODES:
            raise ValueError(f"an element has type {kind}")
        if not (0 < number <= count and 0 <= tags <= len(data)):
            raise ValueError(f"a block announces {number} of {count} elements with {tags} tags")
        width = 1 + tags + NODES[kind]
        start, stride = at + 4 * _HEADER, 4 * width
        if number == 1:  # consecutive blocks of one element
            stride += 4 * _HEADER
            number = _alike(data, at, width + _HEADER, count, order)
        end = start + number * stride - (stride - 4 * width)
        if end > len(data):
            raise EOFError("the file ends in the middle of a section")
        yield Run(kind, number, tags, start, stride)
        count, at = count - number, end


def _alike(data: Bytes, at: int, width: int, most: int, order: str) -> int:
    """Return how many blocks of one element, of ``width`` integers each, have the same header as the one at ``at``."""
    found, look = 0, _FIRST_PROBE
    first = _ints(data, at, _HEADER, order)
    most = min(most, max(1, (len(data) - at) // (4 * width)))
    while found < most:
        look = min(look, most - found)
        rows = _ints(data, at + 4 * width * found, width * look, order).reshape(look, width)
        differ = np.flatnonzero((rows[:, :_HEADER] != first).any(axis=1))
        if len(differ):
            return found + int(differ[0])
        found, look = found + look, min(2 * look, _LONGEST_PROBE)
    return found


def _ints(data: Bytes, at: int, count: int, order: str) -> np.ndarray:
    piece = data[at : at + 4 * count]
    if len(piece) < 4 * count:
        raise EOFError("the file ends in the middle of a section")
    return np.frombuffer(piece, f"{order}i4")


def elements_of(data: Bytes, run: Run, order: str) -> np.ndarray:
    """Return number, tags and nodes (n, 1 + tags + nodes) of the elements of a run."""
    width = 1 + run.tags + NODES[run.kind]
    size = run.stride * (run.count - 1) + 4 * width
    numbers = np.frombuffer(data[run.start : run.start + size] + b"\0" * (run.stride - 4 * width), f"{order}i4")
    return np.asarray(numbers.reshape(run.count, run.stride // 4)[:, :width].astype(np.int64))


__all__ = ["NODES", "Run", "binary_runs", "elements_of"]
