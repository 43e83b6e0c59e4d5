"""Temporal blocking: how one pass through memory is cut into tiles, and which variants are worth measuring."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultwave.backends.cpu.skew import Skew, skew
from faultwave.backends.grid import GridArrays
from faultwave.kernels.stencil import Launch, Program, record


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
