"""The low-pass of sources against the response of Butterworth's filter."""

import numpy as np
import pytest

from faultwave.base.errors import InputError, Problems
from faultwave.physics.sources.lowpass import lowpassed, lowpassed_function, usable_corner
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.time_functions import Brune, Samples, Triangle, Yoffe

SHARP = Samples(np.array([0.0, 1.0, 0.0]), 0.001)


def amplitude(function, frequency):
    t = np.linspace(0, function.end, 200001)
    middle = 0.5 * (t[1:] + t[:-1])
    return np.abs((np.diff(function.integral(t)) * np.exp(-2j * np.pi * frequency * middle)).sum())


@pytest.mark.parametrize("ratio", [0.3, 1.0, 2.0])
def test_response(ratio):
    """abs(H)^2 = 1 / (1 + (f / corner)^8)."""
    made = lowpassed_function(SHARP, 2.0, 100.0)
    expected = 1 / np.sqrt(1 + ratio**8)
    assert amplitude(made, 2.0 * ratio) / float(SHARP.integral(1.0)) == pytest.approx(expected, rel=0.04)


@pytest.mark.parametrize("function", [Brune(0.1), Triangle(2.0), Yoffe(1.0, 0.0), SHARP])
def test_moments_stay_and_nothing_comes_before_its_onset(function):
    made = lowpassed_function(function, 1.5, 100.0)
    assert float(made.integral(100.0)) == pytest.approx(float(function.integral(100.0)), rel=1e-5)
    assert float(made.value(0.0)) == 0.0 and float(made.integral(-1.0)) == 0.0


def test_delay():
    """Of the centre of mass: 0.416 / corner."""
    made = lowpassed_function(Triangle(2.0), 1.5, 100.0)
    t = np.linspace(0, made.end, 20001)
    assert np.average(t, weights=made.value(t)) == pytest.approx(1.0 + 0.416 / 1.5, abs=0.01)


def test_only_where_asked_and_as_long_as_the_run():
    source = PointSource(np.zeros(3), Brune(0.1), force=np.ones(3), onset=1.0)
    (same,) = lowpassed([source], None, 5.0)
    assert same.function == source.function
    (short,), (whole,) = (lowpassed([source], 2.0, end) for end in (1.2, 50.0))
    t = np.linspace(0, 1.2, 200)
    assert np.allclose(short.value(t), whole.value(t)) and short.function.end < whole.function.end
    assert lowpassed([source], 2.0, 0.5)[0].onset == 1.0


def test_corners_that_a_step_cannot_represent_filter_nothing():
    problems = Problems()
    assert usable_corner(None, 0.01, 10.0, problems) is None and not problems.items
    assert usable_corner(5.0, 0.01, 10.0, problems) == 5.0 and not problems.items
    assert usable_corner(1e30, 0.01, 10.0, problems) is None
    assert "1e+30 Hz lies above the Nyquist frequency of the time step, 50 Hz" in str(problems.warnings[0])


def test_corners_that_push_sources_out_of_the_run_are_told():
    problems = Problems()
    assert usable_corner(0.01, 0.01, 10.0, problems) == 0.01
    assert "delays all sources by 41.6 s, and the run ends at 10 s" in str(problems.warnings[0])


def test_more_samples_than_can_be_had_are_an_error_not_a_cut():
    with pytest.raises(InputError, match=r"grid\.lowpass: 1e\+06 Hz needs .* samples"):
        lowpassed_function(Triangle(2.0), 1e6, 100.0)
