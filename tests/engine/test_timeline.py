"""Timer of a run: every second of the steps belongs to one section, to waiting, or to the rest."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from faultwave.base.spans import KERNELS, STEPS, WAITING, recording
from faultwave.engine import timeline as timelines
from faultwave.engine.timeline import UNTIMED, Timeline


class Queue:
    """Queue of launches, each of which takes the seconds that it is given."""

    def __init__(self, now: SimpleNamespace):
        self.now, self.computed, self.section = now, 0.0, ({}, "", -1)
        self.waiting: list[tuple[tuple[dict[str, float], str, int], float]] = []

    def launch(self, seconds: float) -> None:
        self.waiting.append((self.section, seconds))

    def flush(self) -> None:
        for (sums, name, _), seconds in self.waiting:
            sums[name] = sums.get(name, 0.0) + seconds
            self.computed += seconds
            self.now.time += seconds
        self.waiting = []

    def defer(self) -> None:
        pass


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    made = SimpleNamespace(time=100.0)
    monkeypatch.setattr(timelines, "clock", SimpleNamespace(perf_counter=lambda: made.time))
    return made


def spend(now: SimpleNamespace, timer: Timeline, section: str, cluster: int, seconds: float) -> None:
    timer.start_timer(section, cluster)
    now.time += seconds
    timer.start_timer(UNTIMED)


def test_every_second_belongs_to_one_section(now: SimpleNamespace) -> None:
    timer = Timeline(("predict", "observe"), started=97.0, clusters=2)
    now.time += 50.0  # between set-up and steps
    with timer.stepping():
        now.time += 0.5
        spend(now, timer, "predict", 0, 1.0)
        spend(now, timer, "predict", 1, 2.0)
        with timer.observing():
            now.time += 4.0
            WAITING.add("others", now.time, now.time + 8.0)
            now.time += 8.0
        assert timer.lap() == timer.wall["stepping"] == 15.5
        now.time += 16.0
    now.time += 100.0
    assert timer.timings() == {
        "setup": 3.0, "stepping": 31.5, "predict": 3.0, "observe": 4.0, "wait": 8.0, "other": 16.5,
    }  # fmt: skip
    assert timer.cluster_seconds() == [1.0, 2.0]
    assert (timer.spent, timer.waited, timer.busy) == (31.5, 8.0, 23.5)
    with timer.stepping():
        spend(now, timer, "predict", 1, 32.0)
    assert timer.wall["stepping"] == timer.spent == 63.5 and timer.seconds["predict"] == 35.0


def test_queued_launches_belong_to_the_section_that_issued_them(now: SimpleNamespace) -> None:
    queue = Queue(now)
    timer = Timeline(("predict", "observe"), now.time, queue, clusters=2)
    with timer.stepping():
        timer.start_timer("predict", 1)
        now.time += 1.0
        queue.launch(10.0)
        timer.start_timer("observe")
        now.time += 2.0
        queue.flush()
        timer.start_timer("predict", 0)
        queue.launch(20.0)
        timer.start_timer(UNTIMED)
    assert timer.seconds == {"predict": 31.0, "observe": 2.0, "wait": 0.0, "other": 0.0}
    assert timer.cluster_seconds() == [20.0, 11.0] and timer.spent == 33.0


def test_steps_of_measurements_are_apart(now: SimpleNamespace) -> None:
    timer = Timeline(("predict",), now.time, clusters=1)
    spend(now, timer, "predict", 0, 2.0)
    assert timer.seconds["predict"] == 2.0 and timer.timings()["predict"] == 0.0 and timer.cluster_seconds() == [0.0]


def test_steps_that_fail_are_counted(now: SimpleNamespace) -> None:
    timer = Timeline(("predict",), now.time, clusters=1)
    with pytest.raises(RuntimeError), timer.stepping():
        timer.start_timer("predict", 0)
        now.time += 3.0
        raise RuntimeError
    now.time += 5.0
    assert timer.seconds == {"predict": 3.0, "wait": 0.0, "other": 0.0} and timer.spent == 3.0


def test_a_resumed_run_continues_the_sums(now: SimpleNamespace) -> None:
    timer = Timeline(("predict",), now.time, clusters=1)
    timer.restore({"setup": 9.0, "stepping": 100.0}, {"predict": 60.0, "wait": 30.0, "other": 10.0})
    with timer.stepping():
        spend(now, timer, "predict", 0, 1.0)
        now.time += 2.0
    assert timer.timings() == {"setup": 0.0, "stepping": 103.0, "predict": 61.0, "wait": 30.0, "other": 12.0}
    assert timer.spent == timer.busy == 3.0 and timer.cluster_seconds() == [1.0]


def test_sections_are_recorded(now: SimpleNamespace) -> None:
    timer = Timeline(("predict",), now.time, clusters=1)
    with recording(100) as recorder, timer.stepping():
        now.time += 1.0
        spend(now, timer, "predict", 0, 2.0)
    spend(now, timer, "predict", 0, 2.0)
    track, number = recorder.tracks[STEPS], recorder.names["predict"]
    found = [k for k in range(len(track)) if track.names[k] == number]
    assert [(track.starts[k], track.ends[k], track.clusters[k]) for k in found][:1] == [(101.0, 103.0, 0)]
    assert not len(recorder.tracks[KERNELS])
