"""Predictors are exchangeable: Legendre polynomials over the step say the same as derivatives at its start."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import Any

import numpy as np
import pytest
from numpy.polynomial import legendre, polynomial

from faultwave.dg.method.predictors import CellTerms, Sum, Taylor
from faultwave.dg.method.predictors.taylor import powers
from faultwave.dg.operators.kernels import coefficient, series_sum
from faultwave.dg.sampling import Samples
from faultwave.kernels.language import Array, Kernel

from .driver import Waves, cube, plane_waves


class LegendreInTime:
    """The same polynomial in time in Legendre polynomials over the step: every coefficient has all rows, and its basis belongs to the
    length of the step, as that of a space-time predictor."""

    starts_with_state, first_integral = False, 0

    def __init__(self, form: CellTerms):
        self.form, self.taylor = form, Taylor(form)
        self.terms, (b3, b2) = form.order, (self.taylor.rows[0], self.taylor.face_rows[0])
        self.rows, self.face_rows, self.part_rows = [b3] * self.terms, [b2] * self.terms, (b3, b2)

    def scalars(self, step: float) -> dict[str, Any]:
        """Coefficients (terms, terms) of tau^k/k! in Legendre polynomials of x = 2 tau/step - 1, time in the kernels' unit."""
        half, columns = 0.5 * step / self.form.unit, []
        for k in range(self.terms):
            monomial = polynomial.polypow([half, half], k) / factorial(k)
            columns.append(np.pad(legendre.poly2leg(monomial), (0, self.terms - 1 - k)))
        return {"legendre": np.stack(columns, 1)}

    def lasting(self, k: Kernel, cell: Array) -> None:
        return None

    def ended(self, step: float) -> dict[str, Any]:
        return {}

    def at(self, tau: float, step: float) -> list[float]:
        return [float(legendre.legval(2.0 * tau / step - 1.0, unit)) for unit in np.eye(self.terms)]

    def integral(self, begin: float, end: float, step: float) -> list[float]:
        x, half = [2.0 * t / step - 1.0 for t in (begin, end)], 0.5 * step / self.form.unit
        return [half * float(np.diff(legendre.legval(x, legendre.legint(unit)))[0]) for unit in np.eye(self.terms)]

    def expand(self, k: Kernel, q: Array, cell: Array, sums: Sequence[Sum], series: Array | None = None) -> None:
        rows, n = self.taylor.rows, self.terms
        derivatives = k.temp("derivatives", sum(rows), self.form.Q)
        self.taylor.expand(k, q, cell, [], derivatives)
        table, parts = k.scalar("legendre", n, n), [coefficient(derivatives, rows, j) for j in range(n)]
        made = [k.temp(f"legendre{j}", self.form.b3, self.form.Q) for j in range(n)]
        for j, target in enumerate(made):
            series_sum(k, target, parts, lambda i, j=j: table.view(j, 1, i, 1))  # type: ignore[misc]
            if series is not None:
                k.pointwise(lambda x: [list(x)], [target], [coefficient(series, self.rows, j)])
        for s in sums:
            series_sum(k, s.target, [x.view() for x in made], lambda i, s=s: s.table.view(i, 1))  # type: ignore[misc]


def test_taylor_weights_are_those_of_the_monomials() -> None:
    class Form:
        order, unit, full = 4, 2.0, False

    own = Taylor(Form())  # type: ignore[arg-type]
    assert own.at(0.6, 9.9) == list(powers(0.3, 4)[0]) and own.terms == 4 and own.starts_with_state
    # The integral over two parts of an interval is that over both.
    parts = np.add(own.integral(0.2, 0.5, 1.0), own.integral(0.5, 1.1, 1.0))
    assert np.allclose(parts, own.integral(0.2, 1.1, 1.0), rtol=1e-14)
    assert np.allclose(own.integral(0.0, 0.6, 1.0), [0.3, 0.3**2 / 2, 0.3**3 / 6, 0.3**4 / 24], rtol=1e-14)


@pytest.mark.parametrize("backend, fast", [("numpy", True), ("cpu", False), ("cpu", True)])
def test_another_basis_in_time_gives_the_same(backend: str, fast: bool) -> None:
    """Local time stepping, kept coefficients and samplers included; the time unit is not a second."""
    keep, found = (0, 5, 11), []
    basis = np.random.default_rng(1).normal(size=(3, 2, 10))
    for kind in (Taylor, LegendreInTime):
        waves = Waves(
            cube(3, boundaries=dict.fromkeys("xyz", "free-surface"), perturb=0.25, seed=5),
            order=3,
            backend=backend,
            rates=(2,),
            keep=keep,
            fast=fast,
            time_unit=0.3,
            predictor=kind,
        )
        waves.start(plane_waves(0.0))
        assert waves.layout.clusters > 1, "the mesh should need several time steps"
        cells = np.array(keep)
        members = [np.flatnonzero(waves.clustering.cluster[cells] == c) for c in range(waves.layout.clusters)]
        samples = Samples(waves.operator, cells, members, basis)
        taken: dict[int, Any] = {}

        def take(
            cluster: int, time: float, step: float, into: Any = taken, of: Any = samples, who: Any = members
        ) -> None:
            if len(who[cluster]):
                into[cluster] = of.take(cluster, 0.37 * step)

        waves.predicted.append(take)
        waves.run(0.1)
        between = waves.operator.sampler(basis[0])
        for cluster in range(waves.layout.clusters):
            between(cluster, 0.01)
        values = [taken[c].values() for c in sorted(taken)]
        found.append([waves.operator.dofs(), between.get(np.arange(len(waves.cells.volume))), *values])
    for taylor, other in zip(*found, strict=True):
        assert np.isfinite(taylor).all() and np.abs(taylor).max() > 0.1
        assert np.abs(other - taylor).max() < 1e-12 * np.abs(taylor).max()


def test_weights_of_times_are_numbers_of_python():
    """NumPy's make double products of single numbers; which of both was asked first must not matter."""
    for time in (np.float64(0.1875), 0.1875):
        assert {type(w) for weights in powers(time, 4) for w in weights} == {float}
