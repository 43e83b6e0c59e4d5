import time

import pytest

from faultwave.base.progress import Timers


def test_accumulates_and_counts():
    timers = Timers()
    for _ in range(3):
        with timers("sleep"):
            time.sleep(0.002)
    assert timers["sleep"].calls == 3
    assert 0.006 <= timers["sleep"].seconds < 1.0
    assert timers.seconds() == {"sleep": timers["sleep"].seconds}


def test_nested_use_counts_once():
    timers = Timers()
    with timers("a"):
        with timers("a"):
            time.sleep(0.002)
        inner = timers["a"].seconds
    assert inner == 0.0
    assert timers["a"].calls == 1


def test_stops_when_the_body_raises():
    timers = Timers()
    with pytest.raises(KeyError), timers("a"):
        raise KeyError
    assert timers["a"].calls == 1
    with pytest.raises(RuntimeError, match="is not running"):
        timers["a"].stop()


def test_rows_are_sorted_with_shares():
    timers = Timers()
    timers["short"].seconds, timers["long"].seconds = 1.0, 3.0
    assert timers.rows() == [("long", 3.0, 0.75, 0), ("short", 1.0, 0.25, 0)]
    assert timers.rows(total=10.0)[0][2] == pytest.approx(0.3)
    assert Timers().rows() == []
