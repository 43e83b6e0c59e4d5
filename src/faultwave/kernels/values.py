"""Value numbering: a recorded formula as a list of distinct values, each after its operands.

Nodes that apply the same operation to the same operands are one value (Cocke and Schwartz 1970; Muchnick 1997, chapter
12.4). Every other form of a formula (operation counts, C text, comparison of two stencils) is derived from this list. A
node is visited once, however often it is used and however deep it is nested, so that the time is proportional to the
number of nodes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from faultwave.kernels.expr import Expr, Key, Loop

ROW = "row"
"""Dependence on the row of an array, or on the point along x."""

FREE = frozenset(("const", "input", "variable", "result", "neg", "where", "lt", "le", "and", "or", "not", "abs"))
"""Operations that count as no flop: no arithmetic, or no more than a change of sign or a selection."""


class Value(NamedTuple):
    """Operation ``op`` applied to the values with numbers ``args``.

    Attributes
    ----------
    op : str
        Operation.
    args : tuple of int
        Numbers of the operands.
    content : object
        Constant, key of an input, or (loop, position) of a variable or result.
    depends : frozenset
        Dependences of the value: ``ROW`` and the keys of enclosing loops.
    """

    op: str
    args: tuple[int, ...]
    content: Any
    depends: frozenset[str | int]


_NOTHING: frozenset[str | int] = frozenset()
_ROW: frozenset[str | int] = frozenset([ROW])


@dataclass(frozen=True)
class NumberedLoop:
    """Bounded iteration (``expr.Loop``) in terms of value numbers; its variables depend on ``key``."""

    key: int
    maximum: int
    initial: tuple[int, ...]
    variables: tuple[int, ...]
    values: tuple[int, ...]
    active: int
    results: tuple[int, ...]
    keep_last: bool


class Numbering:
    """Value numbering of one or more formulas.

    Attributes
    ----------
    values : list of Value
        Distinct values; a value's number is its position.
    loops : list of NumberedLoop
        Iterations.
    labels : dict of int to str
        Names in printed formulas by value number.
    varies : callable
        Returns True if the input of a key depends on the row.
    """

    def __init__(self, varies: Callable[[Key], bool] = lambda key: True):
        self.varies = varies
        self.values: list[Value] = []
        self.loops: list[NumberedLoop] = []
        self.labels: dict[int, str] = {}  # number -> name in printed formulas
        self._numbers: dict[Key, int] = {}  # operation and operands -> number
        self._loop_numbers: dict[Key, int] = {}
        self._seen: dict[int, int] = {}  # node -> number
        self._replaced: dict[int, int] = {}

    def number(self, node: Expr) -> int:
        """Return the number of a node's value, after numbering its operands from left to right."""
        seen, waiting = self._seen, [node]
        while waiting:
            e = waiting[-1]
            if e.id not in seen:
                missing = [a for a in _operands(e) if a.id not in seen]
                if missing:
                    waiting += reversed(missing)
                    continue
                number = self._number_of(e)
                if e.label:
                    self.labels.setdefault(number, e.label)
                seen[e.id] = self._replaced.get(number, number)
            waiting.pop()
        return seen[node.id]

    def replacing(self, replaced: Mapping[int, int]) -> Numbering:
        """Return a numbering with the same list of values that substitutes values.

        Nodes whose value is a key of ``replaced`` get the number stored there, also as operands of other values.
        """
        other = copy.copy(self)
        other._seen, other._replaced = {}, self._replaced | dict(replaced)
        return other

    def _number_of(self, e: Expr) -> int:
        if e.args:
            args = tuple([self._seen[a.id] for a in e.args])
            return self._entry(e.op, args, None, None, self._depends(args))
        match e.op:
            case "const":
                # 0.0 and -0.0 are equal, but not the same number; NaN is, but not equal to itself.
                return self._entry("const", (), repr(e.value), e.value, _NOTHING)
            case "input":
                return self._entry("input", (), e.value, e.value, _ROW if self.varies(e.value) else _NOTHING)
            case "variable":
                return self._variable(*e.value)
            case "result":
                loop, position = e.value
                return self._loop(loop).results[position]
        raise ValueError(f"a formula has no operation '{e.op}' without operands")

    def _depends(self, args: Iterable[int]) -> frozenset[str | int]:
        found = _NOTHING
        for a in args:
            more = self.values[a].depends
            if more is not found:
                found = found | more if found and more else found or more
        return found

    def _entry(self, op: str, args: tuple[int, ...], key: object, content: Any, depends: frozenset[str | int]) -> int:
        number = self._numbers.setdefault((op, args, key), len(self.values))
        if number == len(self.values):
            self.values.append(Value(op, args, content, depends))
        return number

    def _variable(self, loop: int, position: int) -> int:
        return self._entry("variable", (), (loop, position), (loop, position), frozenset([loop]))

    def _loop(self, loop: Loop) -> NumberedLoop:
        """Return a loop in terms of value numbers. Two loops are never merged, even if they compute the same."""
        initial, values = (tuple(self._seen[e.id] for e in part) for part in (loop.initial, loop.values))
        active = self._seen[loop.active.id]
        key = (loop.id, initial, values, active)
        if key not in self._loop_numbers:
            at = self._loop_numbers[key] = len(self.loops)
            depends = (self._depends((*values, active)) - {loop.id}) | self._depends(initial)
            positions = range(len(initial))
            variables = tuple(self._variable(loop.id, i) for i in positions)
            results = tuple(self._entry("result", initial, (at, i), (at, i), depends) for i in positions)
            self.loops.append(
                NumberedLoop(loop.id, loop.maximum, initial, variables, values, active, results, loop.keep_last)
            )
        return self.loops[self._loop_numbers[key]]


def _operands(e: Expr) -> tuple[Expr, ...]:
    if e.op == "result":
        loop: Loop = e.value[0]
        return (*loop.initial, *loop.values, loop.active)
    return e.args


def flops(values: Iterable[Value]) -> int:
    """Return the floating-point operations: one for each sum, difference, product, quotient or function.

    The body of an iteration counts once, whatever the number of iterations.
    """
    return sum(v.op not in FREE for v in values)
