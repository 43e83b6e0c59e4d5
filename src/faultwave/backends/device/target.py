"""What the lowering must know of a device."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Dialect = Literal["cuda", "hip", "opencl"]

LINE = 128
"""Bytes of a row of a batch: the numbers of one row and column of all its items, one line of memory."""


@dataclass(frozen=True)
class Target:
    """``shared``: bytes of fast memory a group of threads may have; ``unit``: bytes a multiprocessor has for all its groups;
    ``warp``: threads that run in step; ``threads``: of a group at most; ``registers``: 32-bit ones of a multiprocessor."""

    name: str
    dialect: Dialect
    shared: int
    unit: int
    warp: int = 32
    threads: int = 256
    registers: int = 65536

    def with_shared(self, shared: int) -> Target:
        """The same with as much fast memory as a driver tells of."""
        return replace(self, shared=shared, unit=max(shared, min(self.unit, 2 * shared)))


KIB = 1024

# CUDA C++ Programming Guide, table of technical specifications by compute capability; CDNA 2 and 3 instruction set guides.
TARGETS = {
    t.name: t
    for t in (
        Target("sm_70", "cuda", 96 * KIB, 96 * KIB),
        Target("sm_80", "cuda", 163 * KIB, 164 * KIB),
        Target("sm_86", "cuda", 99 * KIB, 100 * KIB),
        Target("sm_89", "cuda", 99 * KIB, 100 * KIB),
        Target("sm_90", "cuda", 227 * KIB, 228 * KIB),
        Target("sm_100", "cuda", 227 * KIB, 228 * KIB),
        Target("sm_120", "cuda", 99 * KIB, 100 * KIB),
        Target("gfx90a", "hip", 64 * KIB, 64 * KIB, warp=64, registers=131072),
        Target("gfx942", "hip", 64 * KIB, 64 * KIB, warp=64, registers=131072),
        Target("opencl", "opencl", 64 * KIB, 64 * KIB),
    )
}
