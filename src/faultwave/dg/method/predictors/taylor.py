"""Taylor series of a cell in time: each derivative follows from the one before by the equations.

See Cauchy-Kovalevskaya; Titarev & Toro 2002, Kaeser & Dumbser 2006.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from faultwave.dg.method.basis import tet_size, triangle_size
from faultwave.dg.method.formula import Formula, Outputs
from faultwave.dg.method.predictors.predictor import CellTerms, Sum
from faultwave.kernels.expr import Numbers, Table
from faultwave.kernels.language import Array, Kernel


@functools.lru_cache(maxsize=4096)  # clusters repeat steps of the same length
def powers(time: float, terms: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the weights of derivatives D_k, k < ``terms``, of a value at ``time`` and of the integral over [0, time]."""
    time = float(time)  # NumPy scalars would promote single precision to double, also for later callers of the cache
    value = tuple(time**k / math.factorial(k) for k in range(terms))
    return value, tuple(time ** (k + 1) / math.factorial(k + 1) for k in range(terms))


def derivative_rows(order: int, full: bool = False) -> list[int]:
    """Return the rows of D_k, k = 0..N: degree N - k, or N for laws with a reaction."""
    return [tet_size(order - 1 - (0 if full else k)) for k in range(order)]


def face_rows(order: int, full: bool = False) -> list[int]:
    """Return the rows of the face traces of D_k."""
    return [triangle_size(order - 1 - (0 if full else k)) for k in range(order)]


class Derivatives:
    """Base of predictors that store derivatives at the start of the step, per unit of time in the kernels."""

    starts_with_state = True
    incremental = False
    first_integral = 0
    form: CellTerms
    rows: list[int]
    terms: int

    def at(self, tau: float, step: float) -> list[float]:
        return list(powers(tau / self.form.unit, self.terms)[0])

    def integral(self, begin: float, end: float, step: float) -> list[float]:
        after, before = (powers(t / self.form.unit, len(self.rows))[1] for t in (end, begin))
        return [a - b for a, b in zip(after, before, strict=True)]

    def scalars(self, step: float) -> dict[str, Table]:
        return {}

    def lasting(self, k: Kernel, cell: Array) -> Array | None:
        return None

    def ended(self, step: float) -> dict[str, Table]:
        return {}


class Taylor(Derivatives):
    """Cauchy-Kovalevskaya predictor; the degree of the derivatives D_k falls with k, unless there is a reaction."""

    incremental = True

    def __init__(self, form: CellTerms):
        self.form = form
        self.rows, self.face_rows = derivative_rows(form.order, form.full), face_rows(form.order, form.full)
        self.part_rows = self.rows[1], self.face_rows[1]
        # With a reaction D_(N+1) does not vanish.
        self.terms = form.order + form.full

    def expand(self, k: Kernel, q: Array, cell: Array, sums: Sequence[Sum], series: Array | None = None) -> None:
        """Record the Cauchy-Kovalevskaya recursion; ``series`` receives D_k, k = 0..N."""
        if self.form.full:
            self._expand_with_reaction(k, q, cell, sums, series)
            return
        rows = self.rows
        after = k.temp("after", rows[1], self.form.differentiated)
        current = None if series is not None else k.temp("current", rows[1], self.form.Q)
        if series is not None:
            k.pointwise(lambda q: [list(q)], [q], [series.view(0, self.form.b3)])
        for s in sums:
            if not _in_place(s, q) and not s.part:  # the rows that no derivative reaches
                rest = self.form.b3 - rows[1]
                k.pointwise(_scaled, [q.view(rows[1], rest), s.table.view(0, 1)], [s.target.view(rows[1], rest)])
        source = q.view()
        for step in range(1, self.form.order):
            n = rows[step]
            (self.form.differentiate_first if step == 1 else self.form.differentiate)(k, source, n, after, cell)
            target = current.view(0, n) if current is not None else series.view(sum(rows[:step]), n)  # type: ignore[union-attr]
            starts = [(q if step == 1 and not s.change else s.target).view(0, n) for s in sums]
            tables = [s.table.view(row, 1) for s in sums for row in ((0, 1) if step == 1 else (step,))]
            k.pointwise(
                self._term(step == 1, [_in_place(s, q) for s in sums], [s.part for s in sums]),
                [after.view(0, n), cell, *starts, *tables],
                [target, *[s.target.view(0, n) for s in sums]],
            )
            source = target

    def _term(self, first: bool, same: list[bool], part: list[bool]) -> Formula:
        """Return the formula of one D_k and its contribution to every sum.

        The first also starts the sums; sums in place hold q already, and a ``part`` has no term in q.
        """
        count = len(same)

        def function(after: Numbers, cell: Numbers, *rest: Numbers) -> Outputs:
            d = (self.form.rate_first if first else self.form.rate)(after, cell)
            starts, tables = rest[:count], iter(rest[count:])
            results = [d]
            for start, in_place, without in zip(starts, same, part, strict=True):
                zeroth = next(tables)[0] if first else None
                weight = next(tables)[0]
                if first and without:
                    results.append([weight * x for x in d])
                    continue
                base = start if in_place or zeroth is None else [zeroth * x for x in start]
                results.append([b + weight * x for b, x in zip(base, d, strict=True)])
            return results

        return function

    def _expand_with_reaction(
        self, k: Kernel, q: Array, cell: Array, sums: Sequence[Sum], series: Array | None
    ) -> None:
        """Expand a law with a reaction.

        Every D_k has all rows, of which the reaction alone fills the highest degree, and there is one more D_k.
        """
        made = tet_size(self.form.order - 2)
        rest = self.form.b3 - made
        after = k.temp("after", made, self.form.differentiated)
        terms = [k.temp(f"term{'ab'[i]}", self.form.b3, self.form.Q) for i in range(2)]
        for s in sums:
            if not _in_place(s, q):
                k.pointwise(_scaled, [q, s.table.view(0, 1)], [s.target])
        if series is not None:
            k.pointwise(lambda q: [list(q)], [q], [series.view(0, self.form.b3)])

        def whole(after: Numbers, d: Numbers, cell: Numbers) -> Outputs:
            return [[x + y for x, y in zip(self.form.rate(after, cell), self.form.reaction(d, cell), strict=True)]]

        source = q
        for step in range(1, self.terms if sums else self.form.order):
            target = terms[step % 2]
            self.form.differentiate(k, source.view(), made, after, cell)
            k.pointwise(whole, [after, source.view(0, made), cell], [target.view(0, made)])
            k.pointwise(
                lambda d, cell: [self.form.reaction(d, cell)],
                [source.view(made, rest), cell],
                [target.view(made, rest)],
            )
            for s in sums:
                if step < s.table.rows:
                    k.pointwise(
                        lambda x, d, c: [[a + c[0] * b for a, b in zip(x, d, strict=True)]],
                        [s.target, target, s.table.view(step, 1)],
                        [s.target],
                    )
            if series is not None and step < self.form.order:
                k.pointwise(lambda d: [list(d)], [target], [series.view(step * self.form.b3, self.form.b3)])
            source = target


def _in_place(s: Sum, q: Array) -> bool:
    """Return True if the target already holds everything but the terms of the derivatives."""
    return s.change or s.target is q


def _scaled(q: Numbers, c: Numbers) -> Outputs:
    return [[c[0] * x for x in q]]
