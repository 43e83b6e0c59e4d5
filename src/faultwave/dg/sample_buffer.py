"""Readings of the same items of some buffers, moment after moment: kept where the buffers are and brought to the host many at a time.

A device has to stop for a reading that the host waits for. Here it only copies some numbers within its own memory, and that can be
part of steps that are recorded and replayed. A processor copies them as quickly as it can and goes on with its steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from faultwave.backends import Awaited, Backend, Part

ROOM = 16 << 20
"""Bytes of a sample buffer at most."""

MOST, LEAST = 512, 8
"""Readings of a sample buffer at most, and so many that one is worth its memory."""


@dataclass(frozen=True)
class Source:
    """``rows`` of ``items`` (n,) of a buffer, ``numbers`` of each, or ``some`` (n, m) of these; ``fixed``: double in single runs, too."""

    buffer: Any
    items: np.ndarray
    numbers: int
    rows: slice = field(default_factory=lambda: slice(None))
    fixed: bool = False
    some: np.ndarray | None = None

    @property
    def size(self) -> int:
        """Numbers of an item that are read."""
        return self.numbers if self.some is None else self.some.shape[1]

    def fetch(self) -> Awaited:
        """(n, size) as they are now."""
        return Flat(self.buffer.fetch(self.items, self.rows), self.some)


@dataclass(frozen=True)
class Flat:
    """What is awaited (n, ...) as (n, numbers), or ``some`` (n, m) of these."""

    awaited: Awaited
    some: np.ndarray | None

    @property
    def here(self) -> bool:
        return self.awaited.here

    def values(self) -> np.ndarray:
        found = self.awaited.values()
        found = found.reshape(len(found), -1)
        return found if self.some is None else np.take_along_axis(found, self.some, 1)


class SampleBuffer:
    """``ways``: lists of sources of the same numbers, one of which a reading takes. ``nbytes``: of one reading."""

    def __init__(self, backend: Backend, ways: Sequence[Sequence[Source]]):
        self.backend, self.ways = backend, [[s for s in sources if len(s.items)] for sources in ways]
        self.sources = self.ways[0]
        self.count = 0  # readings in the sample buffer
        own = np.dtype(backend.dtype).itemsize
        self.nbytes = sum(len(s.items) * s.size * (8 if s.fixed else own) for s in self.sources)
        self.length = min(MOST, ROOM // max(1, self.nbytes))
        self.worthwhile, self.length = self.length >= LEAST, max(1, self.length)
        self.stores: list[Any] = []
        if self.worthwhile:
            self.stores = [backend.store(self.length * len(s.items), s.size, s.fixed) for s in self.sources]
            self.copy = [
                backend.copier(
                    [Part(s.buffer, s.items, s.rows, t, s.some) for s, t in zip(sources, self.stores, strict=True)]
                )
                for sources in self.ways
            ]
        self.parts: list[list[Awaited]] = []

    def take(self, way: int = 0, copied: bool = False) -> None:
        """Read now, from the sources number ``way``. ``copied``: a replay has done so in this reading's place."""
        if not self.worthwhile:
            self.parts.append([s.fetch() for s in self.ways[way]])
        elif not copied:
            self.copy[way](self.count)
        self.count += 1

    @property
    def full(self) -> bool:
        return self.count >= self.length

    def bring(self) -> Brought:
        """Begin to bring all readings; the next is the first of others."""
        if self.worthwhile and self.count:
            pairs = zip(self.sources, self.stores, strict=True)
            self.parts = [[store.fetch(slice(0, self.count * len(s.items))) for s, store in pairs]]
        made = Brought(self.parts, self.count, [len(s.items) for s in self.sources])
        self.parts, self.count = [], 0
        return made


class Brought:
    """``count`` readings of one sample buffer, on their way."""

    def __init__(self, parts: list[list[Awaited]], count: int, lengths: list[int]):
        self.parts, self.count, self.lengths = parts, count, lengths

    @property
    def here(self) -> bool:
        return all(a.here for part in self.parts for a in part)

    def values(self) -> list[np.ndarray]:
        """Of each source (readings, n, numbers)."""
        brought = [[a.values().reshape(-1) for a in awaited] for awaited in zip(*self.parts, strict=True)]
        values = [each[0] if len(each) == 1 else np.concatenate(each) for each in brought]
        return [v.reshape(self.count, n, -1) for v, n in zip(values, self.lengths, strict=True)]


__all__ = ["Brought", "SampleBuffer", "Source"]
