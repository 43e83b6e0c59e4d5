"""Pieces of memory that are used again and again: the host's that a device copies from and to by itself, and a device's own where
numbers are packed for that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

SMALLEST = 1 << 12  # bytes of a piece


class Crossing(Protocol):
    """A copy between host and device that has been asked for."""

    @property
    def done(self) -> bool: ...

    def wait(self) -> None: ...


@dataclass
class Piece:
    """So many bytes, and the last copy from or to them."""

    memory: Any
    size: int
    crossing: Crossing | None = None


class Pieces:
    """Pieces by size, each a power of two; ``make(bytes)`` gives the memory of a new one. ``nbytes``: of all there are; beyond ``most`` one
    waits for the copies of a piece that was given back rather than make another of its size."""

    def __init__(self, make: Callable[[int], Any], most: int):
        self.make, self.most, self.nbytes = make, most, 0
        self.free: dict[int, list[Piece]] = {}

    def take(self, size: int) -> Piece:
        """A piece of so many bytes at least that nobody uses and no copy touches any more."""
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
        made = Piece(self.make(wanted), wanted)
        self.nbytes += wanted
        return made

    def give(self, piece: Piece, crossing: Crossing | None = None) -> None:
        """To be taken again, once ``crossing`` is done."""
        piece.crossing = crossing
        self.free[piece.size].append(piece)


__all__ = ["Crossing", "Piece", "Pieces"]
