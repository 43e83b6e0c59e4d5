"""What a predictor is, and what it needs to know of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from faultwave.kernels.language import Array, Kernel, View


class CellTerms(Protocol):
    """The right-hand side dq/dt of one cell, as kernel statements. ``unit`` [s]: unit of time in the kernels."""

    order: int
    unit: float
    b3: int
    Q: int
    full: bool  # whether dq/dt has a term without gradients (``reaction``), so that derivatives in time keep the full degree

    @property
    def differentiated(self) -> int:
        """Columns that ``differentiate`` fills."""
        ...

    @property
    def cell_size(self) -> int: ...

    def differentiate(self, k: Kernel, source: View, rows: int, after: Array, cell: Array) -> None: ...

    def differentiate_present(
        self, k: Kernel, source: View, rows: int, after: Array, cell: Array, present: Sequence[bool]
    ) -> None:
        """``differentiate`` of a source of which only some quantities are there: fills the columns ``reached``."""
        ...

    def reached(self, present: Sequence[bool]) -> list[bool]:
        """Columns that the derivatives of some quantities fill."""
        ...

    def rate(self, after: Any, cell: Any) -> list[Any]: ...

    def differentiate_first(self, k: Kernel, source: View, rows: int, after: Array, cell: Array) -> None:
        """``differentiate`` of the state itself, for its first derivative in time."""
        ...

    def rate_first(self, after: Any, cell: Any) -> list[Any]:
        """``rate`` of what ``differentiate_first`` left."""
        ...

    def reaction(self, q: Any, cell: Any) -> list[Any]: ...

    def decay(self, cell: Any) -> Any:
        """Rate r per unit of time of laws whose reaction is -r P q with a projection P."""
        ...

    def decaying(self, q: Any, cell: Any) -> list[Any]:
        """P q"""
        ...


@dataclass(frozen=True)
class Sum:
    """target (B3, Q) = sum_k table[k] c_k over the coefficients; ``target`` may be the state at the start of the step. ``table`` holds
    the weights of a value or, with ``integral``, of the integral over a whole step. ``change``: what the state changes by is added to
    the target instead, of predictors that are ``incremental``. ``part``: a sum of the kept coefficients with any weights, of which the
    first is zero; its target has as many rows as ``Predictor.part_rows`` says."""

    target: Array
    table: Array
    integral: bool = False
    change: bool = False
    part: bool = False


class Predictor(Protocol):
    """Made for one form: ``Predictor(form)``.

    ``rows``: rows of each coefficient that cells keep for others, ``face_rows`` of its traces; ``terms``: how many weights a value in
    the cell itself has, at least as many. The first ``len(rows)`` weights are those of the kept coefficients.
    ``first_integral``: number of the first kept coefficient whose integral over a step is not zero; those before have no weight in any
    value but that of the start.
    ``part_rows``: rows, and rows of the trace, of a sum that leaves out the first kept coefficient. ``starts_with_state``: the first
    kept coefficient is the state at the start of the step. ``incremental``: whether sums may ask for the change of the state.
    """

    rows: list[int]
    face_rows: list[int]
    first_integral: int
    part_rows: tuple[int, int]
    terms: int
    starts_with_state: bool
    incremental: bool

    def expand(self, k: Kernel, q: Array, cell: Array, sums: Sequence[Sum], series: Array | None = None) -> None:
        """Statements that compute the coefficients from the state q: they fill every sum, and ``series`` with the kept
        coefficients one below the other, where given. Integrals that are no ``part`` go up to the time of the values."""
        ...

    def at(self, tau: float, step: float) -> list[float]:
        """Weights (terms) of the value ``tau`` [s] after the start of a step of length ``step`` [s]."""
        ...

    def integral(self, begin: float, end: float, step: float) -> list[float]:
        """Weights (kept coefficients) of the integral, in the kernels' unit of time, over [begin, end] [s] after the start of a step."""
        ...

    def scalars(self, step: float) -> dict[str, Any]:
        """Arguments that the statements of ``expand`` have beside the tables of their sums, for a step of this length [s]."""
        ...

    def lasting(self, k: Kernel, cell: Array) -> Array | None:
        """The share that is left, at the end of a step, of what faces have added evenly during it to quantities that decay; None
        where nothing decays, or explicit steps follow it."""
        ...

    def ended(self, step: float) -> dict[str, Any]:
        """Arguments that the statements of ``lasting`` have after a step of this length [s]."""
        ...


__all__ = ["CellTerms", "Predictor", "Sum"]
