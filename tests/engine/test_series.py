"""Seismograms of one step for all."""

import numpy as np
import pytest

from faultwave.engine.receivers import SeriesRecorder, interpolate


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_cubics_are_kept_and_sampled(kind):
    """By cubic polynomials, each column at its own time within a step; in the numbers that the run computes in."""
    step, late = 0.1, [0.5, 1.0]

    def values(n):
        t = step * (np.atleast_1d(n)[:, None] + np.array(late))
        return (1 + t - 2 * t**2 + t**3)[:, None, None, :]

    recorder = SeriesRecorder(step, late, values(-1)[0].astype(kind), 0.07)
    recorder.append(values(np.arange(4)))
    again = SeriesRecorder(step, late, values(-1)[0].astype(kind), 0.07)
    again.restore(recorder.state())
    for one in (recorder, again):
        one.append(values(np.arange(4, 10)))
        assert all(array.dtype == kind for name, array in one.state().items() if name != "count")
        time, found = one.arrays()
        assert time == pytest.approx(0.07 * np.arange(15)) and found.dtype == np.float64
        expected = (1 + time - 2 * time**2 + time**3)[:, None, None, None]
        assert np.abs(found - expected).max() < (1e-6 if kind is np.float32 else 1e-13)
    assert np.array_equal(recorder.arrays()[1], again.arrays()[1])


@pytest.mark.parametrize("interval", [0.013, 0.1, 0.1 * (1 + 1e-15), 0.37, 3.0, 50.0])
@pytest.mark.parametrize("chunks", [[1] * 60, [7, 30, 1, 22], [2, 58]])
def test_samples_do_not_depend_on_how_steps_come_and_steps_are_forgotten(interval, chunks):
    """At any moment they are those of all steps so far, kept."""
    step, late, rng = 0.1, [0.5, 1.0, 1.0], np.random.default_rng(4)
    values = rng.normal(size=(61, 2, 1, 3))
    recorder, at = SeriesRecorder(step, late, values[0], interval), 1
    for count in chunks:
        recorder.append(values[at : at + count])
        at += count
        time, found = recorder.arrays()
        whole = interpolate(values[:at, ..., :1], time / step - 0.5 + 1.0, at)
        assert np.array_equal(found[..., :1], whole) and len(time) == int((at - 1) * step / interval + 1e-9) + 1
        assert np.array_equal(found[..., 1:], interpolate(values[:at, ..., 1:], time / step - 1.0 + 1.0, at))
        assert len(recorder.last) == min(at, 4)
    assert recorder.taken >= len(time) - max(4, 3 * step / interval)


def test_samples_far_finer_than_steps_come_at_once():
    recorder = SeriesRecorder(0.01, [1.0], np.zeros((1, 1, 1)), 1e-7)
    for n in range(6):
        recorder.append(np.full((1, 1, 1, 1), float(n)))
    assert len(recorder.arrays()[0]) == 600_001
