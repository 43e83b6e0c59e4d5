"""Clusters on any ladder meet at any times, and everyone reads every neighbour's motion exactly once."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultwave.dg.stepping.local_time_stepping import LocalTimeStepping
from tests.messages import raises


@dataclass
class Cluster:
    """What the data of one cluster cover, as times [begin, end]."""

    end: float = 0.0  # of its dofs
    step: tuple[float, float] | None = None  # that it predicted last
    parts: list[tuple[float, float]] = field(default_factory=list)  # of that step, for the faster neighbour
    predicted: bool = False
    sums: list[list[tuple[float, float]]] = field(default_factory=list)  # for the last steps of the slower neighbour


class Recorder:
    """Stands for the physics: keeps the buffers' time spans as the operator keeps the buffers, and checks every read."""

    def __init__(self, count: int, time: float):
        self.turns, self.overlap = 0, None
        self.march: LocalTimeStepping | None = None
        self.clusters = [Cluster(end=time) for _ in range(count)]
        self.read: list[list[tuple[float, float]]] = [
            [] for _ in range(2 * count)
        ]  # from below 2 i, from above 2 i + 1
        self.steps: list[list[tuple[float, float]]] = [[] for _ in range(count)]

    def predict(self, cluster: int, time: float, step: float, restart: bool) -> None:
        c = self.clusters[cluster]
        assert not c.predicted, "predicted twice"
        assert time == pytest.approx(c.end, abs=1e-14), f"predicts from {time}, reached {c.end}"
        assert step > 0
        c.step, c.predicted = (time, time + step), True
        assert self.march is not None
        ends = self.march.ends_within(cluster)
        assert not ends if cluster == 0 else ends[-1] == step
        c.parts = [(time + a, time + b) for a, b in itertools.pairwise((0.0, *ends))]
        if restart:
            c.sums = [*c.sums, []][-2:]
        c.sums[-1].append(c.step)

    def correct(self, cluster: int, time: float, step: float) -> None:
        c = self.clusters[cluster]
        assert c.predicted and c.step == pytest.approx((time, time + step), abs=1e-12)
        if cluster > 0:  # reads the sums of the faster one: they must cover the step without gap or overlap
            spans = next(s for s in self.clusters[cluster - 1].sums if s[0][0] == pytest.approx(time, abs=1e-9))
            assert spans[0][0] == pytest.approx(time, abs=1e-9)
            assert spans[-1][1] == pytest.approx(time + step, abs=1e-9)
            assert all(a[1] == pytest.approx(b[0], abs=1e-9) for a, b in itertools.pairwise(spans))
        if cluster + 1 < len(self.clusters):  # reads what the slower one left of exactly this step, and only once
            left = self.clusters[cluster + 1].parts
            assert left and left.pop(0) == pytest.approx((time, time + step), abs=1e-9)
        c.end, c.predicted = time + step, False
        self.steps[cluster].append((time, time + step))

    def correct_and_predict(self, cluster: int, time: float, step: float, following: float, restart: bool) -> None:
        self.correct(cluster, time, step)
        self.turns += 1
        if cluster > 0:  # the faster one no longer needs the traces that the next prediction overwrites
            assert not self.clusters[cluster - 1].predicted or self.clusters[cluster - 1].end >= time + step - 1e-9
            assert not self.clusters[cluster].parts
        self.predict(cluster, time + step, following, restart)


def check_steps(steps: list[tuple[float, float]], begin: float, meetings: Sequence[float], longest: float) -> None:
    assert steps[0][0] == begin
    assert steps[-1][1] == pytest.approx(meetings[-1], abs=1e-12)
    assert all(a[1] == pytest.approx(b[0], abs=1e-12) for a, b in itertools.pairwise(steps))
    ends = np.array([e for _, e in steps])
    for meeting in meetings:  # everyone stops there
        assert np.abs(ends - meeting).min() < 1e-12
    for a, b in steps:
        assert b - a <= longest * (1 + 1e-8)
        if b - a < longest * (1 - 1e-8):  # only the last before a meeting is shortened
            assert min(abs(b - m) for m in meetings) < 1e-9


