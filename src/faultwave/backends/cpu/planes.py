"""Products of matrices and planes (``backends.plane_product``), compiled once per precision."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from importlib import resources
from typing import Any

import numpy as np

from faultwave.backends.base import Band
from faultwave.backends.cpu.compile import build, load, vector_bytes

MOST = 3
"""Longest period of weights that is searched for [columns]: the largest ratio of spacings."""
_P, _N = [ctypes.c_void_p], [ctypes.c_long]
ARGUMENTS: Any = _P + _N + _P + 3 * _N + 2 * _P + _N + 2 * _P + 3 * _N + _P + _N
"""Argument types of the compiled function (planes.h)."""


class Tables:
    """Arguments of the compiled loop besides the planes: ``row``, ``down``, ``place`` and ``over`` of planes.h."""

    def __init__(self, rows: Band, columns: Band, width: int, real: np.dtype):
        """Prepare the tables; ``width`` is the number of columns of the values."""
        self.every, self.step = _period(*columns)
        self.row = np.ascontiguousarray(rows[0], np.int64)
        self.down, self.over = (np.ascontiguousarray(w, real) for w in (rows[1], columns[1][: self.every]))
        self.row_length = width + 2 * (vector_bytes() // real.itemsize)
        reads = columns[0][: self.every, None] + np.arange(self.over.shape[1])
        self.place = np.ascontiguousarray(reads % self.step * self.row_length + reads // self.step, np.int64)

    @property
    def across(self) -> int:
        """Size of the loop's work array [numbers]."""
        return (1 + self.step * (self.step > 1)) * self.row_length

    @property
    def arguments(self) -> tuple[int, ...]:
        """Return the arguments from ``row`` up to the work array."""
        row, down, place, over = (a.ctypes.data for a in (self.row, self.down, self.place, self.over))
        return row, down, self.down.shape[1], place, over, self.over.shape[1], self.every, self.step


def plane_product(rows: Band, columns: Band, values: np.ndarray, into: np.ndarray) -> Callable[[], None]:
    """Return the product, which applies the row matrix first and sums in the order of the weights."""
    if not (values.flags.c_contiguous and into.strides[1] == into.itemsize and values.dtype == into.dtype):
        raise ValueError("rows of a product are contiguous, and of one precision")
    loop, tables = function(values.dtype), Tables(rows, columns, values.shape[1], values.dtype)
    across = np.zeros(tables.across, values.dtype)
    arguments = (
        values.ctypes.data, values.shape[1], into.ctypes.data, into.strides[0] // into.itemsize, *into.shape,
        *tables.arguments, across.ctypes.data, tables.row_length,
    )  # fmt: skip

    def product(owners: object = (values, into, tables, across)) -> None:
        loop(*arguments)

    return product


def _period(first: np.ndarray, weights: np.ndarray) -> tuple[int, int]:
    """Return the period of the weights in columns, and its shift of the input; the number of columns if not periodic."""
    for every in range(1, min(MOST, len(first) - 1) + 1):
        steps = np.unique(first[every:] - first[:-every])
        if len(steps) == 1 and steps[0] > 0 and np.array_equal(weights[every:], weights[:-every]):
            return every, int(steps[0])
    return len(first), 1


def function(real: np.dtype) -> ctypes._FuncPointer:
    """Return the compiled loop for numbers of this type."""
    head, loop = (
        resources.files("faultwave.backends.cpu").joinpath("include", f).read_text() for f in ("vector.h", "planes.h")
    )
    name = {"float32": "float", "float64": "double"}[real.name]
    lanes = vector_bytes() // real.itemsize
    source = f"#define R {name}\n#define LANES {lanes}\n#define R_IS_DOUBLE {int(name == 'double')}\n{head}\n{loop}"
    found = load(str(build([("plane_product", source)])["plane_product"])).plane_product
    found.argtypes, found.restype = ARGUMENTS, None
    return found
