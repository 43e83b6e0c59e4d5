"""Temporal blocking: tiles of one pass through memory, the lags of its half-steps, and variants worth measuring.

A half-step may follow another at the distance at which it reads ahead what the other wrote, or overwrites what the other
read behind. The smaller the distance, the more of the data in use stays in caches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from faultwave.backends.grid import GridArrays
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


def skew(program: Program) -> Skew:
    """Return the smallest lags that preserve the order of reads and writes."""
    count = len(program.levels)
    moving = {launch.names.get(n, n) for level in program.levels for launch in level for n in record(launch.stencil)[1]}
    moving |= {i.array for i in program.injections}
    accesses = [_extents(a for a in _accesses(program, n) if a.array in moving) for n in range(count)]
    z, y = [0] * count, [0] * count
    for n in range(1, count):
        apart = [_apart(accesses[m], accesses[n]) for m in range(n)]
        z[n] = max(z[n - 1], *(z[m] + d for m, (d, _) in enumerate(apart)))
        y[n] = max(y[n - 1], *(y[m] + d for m, (_, d) in enumerate(apart)))
    pairs = [(n, m, *_apart(accesses[m], accesses[n])) for n in range(count) for m in range(n, count)]
    step_z, step_y = (max(z[m] + a - z[n] for n, m, a, _ in pairs), max(y[m] + b - y[n] for n, m, _, b in pairs))
    return Skew(tuple(z), tuple(y), (max(step_z, z[-1]), max(step_y, y[-1])))


def levels_begin_apart(program: Program) -> bool:
    """Return True if some levels have work only far above the lowest plane at which others begin."""
    lowest = [min((launch.box.lo[0] for launch in level), default=program.box.lo[0]) for level in program.levels]
    return max(lowest) > min(lowest) + 2 * program.reach


@dataclass(frozen=True)
class _Extent:
    """Least and largest offsets in planes and in rows, the latter behind the level, at which a level accesses an array."""

    least_z: int
    most_z: int
    least_y: int
    most_y: int


_Extents: TypeAlias = Mapping[tuple[str, bool], _Extent]
"""Extents by name of the array, and True for writes."""


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


def _accesses(program: Program, level: int) -> Iterator[_Access]:
    for launch in program.levels[level]:
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


@dataclass(frozen=True)
class Blocking:
    """Number of steps in one pass through memory, and rows of a tile."""

    steps: int
    rows: int


def default_blocking(arrays: GridArrays, threads: int) -> Blocking:
    """Return the blocking used without a measurement: three steps, with the planes of a pass of a tile in 8 MB."""
    return _blocking(arrays, skew(arrays.program), threads, 3, 8e6)


def candidates(arrays: GridArrays, threads: int) -> list[Blocking]:
    """Return blockings worth measuring: one to six steps, with tiles for small to large caches."""
    behind = skew(arrays.program)
    found = [_blocking(arrays, behind, threads, 1, size) for size in (1e6, 4e6)]
    found += [_blocking(arrays, behind, threads, steps, size) for steps in (2, 3, 4, 6) for size in (4e6, 8e6, 16e6)]
    return list(dict.fromkeys(found))


def _blocking(arrays: GridArrays, behind: Skew, threads: int, steps: int, size: float) -> Blocking:
    """Return tiles whose planes in use take about ``size`` bytes in a pass of ``steps``, and that occupy all threads equally."""
    program, reach = arrays.program, arrays.program.reach
    row = row_bytes(arrays)
    planes = behind.step[0] * steps + 2 * reach + 1
    rows = int(max(4, size / (row * planes)))
    count, lags = program.box.shape[1], rows_behind(behind, steps)
    low = max(4, int(0.8 * min(rows, count / threads)))
    near = sorted(range(low, int(1.25 * rows) + 1), key=lambda n: abs(n - rows))

    def worth(n: int) -> float:
        return busy(count, lags, n, threads, reach) * n / (n + 2 * reach)  # a tile also fetches rows of adjacent tiles

    return Blocking(steps, max(near, key=worth) if threads > 1 else rows)


def row_bytes(arrays: GridArrays) -> float:
    """Return the bytes of one row of all arrays that caches must hold."""
    rarely = _rarely(arrays.program)
    return sum({arrays.group[n]: _row(arrays, n) for n in arrays.strides if n not in rarely}.values())


def _rarely(program: Program) -> set[str]:
    """Return the arrays that only rarely executed launches touch, which take no space in caches."""

    def touched(masked: bool) -> set[str]:
        listed = [launch for level in program.levels for launch in level if (launch.stencil.rows is not None) == masked]
        return {name for launch in listed for name in _named(launch)}

    return touched(True) - touched(False)


def _named(launch: Launch) -> set[str]:
    """Return the names of the arrays that a launch reads or writes."""
    reads, writes = record(launch.stencil)
    names = {key[1] for key in reads if key[0] != "scalar"} | set(writes)
    return {launch.names.get(n, n) for n in names}


def _row(arrays: GridArrays, name: str) -> float:
    """Return the bytes of a row of an array's group, averaged over all rows of the program.

    Arrays of absorbing layers or soil exist in some rows only. Arrays of one row or one plane count as 0.
    """
    layout, whole = arrays.program.arrays[name], arrays.program.box.shape
    deep = layout.kind == "grid" and min(layout.box.shape[:2]) > 1
    share = min(1.0, np.prod(layout.box.shape[:2]) / np.prod(whole[:2])) if deep else 0.0
    return float(share * arrays.strides[name].row * arrays.storage[arrays.group[name]].itemsize)


def rows_behind(of: Skew, steps: int) -> np.ndarray:
    """Return the distance in rows of each half-step of a pass behind the first one."""
    return (np.array(of.y) + of.step[1] * np.arange(steps)[:, None]).ravel()


def busy(count: int, behind: np.ndarray, tile: int, threads: int, reach: int) -> float:
    """Return the mean number of busy threads in a pass over ``count`` rows whose half-steps lag ``behind`` rows."""
    tiles = -(-(count + reach + int(behind[-1])) // tile)  # tiles that contain points
    first = np.arange(tiles)[:, None] * tile - reach
    ends = np.concatenate([first - behind, np.full((1, len(behind)), count)]).clip(
        0, count
    )  # the last tile ends with the grid
    ends[0] = 0
    work = np.diff(ends, axis=0).sum(1)
    return float(work.sum() / max(work[n::threads].sum() for n in range(threads)))
