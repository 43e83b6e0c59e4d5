"""Derivatives of recorded formulas: equal to differences, through branches and iterations."""

import numpy as np
import pytest

from faultwave.kernels import math as m
from faultwave.kernels.derivatives import DifferentiableFormula
from faultwave.kernels.expr import Expr

RNG = np.random.default_rng(5)
X, Y = RNG.uniform(0.2, 0.9, 7), RNG.uniform(1.1, 2.0, 7)


def formula(function, *names):
    inputs = [Expr("input", value=(name,)) for name in names]
    return DifferentiableFormula({"f": function(*inputs)}, lambda key: True)


FUNCTIONS = {
    "arithmetic": lambda x, y: (x + 2.0) * y - x / y + (-x) * 3.0,
    "powers": lambda x, y: m.sqrt(x) + m.pow(x, y) + m.hypot(x, y),
    "logarithms": lambda x, y: m.exp(x) * m.log(y) + m.log1p(x) * m.expm1(y),
    "hyperbolic": lambda x, y: m.sinh(x) + m.cosh(y) * m.tanh(x) + m.asinh(y),
    "circular": lambda x, y: m.sin(x) * m.cos(y) + m.asin(x) + m.atan(y) + m.erf(x),
    "branches": lambda x, y: m.where((x < 0.5) | ~(y <= 1.5), x * x, y * y) + m.minimum(x, 0.4) * m.maximum(y, 1.3) + m.abs(x - y),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_differences(name):
    function = FUNCTIONS[name]
    made = formula(function, "x", "y")
    at = made.evaluate({("x",): X, ("y",): Y})
    assert np.allclose(at.outputs["f"], function(X, Y), rtol=1e-14)
    weight = RNG.uniform(0.5, 1.5, 7)
    found = made.pull_back(at, {"f": weight})
    h = 1e-5
    for key, (dx, dy) in {("x",): (h, 0), ("y",): (0, h)}.items():
        expected = weight * (function(X + dx, Y + dy) - function(X - dx, Y - dy)) / (2 * h)
        assert np.allclose(found[key], expected, rtol=1e-8)


def test_a_root_found_by_iteration():
    """The iteration counts as constant; one step of Newton's method after it has the derivatives of the root."""

    def newton(x, v):
        return v - (v * v - x) / (2.0 * v)

    def root(x):
        (found,) = m.iterate(lambda v: ((newton(x, v),), m.abs(v * v - x) > 1e-14), (0.0 * x + 1.0,), 30)
        return newton(x, found)

    made = formula(root, "x")
    at = made.evaluate({("x",): Y})
    assert np.allclose(at.outputs["f"], np.sqrt(Y), rtol=1e-14)
    assert np.allclose(made.pull_back(at, {"f": np.ones(7)})[("x",)], 0.5 / np.sqrt(Y), rtol=1e-12)


def test_the_slope_of_a_branch_that_was_not_chosen():
    """An infinite slope there does not enter."""
    made = formula(lambda x: m.where(x > 0.0, m.log(x), 0.0 * x), "x")
    at = made.evaluate({("x",): np.array([0.0, 2.0])})
    assert np.array_equal(made.pull_back(at, {"f": np.ones(2)})[("x",)], [0.0, 0.5])


def test_only_variables_are_differentiated():
    inputs = Expr("input", value=("x",)), Expr("input", value=("y",))
    made = DifferentiableFormula({"f": inputs[0] * inputs[1]}, lambda key: key == ("x",))
    at = made.evaluate({("x",): X, ("y",): Y})
    found = made.pull_back(at, {"f": np.ones(7)})
    assert list(found) == [("x",)] and np.array_equal(found["x",], Y)
