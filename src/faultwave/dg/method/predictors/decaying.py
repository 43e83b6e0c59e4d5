"""Exact evolution of a cell whose quantities relax at one rate, however fast.

The equation is q_t = L q - r P q with the derivatives L of the law and a projection P (docs/theory/poroelasticity.md,
"Stiff drag"; docs/decisions/0022). Each L lowers the degree by one, so that the solution is a finite sum over the
number k of derivatives and the number j of times at which the decaying part was chosen,

    q(t) = sum_kj t^k g_kj(r t) y_kj,    y_00 = (1 - P) q, y_01 = P q,    y_(k+1)j = (1 - P) L y_kj + P L y_k(j-1),

where g_kj(x) is the divided difference of exp at k + 1 - j zeros and j times -x: iterated integrals of ones and exp(-r
t) (Hochbruck & Ostermann 2010, section 2). No rate is too large, and a rate of zero yields the Taylor series.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.polynomial import legendre

from faultwave.dg.method.basis import tet_size, triangle_size
from faultwave.dg.method.formula import Outputs
from faultwave.dg.method.predictors.predictor import CellTerms, Sum
from faultwave.kernels import math as mth
from faultwave.kernels.expr import Number, Numbers, Table
from faultwave.kernels.language import Array, Kernel, View

Present = tuple[bool, ...]
"""Flags of the quantities that are not zero."""


def packets(form: CellTerms) -> list[dict[int, Present]]:
    """Return the quantities present in y_kj, by k and j, without empty ones; determined with random numbers."""
    rng = np.random.default_rng(0)
    cell = list(rng.uniform(0.5, 2.0, form.cell_size))

    def parted(x: list[Number]) -> tuple[Present, Present]:
        fading = form.decaying(x, cell)
        lasting = [a - b for a, b in zip(x, fading, strict=True)]
        return tuple(bool(v != 0.0) for v in lasting), tuple(bool(v != 0.0) for v in fading)

    levels = [dict(enumerate(parted(list(rng.normal(size=form.Q)))))]
    for _ in range(1, form.order):
        found: dict[int, Present] = {}
        for j, present in levels[-1].items():
            after = [float(x) for x in rng.normal(size=form.differentiated) * form.reached(present)]
            for more, part in enumerate(parted(form.rate(after, cell))):
                before = found.get(j + more, (False,) * form.Q)
                found[j + more] = tuple(a or b for a, b in zip(before, part, strict=True))
        levels.append({j: present for j, present in found.items() if any(present)})
    return levels


def differences(x: Number, top: int, most: int) -> dict[tuple[int, int], Number]:
    """Return g_kj(x) for k = 0..``top`` and j = 0..``most`` (at most k + 1), by (k, j); x >= 0, numbers or expressions.

    Up to x = top + 1 a series of positive terms is used, beyond it the recurrence x g_kj = g_(k-1)(j-1) - g_(k-1)j,
    which does not cancel there.
    """
    turn = top + 1.0
    near, far = mth.minimum(x, turn), mth.maximum(x, turn)
    fading, inverse = mth.exp(-x), 1.0 / far
    # by (zeros a, others b)
    large = {(a, 0): 1.0 / math.factorial(a - 1) for a in range(1, top + 2)}  # type: dict[tuple[int, int], Number]
    large |= {(0, b): fading / math.factorial(b - 1) for b in range(1, most + 1)}
    for k in range(1, top + 1):
        for b in range(1, min(most, k) + 1):
            large[k + 1 - b, b] = inverse * (large[k + 1 - b, b - 1] - large[k - b, b])
    found: dict[tuple[int, int], Number] = {}
    for (a, b), beyond in large.items():
        exact = a == 0 or b == 0
        found[a + b - 1, b] = beyond if exact else mth.where(x < turn, fading * _series(near, a, b, turn), beyond)
    return found


def _series(x: Number, a: int, b: int, largest: float) -> Number:
    """Return sum_n x^n (a)_n / (n! (a + b - 1 + n)!): exp(x) times the divided difference at ``a`` zeros and ``b`` times -x."""
    ratios, size, total = [], 1.0, 1.0
    for n in range(1000):
        ratios.append((a + n) / ((n + 1) * (a + b + n)))
        size *= ratios[-1] * largest
        total += size
        if size < 1e-17 * total:
            break
    result = 1.0 + ratios[-1] * x
    for ratio in reversed(ratios[:-1]):  # numbers of order one, also in single precision
        result = 1.0 + ratio * x * result
    return result / math.factorial(a + b - 1)


def legendre_mode(x: Number, g: Mapping[tuple[int, int], Number], k: int, j: int, m: int) -> Number:
    """Return the coefficient of the Legendre polynomial m over [0, 1] in s^k g_kj(x s), with g = ``differences`` up to k + m + 1.

    Up to x = m + 2 the moments of its series in x lose fewer digits than integration by parts.
    """
    scale, turn = 2.0 * m + 1.0, m + 2.0
    if j == 0:
        return scale * _moment(m, k) / math.factorial(k) + 0.0 * x
    parts, unit = 0.0, np.eye(m + 1)[m]  # type: Number, np.ndarray
    for i in range(m + 1):  # derivatives at 1
        slope = float(legendre.legval(1.0, legendre.legder(unit, i)) * 2.0**i)
        parts = parts + (-1.0) ** i * scale * slope * g[k + i + 1, j]
    small, first = mth.minimum(x, turn), max(0, m - k)
    terms: list[float] = []
    size = 1.0
    while size > 1e-17 or len(terms) < 4:
        n = first + len(terms)
        terms.append(scale * (-1.0) ** n * math.comb(j - 1 + n, n) / math.factorial(k + n) * _moment(m, k + n))
        size = abs(terms[-1] / terms[0]) * turn ** (len(terms) - 1)
    series = terms[-1] + 0.0 * x
    for term in reversed(terms[:-1]):
        series = term + small * series
    return mth.where(x < turn, _power(small, first) * series, parts)


def _moment(m: int, power: int) -> float:
    """Return the integral over [0, 1] of s^power times the Legendre polynomial m on this interval."""
    if power < m:
        return 0.0
    return math.factorial(power) ** 2 / (math.factorial(power - m) * math.factorial(power + m + 1))


class Decaying:
    """Predictor of quantities that decay.

    Stored coefficients are the state at the start of the step, for later readers, and the coefficients of Legendre
    polynomials over the step, whose integral is exact. The value in the cell itself is exact, too. The last weight of
    ``at`` is the time; the second weight of an integral over the whole step is its length.
    """

    starts_with_state = True
    incremental = False
    first_integral = 1

    def __init__(self, form: CellTerms):
        self.form, n = form, form.order
        self.rows, self.face_rows = [tet_size(n - 1)] * (n + 1), [triangle_size(n - 1)] * (n + 1)
        self.part_rows, self.terms = (self.rows[1], self.face_rows[1]), n + 2
        self.packets = packets(form)
        self.most = max(max(level) for level in self.packets)

    def at(self, tau: float, step: float) -> list[float]:
        share = tau / step if step > 0.0 else 0.0  # 0 for the empty step between two steps
        found = [float(legendre.legval(2.0 * share - 1.0, unit)) for unit in np.eye(self.form.order)]
        return [0.0, *found, tau / self.form.unit]

    def integral(self, begin: float, end: float, step: float) -> list[float]:
        x, half = [2.0 * t / step - 1.0 for t in (begin, end)], 0.5 * step / self.form.unit
        units = np.eye(self.form.order)
        return [0.0, *[half * float(np.diff(legendre.legval(x, legendre.legint(unit)))[0]) for unit in units]]

    def scalars(self, step: float) -> dict[str, Table]:
        return {}

    def ended(self, step: float) -> dict[str, Table]:
        return {"ended_step": step / self.form.unit}

    def lasting(self, k: Kernel, cell: Array) -> Array:
        """Return the fraction g_11 of a constant contribution of the faces that is left at the end of a step.

        Quantities decay during the step while faces add to them.
        """
        share, length = k.temp("lasting", 1, 1), k.scalar("ended_step")
        k.pointwise(lambda cell, c: [[differences(self.form.decay(cell) * c[0], 1, 1)[1, 1]]], [cell, length], [share])
        return share

    def expand(self, k: Kernel, q: Array, cell: Array, sums: Sequence[Sum], series: Array | None = None) -> None:
        """Record the expansion; ``series`` receives the state and the Legendre coefficients of the step.

        The sums must extend to the end of the step.
        """
        if not sums:
            raise ValueError("the time of a step comes with a sum")
        weights, parts = self._weights(k, cell, sums), [s for s in sums if s.part]
        modes = self._modes(k, cell, sums[0]) if series is not None or parts else None
        targets: list[tuple[View, dict[tuple[int, int], View]]] = [
            (s.target.view(), {kj: w[s.integral] for kj, w in weights.items()}) for s in sums if not s.part
        ]
        if modes is not None:
            targets += [(s.target.view(), self._parted(k, modes, s)) for s in parts]
        if series is not None and modes is not None:
            b3 = self.form.b3
            k.pointwise(lambda q: [list(q)], [q], [series.view(0, b3)])
            targets += [
                (series.view((m + 1) * b3, b3), {kj: w[m] for kj, w in modes.items()}) for m in range(self.form.order)
            ]
        level = self._start(k, q, cell)
        for number, listed in enumerate(self.packets):
            rows = tet_size(self.form.order - 1 - number)
            for target, weight in targets:
                self._add(k, target, level, {j: weight[number, j] for j in listed}, number)
            if number + 1 < self.form.order:
                level = self._next(k, level, cell, number, rows)

    def _time(self, s: Sum) -> View:
        """Return the time of a value, or the length of an integral from the start of the step."""
        return s.table.view(1 if s.integral else self.form.order + 1, 1)

    def _numbers(
        self,
        k: Kernel,
        name: str,
        cell: Array,
        s: Sum,
        columns: Sequence[Callable[[Number, Number, Mapping[tuple[int, int], Number]], Number]],
        top: int,
    ) -> Array:
        """Return a temporary with one number for each of ``columns``, functions of the time, r t and g_kj up to k = ``top``."""
        target = k.temp(name, 1, len(columns))

        def numbers(cell: Numbers, time: Numbers) -> Outputs:
            x = self.form.decay(cell) * time[0]
            g = differences(x, top, self.most)
            return [[of(time[0], x, g) for of in columns]]

        k.pointwise(numbers, [cell, self._time(s)], [target])
        return target

    def _weights(self, k: Kernel, cell: Array, sums: Sequence[Sum]) -> dict[tuple[int, int], tuple[View, View]]:
        """Return the weights of each y_kj in a value and in an integral at the time of the first sum, which all sums share."""
        listed = [(n, j) for n, level in enumerate(self.packets) for j in level]
        columns = [
            lambda t, x, g, n=n, j=j, more=more: _power(t, n + more) * g[n + more, j]
            for n, j in listed
            for more in (False, True)
        ]
        made = self._numbers(k, "decay_weights", cell, sums[0], columns, self.form.order)
        return {kj: (made.view(0, 1, 2 * i, 1), made.view(0, 1, 2 * i + 1, 1)) for i, kj in enumerate(listed)}

    def _modes(self, k: Kernel, cell: Array, s: Sum) -> dict[tuple[int, int], list[View]]:
        """Return the weights of each y_kj in the coefficients of Legendre polynomials over the step."""
        order = self.form.order
        listed = [(n, j) for n, level in enumerate(self.packets) for j in level]

        columns = [
            lambda t, x, g, n=n, j=j, m=m: _power(t, n) * legendre_mode(x, g, n, j, m)
            for n, j in listed
            for m in range(order)
        ]
        made = self._numbers(k, "decay_modes", cell, s, columns, 2 * order - 1)
        return {kj: [made.view(0, 1, order * i + m, 1) for m in range(order)] for i, kj in enumerate(listed)}

    def _parted(self, k: Kernel, modes: dict[tuple[int, int], list[View]], s: Sum) -> dict[tuple[int, int], View]:
        """Return the weights of each y_kj in the integral over a part of the step, computed from the Legendre polynomials."""
        order, size = self.form.order, len(modes)
        given, made = next(iter(modes.values()))[0].array, k.temp(f"decay_{s.target.name}", 1, size)

        def summed(modes: Numbers, *table: Numbers) -> Outputs:
            shares = [t[0] for t in table]
            return [
                [
                    sum(c * x for c, x in zip(shares, modes[order * i : order * (i + 1)], strict=True))
                    for i in range(size)
                ]
            ]

        tables = [s.table.view(1 + m, 1) for m in range(order)]
        k.pointwise(summed, [given, *tables], [made])
        return {kj: made.view(0, 1, i, 1) for i, kj in enumerate(modes)}

    def _temp(self, k: Kernel, number: int, j: int) -> Array:
        return k.scratch(f"decay{number % 2}_{j}_{tet_size(self.form.order - 1 - number)}",
                         tet_size(self.form.order - 1 - number), self.form.Q)  # fmt: skip

    def _start(self, k: Kernel, q: Array, cell: Array) -> dict[int, Array]:
        """Return y_00 = (1 - P) q and y_01 = P q."""
        made = {j: self._temp(k, 0, j) for j in (0, 1)}

        def parted(q: Numbers, cell: Numbers) -> Outputs:
            fading = self.form.decaying(q, cell)
            return [[a - b for a, b in zip(q, fading, strict=True)], [x + 0.0 * q[0] for x in fading]]

        k.pointwise(parted, [q, cell], [made[0], made[1]])
        return made

    def _next(self, k: Kernel, level: dict[int, Array], cell: Array, number: int, rows: int) -> dict[int, Array]:
        """Return y_(k+1)j of all j: the lasting part of each packet's derivatives plus the decaying part of the packet before."""
        form, made = self.form, {}
        fewer = tet_size(form.order - 2 - number)
        after = {j: k.scratch(f"after{j}_{fewer}", fewer, form.differentiated) for j in level}
        reached = {}
        for j, source in level.items():
            present = self.packets[number][j]
            reached[j] = form.reached(present)
            form.differentiate_present(k, source.view(0, rows), fewer, after[j], cell, present)
        for j in self.packets[number + 1]:
            here = [i for i in (j, j - 1) if i in level]
            made[j] = self._temp(k, number + 1, j)

            def combined(cell: Numbers, *given: Numbers, here: list[int] = here, j: int = j) -> Outputs:
                total = [0.0] * form.Q  # type: list[Number]
                for i, a in zip(here, given, strict=True):
                    d = form.rate([x if on else 0.0 for x, on in zip(a, reached[i], strict=True)], cell)
                    fading = form.decaying(d, cell)
                    part = fading if i == j - 1 else [x - y for x, y in zip(d, fading, strict=True)]
                    total = [x + y for x, y in zip(total, part, strict=True)]
                return [total]

            k.pointwise(combined, [cell, *[after[i].view(0, fewer) for i in here]], [made[j].view(0, fewer)])
        return made

    def _add(self, k: Kernel, target: View, level: dict[int, Array], weights: dict[int, View], number: int) -> None:
        """Add sum_j weight_j y_kj to the target; the first level sets it."""
        rows = tet_size(self.form.order - 1 - number)
        view = View(target.array, target.row, rows, target.col, target.cols)
        order = list(weights)
        present = [self.packets[number][j] for j in order]
        count = len(order)

        def added(*given: Numbers) -> Outputs:
            before = given[0] if number else [0.0] * self.form.Q
            values = given[1 if number else 0 :]
            result = list(before)
            for y, c, there in zip(values[:count], values[count:], present, strict=True):
                result = [r + c[0] * x if on else r for r, x, on in zip(result, y, there, strict=True)]
            return [result]

        ins = [*([view] if number else []), *[level[j].view(0, rows) for j in order], *[weights[j] for j in order]]
        k.pointwise(added, ins, [view])


def _power(t: Number, n: int) -> Number:
    result = 1.0  # type: Number
    for _ in range(n):
        result = result * t
    return result
