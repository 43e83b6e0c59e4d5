"""Taylor series of a cell of a generalised Maxwell body whose memory variables relax exactly (docs/theory/attenuation.md).

With D_l : grad v and C : grad v known as series in time, each memory variable p_l at the end of a step is an
exponential plus a sum of known integrals, and sigma = sigma_0 + C_r : (integral of grad v) + sum of the changes of p_l,
where C_r are the relaxed moduli. No memory variable is differentiated in time. Within the step their effect on the
stress is a polynomial f_k tau^k / k!,

    s_(k+1) = C : e_k + f_k - sum_(j<k) c_(k-1-j) : e_j,    f_k = -sum_l w_l (-w_l)^k p_l(0),    c_m = sum_l w_l
    (-w_l)^m D_l,

where e_k is the k-th derivative of the strain rate. Strains are computed once for all elements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from faultwave.dg.method.basis import tet_size
from faultwave.dg.method.formula import Formula, Outputs
from faultwave.dg.method.predictors.predictor import CellTerms, Sum
from faultwave.dg.method.predictors.taylor import Derivatives, face_rows
from faultwave.kernels.expr import Number, Numbers, Table
from faultwave.kernels.language import Array, Kernel, View
from faultwave.physics.waves.viscoelastic import Viscoelastic

FIELD = 9
"""Number of columns of stress and velocity, the first of a state."""


class MaxwellBody(CellTerms, Protocol):
    """Form with the state stress (6), velocity (3) and memory variables (6 each).

    A strain rate has 7 columns: six components that shear, and its trace.
    """

    @property
    def body(self) -> Viscoelastic:
        """Wave law with ``rates_of_elements`` [1/s]."""
        ...

    def strain(self, k: Kernel, source: View, rows: int, out: View, cell: Array) -> None:
        """Compute the strain rate of the velocity in columns 6 to 8 of ``source``: out (rows, 7)."""
        ...

    def force(self, k: Kernel, stress: View, rows: int, out: View) -> None:
        """Compute the acceleration by a stress (rows, 6 or more): out (rows, 3)."""
        ...

    def springs(self, cell: Numbers) -> list[tuple[Number, ...]]:
        """Return the moduli of the unrelaxed medium, then of every element."""
        ...

    def stressed(self, modulus: tuple[Number, ...], strain: Numbers, cell: Numbers) -> list[Number]:
        """Return the stress rate (6) of a strain rate (7)."""
        ...


def decayed_power(rate: float, j: int, time: float) -> float:
    """Return the integral over [0, time] of exp(-rate (time - s)) s^j / j!, without cancellation for small rate * time."""
    z = rate * time
    if z < 1.0:
        terms = ((-z) ** i * math.factorial(j + 1) / math.factorial(j + 1 + i) for i in range(30))
        return time ** (j + 1) / math.factorial(j + 1) * math.fsum(terms)
    found = -math.expm1(-z) / rate
    for i in range(1, j + 1):
        found = (time**i / math.factorial(i) - found) / rate
    return found


class Relaxing(Derivatives):
    """Predictor with exact relaxation of memory variables.

    Its coefficients are the derivatives of stress and velocity, all of full degree; the columns of memory variables are
    zero in stored coefficients. The rows of the table ``memory`` (.., L) are the share of p_l that is left after the
    step, the same minus one, and the gain of p_l from each e_j.
    """

    form: MaxwellBody

    def __init__(self, form: MaxwellBody):
        self.form = form
        self.rows, self.face_rows = [form.b3] * form.order, face_rows(form.order, True)
        self.part_rows, self.terms = (self.rows[1], self.face_rows[1]), form.order + 1
        self.rates = [form.unit * w for w in form.body.rates_of_elements]
        self.elements, self.levels = len(self.rates), form.order

    def scalars(self, step: float) -> dict[str, Table]:
        tau, n = step / self.form.unit, self.levels
        decay = [math.exp(-w * tau) for w in self.rates]
        gain = [[decayed_power(w, j, tau) for w in self.rates] for j in range(n)]
        return {"memory": np.array([decay, [math.expm1(-w * tau) for w in self.rates], *gain])}

    def expand(self, k: Kernel, q: Array, cell: Array, sums: Sequence[Sum], series: Array | None = None) -> None:
        _Expansion(self, k, q, cell, sums, series)


class _Expansion:
    """Statements of one kernel that expands a Maxwell body in time."""

    def __init__(
        self, predictor: Relaxing, k: Kernel, q: Array, cell: Array, sums: Sequence[Sum], series: Array | None
    ):
        self.own, self.form, self.k, self.q, self.cell = predictor, predictor.form, k, q, cell
        form, order = self.form, predictor.levels
        self.b3, self.made, self.next = form.b3, tet_size(order - 2), tet_size(max(order - 3, 0))
        self.stress = k.temp("stress", self.b3, 6 * (order - 1))  # s_1 ..; initially the forces of the memory variables
        self.velocity = k.temp("flow", self.made, 3 * order)  # v_1 ..
        self.strains = k.temp("strain", self.made, 7 * order)
        self._forces()
        for level in range(order):
            self._level(level)
        ends = [s for s in sums if s.table.rows == predictor.terms]
        for s in sums:
            if s not in ends:
                self._integrate(s)
        if series is not None:
            self._keep(series)
        for s in ends:  # last, as the target may be the state itself
            self._advance(s)

    def _stress(self, level: int, rows: int, first: int = 0) -> View:
        """Return the view of s_level, level > 0."""
        return self.stress.view(first, rows, 6 * (level - 1), 6)

    def _velocity(self, level: int, rows: int, first: int = 0) -> View:
        return self.velocity.view(first, rows, 3 * (level - 1), 3)

    def _strain(self, level: int, rows: int, first: int = 0) -> View:
        return self.strains.view(first, rows, 7 * level, 7)

    def _rows_of_strain(self, level: int) -> int:
        return self.made if level == 0 else self.next

    def _forces(self) -> None:
        """Compute f_0 .. f_(N-1) in the columns of s_1 .. s_N."""
        rates, levels = self.own.rates, self.own.levels - 1

        def forces(memory: Numbers) -> Outputs:
            parts = [memory[6 * i : 6 * i + 6] for i in range(len(rates))]
            return [[x for j in range(levels) for x in _weighted([-w * (-w) ** j for w in rates], parts)]]

        self.k.pointwise(forces, [self.q.view(0, None, FIELD, None)], [self.stress])

    def _level(self, level: int) -> None:
        """Compute e_level, s_(level + 1) and v_(level + 1)."""
        k, form, n = self.k, self.form, self._rows_of_strain(level)
        source = self.q.view(0, self.b3, 6, 3) if level == 0 else self._velocity(level, self.made)
        form.strain(k, source, n, self._strain(level, n), self.cell)
        if level + 1 < self.own.levels:
            self._add_stress(level)
        stress = self.q.view(0, self.b3, 0, 6) if level == 0 else self._stress(level, self.b3)
        form.force(k, stress, self.made, self._velocity(level + 1, self.made))

    def _add_stress(self, level: int) -> None:
        """Add the strains to s_(level + 1); in rows that only the first strain reaches, add that alone."""
        form, rates = self.form, self.own.rates

        def added(first: int) -> Formula:
            def function(force: Numbers, cell: Numbers, *strains: Numbers) -> Outputs:
                moduli = form.springs(cell)
                found = list(force)
                for j, strain in enumerate(strains, first):
                    if j == level:
                        modulus = moduli[0]
                    else:
                        pairs = zip(rates, moduli[1:], strict=True)
                        scaled = [(-w * (-w) ** (level - 1 - j), m) for w, m in pairs]
                        modulus = tuple(_total([c * m[i] for c, m in scaled]) for i in range(2))
                    found = [a + b for a, b in zip(found, form.stressed(modulus, strain, cell), strict=True)]
                return [found]

            return function

        for begin, end, last in ((0, self.next, level), (self.next, self.made, 0)):
            if end > begin:
                target = self._stress(level + 1, end - begin, begin)
                strains = [self._strain(j, end - begin, begin) for j in range(last + 1)]
                self.k.pointwise(added(0), [target, self.cell, *strains], [target])

    def _integrate(self, s: Sum) -> None:
        """Integrate stress and velocity; integrals of memory variables are not used."""
        order = self.own.levels
        for begin, end in ((0, self.made), (self.made, self.b3)):
            flows = [self._velocity(j, end - begin, begin) for j in range(1, order)] if end == self.made else []
            ins = [self.q.view(begin, end - begin, 0, FIELD), self.stress.view(begin, end - begin), *flows]

            def summed(q: Numbers, stress: Numbers, *rest: Numbers) -> Outputs:
                tables, flows = rest[-order:], rest[:-order]
                found = [tables[0][0] * x for x in q]
                for j in range(1, order):
                    c, flow = tables[j][0], flows[j - 1] if flows else ()
                    for i, x in enumerate([*stress[6 * j - 6 : 6 * j], *flow]):
                        found[i] = found[i] + c * x
                return [found]

            tables = [s.table.view(j, 1) for j in range(order)]
            self.k.pointwise(summed, [*ins, *tables], [s.target.view(begin, end - begin, 0, FIELD)])

    def _keep(self, series: Array) -> None:
        order, size, b3 = self.own.levels, self.form.Q, self.b3

        def zeros(x: Numbers) -> list[Number]:
            return [0.0 * x[0]] * (size - FIELD)

        self.k.pointwise(lambda q: [[*q, *zeros(q)]], [self.q.view(0, b3, 0, FIELD)], [series.view(0, b3)])
        for j in range(1, order):
            for begin, end in ((0, self.made), (self.made, b3)):
                target = series.view(j * b3 + begin, end - begin)
                if end == self.made:
                    ins = [self._stress(j, end), self._velocity(j, end)]
                    self.k.pointwise(lambda s, v: [[*s, *v, *zeros(s)]], ins, [target])
                else:
                    ins = [self._stress(j, end - begin, begin)]
                    self.k.pointwise(lambda s: [[*s, *[0.0 * s[0]] * 3, *zeros(s)]], ins, [target])

    def _advance(self, s: Sum) -> None:
        """Compute the state at the end of the step: memory variables exactly, stress from their gain and the relaxed spring."""
        order, memory = self.own.levels, self.k.scalar("memory", 2 + self.own.levels, self.own.elements)
        for begin, end, last, moves in (
            (0, self.next, order, True),
            (self.next, self.made, 1, True),
            (self.made, self.b3, 0, False),
        ):
            if end == begin:
                continue
            n = end - begin
            strains = [self._strain(j, n, begin) for j in range(last)]
            flows = [self._velocity(j, n, begin) for j in range(1, order + 1)] if moves else []
            tables = [memory.view(j, 1) for j in range(2 + last)] + [s.table.view(j, 1) for j in range(order + 1)]
            target = s.target.view(begin, n)
            self.k.pointwise(
                self._ended(last, len(flows)), [self.q.view(begin, n), self.cell, *strains, *flows, *tables], [target]
            )

    def _ended(self, last: int, flowing: int) -> Formula:
        elements = self.own.elements

        def function(q: Numbers, cell: Numbers, *rest: Numbers) -> Outputs:
            strains, flows, rest = rest[:last], rest[last : last + flowing], rest[last + flowing :]
            decay, lost, gains, weights = rest[0], rest[1], rest[2 : 2 + last], [t[0] for t in rest[2 + last :]]
            memories = [list(q[FIELD + 6 * i : FIELD + 6 * i + 6]) for i in range(elements)]
            stress, velocity = _added(q[:6], _weighted(lost, memories)), list(q[6:9])
            memories = [[decay[i] * x for x in memory] for i, memory in enumerate(memories)]
            if strains:
                stress, memories = self._strained(cell, strains, (gains, weights[1:]), stress, memories)
            for c, flow in zip(weights[1:], flows, strict=False):
                velocity = [x + c * d for x, d in zip(velocity, flow, strict=True)]
            return [[*stress, *velocity, *[x for memory in memories for x in memory]]]

        return function

    def _strained(
        self,
        cell: Numbers,
        strains: Sequence[Numbers],
        tables: tuple[Sequence[Numbers], Numbers],
        stress: list[Number],
        memories: Sequence[list[Number]],
    ) -> tuple[list[Number], list[list[Number]]]:
        """Return stress and memory variables with the strains of the step; a single strain is multiplied once with each modulus."""
        form, (gains, weights) = self.form, tables
        moduli = form.springs(cell)
        relaxed = [moduli[0][i] - _total([m[i] for m in moduli[1:]]) for i in range(2)]
        if len(strains) == 1:
            one, scaled = strains[0], [(g * lam, g * mu) for g, (lam, mu) in zip(gains[0], moduli[1:], strict=True)]
            whole = tuple(weights[0] * relaxed[i] + _total([m[i] for m in scaled]) for i in range(2))
            gained = [form.stressed(m, one, cell) for m in scaled]  # type: Sequence
            return _added(stress, form.stressed(whole, one, cell)), list(map(_added, memories, gained))
        all_together = _weighted(weights[: len(strains)], strains)
        stress = _added(stress, form.stressed((relaxed[0], relaxed[1]), all_together, cell))
        found = []
        for i, memory in enumerate(memories):
            gained = form.stressed(moduli[1 + i], _weighted([g[i] for g in gains], strains), cell)
            stress = _added(stress, gained)
            found.append(_added(memory, gained))
        return stress, found


def _added(a: Numbers, b: Numbers) -> list[Number]:
    return [x + y for x, y in zip(a, b, strict=True)]


def _total(values: Numbers) -> Number:
    found = values[0]
    for x in values[1:]:
        found = found + x
    return found


def _weighted(weights: Numbers, rows: Sequence[Numbers]) -> list[Number]:
    return [_total([w * row[i] for w, row in zip(weights, rows, strict=True)]) for i in range(len(rows[0]))]
