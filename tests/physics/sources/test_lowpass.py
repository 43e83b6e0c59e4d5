"""The low-pass of sources against the response of Butterworth's filter."""

import numpy as np
import pytest

from faultwave.base.errors import InputError, Problems
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.spectrum import lowpassed, lowpassed_function, warn_corner_frequency
from faultwave.physics.sources.time_functions import Brune, Samples, Triangle, Yoffe
from tests.messages import raises

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
    assert np.average(t, weights=made.value(t)) == pytest.approx(1.0 + 0.416 / 1.5, abs=1e-3)


def test_only_where_asked():
    source = PointSource(np.zeros(3), Brune(0.1), force=np.ones(3), onset=1.0)
    (same,) = lowpassed([source], None, 5.0)
    assert same.function == source.function
    assert lowpassed([source], 2.0, 0.5)[0].onset == 1.0


def test_corners_that_push_sources_out_of_the_run_are_told():
    problems = Problems()
    warn_corner_frequency(None, 10.0, problems)
    warn_corner_frequency(5.0, 10.0, problems)
    assert not problems.items
    warn_corner_frequency(0.01, 10.0, problems)
    assert "delays all sources by 41.6 s, and the run ends at 10 s" in str(problems.warnings[0])


def test_a_later_end_time_leaves_sources_as_they_were():
    """A run that is resumed with a later end has the same sources; only functions too long to be sampled whole are cut."""
    source = PointSource(np.zeros(3), Brune(0.1), force=np.ones(3), onset=1.0)
    short, whole = (lowpassed([source], 2.0, end) for end in (1.2, 50.0))
    assert np.array_equal(short.identity(), whole.identity())
    long = PointSource(np.zeros(3), Samples(np.ones(2_000), 1000.0), force=np.ones(3))
    assert lowpassed([long], 2.0, 10.0)[0].function.end == pytest.approx(10.0, abs=0.1)


@pytest.mark.parametrize("corner", [3e4, 1e6, 1e30])
def test_a_corner_that_needs_too_many_samples_is_refused(corner):
    """It used to cut the function short, and with it the moment."""
    with raises(InputError):
        lowpassed([PointSource(np.zeros(3), Triangle(2.0), force=np.ones(3))], corner, 5.0)


def test_a_high_corner_leaves_a_function_as_it_is():
    made = lowpassed_function(Triangle(2.0), 5e3, 5.0)
    t = np.linspace(0.0, 2.5, 40)
    assert np.allclose(made.integral(t), Triangle(2.0).integral(t), atol=2e-4)
