"""Symbolic expressions, recorded by running a formula once on ``Expr`` inputs, and the types of numbers in formulas.

The same Python function runs on NumPy arrays (the reference) and on ``Expr`` (code generation); ``kernels.math`` holds
the functions that accept both.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

Operand: TypeAlias = Any
"""Number or condition of NumPy, or an expression."""


class Condition(Protocol):
    """Condition of a formula: a comparison of numbers, or several combined with &, | and ~."""

    def __and__(self, other: Operand, /) -> Condition: ...
    def __or__(self, other: Operand, /) -> Condition: ...
    def __invert__(self) -> Condition: ...


class Number(Protocol):
    """Operand of a formula: an expression where it is recorded, an array or a plain number where it is computed.

    Operators accept any value because plain numbers and arrays do not know expressions, which take over by reflected operators.
    """

    def __add__(self, other: Operand, /) -> Number: ...
    def __radd__(self, other: Operand, /) -> Number: ...
    def __sub__(self, other: Operand, /) -> Number: ...
    def __rsub__(self, other: Operand, /) -> Number: ...
    def __mul__(self, other: Operand, /) -> Number: ...
    def __rmul__(self, other: Operand, /) -> Number: ...
    def __truediv__(self, other: Operand, /) -> Number: ...
    def __rtruediv__(self, other: Operand, /) -> Number: ...
    def __neg__(self) -> Number: ...
    def __lt__(self, other: Operand, /) -> Condition: ...
    def __le__(self, other: Operand, /) -> Condition: ...
    def __gt__(self, other: Operand, /) -> Condition: ...
    def __ge__(self, other: Operand, /) -> Condition: ...


Value = TypeVar("Value", bound=Number)
"""Operand of a formula that returns what it is given: arrays for arrays, expressions for expressions."""

Other = TypeVar("Other", bound=Number)
"""Second operand of such a formula."""

Numbers: TypeAlias = Sequence[Number] | np.ndarray
"""One number for each column of an array, or for each component of a vector or tensor."""

Named: TypeAlias = Mapping[str, Number]
"""Numbers of a point or cell by name."""

Formula: TypeAlias = Callable[..., Iterable[Numbers]]
"""Pointwise formula of a kernel, from one argument for each input to the numbers of each output's columns."""

Changes: TypeAlias = dict[str, Any]
"""New values of a point by name: a number each, or a list of numbers for a vector."""

Components: TypeAlias = list[Any]
"""Result of a formula, a number for each component: arrays where the operands are arrays, else expressions."""

Computed: TypeAlias = dict[str, Any]
"""Results of a formula by name: arrays where the operands are arrays, else expressions."""

Key: TypeAlias = tuple[Any, ...]
"""Key of an input of a recorded formula: its kind, name and offsets, or the numbers of an argument and a column."""

Table: TypeAlias = float | Sequence[float] | Sequence[Sequence[float]] | np.ndarray
"""Contents of a small table of numbers that is the same for all items of a launch (space ``scalar``)."""

Scalars: TypeAlias = Mapping[str, Table]
"""Tables of a launch by name."""


_ids = itertools.count()


class Expr:
    """A node: an operation on other nodes. Nodes are compared by identity; equal ones merge when lowered.

    ``label`` is the name that printed formulas give the value; it enters no generated code.
    """

    __slots__ = ("args", "id", "label", "op", "value")
    __array_ufunc__ = None  # NumPy scalars on the left must defer to the reflected operators below

    def __init__(self, op: str, args: tuple[Expr, ...] = (), value: Any = None):
        self.op, self.args, self.value, self.id, self.label = op, args, value, next(_ids), ""

    def __add__(self, other: Number) -> Expr:
        return _sum(self, wrap(other))

    def __radd__(self, other: Number) -> Expr:
        return _sum(wrap(other), self)

    def __sub__(self, other: Number) -> Expr:
        return _difference(self, wrap(other))

    def __rsub__(self, other: Number) -> Expr:
        return _difference(wrap(other), self)

    def __mul__(self, other: Number) -> Expr:
        return _product(self, wrap(other))

    def __rmul__(self, other: Number) -> Expr:
        return _product(wrap(other), self)

    def __truediv__(self, other: Number) -> Expr:
        other = wrap(other)
        if is_number(other, 1.0) or is_number(self, 0.0):
            return self
        return Expr("div", (self, other))

    def __rtruediv__(self, other: Number) -> Expr:
        return wrap(other) / self

    def __neg__(self) -> Expr:
        return constant(-self.value) if self.op == "const" else Expr("neg", (self,))

    def __lt__(self, other: Number) -> Expr:
        return Expr("lt", (self, wrap(other)))

    def __le__(self, other: Number) -> Expr:
        return Expr("le", (self, wrap(other)))

    def __gt__(self, other: Number) -> Expr:
        return Expr("lt", (wrap(other), self))

    def __ge__(self, other: Number) -> Expr:
        return Expr("le", (wrap(other), self))

    def __and__(self, other: Number) -> Expr:
        return Expr("and", (self, wrap(other)))

    def __or__(self, other: Number) -> Expr:
        return Expr("or", (self, wrap(other)))

    def __invert__(self) -> Expr:
        return Expr("not", (self,))

    def __bool__(self) -> bool:
        raise TypeError("a kernel formula cannot branch on a value; use math.where")


class Loop:
    """A bounded iteration recorded by ``math.iterate``: body over fresh variables, outputs read by 'result' nodes."""

    def __init__(
        self,
        initial: tuple[Expr, ...],
        maximum: int,
        step: Callable[..., tuple[Numbers, Condition]],
        keep_last: bool = False,
    ):
        self.initial, self.maximum, self.keep_last, self.id = initial, maximum, keep_last, next(_ids)
        self.variables = tuple(Expr("variable", value=(self.id, i)) for i in range(len(initial)))
        values, active = step(*self.variables)
        self.values = tuple(wrap(v) for v in values)
        self.active = mask(active)
        if len(self.values) != len(initial):
            raise ValueError(
                f"iterate: step returns {len(self.values)} values for {len(initial)} variables; the numbers must agree"
            )

    def results(self) -> tuple[Expr, ...]:
        return tuple(Expr("result", (), (self, i)) for i in range(len(self.initial)))


def constant(value: float) -> Expr:
    """Return a constant as an expression."""
    return Expr("const", value=float(value))


def wrap(value: Any) -> Expr:
    """Return an expression unchanged and a number as a constant."""
    return value if isinstance(value, Expr) else constant(value)


def mask(condition: Condition) -> Expr:
    """Return a recorded condition; raise TypeError for a plain bool (== compares nodes, not values)."""
    if not isinstance(condition, Expr):
        raise TypeError(
            f"a condition of a kernel formula must be a comparison of its values by <, <=, > or >=, not {condition!r}"
        )
    return condition


def is_number(x: Expr, value: float) -> bool:
    """Return True for the constant ``value``."""
    return x.op == "const" and x.value == value


def _sum(a: Expr, b: Expr) -> Expr:
    if is_number(a, 0.0):
        return b
    if is_number(b, 0.0):
        return a
    return Expr("add", (a, b))


def _difference(a: Expr, b: Expr) -> Expr:
    if is_number(b, 0.0):
        return a
    if is_number(a, 0.0):
        return -b
    return Expr("sub", (a, b))


def _product(a: Expr, b: Expr) -> Expr:
    if is_number(a, 0.0) or is_number(b, 0.0):
        return constant(0.0)
    if is_number(a, 1.0):
        return b
    if is_number(b, 1.0):
        return a
    return Expr("mul", (a, b))
