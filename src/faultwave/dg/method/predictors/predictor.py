"""Interfaces of predictors and of the terms of a cell that they use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from faultwave.kernels.expr import Number, Numbers, Table
from faultwave.kernels.language import Array, Kernel, View


class CellTerms(Protocol):
    """Right-hand side dq/dt of one cell as kernel statements; ``unit`` [s] is the unit of time in the kernels."""

    order: int
    unit: float
    b3: int
    Q: int
    full: bool  # True if dq/dt has a term without gradients (``reaction``), so that derivatives in time have the full degree

    @property
    def differentiated(self) -> int:
        """Number of columns that ``differentiate`` fills."""
        ...

    @property
    def cell_size(self) -> int: ...

    def differentiate(self, k: Kernel, source: View, rows: int, after: Array, cell: Array) -> None: ...

    def differentiate_present(
        self, k: Kernel, source: View, rows: int, after: Array, cell: Array, present: Sequence[bool]
    ) -> None:
        """Differentiate a source of which only the ``present`` quantities are not zero, and fill the columns ``reached``."""
        ...

    def reached(self, present: Sequence[bool]) -> list[bool]:
        """Return which columns the derivatives of the ``present`` quantities fill."""
        ...

    def rate(self, after: Numbers, cell: Numbers) -> list[Number]: ...

    def differentiate_first(self, k: Kernel, source: View, rows: int, after: Array, cell: Array) -> None:
        """Differentiate the state itself for its first derivative in time, like ``differentiate``."""
        ...

    def rate_first(self, after: Numbers, cell: Numbers) -> list[Number]:
        """Return dq/dt from the derivatives that ``differentiate_first`` has computed."""
        ...

    def reaction(self, q: Numbers, cell: Numbers) -> list[Number]: ...

    def decay(self, cell: Numbers) -> Number:
        """Return the rate r per unit of time of laws whose reaction is -r P q with a projection P."""
        ...

    def decaying(self, q: Numbers, cell: Numbers) -> list[Number]:
        """Return P q, the part of the quantities that decays."""
        ...


@dataclass(frozen=True)
class Sum:
    """Sum of coefficients that ``Predictor.expand`` computes: target (B3, Q) = sum_k table[k] c_k.

    Attributes
    ----------
    target : Array
        Result; may be the state at the start of the step.
    table : Array
        Weights of a value or, with ``integral``, of the integral over a whole step.
    integral : bool
        True for an integral.
    change : bool
        Add the change of the state to the target instead; requires an ``incremental`` predictor.
    part : bool
        Sum of the stored coefficients with arbitrary weights, of which the first is zero. The target has
        ``Predictor.part_rows`` rows.
    """

    target: Array
    table: Array
    integral: bool = False
    change: bool = False
    part: bool = False


class Predictor(Protocol):
    """Time expansion of a cell over a step, made for one form: ``Predictor(form)``.

    Attributes
    ----------
    rows : list of int
        Rows of each coefficient that cells store for others.
    face_rows : list of int
        Rows of the traces of these coefficients.
    first_integral : int
        Number of the first stored coefficient whose integral over a step is not zero. Earlier ones have no weight
        except in the value at the start.
    part_rows : (int, int)
        Rows, and rows of the trace, of a sum without the first stored coefficient.
    terms : int
        Number of weights of a value in the cell itself, at least ``len(rows)``; the first ones belong to the stored
        coefficients.
    starts_with_state : bool
        True if the first stored coefficient is the state at the start of the step.
    incremental : bool
        True if sums may request the change of the state.
    """

    rows: list[int]
    face_rows: list[int]
    first_integral: int
    part_rows: tuple[int, int]
    terms: int
    starts_with_state: bool
    incremental: bool

    def expand(self, k: Kernel, q: Array, cell: Array, sums: Sequence[Sum], series: Array | None = None) -> None:
        """Record statements that compute the coefficients from the state q, fill every sum, and write ``series`` if given.

        ``series`` receives the stored coefficients, one after the other. Integrals that are no ``part`` extend to the
        time of the values.
        """
        ...

    def at(self, tau: float, step: float) -> list[float]:
        """Return the weights (terms) of the value ``tau`` [s] after the start of a step of length ``step`` [s]."""
        ...

    def integral(self, begin: float, end: float, step: float) -> list[float]:
        """Return the weights of the integral over [begin, end] [s] after the start of a step, in the kernels' unit of time."""
        ...

    def scalars(self, step: float) -> dict[str, Table]:
        """Return the arguments of the statements of ``expand`` other than tables of sums, for a step of length ``step`` [s]."""
        ...

    def lasting(self, k: Kernel, cell: Array) -> Array | None:
        """Return the fraction of a constant contribution of the faces that is left at the end of a step in decaying quantities.

        None if nothing decays or if explicit steps resolve the decay.
        """
        ...

    def ended(self, step: float) -> dict[str, Table]:
        """Return the arguments of the statements of ``lasting`` after a step of length ``step`` [s]."""
        ...
