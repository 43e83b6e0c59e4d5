"""Types of the numbers in formulas, which run on arrays and on the expressions that record them (``kernels.expr``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np


class Condition(Protocol):
    """Condition of a formula: a comparison of numbers, or several combined with &, | and ~."""

    def __and__(self, other: Any, /) -> Condition: ...
    def __or__(self, other: Any, /) -> Condition: ...
    def __invert__(self) -> Condition: ...


class Number(Protocol):
    """Operand of a formula: an expression where it is recorded, an array or a plain number where it is computed.

    Operators accept any value because plain numbers and arrays do not know expressions, which take over by reflected operators.
    """

    def __add__(self, other: Any, /) -> Number: ...
    def __radd__(self, other: Any, /) -> Number: ...
    def __sub__(self, other: Any, /) -> Number: ...
    def __rsub__(self, other: Any, /) -> Number: ...
    def __mul__(self, other: Any, /) -> Number: ...
    def __rmul__(self, other: Any, /) -> Number: ...
    def __truediv__(self, other: Any, /) -> Number: ...
    def __rtruediv__(self, other: Any, /) -> Number: ...
    def __neg__(self) -> Number: ...
    def __lt__(self, other: Any, /) -> Condition: ...
    def __le__(self, other: Any, /) -> Condition: ...
    def __gt__(self, other: Any, /) -> Condition: ...
    def __ge__(self, other: Any, /) -> Condition: ...


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

__all__ = [
    "Changes",
    "Components",
    "Computed",
    "Condition",
    "Formula",
    "Key",
    "Named",
    "Number",
    "Numbers",
    "Other",
    "Scalars",
    "Table",
    "Value",
]
