"""Execution of kernels with NumPy: the reference that every backend must reproduce.

Values are item-major: batch arrays (items, rows, cols), stores (slots, rows * cols), indices (items, cols).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

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
from faultwave.kernels.types import Scalars


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
