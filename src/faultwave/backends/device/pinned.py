"""Pool of reusable buffers for asynchronous copies.

Buffers are pinned host memory, which a device accesses by DMA, or device memory where numbers are packed for such copies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from faultwave.backends.device.types import Memory

SMALLEST = 1 << 12  # [bytes] smallest size of a buffer


class Crossing(Protocol):
    """Pending copy between host and device."""

    @property
    def done(self) -> bool: ...

    def wait(self) -> None: ...


@dataclass
class PooledBuffer:
    """Buffer of ``size`` bytes, and the last copy from or to it."""

    memory: Memory
    size: int
    crossing: Crossing | None = None


class BufferPool:
    """Pool of buffers whose sizes are powers of two.

    Parameters
    ----------
    make : callable
        ``make(bytes)`` allocates a buffer.
    most : int
        Size of the pool [bytes] beyond which a request waits for the pending copy of a returned buffer instead of allocating another.

    Attributes
    ----------
    nbytes : int
        Size of all buffers [bytes].
    """

    def __init__(self, make: Callable[[int], Memory], most: int):
        self.make, self.most, self.nbytes = make, most, 0
        self.free: dict[int, list[PooledBuffer]] = {}

    def take(self, size: int) -> PooledBuffer:
        """Return a buffer of at least ``size`` bytes that is unused and that no pending copy touches."""
        wanted = SMALLEST
        while wanted < size:
            wanted *= 2
        free = self.free.setdefault(wanted, [])
        for i, piece in enumerate(free):
            if piece.crossing is None or piece.crossing.done:
                return free.pop(i)
        if free and self.nbytes + wanted > self.most:
            oldest = free.pop(0)
            assert oldest.crossing is not None
            oldest.crossing.wait()
            return oldest
        made = PooledBuffer(self.make(wanted), wanted)
        self.nbytes += wanted
        return made

    def give(self, piece: PooledBuffer, crossing: Crossing | None = None) -> None:
        """Return a buffer to the pool, reusable once ``crossing`` is done."""
        piece.crossing = crossing
        self.free[piece.size].append(piece)


__all__ = ["Crossing", "PooledBuffer", "BufferPool"]