def march(rates: Sequence[int], tick: float, meetings: Sequence[float], start: float = 0.0) -> Recorder:
    recorder = Recorder(len(rates), start)
    marching = recorder.march = LocalTimeStepping(tick, rates, start)
    for meeting in meetings:
        marching.advance(meeting, recorder)
        assert marching.time == meeting
        assert all(c.end == pytest.approx(meeting, abs=1e-12) for c in recorder.clusters)
    for rate, steps in zip(rates, recorder.steps, strict=True):
        check_steps(steps, start, meetings, tick * rate)
    return recorder


@pytest.mark.parametrize("rate", (1, 2, 3))
@pytest.mark.parametrize("count", (1, 2, 3, 5))
def test_uniform_ladders(rate: int, count: int) -> None:
    ladder = [rate**i for i in range(count)]
    recorder = march(ladder, 0.25, [0.25 * ladder[-1] * 2])
    assert [len(s) for s in recorder.steps] == [2 * ladder[-1] // r for r in ladder]


def test_only_the_first_and_last_step_before_a_meeting_are_no_turn() -> None:
    recorder = march([1, 2, 6], 0.25, [6.0, 9.0])
    assert recorder.turns == sum(len(s) for s in recorder.steps) - 3 * 2


def test_no_cluster_is_shortened_when_all_fit() -> None:
    recorder = march([1, 2, 4], 0.1, [0.8, 1.6])
    for rate, steps in zip((1, 2, 4), recorder.steps, strict=True):
        np.testing.assert_allclose([b - a for a, b in steps], 0.1 * rate, rtol=1e-12)


@settings(max_examples=80, deadline=None)
@given(
    factors=st.lists(st.integers(1, 4), max_size=4),
    tick=st.floats(1e-3, 10.0),
    pauses=st.lists(st.floats(0.01, 40.0), min_size=1, max_size=4),
    start=st.floats(0.0, 100.0),
)
def test_any_ladder_and_any_meetings(factors: list[int], tick: float, pauses: list[float], start: float) -> None:
    ladder = list(np.cumprod([1, *factors]))
    tick, pauses = tick / 4, [min(p, 60 * tick) for p in pauses]
    unit = 1.0 / max(tick, start + sum(pauses))  # times around one, so that tolerances mean the same
    meetings = [float(m) * unit for m in start + np.cumsum(pauses)]
    march(ladder, tick * unit, meetings, start * unit)


def test_meeting_sooner_than_a_tick() -> None:
    recorder = march([1, 2], 1.0, [1e-3, 0.5, 5.0])
    assert recorder.steps[0][:2] == [(0.0, 1e-3), (1e-3, 0.5)]


def test_rounding_makes_no_sliver_of_a_step() -> None:
    """0.1 + 0.1 + 0.1 is more than 0.3, 10 x 0.1 less than 1: still 3 and 10 steps."""
    assert len(march([1], 0.1, [0.3]).steps[0]) == 3
    assert len(march([1], 0.1, [1.0 + 1e-13]).steps[0]) == 10
    assert len(march([1], 0.1, [0.7000000000000001]).steps[0]) == 7


def test_many_steps_end_exactly() -> None:
    """Times are counted, not summed: after 30 000 steps the end is the number asked for."""
    recorder = march([1, 3], 1e-3 / 3, [10.0])
    assert recorder.steps[0][-1][1] == 10.0
    for i, (a, _) in enumerate(recorder.steps[0]):
        assert a == pytest.approx(i * 1e-3 / 3, abs=1e-13)


def test_longest_step() -> None:
    assert LocalTimeStepping(0.5, [1, 2, 6], Recorder(3, 0.0)).longest == 3.0


def test_time_already_reached() -> None:
    """Nothing happens when asked for the time that is, or one a rounding error ahead; there is no way back."""
    recorder = Recorder(2, 1.0)
    marching = recorder.march = LocalTimeStepping(0.1, [1, 2], 1.0)
    marching.advance(1.0, recorder)
    marching.advance(1.0 + 1e-14, recorder)
    assert recorder.steps == [[], []] and marching.time == 1.0 + 1e-14
    with raises(ValueError):
        marching.advance(0.5, recorder)


def test_steps_of_as_many_ticks_are_the_same_to_the_last_bit() -> None:
    """What is recorded of a step once may be done again later."""
    recorder = Steps()
    march = recorder.march = LocalTimeStepping(0.1, [1, 2])
    for _ in range(50):
        march.advance(march.time + march.longest, recorder)
    assert recorder.lengths == {0.1, 0.2}
    march.advance(march.time + 0.15, recorder)  # only a shortened one differs
    assert len(recorder.lengths) == 4 and min(recorder.lengths) == pytest.approx(0.05)


@pytest.mark.parametrize("rates", [(1,), (1, 2, 6)])
def test_moments_are_the_same_to_the_last_bit_however_many_steps_are_taken_at_once(rates: tuple[int, ...]) -> None:
    """What looks at the time, as sources and samples do, finds the same when largest steps are replayed and when they go one by one."""
    begun: list[list[tuple[int, float]]] = []
    for at_once in (1, 7, 28):
        recorder = Steps()
        march = recorder.march = LocalTimeStepping(0.1, rates, 0.3)
        for _ in range(28 // at_once):
            march.advance(march.time_after(at_once), recorder)
        begun.append(sorted(recorder.begun))
        assert march.moment(0) == march.time
    assert begun[0] == begun[1] == begun[2]
    plain = {0.3 + 0.1 * rates[0] * n for n in range(28 * max(rates) // rates[0])}
    assert {t for c, t in begun[0] if c == 0} != plain, "else nothing is shown"


@pytest.mark.parametrize("tick", np.geomspace(0.01, 0.03, 20))
def test_late_steps_are_as_many_as_early_ones(tick: float) -> None:
    """Rounding of a sum of many, late in a run, is no step more."""
    recorder = Steps()
    march = recorder.march = LocalTimeStepping(float(tick), [1, 2], 4e6 * float(tick))
    for at_once in (1, 64):
        recorder.begun.clear()
        march.advance(march.time_after(at_once), recorder)
        assert Counter(c for c, _ in recorder.begun) == {0: 2 * at_once, 1: at_once}
    assert recorder.lengths == {tick, 2 * tick}


class Steps:
    """The begin of every correction, and every length of a step, and of a time within a slower one."""

    march: LocalTimeStepping
    overlap = None

    def __init__(self) -> None:
        self.lengths: set[float] = set()
        self.begun: list[tuple[int, float]] = []

    def predict(self, cluster: int, time: float, step: float, restart: bool) -> None:
        self.lengths |= {step, *self.march.ends_within(cluster)}

    def correct(self, cluster: int, time: float, step: float) -> None:
        self.lengths.add(step)
        self.begun.append((cluster, time))

    def correct_and_predict(self, cluster: int, time: float, step: float, following: float, restart: bool) -> None:
        self.correct(cluster, time, step)
        self.predict(cluster, time + step, following, restart)


@pytest.mark.parametrize("rates", [(1,), (1, 2, 4), (1, 3, 6)])
@pytest.mark.parametrize("looks", [0, 1, 7, 20, 60])
def test_a_pause_lets_all_meet_early_and_changes_no_step(rates: tuple[int, ...], looks: int) -> None:
    """Wherever it comes: after a whole number of largest steps, whose moments are those of a march without pause."""
    straight, paused = Recorder(len(rates), 0.3), Recorder(len(rates), 0.3)
    march = straight.march = LocalTimeStepping(0.1, rates, 0.3)
    march.advance(march.time_after(9), straight)
    other = paused.march = LocalTimeStepping(0.1, rates, 0.3)
    left, end = iter(range(looks)), other.time_after(9)
    other.advance(end, paused, lambda: next(left, None) is None)
    met = (other.time - 0.3) / other.longest
    assert met == pytest.approx(round(met)) and 1 <= round(met) <= max(1, looks)
    if round(met) < 9:
        other.advance(other.time_after(9 - round(met)), paused)
    assert other.time == march.time == end
    assert straight.steps == paused.steps
