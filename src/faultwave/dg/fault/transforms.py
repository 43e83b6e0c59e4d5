"""Statements of the friction kernel that evaluate face modes at fault points and times, and project values back to modes.

A series holds the coefficients c_j stacked, later ones with fewer rows; a_j are functions of time.

Points of the conical rule lie on lines through a corner, at the same fractions of each line. A mode of Dubiner's basis that is
collapsed towards the same corner is a polynomial along the line times one across the lines. So modes are summed on each line first and
then evaluated at points, which takes a third to a half of the multiplications of a full matrix (Karniadakis & Sherwin 2005,
section 4.1.6). Modes are converted once a step from the face's ascending vertex order to the order of the points, degree by degree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Protocol

import numpy as np

from faultwave.base.formulas import gauss_jacobi
from faultwave.dg.fault.points import PointRule
from faultwave.dg.method.basis import triangle_basis, triangle_modes, triangle_quadrature, triangle_size
from faultwave.dg.method.formula import Formula, Outputs
from faultwave.kernels import math as m
from faultwave.kernels.expr import Number, Numbers
from faultwave.kernels.language import Array, Kernel, LoopIndex, View, as_view

Weights = Callable[[Sequence[Any]], Sequence[Any]]


@dataclass(frozen=True)
class FaceSeries:
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

    def columns(self, col: int, cols: int) -> SeriesColumns:
        """Return a view of ``cols`` columns of the series from column ``col``."""
        return SeriesColumns(self, col, cols)


@dataclass(frozen=True)
class SeriesColumns:
    """View of ``cols`` columns of a face time expansion from column ``col``."""

    series: FaceSeries
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


class Transforms(Protocol):
    """Interface of transforms between ``modes`` (B2 rows) and values at points, with projections on lower degrees."""

    def turned(self, series: Array, rows: Sequence[int]) -> Array:
        """Convert time coefficients, stacked with ``rows`` of each, to the vertex order that the other transforms use."""
        ...

    def to_points(self, out: Array, modes: Array | View) -> None: ...

    def to_modes(self, out: Array, points: Array) -> None:
        """Project point values on modes in the ascending order of vertices."""
        ...

    def project(self, out: Array | View, points: Array | View, degree: int) -> None: ...


def degree_of(rows: int) -> int:
    """Return the polynomial degree for which a face has ``rows`` modes."""
    return next(d for d in range(rows) if triangle_size(d) == rows)


class WholeTables:
    """Transforms by full matrices, for any point rule; ``group`` holds the vertex permutation of each item."""

    def __init__(self, k: Kernel, points: int, degree: int, group: Array):
        self.k, self.points, self.degree = k, points, degree
        size = triangle_size(degree)
        self.phi, self.back = k.matrix("phi", points, size, group), k.matrix("back", size, points, group)
        self.projections: dict[int, tuple[Array, ...]] = {}

    def turned(self, series: Array, rows: Sequence[int]) -> Array:
        return series

    def to_points(self, out: Array, modes: Array | View) -> None:
        self.k.contract(out, self.phi, modes)

    def to_modes(self, out: Array, points: Array) -> None:
        self.k.contract(out, self.back, points)

    def project(self, out: Array | View, points: Array | View, degree: int) -> None:
        """Project point values on a degree, through its modes where these are fewer than half of the points."""
        k, modes = self.k, triangle_size(degree)
        if degree not in self.projections:
            sizes = {f"project{degree}": (self.points, self.points)}
            if 2 * modes < self.points:
                sizes = {f"onto{degree}": (modes, self.points), f"of{degree}": (self.points, modes)}
            self.projections[degree] = tuple(k.matrix(name, *size) for name, size in sizes.items())
        first, *second = self.projections[degree]
        if second:
            low = k.scratch(f"modes{degree}_of_{points.cols}", modes, points.cols)
            k.contract(low, first, points)
            k.contract(out, second[0], low)
        else:
            k.contract(out, first, points)


class AlongLines:
    """Transforms by sums along lines, for the points of the conical rule."""

    def __init__(self, k: Kernel, points: int, degree: int, group: Array):
        self.k, self.degree = k, degree
        if points != (degree + 2) ** 2:
            raise ValueError(f"the conical rule of degree {degree} has {(degree + 2) ** 2} points, not {points}")
        self.turns = [k.matrix(f"turn{d}", d + 1, d + 1, group) for d in range(degree + 1)]
        self.turns_back = [k.matrix(f"turn_back{d}", d + 1, d + 1, group) for d in range(degree + 1)]

    def turned(self, series: Array, rows: Sequence[int]) -> Array:
        found = self.k.temp(f"turned_{series.name}", series.rows, series.cols)
        start = 0
        for count in rows:
            self._turn(self.turns[: degree_of(count) + 1], found, series, start)
            start += count
        return found

    def _turn(self, turns: Sequence[Array], out: Array, inp: Array, start: int = 0) -> None:
        for d, turn in enumerate(turns):
            first = start + triangle_size(d - 1)
            self.k.contract(out.view(first, d + 1), turn, inp.view(first, d + 1))

    def to_points(self, out: Array, modes: Array | View) -> None:
        self._there(out, modes, self.degree)

    def to_modes(self, out: Array, points: Array) -> None:
        own = self.k.temp(f"own_{out.name}", out.rows, out.cols)
        self._back(own, points, self.degree)
        self._turn(self.turns_back, out, own)

    def project(self, out: Array | View, points: Array | View, degree: int) -> None:
        cols = points.cols
        modes = self.k.scratch(f"modes{degree}_of_{cols}", triangle_size(degree), cols)
        self._back(modes, points, degree)
        self._there(out, modes, degree)

    def _there(self, out: Array | View, modes: Array | View, degree: int) -> None:
        lines, points = line_tables(self.degree, degree)
        sums = self.k.scratch(f"lines{degree}_of_{modes.cols}", len(lines), modes.cols)
        self.k.contract(sums, lines, modes)
        self.k.contract(out, points, sums)

    def _back(self, out: Array, points: Array | View, degree: int) -> None:
        lines, at_points = line_tables(self.degree, degree)
        weights = triangle_quadrature(self.degree + 2)[1]
        sums = self.k.scratch(f"lines{degree}_of_{out.cols}", len(lines), out.cols)
        self.k.contract(sums, np.ascontiguousarray((at_points * weights[:, None]).T), points)
        self.k.contract(out, np.ascontiguousarray(lines.T), sums)


def line_tables(degree: int, highest: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the two factors of the evaluation of modes at the points of the conical quadrature rule.

    Parameters
    ----------
    degree : int
        Degree for which the rule was made.
    highest : int
        Highest degree of the modes.

    Returns
    -------
    lines : (lines x powers, modes) array
        Sums on each line.
    at_points : (points, lines x powers) array
        Evaluation at points.
    """
    n = degree + 2
    along, weights = gauss_jacobi(n)
    points, _ = triangle_quadrature(n)
    phi = triangle_basis(points[:, ::-1], highest).reshape(n, n, -1)  # collapsed towards the common corner of the lines
    legendre = np.polynomial.legendre.legvander(along, highest)
    squares = weights @ legendre**2
    lines, at_points = np.zeros((n, highest + 1, phi.shape[2])), np.zeros((n, n, n, highest + 1))
    for mode, (i, _) in enumerate(triangle_modes(highest)):
        lines[:, i, mode] = phi[:, :, mode] @ (weights * legendre[:, i]) / squares[i]
    for p in range(n):
        at_points[p, :, p] = legendre
    at_points[np.abs(at_points) < 1e-14] = 0.0
    return lines.reshape(-1, phi.shape[2]), at_points.reshape(n * n, -1)


