"""Types of the numbers in formulas of kernels.

A formula runs on arrays of NumPy, where it computes, or on expressions, which record it (``kernels.expr``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from faultwave.kernels.expr import Expr


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


Operand = TypeVar("Operand", Expr, np.ndarray, Number)
"""Operand of a formula that returns what it is given: arrays for arrays, expressions for expressions."""

Numbers: TypeAlias = Sequence[Number]
"""One number for each column of an array, or for each component of a vector or tensor."""

Outputs: TypeAlias = list[list[Number]]
"""Result of a pointwise formula: for each output of the kernel the numbers of its columns."""

Formula: TypeAlias = Callable[..., Outputs]
"""Pointwise formula of ``Kernel.pointwise``, with one argument for each input."""

Named: TypeAlias = Mapping[str, Number]
"""Numbers of a point or cell by name."""

Table: TypeAlias = float | Sequence[float] | Sequence[Sequence[float]] | np.ndarray
"""Contents of a small table of numbers that is the same for all items of a launch (space ``scalar``)."""

Scalars: TypeAlias = Mapping[str, Table]
"""Tables of a launch by name."""

Densities: TypeAlias = Callable[[Numbers, Named], dict[str, Number]]
"""Densities of energies and momenta by name, from the law's quantities and parameters, as ``Law.energies``."""

__all__ = [
    "Condition",
    "Densities",
    "Formula",
    "Named",
    "Number",
    "Numbers",
    "Operand",
    "Outputs",
    "Scalars",
    "Table",
]
