"""The predictor of quantities that relax at one rate: exact for every rate, in any precision, in every basis of time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.polynomial import legendre
from scipy.linalg import expm

from faultwave import backends
from faultwave.dg.method.forms import Form
from faultwave.dg.method.predictors import Decaying, Sum, Taylor
from faultwave.dg.method.predictors.decaying import differences, legendre_mode
from faultwave.kernels.language import Kernel
from faultwave.physics import waves as laws

ROCK = {"mu": 1.0, "lambda": 1.0, "bulk_fluid": 1.0, "bulk_solid": 4.0, "permeability": 1.0, "porosity": 0.3, "rho_fluid": 0.5,
        "rho": 1.0, "tortuosity": 2.0, "viscosity": 1.0}  # fmt: skip
RATE = 0.32903225806451613  # of decay, for a viscosity of one


def poroelastic(order: int, predictor: Any = Decaying) -> Form:
    law: Any = laws.law("poroelastic").adapted({k: np.array([v]) for k, v in ROCK.items()})
    return Form(law, order, predictor=predictor)


def cell_constants(form: Form, viscosity: np.ndarray) -> np.ndarray:
    """(cells, size) of one tetrahedron with several viscosities."""
    values = {k: np.full(len(viscosity), v) for k, v in ROCK.items()} | {"viscosity": viscosity}
    inverse = np.tile(np.random.default_rng(2).normal(size=9), (len(viscosity), 1))
    numbers = {
        "inverse": inverse, "constants": np.stack(form.law.constants(values), 1),
        "impedance": np.stack(form.law.impedance(values), 1), "rates": np.stack(form.law.rates(values), 1),
    }  # fmt: skip
    return form.cell_columns.join(numbers)


def run(
    form: Form,
    build: Any,
    q: np.ndarray,
    cell: np.ndarray,
    out: tuple[int, int],
    on: Any = ("numpy", "double"),
    **scalars: Any,
) -> np.ndarray:
    """The result (cells, *out) of a kernel of q and cell."""
    device: Any = backends.make(*on, 1)
    k = Kernel("probe")
    build(k, k.batch("q", form.b3, form.Q, "inout"), form.cell(k), k.batch("out", *out, "out"))
    items = -(-len(q) // device.lanes) * device.lanes
    sizes = {"q": (form.b3, form.Q), "cell": (1, form.cell_size), "out": out}
    buffers = {name: device.batch(items, *size) for name, size in sizes.items()}
    for name, values in (("q", q), ("cell", cell[:, None])):
        buffers[name].put(values[:1])
        buffers[name].put(values, np.arange(len(q)))
    device.compile([k])["probe"](buffers)(0, items, **scalars)
    return np.asarray(buffers["out"].get())[: len(q)].astype(float)


def generator(form: Form, cell: np.ndarray) -> np.ndarray:
    """(n, n) matrix of dq/dt in one cell without neighbours."""
    n = form.b3 * form.Q
    unit = np.eye(n).reshape(n, form.b3, form.Q)

    def build(k: Kernel, q: Any, cell: Any, out: Any) -> None:
        form.first(k, q, cell, out, react=True)

    found = run(form, build, unit, np.tile(cell, (n, 1)), (form.b3, form.Q))
    return found.reshape(n, n).T


STEP = 0.4
VISCOSITIES = np.array([0.0, 1e-9, 0.3, 8.0, 70.0, 1e7, 1e10]) / (RATE * STEP)  # r t from 0 to 1e10


@pytest.mark.parametrize("order, backend, precision, tolerance", [
    (2, "numpy", "double", 1e-13), (3, "numpy", "double", 1e-13), (4, "numpy", "double", 1e-12), (3, "cpu", "double", 1e-13),
    (3, "cpu", "single", 2e-6),
])  # fmt: skip
def test_a_cell_evolves_as_the_exponential_of_its_equations(
    order: int, backend: str, precision: str, tolerance: float
) -> None:
    """Value and integral at the end of a step, for rates of decay over eighteen decades in one launch."""
    form = poroelastic(order)
    cells = cell_constants(form, VISCOSITIES)
    b3 = form.b3
    q = np.tile(np.random.default_rng(1).normal(size=(1, b3, form.Q)), (len(cells), 1, 1))

    def build(k: Kernel, q: Any, cell: Any, out: Any) -> None:
        value, total = k.temp("value", b3, form.Q), k.temp("total", b3, form.Q)
        sums = [Sum(value, k.scalar("advance", order + 2)), Sum(total, k.scalar("integral", order + 1), True)]
        form.predictor.expand(k, q, cell, sums)
        for i, part in enumerate((value, total)):
            k.pointwise(lambda x: [list(x)], [part], [out.view(i * b3, b3)])

    weights = {"advance": form.predictor.at(STEP, STEP), "integral": form.predictor.integral(0.0, STEP, STEP)}
    found = run(form, build, q, cells, (2 * b3, form.Q), (backend, precision), **weights).reshape(len(cells), 2, -1)
    for number, rate in enumerate(VISCOSITIES * RATE):
        if rate * STEP < 1e3:
            start, n = q[number].reshape(-1), q[number].size
            matrix = np.block([[generator(form, cells[number]), np.zeros((n, n))], [np.eye(n), np.zeros((n, n))]])
            both = expm(STEP * matrix)
            exact = np.stack([both[:n, :n] @ start, both[n:, :n] @ start])
            assert (np.abs(found[number] - exact) < tolerance * np.abs(exact).max(1, keepdims=True)).all(), rate
    # The fastest two, to leading order: w is as much smaller as the rate is larger, the rest is the same.
    slower, faster = (found[i].reshape(2, b3, form.Q) for i in (-2, -1))
    ratio = VISCOSITIES[-1] / VISCOSITIES[-2]
    for columns, factor in ((slice(0, 10), 1.0), (slice(10, 13), ratio)):
        want = slower[..., columns]
        np.testing.assert_allclose(factor * faster[..., columns], want, atol=2e-6 * np.abs(want).max())


def test_kept_coefficients_are_the_best_polynomial_in_time() -> None:
    """Legendre coefficients of the exact motion; the first is its mean, so that integrals over steps are exact."""
    order = 3
    form = poroelastic(order)
    cells = cell_constants(form, VISCOSITIES[:4])
    q = np.random.default_rng(1).normal(size=(len(cells), form.b3, form.Q))

    def build(k: Kernel, q: Any, cell: Any, out: Any) -> None:
        form.predictor.expand(k, q, cell, [Sum(q, k.scalar("advance", order + 2))], out)

    found = run(form, build, q, cells, ((order + 1) * form.b3, form.Q), advance=form.predictor.at(STEP, STEP))
    x, w = legendre.leggauss(24)
    for number in range(len(cells)):
        matrix, start = generator(form, cells[number]), q[number].reshape(-1)
        at = np.stack([expm(0.5 * STEP * (1 + s) * matrix) @ start for s in x])
        modes = [(2 * m + 1) / 2 * (w * legendre.legval(x, np.eye(order)[m])) @ at for m in range(order)]
        exact = np.stack([start, *modes]).reshape(found[number].shape)
        np.testing.assert_allclose(found[number], exact, atol=2e-13 * np.abs(exact).max())


def test_without_decay_it_is_the_taylor_series() -> None:
    order, step = 4, 0.3
    exact, taylor = poroelastic(order), poroelastic(order, Taylor)
    cells = cell_constants(exact, np.zeros(2))
    q = np.random.default_rng(1).normal(size=(2, exact.b3, exact.Q))
    found = []
    for form in (exact, taylor):

        def build(k: Kernel, q: Any, cell: Any, out: Any, form: Form = form) -> None:
            form.predictor.expand(k, q, cell, [Sum(out, k.scalar("advance", form.predictor.terms))])

        found.append(run(form, build, q, cells, (exact.b3, exact.Q), advance=form.predictor.at(step, step)))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12, atol=1e-12)


def test_weights_of_kept_coefficients() -> None:
    class Here:
        order, unit = 4, 2.0

    own = Decaying.__new__(Decaying)
    own.form = Here()  # type: ignore[assignment]
    x = np.polynomial.Polynomial([0.3, -1.0, 2.0, 0.7])
    modes = legendre.poly2leg(x(np.polynomial.Polynomial([0.5, 0.5])).coef)
    assert np.dot(own.at(0.12, 0.4)[1:5], modes) == pytest.approx(x(0.3), rel=1e-13)
    area = x.integ()
    assert np.dot(own.integral(0.1, 0.3, 0.4)[1:], modes) == pytest.approx(0.2 * (area(0.75) - area(0.25)), rel=1e-13)
    assert np.isfinite(own.at(0.0, 0.0)).all() and own.at(0.0, 0.0)[5] == 0.0
    assert own.at(0.12, 0.4)[5] == 0.06 and own.integral(0.0, 0.4, 0.4) == pytest.approx([0, 0.2, 0, 0, 0], abs=1e-16)


@pytest.mark.parametrize("top, most", [(1, 1), (7, 3), (15, 5)])
@pytest.mark.parametrize("kind, tolerance", [(np.float64, 1e-14), (np.float32, 5e-6)])
def test_divided_differences_keep_their_digits(top: int, most: int, kind: type, tolerance: float) -> None:
    """Against their recurrence in fractions with many digits."""
    x = np.array([1e-3, 0.3, 1.0, top, top + 0.999, top + 1.001, top + 3, 30, 100, 1e4, 1e10]).astype(kind)
    found = differences(x, top, most)
    for i, value in enumerate(x):
        exact = many_digits(float(value), top, most)
        for kj, numbers in found.items():
            if exact[kj] > 1e-30:
                got = float(np.broadcast_to(numbers, x.shape)[i])
                assert got == pytest.approx(exact[kj], rel=tolerance), (kj, value)


@pytest.mark.parametrize("x", [1e-3, 0.4, 1.99, 2.01, 5.0, 300.0])
@pytest.mark.parametrize(
    "order, kind, tolerance", [(4, np.float64, 2e-12), (7, np.float64, 2e-11), (4, np.float32, 1e-3)]
)
def test_modes_of_decay_keep_their_digits(x: float, order: int, kind: type, tolerance: float) -> None:
    """Against integrals of exp(-x s) and of its iterated integrals."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    s, width = [], 1.0 / 400
    for i in range(400):
        s.append(width * (i + 0.5 * (1 + nodes)))
    at = np.concatenate(s)
    area = np.tile(0.5 * width * weights, 400)
    found = differences(np.array([x]).astype(kind), 2 * order - 1, 2)
    inner = differences(x * at, order, 2)
    for k, j in ((0, 1), (1, 1), (2, 2)):
        for m in range(order):
            values = at**k * inner[k, j] * legendre.legval(2 * at - 1, np.eye(order)[m])
            exact, size = (2 * m + 1) * (area @ values), (2 * m + 1) * (area @ np.abs(values))
            got = float(legendre_mode(np.array([x]).astype(kind), found, k, j, m)[0])
            assert abs(got - exact) < tolerance * max(abs(exact), 1e-2 * size), (k, j, m)


def many_digits(x: float, top: int, most: int) -> dict[tuple[int, int], float]:
    from decimal import Decimal, localcontext
    from math import factorial

    with localcontext() as context:
        context.prec = 250
        number, found = Decimal(x), {}
        for a in range(1, top + 2):
            found[a, 0] = Decimal(1) / factorial(a - 1)
        for b in range(1, most + 1):
            found[0, b] = (-number).exp() / factorial(b - 1)
        for k in range(1, top + 1):
            for b in range(1, min(most, k) + 1):
                found[k + 1 - b, b] = (found[k + 1 - b, b - 1] - found[k - b, b]) / number
        return {(a + b - 1, b): float(v) for (a, b), v in found.items()}