def transforms(k: Kernel, points: int, degree: int, group: Array, conical: bool) -> Transforms:
    """Return the transforms for the point rule of a fault: along lines for the conical rule, else full matrices."""
    return (AlongLines if conical else WholeTables)(k, points, degree, group)


def tables(rule: PointRule, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the matrices of ``Transforms`` whose names are among ``names``."""
    found: dict[str, np.ndarray] = {"phi": rule.phi, "back": rule.back, "mode_bounds": mode_bounds(rule)}
    size = rule.phi.shape[2]
    for d in range(degree_of(size) + 1):
        found[f"project{d}"] = rule.projection(d)
        found[f"onto{d}"], found[f"of{d}"] = rule.back[0][: triangle_size(d)], rule.phi[0][:, : triangle_size(d)]
        if rule.turn is not None:
            block = slice(triangle_size(d - 1), triangle_size(d))
            found[f"turn{d}"] = rule.turn[:, block, block]
            found[f"turn_back{d}"] = np.swapaxes(rule.turn[:, block, block], 1, 2)
    return {name: found[name] for name in names if name in found}


def mode_bounds(rule: PointRule) -> np.ndarray:
    """Return the largest absolute values of the modes at the points, (1, B2).

    Modes are in the vertex order that ``Transforms.turned`` returns.
    """
    values = rule.phi if rule.turn is None else rule.phi @ np.swapaxes(rule.turn, 1, 2)
    return np.abs(values).max((0, 1))[None]
