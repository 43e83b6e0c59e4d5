"""Time functions of SW4: their formulas, and the time functions of a case that replace them."""

import numpy as np
import pytest
from scipy import integrate

from faultwave.case.settings.sources import TimeFunction
from faultwave.case.sw4.time_functions import NAMES, SHAPES, convert, shape_of
from faultwave.physics.sources.time_functions import time_function

FREQ, START, END = 3.0, 2.5, 9.0


def history(name, t, freq=FREQ, cycles=2):
    """g(t) of SW4's guide, with t0 = 0, written independently of the code."""
    w, s = freq, freq * t
    pulse = (s >= 0) & (s <= 1)
    liu_t, liu_1 = 2 * np.pi / w, 0.13 * 2 * np.pi / w
    smooth = 1 + s + s**2 / 2 - 1.5 / 2.31 * s**3 + 1.5 / 2.31**2 * s**4 - 0.5 / 2.31**3 * s**5
    odd = [(1, 1), (3, -1), (5, 1), (7, -1)]

    def liu_rate(x):
        c = np.pi / (1.4 * np.pi * liu_1 + 1.2 * liu_1 + 0.3 * np.pi * (liu_t - liu_1))
        fall = 0.3 * np.cos(np.pi * (x - liu_1) / (liu_t - liu_1))
        up = 0.7 * np.cos(np.pi * x / liu_1)
        if x < liu_1:
            return c * (0.7 - up + 0.6 * np.sin(np.pi * x / (2 * liu_1)))
        return c * (1 - up + fall) if x < 2 * liu_1 else c * (0.3 + fall) if x < liu_t else 0.0

    formulas = {
        "Gaussian": lambda: w / np.sqrt(2 * np.pi) * np.exp(-(s**2) / 2),
        "GaussianInt": lambda: integrate.quad(
            lambda x: np.exp(-((w * x) ** 2) / 2) * w / np.sqrt(2 * np.pi), -9 / w, t
        )[0],
        "Ricker": lambda: (2 * (np.pi * s) ** 2 - 1) * np.exp(-((np.pi * s) ** 2)),
        "RickerInt": lambda: integrate.quad(lambda x: history("Ricker", x), -3 / w, t)[0],
        "Ramp": lambda: (1 - np.cos(np.pi * np.clip(s, 0, 1))) / 2,
        "Triangle": lambda: pulse * 16 * w / np.pi**2 * sum(q * np.sin(k * np.pi * s) / k**2 for k, q in odd),
        "Sawtooth": lambda: pulse * 8 / np.pi**2 * sum(q * np.sin(2 * k * np.pi * s) / k**2 for k, q in odd),
        "SmoothWave": lambda: pulse * (2187 * s**3 - 10935 * s**4 + 19683 * s**5 - 15309 * s**6 + 4374 * s**7) / 8,
        "VerySmoothBump": lambda: pulse * 1024 * s**5 * (1 - 5 * s + 10 * s**2 - 10 * s**3 + 5 * s**4 - s**5),
        "C6SmoothBump": lambda: pulse * 51480 * s**7 * (1 - s) ** 7,
        "Brune": lambda: (s > 0) * (1 - np.exp(-s) * (1 + s)),
        "BruneSmoothed": lambda: (s > 0) * (1 - np.exp(-s) * (smooth if s < 2.31 else 1 + s)),
        "DBrune": lambda: (s > 0) * w * s * np.exp(-s),
        "Liu": lambda: integrate.quad(liu_rate, 0, max(t, 0), points=[liu_1, 2 * liu_1], limit=200)[0],
        "GaussianWindow": lambda: np.sin(s) * np.exp(-(s**2) / (2 * cycles**2)),
    }
    return float(formulas["GaussianInt" if name == "Erf" else name]())


TIMES = np.array([0.3, 2.2, 2.45, 2.5, 2.56, 2.6, 2.71, 2.8, 3.1, 3.4, 4.2, 6.0])


@pytest.mark.parametrize("name", NAMES)
def test_a_force_has_the_history_of_sw4(name):
    made = convert(name, FREQ, START, False, END, 2)
    function = time_function(TimeFunction(**made.setting), "here")
    expected = np.array([history(name, t - START) for t in TIMES])
    found = made.sign * function.value(TIMES - made.onset)
    assert found == pytest.approx(expected, abs=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("name", NAMES)
def test_the_moment_that_a_rate_releases_is_the_history_of_sw4(name):
    made = convert(name, FREQ, START, True, END, 2)
    function = time_function(TimeFunction(**made.setting), "here")
    expected = np.array([history(name, t - START) for t in TIMES])
    found = made.sign * function.integral(TIMES - made.onset)
    assert found == pytest.approx(expected, abs=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("name", SHAPES)
def test_slopes_are_those_of_the_values(name):
    shape = shape_of(name, 1)
    x = np.linspace(shape.start, shape.end, 400)[1:-1]
    x = x[np.abs(x - 2.31) > 1e-3]
    there = (shape.value(x + 1e-6) - shape.value(x - 1e-6)) / 2e-6
    assert shape.slope(x) == pytest.approx(there, abs=1e-5 * np.abs(there).max())


def test_functions_of_unit_integral_or_unit_end():
    for name in ("Gaussian", "Triangle", "C6SmoothBump"):
        made = convert(name, FREQ, START, False, END)
        whole = float(time_function(TimeFunction(**made.setting), "here").integral(END))
        # The series of the triangle ends after four terms; the bump integrates to one for freq = 1.
        assert whole == pytest.approx({"Triangle": 1.0, "C6SmoothBump": 1 / FREQ}.get(name, 1.0), rel=2e-3)
    for name in ("GaussianInt", "Brune", "BruneSmoothed", "Liu", "Ramp"):
        made = convert(name, FREQ, START, True, END)
        assert float(time_function(TimeFunction(**made.setting), "here").integral(60.0)) == pytest.approx(1.0, rel=1e-5)


def test_too_many_samples():
    with pytest.raises(ValueError, match="samples"):
        convert("Ramp", 1e6, 0.0, False, 10.0)
