"""Sample buffers: repeated readings of the same items of some buffers, collected on the backend and copied to the host in one piece.

A device has to stop for a reading that the host waits for. With a sample buffer it only copies some numbers within its
own memory, which can be part of steps that are recorded and replayed. A host backend copies the numbers quickly and
continues its steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from faultwave.backends import Awaited, Backend, Part
from faultwave.backends.base import Buffer, Store

ROOM = 16 << 20
"""Largest size of a sample buffer [bytes]."""

MOST, LEAST = 512, 8
"""Largest number of readings in a sample buffer, and smallest number for which one is used."""


@dataclass(frozen=True)
class Source:
    """Numbers to read from a buffer.

    Attributes
    ----------
    buffer : buffer or store
        Buffer on the backend.
    items : ndarray (n,)
        Items to read.
    numbers : int
        Numbers in each item.
    rows : slice
        Rows to read.
    fixed : bool
        True if the buffer is in double precision in all runs.
    some : ndarray (n, m), optional
        Numbers to read of each item; all by default.
    """

    buffer: Buffer
    items: np.ndarray
    numbers: int
    rows: slice = field(default_factory=lambda: slice(None))
    fixed: bool = False
    some: np.ndarray | None = None

    @property
    def size(self) -> int:
        """Count of numbers that are read of an item."""
        return self.numbers if self.some is None else self.some.shape[1]

    def fetch(self) -> Awaited:
        """Start to read the present numbers (n, size)."""
        return Flat(self.buffer.fetch(self.items, self.rows), self.some)


@dataclass(frozen=True)
class Flat:
    """Pending read (n, ...) that is delivered as (n, numbers), or as the selected numbers ``some`` (n, m)."""

    awaited: Awaited
    some: np.ndarray | None

    @property
    def here(self) -> bool:
        """True if the values have arrived on the host."""
        return self.awaited.here

    def values(self) -> np.ndarray:
        """Return the values (n, numbers), and wait for them if necessary."""
        found = self.awaited.values()
        found = found.reshape(len(found), -1)
        return found if self.some is None else np.take_along_axis(found, self.some, 1)


class SampleBuffer:
    """Sample buffer of some sources.

    Parameters
    ----------
    backend : Backend
        Backend of the sources.
    ways : sequence of sequences of Source
        Alternative lists of sources with equal counts of numbers; each reading uses one.

    Attributes
    ----------
    nbytes : int
        Size of one reading [bytes].
    """

    def __init__(self, backend: Backend, ways: Sequence[Sequence[Source]]):
        self.backend, self.ways = backend, [[s for s in sources if len(s.items)] for sources in ways]
        self.sources = self.ways[0]
        self.count = 0  # number of readings in the sample buffer
        own = np.dtype(backend.dtype).itemsize
        self.nbytes = sum(len(s.items) * s.size * (8 if s.fixed else own) for s in self.sources)
        self.length = min(MOST, ROOM // max(1, self.nbytes))
        self.worthwhile, self.length = self.length >= LEAST, max(1, self.length)
        self.stores: list[Store] = []
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
        """Take a reading from the sources ``ways[way]``; ``copied`` if a replay has already written it."""
        if not self.worthwhile:
            self.parts.append([s.fetch() for s in self.ways[way]])
        elif not copied:
            self.copy[way](self.count)
        self.count += 1

    @property
    def full(self) -> bool:
        """True if there is no space for another reading."""
        return self.count >= self.length

    def bring(self) -> PendingSamples:
        """Start to copy all readings to the host; the next reading starts a new set."""
        if self.worthwhile and self.count:
            pairs = zip(self.sources, self.stores, strict=True)
            self.parts = [[store.fetch(slice(0, self.count * len(s.items))) for s, store in pairs]]
        made = PendingSamples(self.parts, self.count, [len(s.items) for s in self.sources])
        self.parts, self.count = [], 0
        return made


class PendingSamples:
    """Pending ``count`` readings of one sample buffer."""

    def __init__(self, parts: list[list[Awaited]], count: int, lengths: list[int]):
        self.parts, self.count, self.lengths = parts, count, lengths

    @property
    def here(self) -> bool:
        """True if all readings have arrived on the host."""
        return all(a.here for part in self.parts for a in part)

    def values(self) -> list[np.ndarray]:
        """Return the readings (count, n, numbers) of each source."""
        brought = [[a.values().reshape(-1) for a in awaited] for awaited in zip(*self.parts, strict=True)]
        values = [each[0] if len(each) == 1 else np.concatenate(each) for each in brought]
        return [v.reshape(self.count, n, -1) for v, n in zip(values, self.lengths, strict=True)]


__all__ = ["PendingSamples", "SampleBuffer", "Source"]
