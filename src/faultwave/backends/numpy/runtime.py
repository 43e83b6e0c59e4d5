"""NumPy backend, the reference of all others: buffers are arrays, and kernels are executed statement by statement.

Values are item-major: batch arrays (items, rows, cols), stores (slots, rows * cols), indices (items, cols).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from faultwave.backends.base import Here, Immediate, Launch
from faultwave.kernels.expr import Scalars, Table
from faultwave.kernels.language import (
    Array,
    Barrier,
    Contract,
    Gather,
    Kernel,
    LoopIndex,
    Pointwise,
    Repeat,
    Scatter,
    Statement,
    View,
    When,
    WhenAny,
)


def execute(kernel: Kernel, data: Mapping[str, np.ndarray], scalars: Scalars, dtype: type = np.float64) -> None:
    """Run ``kernel`` on all items of ``data`` (arrays are changed in place, by intent)."""
    real = np.float64 if kernel.fixed else dtype
    items = next(data[a.name].shape[0] for a in kernel.arguments if a.space in ("batch", "index"))
    frame: dict[str, np.ndarray] = dict(data)
    for temp in kernel.temps:
        frame[temp.name] = np.zeros((items, temp.rows, temp.cols), real)
    for table in kernel.scalars:
        frame[table.name] = np.asarray(scalars[table.name], real).reshape(table.rows, table.cols)
    _Run(frame, real, {}).statements(kernel.statements)


class _Run:
    def __init__(self, frame: dict[str, np.ndarray], real: type, loops: dict[str, int]):
        self.frame, self.real, self.loops = frame, real, loops

    def statements(self, statements: Iterable[Statement]) -> None:
        for s in statements:
            match s:
                case Contract():
                    self.contract(s)
                case Pointwise():
                    self.pointwise(s)
                case Gather():
                    values = self.frame[s.store.name][self.frame[s.index.name][:, s.column]]
                    self.slice(s.out)[...] = values.reshape(len(values), s.out.rows, s.out.cols)
                case Scatter():
                    self.scatter(s)
                case Repeat():
                    for i in range(s.count):
                        self.loops[s.index.name] = i
                        self.statements(s.body)
                case When():
                    self.statements(s.body)
                case WhenAny():
                    if np.any(self.slice(s.flag)):
                        self.statements(s.body)
                case Barrier():
                    pass
                case _:
                    raise TypeError(f"unknown statement {s}")

    def start(self, row: int | LoopIndex) -> int:
        return self.loops[row.name] if isinstance(row, LoopIndex) else row

    def slice(self, v: View) -> np.ndarray:
        row = self.start(v.row)
        return self.frame[v.array.name][..., row : row + v.rows, v.col : v.col + v.cols]

    def contract(self, s: Contract) -> None:
        inp, out = self.slice(s.inp), self.slice(s.out)
        matrix = self.matrix(s.matrix) if isinstance(s.matrix, Array) else s.matrix.astype(self.real)
        rows, used = matrix.shape[-2:]
        source = [i for i, _ in s.columns]
        target = [o for _, o in s.columns]
        product = np.matmul(matrix, inp[:, :used][:, :, source])
        part = out[:, :rows]
        part[:, :, target] = part[:, :, target] + product if s.accumulate else product

    def matrix(self, a: Array) -> np.ndarray:
        """Return the table (rows, cols) of all items, or the table of each item (items, rows, cols)."""
        tables = self.frame[a.name]
        return tables[self.frame[a.chosen][:, 0]] if a.chosen else tables[0]

    def column(self, v: View, rows: int) -> list[np.ndarray]:
        if v.array.space == "scalar":
            row = self.start(v.row)
            return [self.frame[v.array.name][row, v.col + c] for c in range(v.cols)]
        part = self.slice(v)
        part = part if v.rows == 1 else part[:, :rows]
        part = part.astype(self.real) if v.array.narrow else part
        return [part[:, :, c] for c in range(v.cols)]

    def pointwise(self, s: Pointwise) -> None:
        values = s.function(*[self.column(v, s.rows) for v in s.ins])
        values = [[np.array(v) for v in columns] for columns in values]  # outs may alias ins
        for view, columns in zip(s.outs, values, strict=True):
            if len(columns) != view.cols:
                raise ValueError(f"pointwise into {view.array.name}: {len(columns)} values for {view.cols} columns")
            out = self.slice(view)
            for c, value in enumerate(columns):
                out[:, : s.rows, c] = value

    def scatter(self, s: Scatter) -> None:
        store, index = self.frame[s.store.name], self.frame[s.index.name][:, s.column]
        values = self.slice(s.inp).reshape(len(index), -1)
        if s.accumulate:
            np.add.at(store, index, values)
        else:
            store[index] = values


class ArrayBuffer:
    """Buffer in a NumPy array, with one item in each row."""

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
    """Reference backend, which executes each statement with NumPy."""

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
