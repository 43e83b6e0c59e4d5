"""Checksums of snapshots, used on restart to verify that a file still holds what its checkpoint states.

The checksum of a snapshot is a sum over the bits of its values, each multiplied by an odd number that depends on its position, so that
the sums of the portions of several processes can be added. Of large snapshots only blocks that are distributed evenly over each field
are used, so that checking a file of terabytes takes seconds.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

BLOCK, BLOCKS = 1024, 64
"""Number of values in a block, and maximum number of blocks of a field."""
MODULUS = 1 << 64


@dataclass(frozen=True)
class Earlier:
    """Snapshots that were written before a run was restarted.

    Attributes
    ----------
    times : sequence of float
        Times of the snapshots [s].
    sums : mapping of str to sequence of int
        Checksum of each snapshot, by file name.
    put_aside : bool
        True if a file without these snapshots is renamed and a new one begun.
    """

    times: Sequence[float] = ()
    sums: Mapping[str, Sequence[int]] = field(default_factory=dict)
    put_aside: bool = False


NOTHING = Earlier()
"""Empty set of earlier snapshots, for a new run."""


def blocks(total: int) -> Iterator[tuple[int, int]]:
    """Yield start and end (exclusive) of each block of a field of ``total`` values that enters the checksum."""
    stride = max(BLOCK, -(-total // BLOCKS))
    for first in range(0, total, stride):
        yield first, min(first + BLOCK, total)


def snapshot_checksum(name: str, values: np.ndarray, first: int = 0, total: int | None = None) -> int:
    """Return the checksum of field values (n,), the first of which has index ``first`` of ``total`` in the whole snapshot."""
    flat = np.ascontiguousarray(values).reshape(-1)
    found = 0
    for low, high in blocks(len(flat) if total is None else total):
        a, b = max(low, first), min(high, first + len(flat))
        if a < b:
            found += _block_sum(name, flat[a - first : b - first], a)
    return found % MODULUS


def stored_checksum(name: str, descriptor: int, offset: int, count: int, dtype: np.dtype) -> int | None:
    """Return the checksum of a field of ``count`` values at ``offset`` of an open file, or None if the file is too short."""
    found = 0
    for low, high in blocks(count):
        size = (high - low) * dtype.itemsize
        data = os.pread(descriptor, size, offset + low * dtype.itemsize)
        if len(data) < size:
            return None
        found += _block_sum(name, np.frombuffer(data, dtype), low)
    return found % MODULUS


def _block_sum(name: str, values: np.ndarray, place: int) -> int:
    bits = values.view({4: np.uint32, 8: np.uint64}[values.dtype.itemsize]).astype(np.uint64)
    weights = 2 * np.arange(place, place + len(bits), dtype=np.uint64) + np.uint64(2 * zlib.crc32(name.encode()) + 1)
    return int((bits * weights).sum(dtype=np.uint64))


def added(sums: Sequence[Sequence[int]]) -> list[int]:
    """Return the checksums of snapshots as sums over processes; a process without values in a file may have no sums."""
    length = max((len(s) for s in sums), default=0)
    return [sum(s[n] for s in sums if n < len(s)) % MODULUS for n in range(length)]


def first_mismatch(expected: Sequence[int], stored: Callable[[int], int | None]) -> int | None:
    """Return the index of the first snapshot whose stored checksum differs from the expected one, or None."""
    return next((n for n, known in enumerate(expected) if stored(n) != known), None)


def put_aside(path: Path) -> Path:
    """Rename a file so that its name becomes free, and return the new name."""
    for number in range(1, 1000):
        aside = path.with_name(f"{path.name}.aside{number}")
        if not aside.exists():
            os.rename(path, aside)
            return aside
    raise OSError(f"{path}: 999 renamed files already exist")
