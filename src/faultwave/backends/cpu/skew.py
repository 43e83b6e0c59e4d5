"""Lags of the half-steps of one pass through memory: planes along z (wavefront) and rows along y (tiles).

A half-step may follow another at the distance at which it reads ahead what the other wrote, or overwrites what the other
read behind. The smaller the distance, the more of the data in use stays in caches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from faultwave.kernels.stencil import Launch, Program, record


@dataclass(frozen=True)
class Skew:
    """Lag of each level behind the first in planes (``z``) and rows (``y``), and of a step behind the previous (``step``)."""

    z: tuple[int, ...]
    y: tuple[int, ...]
    step: tuple[int, int]


@dataclass(frozen=True)
class _Access:
    """Array that a level reads at offsets ``z``, ``y`` from a point, or writes; ``lag`` rows behind the level."""

    array: str
    writes: bool
    z: int = 0
    y: int = 0
    lag: int = 0


def skew(program: Program, below: int | None = None) -> Skew:
    """Return the smallest lags that preserve the order of reads and writes, optionally of launches ``below`` a plane only."""
    count = len(program.levels)
    moving = {launch.names.get(n, n) for level in program.levels for launch in level for n in record(launch.stencil)[1]}
    moving |= {i.array for i in program.injections}
    accesses = [_extents(a for a in _accesses(program, n, below) if a.array in moving) for n in range(count)]
    z, y = [0] * count, [0] * count
    for n in range(1, count):
        apart = [_apart(accesses[m], accesses[n]) for m in range(n)]
        z[n] = max(z[n - 1], *(z[m] + d for m, (d, _) in enumerate(apart)))
        y[n] = max(y[n - 1], *(y[m] + d for m, (_, d) in enumerate(apart)))
    pairs = [(n, m, *_apart(accesses[m], accesses[n])) for n in range(count) for m in range(n, count)]
    step_z, step_y = (max(z[m] + a - z[n] for n, m, a, _ in pairs), max(y[m] + b - y[n] for n, m, _, b in pairs))
    return Skew(tuple(z), tuple(y), (max(step_z, z[-1]), max(step_y, y[-1])))


def first_lagging_plane(program: Program) -> int | None:
    """Return the plane below which smaller lags suffice, as some levels have no work there; None if there is none."""
    lowest = [min((launch.box.lo[0] for launch in level), default=program.box.lo[0]) for level in program.levels]
    return max(lowest) - 2 * program.reach if max(lowest) > min(lowest) + 2 * program.reach else None


@dataclass(frozen=True)
class _Extent:
    """Least and largest offsets in planes and in rows, the latter behind the level, at which a level accesses an array."""

    least_z: int
    most_z: int
    least_y: int
    most_y: int


_Extents: TypeAlias = Mapping[tuple[str, bool], _Extent]
"""By array, and True for writes."""


def _extents(accesses: Iterable[_Access]) -> _Extents:
    found: dict[tuple[str, bool], list[tuple[int, int]]] = {}
    for a in accesses:
        found.setdefault((a.array, a.writes), []).append((a.z, a.y - a.lag))
    every = {key: tuple(zip(*offsets, strict=True)) for key, offsets in found.items()}
    return {key: _Extent(min(z), max(z), min(y), max(y)) for key, (z, y) in every.items()}


def _apart(first: _Extents, then: _Extents) -> tuple[int, int]:
    """Return the planes and rows that ``then`` must lag behind ``first``."""
    found = []
    for (array, writes), a in first.items():
        others = [then.get((array, True)), then.get((array, False)) if writes else None]
        found += [(b.most_z - a.least_z, b.most_y - a.least_y) for b in others if b is not None]
    return max((z for z, _ in found), default=0), max((y for _, y in found), default=0)


def _accesses(program: Program, level: int, below: int | None) -> Iterator[_Access]:
    for launch in program.levels[level]:
        if below is not None and launch.box.lo[0] >= below:
            continue
        reads, writes = record(launch.stencil)
        at_once = program.together is not None and launch.box.lo[0] >= program.together
        for key in reads:
            if key[0] == "at" or (key[0] == "on" and not _stage_by_stage(program, launch)):
                z = key[2] if key[0] == "at" else _above(program, key[2])
                # planes that are processed together are complete before the next half-step reads any of them
                yield _Access(_name(launch, key[1]), False, min(z, 0) if at_once else z, key[3], launch.lag)
        for name in writes:
            yield _Access(_name(launch, name), True, lag=launch.lag)
    for injection in program.injections:
        if injection.level == level:
            yield _Access(injection.array, True)
    for buffer in program.sample_buffers:
        if buffer.level == level:
            yield _Access(buffer.array, False, lag=program.reach - 1)  # TAPE_LAG of wavefront.h


def _name(launch: Launch, formal: str) -> str:
    return launch.names.get(formal, formal)


def _stage_by_stage(program: Program, launch: Launch) -> bool:
    """Return True if a launch that reads absolute planes is run as work of one stage (``Program.stages``)."""
    return bool(program.stages) and launch.box.lo[0] < (program.together or program.box.hi[0])


def _above(program: Program, plane: int) -> int:
    """Return the offset at which a launch on all planes from ``together`` on reads below the first of them, else 0."""
    return 0 if program.together is None else min(0, plane - program.together)


__all__ = ["Skew", "first_lagging_plane", "skew"]
