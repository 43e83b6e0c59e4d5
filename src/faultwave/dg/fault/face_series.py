"""Evaluation of face time expansions in kernels: values at a time, and bounds of their change in a step.

A series holds the coefficients c_j stacked, later ones with fewer rows; a_j are functions of time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from faultwave.dg.formula import Formula, Outputs
from faultwave.kernels import math as m
from faultwave.kernels.language import Array, Kernel, LoopIndex, View, as_view
from faultwave.kernels.types import Number, Numbers

Weights = Callable[[Sequence[Any]], Sequence[Any]]


@dataclass(frozen=True)
class Series:
    """Face time expansion in a kernel.

    Attributes
    ----------
    array : Array
        Stacked coefficients.
    rows : sequence of int
        Number of rows of each coefficient.
    at_times : Array
        Factors a_j at the times of a step, (times, coefficients).
    weight : Array
        Quadrature weights, (times, 1).
    """

    array: Array
    rows: Sequence[int]
    at_times: Array
    weight: Array

    def columns(self, col: int, cols: int) -> Columns:
        """Return a view of ``cols`` columns of the series from column ``col``."""
        return Columns(self, col, cols)


@dataclass(frozen=True)
class Columns:
    """View of ``cols`` columns of a face time expansion from column ``col``."""

    series: Series
    col: int
    cols: int

    def at(self, k: Kernel, target: Array, o: LoopIndex | int) -> None:
        """Emit target = sum_j a_j(t_o) c_j."""
        self.seen(k, o, lambda x: [x], [target])

    def seen(self, k: Kernel, o: LoopIndex | int, function: Formula, outs: Sequence[Array], *ins: Array | View) -> None:
        """Emit outs = function(values at the time t_o, *ins), mode by mode."""
        self._sums(k, [self.series.at_times.view(o, 1)], lambda at: at[0], function, outs, ins)

    def largest_change(self, k: Kernel, bounds: Array) -> Array:
        """Return a bound (1, cols) of the difference between point values at any of the times and at the last one, t_O.

        The bound is

            sum_m b_m sum_j max_o |a_j(t_o) - a_j(t_O)| |c_jm|

        where ``bounds`` b (1, modes) are the largest absolute values of modes at points (docs/theory/friction.md, "Friction solve").
        """
        s = self.series
        spread, change = k.temp("spread", s.rows[0], self.cols), k.temp("largest_change", 1, self.cols)

        def reach(scalars: Sequence[Numbers]) -> list[Number]:
            return [_reach(column) for column in zip(*scalars, strict=True)]

        scalars = [s.at_times.view(i, 1) for i in range(s.at_times.rows)]
        self._sums(k, scalars, reach, lambda x: [x], [spread], absolute=True)
        k.contract(change, bounds, spread)
        return change

    def _sums(
        self, k: Kernel, scalars: Sequence[View], weights: Weights, function: Formula, outs: Sequence[Array | View],
        ins: Sequence[Array | View] = (), absolute: bool = False,
    ) -> None:  # fmt: skip
        """Emit outs = function(sum_j weights_j c_j, *ins) with weights made of ``scalars``.

        Sums stay in registers, for all modes that have the same number of coefficients.
        """
        s = self.series
        for start, count, terms in _blocks(s.rows):
            parts = [s.array.view(sum(s.rows[:j]) + start, count, self.col, self.cols) for j in range(terms)]

            def values(*given: Numbers, terms: int = terms) -> Outputs:
                w, rest = weights(given[terms : terms + len(scalars)]), given[terms + len(scalars) :]
                rows = [[m.abs(x) if absolute else x for x in part] for part in given[:terms]]
                sums = [
                    reduce(add, [a * x for a, x in zip(w, column, strict=False)]) for column in zip(*rows, strict=True)
                ]
                return function(sums, *rest)

            k.pointwise(values, [*parts, *scalars, *ins], [_rows(out, start, count) for out in outs])


def _rows(out: Array | View, start: int, count: int) -> View:
    """Return a view of ``count`` rows of an array or view from row ``start``."""
    view = as_view(out)
    return view.array.view(start, count, view.col, view.cols)


def _blocks(rows: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Iterate over blocks of rows with the same coefficients: first row, number of rows, number of coefficients."""
    for terms in range(len(rows), 0, -1):
        start = rows[terms] if terms < len(rows) else 0
        if rows[terms - 1] > start:
            yield start, rows[terms - 1] - start, terms


def _reach(at: Numbers) -> Number:
    """Return the largest distance from the last value."""
    *others, last = at
    return reduce(m.maximum, [m.abs(x - last) for x in others]) if others else 0.0 * last


__all__ = ["Columns", "Series"]
