"""NumPy backend: buffers are arrays, and a launch executes the kernel's statements on a slice of items."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from faultwave.backends.awaited import Here
from faultwave.backends.base import Launch
from faultwave.backends.immediate import Immediate
from faultwave.kernels.language import Kernel
from faultwave.kernels.reference import execute
from faultwave.kernels.types import Table


class ArrayBuffer:
    def __init__(self, values: np.ndarray):
        self.values, self.items = values, len(values)

    @property
    def memory(self) -> np.ndarray:
        """Array of the buffer."""
        return self.values

    def get(self, items: np.ndarray | slice | None = None, rows: slice = slice(None)) -> np.ndarray:
        return np.array((self.values if items is None else self.values[items])[:, rows])

    def fetch(self, items: np.ndarray | slice | None = None, rows: slice = slice(None)) -> Here:
        return Here(self.get(items, rows))

    def total(self) -> np.ndarray:
        return np.asarray(self.values.sum(0, np.float64))

    def finite(self) -> bool:
        return bool(np.isfinite(self.values.sum(dtype=np.float64)))

    def put(self, values: np.ndarray | float, items: np.ndarray | slice | None = None) -> None:
        self.values[slice(None) if items is None else items] = values

    def add(self, values: np.ndarray, items: np.ndarray) -> None:
        np.add.at(self.values, items, values)

    @property
    def nbytes(self) -> int:
        return self.values.nbytes


class NumpyBackend(Immediate):
    name = "numpy"
    lanes = fixed_lanes = 1
    failures: tuple[type[Exception], ...] = ()

    def __init__(self, precision: str = "double", threads: int | None = None, place: int = 0):
        self.dtype = {"double": np.float64, "single": np.float32}[precision]
        self.threads = 1

    @property
    def described(self) -> str:
        return self.name

    def first_touch(self, buffers: Sequence[Any], ranges: Iterable[tuple[int, int]]) -> None:
        """Do nothing: there is one thread."""

    def batch(self, items: int, rows: int, cols: int, fixed: bool = False, narrow: bool = False) -> ArrayBuffer:
        return ArrayBuffer(np.zeros((items, rows, cols), self._dtype(fixed, narrow)))

    def store(self, slots: int, size: int, fixed: bool = False, narrow: bool = False) -> ArrayBuffer:
        return ArrayBuffer(np.zeros((slots, size), self._dtype(fixed, narrow)))

    def _dtype(self, fixed: bool, narrow: bool) -> type:
        return np.float32 if narrow else np.float64 if fixed else self.dtype

    def index(self, values: np.ndarray, fixed: bool = False) -> ArrayBuffer:
        values = np.array(values, np.int64)
        return ArrayBuffer(values.reshape(len(values), values.size // max(1, len(values))))

    def matrix(self, values: np.ndarray, fixed: bool = False) -> ArrayBuffer:
        values = np.array(values, np.float64 if fixed else self.dtype)
        return ArrayBuffer(values.reshape(-1, *values.shape[-2:]))

    def compile(self, kernels: Iterable[Kernel]) -> Mapping[str, Callable[[Mapping[str, Any]], Launch]]:
        return {k.name: functools.partial(self._launch, k) for k in kernels}

    def _launch(self, kernel: Kernel, buffers: Mapping[str, ArrayBuffer]) -> Any:
        def launch(begin: int, end: int, **scalars: Table) -> None:
            if begin == end:
                return
            data = {
                a.name: buffers[a.name].values if a.space in ("store", "matrix") else buffers[a.name].values[begin:end]
                for a in kernel.arguments
            }
            execute(kernel, data, scalars, self.dtype)

        return launch
