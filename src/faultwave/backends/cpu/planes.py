"""Products of matrices and planes, as ``backends.plane_product`` gives them, compiled once for each precision."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from importlib import resources
from typing import Any

import numpy as np

from faultwave.backends.base import Band
from faultwave.backends.cpu.compile import build, load, vector_bytes


def plane_product(rows: Band, columns: Band, values: np.ndarray, into: np.ndarray) -> Callable[[], None]:
    """Rows first, sums in the order of the weights."""
    if not (values.flags.c_contiguous and into.flags.c_contiguous and values.dtype == into.dtype):
        raise ValueError("planes of a product are contiguous and of one precision")
    real, function = values.dtype, _function(values.dtype)
    row, column = (np.ascontiguousarray(first, np.int64) for first, _ in (rows, columns))
    down, over = (np.ascontiguousarray(weights, real) for _, weights in (rows, columns))
    across = np.empty(values.shape[1] + vector_bytes() // real.itemsize, real)
    held = (values, into, row, down, column, over, across)
    given, taken, *tables, scratch = (ctypes.c_void_p(a.ctypes.data) for a in held)
    width, ny, nx, downs, overs = map(ctypes.c_long, (values.shape[1], *into.shape, down.shape[1], over.shape[1]))

    def product(kept: Any = held) -> None:
        function(given, width, taken, ny, nx, tables[0], tables[1], downs, tables[2], tables[3], overs, scratch)

    return product


def _function(real: np.dtype) -> Any:
    """The compiled loop."""
    head, loop = (resources.files("faultwave.backends.cpu").joinpath(f).read_text() for f in ("vector.h", "planes.h"))
    name = {"float32": "float", "float64": "double"}[real.name]
    lanes = vector_bytes() // real.itemsize
    source = f"#define R {name}\n#define LANES {lanes}\n#define R_IS_DOUBLE {int(name == 'double')}\n{head}\n{loop}"
    found = load(str(build([("plane_product", source)])["plane_product"])).plane_product
    found.restype = None
    return found


__all__ = ["plane_product"]
