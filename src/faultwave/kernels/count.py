"""Flops and bytes of a kernel per item, read off its statements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.kernels.expr import Expr, wrap
from faultwave.kernels.language import Array, Contract, Gather, Kernel, Pointwise, Repeat, Scatter

_FREE = {"const", "input", "variable", "result", "neg", "where", "lt", "le", "and", "or", "not", "abs"}


@dataclass(frozen=True)
class Cost:
    """Per item: useful ``flops`` (one for add, multiply, divide, root or function; iterations counted once) and
    ``numbers`` moved between memory and the kernel."""

    flops: int
    numbers: int


def cost(kernel: Kernel) -> Cost:
    """Count a kernel's statements."""
    return Cost(_flops(kernel.statements), sum(_moved(a) for a in kernel.arguments) + _slots(kernel.statements))


def _moved(a: Array) -> int:
    if a.space != "batch":
        return a.cols if a.space == "index" else 0
    return a.rows * a.cols * (2 if a.intent == "inout" else 1)


def _slots(statements: Any) -> int:
    total = 0
    for s in statements:
        if isinstance(s, Gather | Scatter):
            twice = 2 if isinstance(s, Scatter) and s.accumulate else 1
            total += twice * s.store.rows * s.store.cols
        elif isinstance(s, Repeat):
            total += s.count * _slots(s.body)
    return total


def _flops(statements: Any) -> int:
    total = 0
    for s in statements:
        if isinstance(s, Contract):
            nonzeros = s.matrix.rows * s.matrix.cols if isinstance(s.matrix, Array) else int(np.count_nonzero(s.matrix))
            total += 2 * nonzeros * len(s.columns)
        elif isinstance(s, Pointwise):
            ins = [[Expr("input", value=(i, c)) for c in range(v.cols)] for i, v in enumerate(s.ins)]
            seen: set[int] = set()
            roots = [wrap(x) for columns in s.function(*ins) for x in columns]
            total += s.rows * sum(_operations(e, seen) for e in roots)
        elif isinstance(s, Repeat):
            total += s.count * _flops(s.body)
    return total


def _operations(root: Expr, seen: set[int]) -> int:
    stack, count = [root], 0
    while stack:
        e = stack.pop()
        if e.id in seen:
            continue
        seen.add(e.id)
        count += e.op not in _FREE
        if e.op == "result":
            loop = e.value[0]
            stack += [*loop.initial, *loop.values, loop.active]
        stack += [a for a in e.args if isinstance(a, Expr)]
    return count
