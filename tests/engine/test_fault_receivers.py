"""Histories on the fault: each cluster samples after its own steps, shorter histories are padded."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from faultwave.engine.fault_receivers import FaultRecorder


def recording(
    clusters: Sequence[np.ndarray],
    every: int,
    quantities: int,
    now: Callable[[int], np.ndarray],
    leader: int | None = None,
    at_once: int = 1,
) -> FaultRecorder:
    """A recorder that gets the values ``now`` (n, quantities) of readings, so many ``at_once``."""
    kept: dict[int, list[np.ndarray]] = {c: [] for c in range(len(clusters))}

    def read(cluster: int) -> None:
        if len(kept[cluster]) == at_once:
            recorder.deliver(cluster, np.array(kept[cluster]))
            kept[cluster].clear()
        kept[cluster].append(now(cluster))

    def rest() -> None:
        for c, values in kept.items():
            if values:
                recorder.deliver(c, np.array(values))
                values.clear()

    recorder = FaultRecorder(clusters, every, quantities, read, leader)
    recorder.rest = rest  # type: ignore[attr-defined]
    return recorder


def test_every_second_step_of_two_clusters() -> None:
    now = {0: 0.0, 1: 0.0}

    def read(cluster: int) -> np.ndarray:
        return np.array([[10.0 * i + now[cluster], -1.0] for i in clusters[cluster]])

    clusters = [np.array([2, 0]), np.array([1])]
    recorder = recording(clusters, 2, 2, read)
    for cluster, step, count in ((0, 0.1, 7), (1, 0.25, 3)):
        for i in range(count):
            now[cluster] = (i + 1) * step
            recorder.record(cluster, i * step, step)
    recorder.rest()
    time, values = recorder.arrays()
    assert time.shape == (3, 3) and values.shape == (3, 3, 2)
    np.testing.assert_allclose(time[:, 0], [0.2, 0.4, 0.6])
    np.testing.assert_allclose(time[:, 2], [0.2, 0.4, 0.6])
    np.testing.assert_allclose(time[0, 1], 0.5)
    assert np.isnan(time[1:, 1]).all() and np.isnan(values[1:, 1]).all()
    np.testing.assert_allclose(values[:, 0, 0], [0.2, 0.4, 0.6])
    np.testing.assert_allclose(values[:, 2, 0], [20.2, 20.4, 20.6])
    np.testing.assert_allclose(values[0, 1], [10.5, -1.0])


def test_clusters_without_points_are_not_read() -> None:
    recorder = recording([np.array([], int), np.array([0])], 1, 1, lambda cluster: np.full((cluster, 1), 3.0))
    recorder.record(0, 0.0, 1.0)
    assert recorder.arrays()[0].shape == (0, 1)
    recorder.record(1, 1.0, 1.0)
    recorder.rest()
    np.testing.assert_array_equal(recorder.arrays()[0], [[2.0]])


@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_times_of_the_fastest_cluster(at_once: int) -> None:
    """As in SeisSol's files: a slower point gives at each time of the fastest cluster what the end of its own step leaves, whenever
    readings arrive."""
    for slow_first in (False, True):
        now = {0: 0.0, 1: 0.0}
        clusters = [np.array([0]), np.array([1])]
        recorder = recording(clusters, 1, 1, lambda c, now=now: np.array([[now[c]]]), 0, at_once)
        recorder.begin(0.0)

        def step(cluster: int, begin: float, length: float, now=now, recorder=recorder) -> None:
            now[cluster] = begin + length
            recorder.record(cluster, begin, length)

        for begin in (0.0, 0.2, 0.4):
            step(0, begin, 0.1)
            calls = [(0, begin + 0.1, 0.1), (1, begin, 0.2)]
            for call in reversed(calls) if slow_first else calls:
                step(*call)
        recorder.rest()
        time, values = recorder.arrays()
        np.testing.assert_allclose(time, np.array([[t, t] for t in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)]), atol=1e-12)
        np.testing.assert_allclose(values[:, 0, 0], [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6], atol=1e-12)
        np.testing.assert_allclose(values[:, 1, 0], [0.0, 0.2, 0.2, 0.4, 0.4, 0.6, 0.6], atol=1e-12)
        now = {0: -1.0, 1: -1.0}
        again = recording(clusters, 1, 1, lambda c, now=now: np.array([[now[c]]]), 0, at_once)
        again.begin(0.0)
        again.restore(recorder.state(), True)  # with readings on their way that are nobody's now
        np.testing.assert_array_equal(again.arrays()[1], values)
        now |= {0: 7.0, 1: 8.0}
        again.record(0, 0.6, 0.1)
        again.record(1, 0.6, 0.2)
        again.rest()
        np.testing.assert_array_equal(again.arrays()[1], [*values, [[7.0], [8.0]]])


def test_which_steps_will_be_read() -> None:
    """As told before, so they are read; steps alike in that are alike, whatever has been counted."""
    read: list[int] = []
    recorder = FaultRecorder([np.array([0]), np.array([], int), np.array([1])], 5, 1, read.append)
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
    assert FaultRecorder([np.array([0])], 5, 1, read.append, leader=0).reads([4]) == ()


@pytest.mark.parametrize("leader", [None, 0])
def test_what_others_own_is_asked_for_alike_and_not_kept(leader: int | None) -> None:
    """Where the values go elsewhere no list grows with the steps."""
    asked: list[list[int]] = [[], []]
    made = [
        FaultRecorder([np.array([0]), np.array([1])], 3, 1, of.append, leader, k)
        for of, k in zip(asked, (True, False), strict=True)
    ]
    for recorder in made:
        recorder.begin(0.0)
        for n in range(40):
            recorder.record(0, 0.1 * n, 0.1)
            if n % 2:
                recorder.record(1, 0.1 * (n - 1), 0.2)
    assert asked[0] == asked[1] and len(asked[0]) > 15 and made[0].count == made[1].count
    lengths = [[len(x) for x in (*r.moments.values(), *r.waiting.values())] for r in made]
    assert max(lengths[1]) == 1 < max(lengths[0])
