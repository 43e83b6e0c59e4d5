"""Source time functions: values by hand, exact antiderivatives, unit integrals."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad

from faultwave.base.errors import InputError
from faultwave.physics.friction.imposed import yoffe_rate
from faultwave.physics.sources.time_functions import (
    Brune,
    Ricker,
    Samples,
    Triangle,
    Yoffe,
    error_function,
    gaussian,
    time_function,
)

SAMPLED = Samples(np.array([0.0, 2.0, -1.0, 0.5]), 0.25)
FUNCTIONS = {
    "brune": (Brune(0.1), [0.0, 0.1, 0.5, 9.0]),
    "ricker": (Ricker(0.4), [0.0, 0.6, 1.2, 9.0]),
    "gaussian": (gaussian(0.3), [0.0, 1.8, 4.0, 9.0]),
    "error-function": (error_function(0.3), [0.0, 1.2, 2.4, 9.0]),
    "triangle": (Triangle(0.7), [0.0, 0.35, 0.7, 9.0]),
    "yoffe": (Yoffe(1.1, 0.2), [0.0, 0.2, 0.4, 1.1, 1.3, 1.5, 9.0]),
    "yoffe-short": (Yoffe(0.3, 0.2), [0.0, 0.2, 0.3, 0.4, 0.5, 0.7, 9.0]),
    "samples": (SAMPLED, [0.0, 0.25, 0.5, 0.75, 9.0]),
}
ALL = pytest.mark.parametrize("name", list(FUNCTIONS))


@ALL
def test_integral_is_the_antiderivative_and_starts_at_onset(name):
    f, corners = FUNCTIONS[name]
    for t in (0.05, 0.21, 0.37, 0.68, 1.2, 2.9):
        edges = [c for c in corners if c < t] + [t]
        area = sum(quad(lambda x: float(f.value(x)), a, b, epsabs=1e-12)[0]
                   for a, b in zip(edges, edges[1:], strict=False))  # fmt: skip
        assert f.integral(t) == pytest.approx(area, abs=2e-9)
    assert np.all(f.value(np.array([-3.0, -1e-9])) == 0) and np.all(f.integral(np.array([-3.0, 0.0])) == 0)


@ALL
def test_total(name):
    f, _ = FUNCTIONS[name]
    total = {"ricker": 0.0, "samples": 0.25 * (0.0 / 2 + 2.0 - 1.0 + 0.5 / 2)}.get(name, 1.0)
    assert f.integral(50.0) == pytest.approx(total, abs=2e-9)


@ALL
def test_vectorised(name):
    f, _ = FUNCTIONS[name]
    t = np.linspace(-0.3, 3, 12).reshape(3, 4)
    assert f.value(t).shape == f.integral(t).shape == (3, 4)
    assert f.value(t)[1, 2] == f.value(t[1, 2]) and f.integral(t)[1, 2] == f.integral(t[1, 2])


def test_values_by_hand():
    assert Brune(0.1).value(0.1) == pytest.approx(10.0 * np.exp(-1))
    assert Ricker(0.5).value(0.75) == pytest.approx(1.0)
    assert Ricker(0.5).value(0.75 + 0.5 / (np.pi * np.sqrt(2))) == pytest.approx(0.0, abs=1e-15)
    assert Triangle(0.5).value(np.array([0.125, 0.25])) == pytest.approx([2.0, 4.0])
    assert gaussian(0.3).value(1.8) == pytest.approx(1 / (0.3 * np.sqrt(2 * np.pi)), rel=1e-8)
    assert gaussian(0.3).value(2.1) / gaussian(0.3).value(1.8) == pytest.approx(np.exp(-0.5))
    assert error_function(0.3).integral(1.5) == pytest.approx(0.5 * (1 + 0.8427007929), rel=1e-7)  # erf(1)
    assert SAMPLED.value(np.array([0.125, 0.25, 0.375, 0.75, 0.76])) == pytest.approx([1.0, 2.0, 0.5, 0.5, 0.0])


def test_yoffe_equals_the_fault_law_and_its_singular_limit():
    t = np.linspace(-0.1, 1.7, 40)
    assert Yoffe(1.1, 0.2).value(t) == pytest.approx(yoffe_rate(t, 0.2, 1.1), abs=1e-12)
    sharp, smooth = Yoffe(1.1, 0.0), Yoffe(1.1, 1e-3)
    assert sharp.integral(t) == pytest.approx(smooth.integral(t + 1e-3), abs=0.03)
    assert sharp.integral(0.4) == pytest.approx(quad(lambda x: float(sharp.value(x)), 0, 0.4)[0], abs=1e-8)
    assert sharp.integral(9.0) == 1.0 and np.isfinite(sharp.value(0.0))


def setting(**values):
    values = {"duration": 1.0, "frequency": None, "acceleration": 0.0, "samples": [], "interval": 1.0} | values
    return SimpleNamespace(**values)


def test_settings_make_functions():
    kinds = ("brune", "ricker", "gaussian", "triangle", "yoffe", "error-function")
    for kind in kinds:
        made = time_function(setting(kind=kind, duration=0.6))
        assert made.integral(60.0) == pytest.approx(0.0 if kind == "ricker" else 1.0, abs=1e-7)
    assert time_function(setting(kind="samples", samples=[0, 1, 0], interval=2.0)).integral(9.0) == 2.0
    assert time_function(setting(kind="ricker", frequency=2.0)) == time_function(setting(kind="ricker", duration=0.5))


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        ({"kind": "yoffe", "acceleration": 2.0}, "shorter than acceleration"),
        ({"kind": "samples", "samples": [1.0]}, "two or more"),
        ({"kind": "samples", "samples": [1.0, float("nan")]}, "finite"),
        ({"kind": "bruno"}, "brune, ricker"),
    ],
)
def test_bad_settings(bad, text):
    with pytest.raises(InputError, match=text):
        time_function(setting(**bad), "sources[0].time_function")
