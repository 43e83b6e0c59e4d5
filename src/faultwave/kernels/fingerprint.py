"""Identity of a kernel: a hash of its arguments, its statements and their recorded formulas.

Two kernels with the same fingerprint are lowered to the same text by the same version of the program. Formulas are
serialised as recorded, node by node, which takes a fraction of the time of lowering them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from faultwave.kernels.expr import Expr, Loop
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


@lru_cache(maxsize=256)
def fingerprint(kernel: Kernel) -> str:
    """Return the hexadecimal SHA-256 of a complete kernel; raise TypeError for an unknown statement.

    Results are cached by object: solvers of equal forms share their kernels (``dg.operators.kernels``).
    """
    found = _Written()
    found.put(kernel.name, kernel.fixed, *map(_array, kernel.arrays.values()))
    found.statements(kernel.statements)
    return hashlib.sha256("\n".join(found.lines).encode()).hexdigest()


def _array(a: Array) -> tuple[object, ...]:
    return (a.name, a.rows, a.cols, a.space, a.intent, a.fixed, a.changing, a.chosen, a.narrow)


def _view(v: View) -> tuple[object, ...]:
    row = ("counted", v.row.name) if isinstance(v.row, LoopIndex) else v.row
    return (v.array.name, row, v.rows, v.col, v.cols)


class _Written:
    """Serialisation of a kernel: lines of text, one for each of its elements."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def put(self, *things: object) -> None:
        self.lines.append(repr(things))

    def statements(self, listed: Iterable[Statement]) -> None:
        for s in listed:
            self.statement(s)

    def statement(self, s: Statement) -> None:
        match s:
            case Contract():
                self.put("contract", _view(s.out), self.matrix(s.matrix), _view(s.inp), s.columns, s.accumulate)
            case Pointwise():
                self.put(
                    "pointwise",
                    s.rows,
                    *map(_view, s.ins),
                    "as written to" if s.as_written else "to",
                    *map(_view, s.outs),
                )
                self.formula(s.recorded())
            case Gather():
                self.put("gather", _view(s.out), s.store.name, s.index.name, s.column)
            case Scatter():
                self.put("scatter", _view(s.inp), s.store.name, s.index.name, s.column, s.accumulate)
            case Repeat():
                self.put("repeat", s.index.name, s.count, len(s.body))
                self.statements(s.body)
            case When():
                self.put("when", s.index.name, s.column, len(s.body))
                self.statements(s.body)
            case WhenAny():
                self.put("mostly" if s.mostly else "when any", _view(s.flag), len(s.body))
                self.statements(s.body)
            case Barrier():
                self.put("barrier")
            case _:
                raise TypeError(f"a kernel has no statement of the kind {type(s).__name__}")

    def matrix(self, m: np.ndarray | Array) -> object:
        if isinstance(m, Array):
            return m.name
        return (m.shape, str(m.dtype), hashlib.sha256(np.ascontiguousarray(m).tobytes()).hexdigest())

    def formula(self, results: list[list[Expr]]) -> None:
        """Append every node once, after its operands; numbers count the nodes of the formula."""
        numbers: dict[int, int] = {}
        loops: dict[int, int] = {}
        add = self.lines.append
        for e in (e for columns in results for e in columns):
            waiting = [e]
            while waiting:
                e = waiting[-1]
                if e.id in numbers:
                    waiting.pop()
                    continue
                if len(e.args) == 2:  # most of them: the same as below in less time
                    first, second = e.args
                    one, two = numbers.get(first.id), numbers.get(second.id)
                    if one is not None and two is not None:
                        waiting.pop()
                        numbers[e.id] = len(numbers)
                        add(f"{e.op} [{one}, {two}]")
                        continue
                    if two is None:
                        waiting.append(second)
                    if one is None:
                        waiting.append(first)
                    continue
                needed = _needed(e)
                missing = [a for a in needed if a.id not in numbers]
                if missing:
                    waiting += reversed(missing)
                    continue
                waiting.pop()
                numbers[e.id] = len(numbers)
                if e.op == "variable":
                    loop, position = e.value
                    add(f"variable {loops.setdefault(loop, len(loops))} {position}")
                elif e.op == "result":
                    made: Loop = e.value[0]
                    at = loops.setdefault(made.id, len(loops))
                    add(
                        f"result {at} {e.value[1]} {made.maximum} {len(made.initial)} {[numbers[a.id] for a in needed]}"
                    )
                elif needed:
                    add(f"{e.op} {[numbers[a.id] for a in needed]}")
                else:
                    add(f"{e.op} {e.value!r}")
        self.put("makes", [[numbers[e.id] for e in columns] for columns in results])


def _needed(e: Expr) -> tuple[Expr, ...]:
    if e.op == "result":
        loop: Loop = e.value[0]
        return (*loop.initial, *loop.values, loop.active)
    return e.args
