"""A kernel as text, and what it costs: both read off its statements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.kernels.expr import Expr, Loop, wrap
from faultwave.kernels.language import Array, Contract, Gather, Kernel, LoopIndex, Pointwise, Repeat, Scatter, View

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "and": "&", "or": "|"}
_FREE = {"const", "input", "variable", "result"}  # nodes that compute nothing themselves
_INDEX_BYTES = 8


@dataclass(frozen=True)
class Cost:
    """Work per item: arithmetic operations (a root or exponential counts one, an iteration one round), and the bytes
    that must come from and go to memory when temporaries do not."""

    flops: int
    bytes: int


def statements_text(kernel: Kernel) -> str:
    """Arguments with space, shape and intent, then one line a statement."""
    width = max((len(name) for name in kernel.arrays), default=0)
    lines = [f"kernel {kernel.name}{' (always double)' if kernel.fixed else ''}"]
    lines += [
        f"  {a.space:<6} {a.name:<{width}} ({a.rows}, {a.cols}) {a.intent}".rstrip() for a in kernel.arrays.values()
    ]
    lines += ["", *_lines(kernel.statements, 1)]
    return "\n".join(lines)


def formulas_text(kernel: Kernel) -> str:
    """The recorded formulas of all pointwise statements, one operation a line."""
    lines: list[str] = []
    for number, statement in enumerate(_pointwise(kernel.statements), 1):
        outs = ", ".join(_view(v) for v in statement.outs)
        lines += [f"formula {number}: {outs}, each of {statement.rows} rows", *_Listing(statement).lines, ""]
    return "\n".join(lines)


def cost(kernel: Kernel, real_bytes: int = 8) -> Cost:
    """Work per item, with numbers of ``real_bytes`` bytes."""
    size = 8 if kernel.fixed else real_bytes
    moved = 0
    for array in kernel.arguments:
        if array.space == "batch":
            moved += array.rows * array.cols * size * (2 if array.intent == "inout" else 1)
        elif array.space == "index":
            moved += array.cols * _INDEX_BYTES
    flops = 0
    for statement, times in _all(kernel.statements, 1):
        if isinstance(statement, Contract):
            flops += times * 2 * _nonzeros(statement.matrix) * len(statement.columns)
        elif isinstance(statement, Pointwise):
            flops += times * statement.rows * _Listing(statement).operations
        elif isinstance(statement, Gather):
            moved += times * statement.out.rows * statement.out.cols * size
        elif isinstance(statement, Scatter):
            moved += times * statement.inp.rows * statement.inp.cols * size * (2 if statement.accumulate else 1)
    return Cost(flops, moved)


def _nonzeros(matrix: np.ndarray | Array) -> int:
    return matrix.rows * matrix.cols if isinstance(matrix, Array) else int(np.count_nonzero(matrix))


def _all(statements: Iterable[Any], times: int) -> Iterator[tuple[Any, int]]:
    for statement in statements:
        if isinstance(statement, Repeat):
            yield from _all(statement.body, times * statement.count)
        else:
            yield statement, times


def _pointwise(statements: Iterable[Any]) -> Iterator[Pointwise]:
    return (s for s, _ in _all(statements, 1) if isinstance(s, Pointwise))


def _lines(statements: Iterable[Any], depth: int, first: int = 1) -> list[str]:
    """One line a statement; formulas are numbered as ``formulas_text`` numbers them."""
    indent, lines, number = "  " * depth, [], first
    for s in statements:
        match s:
            case Contract():
                shape = f"{s.matrix.name} " if isinstance(s.matrix, Array) else ""
                rows, columns = (s.matrix.rows, s.matrix.cols) if isinstance(s.matrix, Array) else s.matrix.shape
                what = f"{shape}({rows} x {columns}, {_nonzeros(s.matrix)} nonzeros)"
                pairs = "" if all(i == o for i, o in s.columns) else f", columns {_pairs(s.columns)}"
                lines.append(f"{indent}{_view(s.out)} {'+' if s.accumulate else ''}= {what} @ {_view(s.inp)}{pairs}")
            case Pointwise():
                outs, ins = ", ".join(map(_view, s.outs)), ", ".join(map(_view, s.ins))
                lines.append(f"{indent}{outs} = formula {number}({ins})")
                number += 1
            case Gather():
                lines.append(f"{indent}{_view(s.out)} = {s.store.name}[{s.index.name}[{s.column}]]")
            case Scatter():
                sign = "+" if s.accumulate else ""
                lines.append(f"{indent}{s.store.name}[{s.index.name}[{s.column}]] {sign}= {_view(s.inp)}")
            case Repeat():
                lines.append(f"{indent}for {s.index.name} in 0..{s.count - 1}:")
                lines += _lines(s.body, depth + 1, number)
                number += sum(1 for _ in _pointwise(s.body))
            case _:
                raise TypeError(f"unknown statement {s}")
    return lines


def _pairs(columns: tuple[tuple[int, int], ...]) -> str:
    return ", ".join(f"{i}->{o}" for i, o in columns)


def _view(view: View) -> str:
    a = view.array
    if isinstance(view.row, LoopIndex):
        rows = view.row.name
    else:
        rows = ":" if (view.row, view.rows) == (0, a.rows) else f"{view.row}:{view.row + view.rows}"
    columns = ":" if (view.col, view.cols) == (0, a.cols) else f"{view.col}:{view.col + view.cols}"
    return a.name if (rows, columns) == (":", ":") else f"{a.name}[{rows}, {columns}]"


class _Listing:
    """Records a pointwise statement and lists each distinct operation once."""

    def __init__(self, statement: Pointwise):
        arguments = [[Expr("input", value=f"{_view(v)}.{c}") for c in range(v.cols)] for v in statement.ins]
        results = statement.function(*arguments)
        self.lines: list[str] = []
        self.operations = 0
        self._names: dict[Any, str] = {}
        self._of: dict[int, str] = {}
        self._loops: dict[int, int] = {}
        for view, values in zip(statement.outs, results, strict=True):
            for c, value in enumerate(values):
                name = self.name(wrap(value))
                self.lines.append(f"    {_view(view)}.{c} = {name}")

    def name(self, e: Expr) -> str:
        """What stands for the value of ``e``; a new line if it has to be computed."""
        if e.id not in self._of:
            self._of[e.id] = self._make(e)
        return self._of[e.id]

    def _make(self, e: Expr) -> str:
        if e.op == "const":
            return f"{e.value:g}"
        if e.op == "input":
            return str(e.value)
        if e.op == "variable":
            return f"x{self._loops.get(e.value[0], 0)}_{e.value[1]}"
        if e.op == "result":
            return self._loop(*e.value)
        arguments = tuple(self.name(a) for a in e.args)
        key = (e.op, *arguments)
        if key not in self._names:
            self.operations += e.op not in _FREE
            self._names[key] = f"t{len(self._names) + 1}"
            self.lines.append(f"    {self._names[key]} = {self._show(e.op, arguments)}")
        return self._names[key]

    @staticmethod
    def _show(op: str, arguments: tuple[str, ...]) -> str:
        if op in _INFIX:
            return f"{arguments[0]} {_INFIX[op]} {arguments[1]}"
        if op == "neg":
            return f"-{arguments[0]}"
        return f"{op}({', '.join(arguments)})"

    def _loop(self, loop: Loop, which: int) -> str:
        if loop.id not in self._loops:
            number = self._loops[loop.id] = len(self._loops) + 1
            start = ", ".join(self.name(v) for v in loop.initial)
            self.lines.append(f"    repeat at most {loop.maximum} times, x{number} from ({start}):")
            active = self.name(loop.active)
            values = ", ".join(self.name(v) for v in loop.values)
            self.lines.append(f"    until not {active}: x{number} = ({values})")
        return f"x{self._loops[loop.id]}_{which}"
