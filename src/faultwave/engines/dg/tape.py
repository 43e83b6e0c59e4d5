"""Readings of the same items of some buffers, moment after moment: kept where the buffers are and brought to the host many at a time.

A device has to stop for a reading that the host waits for. Here it only copies some numbers within its own memory, and that can be
part of steps that are recorded and replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from faultwave.backends import Awaited, Backend

ROOM = 16 << 20
"""Bytes of a tape at most."""

MOST, LEAST = 512, 8
"""Readings of a tape at most, and so many that one is worth its memory."""


class Tape:
    """``sources``: buffers, their items (n,), and whether they are double in single runs, too. ``nbytes``: of one reading."""

    def __init__(self, backend: Backend, sources: Sequence[tuple[Any, np.ndarray, bool]]):
        self.backend, self.sources = backend, [s for s in sources if len(s[1])]
        self.count = 0  # readings on the tape
        sizes = [8 if fixed else np.dtype(backend.dtype).itemsize for _, _, fixed in self.sources]
        numbers = [b.nbytes // size // b.items for (b, _, _), size in zip(self.sources, sizes, strict=True)]
        self.nbytes = sum(len(s[1]) * n * size for s, n, size in zip(self.sources, numbers, sizes, strict=True))
        self.length = min(MOST, ROOM // max(1, self.nbytes))
        self.worthwhile = backend.ahead and self.length >= LEAST
        self.stores: list[Any] = []
        if self.worthwhile:
            self.stores = [
                backend.store(self.length * len(items), n, fixed)
                for (_, items, fixed), n in zip(self.sources, numbers, strict=True)
            ]
        self.parts: list[list[Awaited]] = []

    def take(self, copied: bool = False) -> None:
        """Read now. ``copied``: a replay has done so in this reading's place."""
        if not self.worthwhile:
            self.parts.append([buffer.fetch(items) for buffer, items, _ in self.sources])
        elif not copied:
            for (buffer, items, _), store in zip(self.sources, self.stores, strict=True):
                buffer.copy_to(store, self.count * len(items), items)
        self.count += 1

    @property
    def full(self) -> bool:
        return self.count >= max(1, self.length)

    def bring(self) -> Brought:
        """Begin to bring all readings; the next is the first of others."""
        if self.worthwhile and self.count:
            pairs = zip(self.sources, self.stores, strict=True)
            self.parts = [[store.fetch(slice(0, self.count * len(items))) for (_, items, _), store in pairs]]
        made = Brought(self.parts, self.count, [len(items) for _, items, _ in self.sources])
        self.parts, self.count = [], 0
        return made


class Brought:
    """``count`` readings of one tape, on their way."""

    def __init__(self, parts: list[list[Awaited]], count: int, lengths: list[int]):
        self.parts, self.count, self.lengths = parts, count, lengths

    @property
    def here(self) -> bool:
        return all(a.here for part in self.parts for a in part)

    def values(self) -> list[np.ndarray]:
        """Of each source (readings, n, numbers)."""
        found = [np.concatenate([a.values() for a in awaited]) for awaited in zip(*self.parts, strict=True)]
        return [v.reshape(self.count, n, -1) for v, n in zip(found, self.lengths, strict=True)]


__all__ = ["Brought", "Tape"]
