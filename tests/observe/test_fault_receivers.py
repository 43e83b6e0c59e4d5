"""Histories on the fault: each cluster samples after its own steps, shorter histories are padded."""

import numpy as np

from faultwave.observe.fault_receivers import FaultRecorder


def test_every_second_step_of_two_clusters() -> None:
    now = {0: 0.0, 1: 0.0}

    def read(cluster: int) -> np.ndarray:
        return np.array([[10.0 * i + now[cluster], -1.0] for i in clusters[cluster]])

    clusters = [np.array([2, 0]), np.array([1])]
    recorder = FaultRecorder(clusters, 2, read)
    for cluster, step, count in ((0, 0.1, 7), (1, 0.25, 3)):
        for i in range(count):
            now[cluster] = (i + 1) * step
            recorder.record(cluster, i * step, step)
    time, values = recorder.arrays(2)
    assert time.shape == (3, 3) and values.shape == (3, 3, 2)
    np.testing.assert_allclose(time[:, 0], [0.2, 0.4, 0.6])
    np.testing.assert_allclose(time[:, 2], [0.2, 0.4, 0.6])
    np.testing.assert_allclose(time[0, 1], 0.5)
    assert np.isnan(time[1:, 1]).all() and np.isnan(values[1:, 1]).all()
    np.testing.assert_allclose(values[:, 0, 0], [0.2, 0.4, 0.6])
    np.testing.assert_allclose(values[:, 2, 0], [20.2, 20.4, 20.6])
    np.testing.assert_allclose(values[0, 1], [10.5, -1.0])


def test_clusters_without_points_are_not_read() -> None:
    recorder = FaultRecorder([np.array([], int), np.array([0])], 1, lambda cluster: np.full((cluster, 1), 3.0))
    recorder.record(0, 0.0, 1.0)
    assert recorder.arrays(1)[0].shape == (0, 1)
    recorder.record(1, 1.0, 1.0)
    np.testing.assert_array_equal(recorder.arrays(1)[0], [[2.0]])


def test_times_of_the_fastest_cluster() -> None:
    """As in SeisSol's files: a slower point gives at each time of the fastest cluster what the end of its own step leaves."""
    for slow_first in (False, True):
        now = {0: 0.0, 1: 0.0}
        recorder = FaultRecorder([np.array([0]), np.array([1])], 1, lambda c, now=now: np.array([[now[c]]]), leader=0)
        recorder.begin(0.0)

        def step(cluster: int, begin: float, length: float, now=now, recorder=recorder) -> None:
            now[cluster] = begin + length
            recorder.record(cluster, begin, length)

        for begin in (0.0, 0.2, 0.4):
            step(0, begin, 0.1)
            calls = [(0, begin + 0.1, 0.1), (1, begin, 0.2)]
            for call in reversed(calls) if slow_first else calls:
                step(*call)
        time, values = recorder.arrays(1)
        np.testing.assert_allclose(time, np.array([[t, t] for t in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)]), atol=1e-12)
        np.testing.assert_allclose(values[:, 0, 0], [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6], atol=1e-12)
        np.testing.assert_allclose(values[:, 1, 0], [0.0, 0.2, 0.2, 0.4, 0.4, 0.6, 0.6], atol=1e-12)
        again = FaultRecorder([np.array([0]), np.array([1])], 1, lambda c: np.ones((1, 1)), leader=0)
        again.restore(recorder.state(1), True)
        np.testing.assert_array_equal(again.arrays(1)[1], values)


def test_which_steps_will_be_read() -> None:
    """As told before, so they are read; steps alike in that are alike, whatever has been counted."""
    read: list[int] = []
    recorder = FaultRecorder(
        [np.array([0]), np.array([], int), np.array([1])], 5, lambda c: read.append(c) or np.ones((1, 1))
    )
    told = []
    for _ in range(10):
        told.append(recorder.reads([4, 2, 1]))
        for step in range(4):
            before = len(read)
            recorder.record(0, 0.0, 1.0)
            assert (len(read) > before) == (step + 1 in told[-1][0])
        recorder.record(1, 0.0, 1.0)
        recorder.record(1, 0.0, 1.0)
        before = len(read)
        recorder.record(2, 0.0, 1.0)
        assert (len(read) > before) == (told[-1][1] == (1,))
    assert told[:5] == [((), ()), ((1,), ()), ((2,), ()), ((3,), ()), ((4,), (1,))] and told[5:] == told[:5]
    assert FaultRecorder([np.array([0])], 5, lambda c: np.ones((1, 1)), leader=0).reads([4]) == ()
