"""Seismograms of one step for all."""

import numpy as np
import pytest

from faultwave.observe.series import SeriesRecorder


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_cubics_are_kept_and_sampled(kind):
    """By cubic polynomials, each column at its own time within a step; in the numbers that the run computes in."""
    step, late = 0.1, [0.5, 1.0]

    def values(n):
        t = step * (np.atleast_1d(n)[:, None] + np.array(late))
        return (1 + t - 2 * t**2 + t**3)[:, None, None, :]

    recorder = SeriesRecorder(step, late, values(-1)[0].astype(kind))
    recorder.append(values(np.arange(4)))
    again = SeriesRecorder(step, late, values(-1)[0].astype(kind))
    again.restore(recorder.steps())
    for one in (recorder, again):
        one.append(values(np.arange(4, 10)))
        assert one.steps().dtype == kind and one.steps().shape == (11, 1, 1, 2)
        time, found = one.arrays(0.07)
        assert time == pytest.approx(0.07 * np.arange(15)) and found.dtype == np.float64
        expected = (1 + time - 2 * time**2 + time**3)[:, None, None, None]
        assert np.abs(found - expected).max() < (1e-6 if kind is np.float32 else 1e-13)
    assert np.array_equal(recorder.arrays(0.07)[1], again.arrays(0.07)[1])
