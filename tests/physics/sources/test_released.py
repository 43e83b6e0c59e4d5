"""How much of sources falls into a run."""

import numpy as np
import pytest

from faultwave.base.errors import Problems
from faultwave.base.magnitude import magnitude
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.released import check_representable, check_time, moment_of, shares_within
from faultwave.physics.sources.time_functions import (
    Brune,
    Burst,
    Ricker,
    Samples,
    Triangle,
    Yoffe,
    error_function,
    gaussian,
)

FUNCTIONS = [Brune(0.3), Ricker(0.5), gaussian(0.1), error_function(0.2), Triangle(1.0), Yoffe(1.0, 0.1), Burst(0.2, 10.0),
             Samples(np.array([0.0, 1.0, -2.0, 0.0]), 0.1)]  # fmt: skip


def source(function, onset=0.0, name="source"):
    return PointSource(np.zeros(3), function, moment=np.array([0, 0, 0, 1e15, 0, 0]), onset=onset, name=name)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_end(function):
    """What comes after ``end`` is less than a millionth of the largest integral, and much of S lies before it."""
    t = np.linspace(0, function.end, 4001)
    whole = function.integral(t)
    assert abs(function.integral(50 * function.end) - whole[-1]) < 1e-6 * np.abs(whole).max()
    assert np.abs(function.value(t[2000:] * 2 - function.end + 1e-9)).max() >= 0
    assert (
        np.abs(function.value(function.end * (1 + np.linspace(1e-6, 5, 500))))
        < 1e-4 * np.abs(function.value(t[1:])).max()
    ).all()


@pytest.mark.parametrize(
    ("onset", "end", "share"), [(0.0, 1.0, 1), (0.5, 1.0, 0.5), (-0.25, 9.0, 0.875), (-50, 9, 0), (50, 0.5, 0)]
)
def test_share_of_a_triangle(onset, end, share):
    assert shares_within([source(Triangle(1.0), onset)], end)[0] == pytest.approx(share, abs=0.003)


def test_wavelets_are_missed_too():
    """Though their integral is nothing."""
    assert shares_within([source(Ricker(0.5), -50.0)], 9.0)[0] == 0.0
    assert shares_within([source(Ricker(0.5), 8.25)], 9.0)[0] == pytest.approx(0.5, abs=0.01)


def test_what_is_lost_is_named():
    problems = Problems()
    check_time(
        [source(Triangle(1.0), 0.0), source(Triangle(1.0), 5.0, "late"), source(Triangle(1.0), -0.5, "early")],
        5.0,
        problems,
    )
    (warning,) = problems.warnings
    assert "2 of 3 act outside of the run, 0 to 5 s" in warning.what
    assert "late with onset 5 s: 100 %, early with onset -0.5 s: 50 %" in warning.what
    check_time([source(Triangle(1.0))], 1.0, none := Problems())
    assert not none.items


def test_moment_within_the_run():
    sources, moduli = [source(Triangle(1.0)), source(Triangle(1.0), 9.5)], np.ones((2, 2))
    assert moment_of(sources, moduli, 5.0) == pytest.approx(1e15)
    assert moment_of(sources, moduli, 10.0) == pytest.approx(1.5e15)
    assert magnitude(1.0e15) == pytest.approx(3.93, abs=0.005)


def test_onsets_beyond_the_end_are_told_however_late_they_are():
    """A duration beside 1e90 s is lost to rounding."""
    for onset in (5.0, 1e90):
        problems = Problems()
        check_time([source(gaussian(0.1), onset)], 4.0, problems)
        assert f"with onset {onset:g} s: 100 %" in str(problems.warnings[0])


def test_sources_beyond_the_precision_are_an_error():
    force = PointSource(np.zeros(3), gaussian(0.1), force=np.array([0.0, 0.0, 1e40]), name="push")
    for precision, wrong in (("single", 1), ("double", 0)):
        problems = Problems()
        check_representable([source(gaussian(0.1)), force], precision, problems)
        assert len(problems.errors) == wrong
    check_representable([force], "single", problems)
    assert "push is 1e+40, which single precision cannot represent" in str(problems.errors[0])
