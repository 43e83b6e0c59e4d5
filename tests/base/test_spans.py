"""Recorded spans of time."""

from __future__ import annotations

import math
import threading

import pytest

from faultwave.base import spans
from faultwave.base.spans import KERNELS, OUTPUT, STEPS, WAITING, Recorder, Track, phase, record, recording


def names(recorder: Recorder, track: str) -> list[str]:
    listed = list(recorder.names)
    return [listed[n] for n in recorder.tracks[track].names if listed[n] != "load the program"]


def test_nothing_is_recorded_unless_it_is_requested() -> None:
    assert spans.recorder() is None
    before = WAITING.seconds
    with phase("mesh"):
        record("write", 1.0, 2.0)
        WAITING.add("others", 3.0, 3.5)
    assert WAITING.seconds == before + 0.5


def test_phases_and_spans_have_their_tracks() -> None:
    with recording(10) as recorder:
        with phase("plan"), phase("mesh"):
            record("wait", 1.0, 2.0)
        record("write", 1.0, 2.0, OUTPUT)
        with pytest.raises(KeyError), phase("fails"):
            raise KeyError
        assert spans.recorder() is recorder
    assert spans.recorder() is None
    assert names(recorder, STEPS) == ["wait", "mesh", "plan", "fails"] and names(recorder, OUTPUT) == ["write"]
    track: Track = recorder.tracks[STEPS]
    inner, outer = len(track) - 3, len(track) - 2
    assert track.starts[outer] <= track.starts[inner] <= track.ends[inner] <= track.ends[outer]


def test_other_threads_do_not_write_into_the_track_of_the_steps() -> None:
    def work() -> None:
        with phase("there"):
            record("wait there", 1.0, 2.0)
            record("write there", 1.0, 2.0, OUTPUT)

    with recording(10) as recorder:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert names(recorder, STEPS) == [] and names(recorder, OUTPUT) == ["write there"]


def test_short_spans_are_limited_and_phases_are_not() -> None:
    recorder = Recorder(2)
    assert math.isinf(recorder.first_dropped)
    for start in range(5):
        recorder.add("predict", start, start + 1.0, cluster=3)
        recorder.add_phase("checkpoint", start, start + 1.0)
    recorder.add("predict", 7.0, 8.0, 3, KERNELS)
    assert recorder.first_dropped == 1.0
    assert names(recorder, STEPS) == ["predict"] + 5 * ["checkpoint"] and names(recorder, KERNELS) == ["predict"]
    assert list(recorder.tracks[STEPS].clusters) == [3] + 5 * [-1]
