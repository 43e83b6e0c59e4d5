"""Products of matrices and planes, as ``backends.plane_product`` gives them, compiled once for each precision."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from importlib import resources
from typing import Any

import numpy as np

from faultwave.backends.base import Band
from faultwave.backends.cpu.compile import build, load, vector_bytes

MOST = 3
"""Columns after which weights are looked for again: the largest ratio of spacings."""
_P, _N = [ctypes.c_void_p], [ctypes.c_long]
ARGUMENTS: Any = _P + _N + _P + 3 * _N + 2 * _P + _N + 2 * _P + 3 * _N + _P + _N
"""Of the compiled function (planes.h)."""


class Tables:
    """What the compiled loop is given of a product besides its planes: ``row``, ``down``, ``place`` and ``over`` as planes.h has them."""

    def __init__(self, rows: Band, columns: Band, width: int, real: np.dtype):
        """``width``: columns of the values."""
        self.every, self.step = _period(*columns)
        self.row = np.ascontiguousarray(rows[0], np.int64)
        self.down, self.over = (np.ascontiguousarray(w, real) for w in (rows[1], columns[1][: self.every]))
        self.room = width + 2 * (vector_bytes() // real.itemsize)
        reads = columns[0][: self.every, None] + np.arange(self.over.shape[1])
        self.place = np.ascontiguousarray(reads % self.step * self.room + reads // self.step, np.int64)

    @property
    def across(self) -> int:
        """Numbers of the memory that the loop works in."""
        return (1 + self.step * (self.step > 1)) * self.room

    @property
    def arguments(self) -> tuple[int, ...]:
        """From ``row`` on, up to that memory."""
        row, down, place, over = (a.ctypes.data for a in (self.row, self.down, self.place, self.over))
        return row, down, self.down.shape[1], place, over, self.over.shape[1], self.every, self.step


def plane_product(rows: Band, columns: Band, values: np.ndarray, into: np.ndarray) -> Callable[[], None]:
    """Rows first, sums in the order of the weights."""
    if not (values.flags.c_contiguous and into.strides[1] == into.itemsize and values.dtype == into.dtype):
        raise ValueError("rows of a product are contiguous, and of one precision")
    loop, tables = function(values.dtype), Tables(rows, columns, values.shape[1], values.dtype)
    across = np.zeros(tables.across, values.dtype)
    arguments = (
        values.ctypes.data, values.shape[1], into.ctypes.data, into.strides[0] // into.itemsize, *into.shape,
        *tables.arguments, across.ctypes.data, tables.room,
    )  # fmt: skip

    def product(kept: Any = (values, into, tables, across)) -> None:
        loop(*arguments)

    return product


def _period(first: np.ndarray, weights: np.ndarray) -> tuple[int, int]:
    """After how many columns their weights come again, and so many numbers further: as between grids of different spacing; else all."""
    for every in range(1, min(MOST, len(first) - 1) + 1):
        steps = np.unique(first[every:] - first[:-every])
        if len(steps) == 1 and steps[0] > 0 and np.array_equal(weights[every:], weights[:-every]):
            return every, int(steps[0])
    return len(first), 1


def function(real: np.dtype) -> Any:
    """The compiled loop."""
    head, loop = (resources.files("faultwave.backends.cpu").joinpath(f).read_text() for f in ("vector.h", "planes.h"))
    name = {"float32": "float", "float64": "double"}[real.name]
    lanes = vector_bytes() // real.itemsize
    source = f"#define R {name}\n#define LANES {lanes}\n#define R_IS_DOUBLE {int(name == 'double')}\n{head}\n{loop}"
    found = load(str(build([("plane_product", source)])["plane_product"])).plane_product
    found.argtypes, found.restype = ARGUMENTS, None
    return found


__all__ = ["Tables", "function", "plane_product"]
