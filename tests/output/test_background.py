"""Writing in the background: order, bounds, errors."""

from __future__ import annotations

import threading

import numpy as np

from faultwave.base.errors import RunError
from faultwave.output.background import Background, BackgroundWriter
from faultwave.output.formats.vtkhdf import VtkHdfReader, VtkHdfWriter
from tests.messages import raises


def test_tasks_run_in_order_in_one_other_thread() -> None:
    background, done = Background(), []
    for i in range(50):
        background.submit(lambda i=i: done.append((i, threading.current_thread().name)), 1)
    background.wait()
    background.close()
    assert done == [(i, "faultwave-output") for i in range(50)]
    assert background.busy > 0


def test_what_waits_is_bounded() -> None:
    background, gate, most, held = Background(limit=10), threading.Event(), [], []

    def task() -> None:
        gate.wait(10)
        held.pop()

    def hand_over() -> None:
        for _ in range(8):
            held.append(4)  # what the caller has made; it may only be more than two and the one at work by one
            background.submit(task, 4)
            most.append(sum(held))

    caller = threading.Thread(target=hand_over)
    caller.start()
    caller.join(0.2)
    assert caller.is_alive() and len(most) == 2  # 8 of 10 bytes wait or are being written; the third does not fit
    gate.set()
    caller.join(10)
    background.wait()
    background.close()
    assert not held and background.waited > 0.1


def test_more_than_the_bound_at_once_is_taken_alone() -> None:
    background, done = Background(limit=10), []
    for i in range(3):
        background.submit(lambda i=i: done.append(i), 1000)
    background.wait()
    background.close()
    assert done == [0, 1, 2]


def test_an_error_comes_out_and_ends_it() -> None:
    background, done = Background(), []

    def full() -> None:
        raise RunError("the disk is full")

    background.submit(full, 1)
    with raises(RunError):
        background.wait()
    with raises(RunError):
        background.submit(lambda: done.append(1), 1)
    background.close()
    assert not done


def test_an_error_frees_a_caller_that_waits_for_room() -> None:
    background, gate = Background(limit=1), threading.Event()

    def full() -> None:
        gate.wait(10)
        raise RunError("the disk is full")

    background.submit(full, 1)
    threading.Timer(0.1, gate.set).start()
    with raises(RunError):
        background.submit(lambda: None, 1)
    background.close()


def test_closing_drops_what_waits() -> None:
    background, gate, done = Background(), threading.Event(), []
    background.submit(lambda: gate.wait(10) and done.append(0), 1)
    background.submit(lambda: done.append(1), 1)
    threading.Timer(0.1, gate.set).start()
    background.close()
    assert done in ([0], [])  # the first may not have begun
    Background().close()


def test_snapshots_behind(tmp_path) -> None:
    points, cells = np.eye(4, 3), np.array([[0, 1, 2]])
    background = Background()
    with VtkHdfWriter(tmp_path / "a.vtkhdf", points, cells, {}, ["v1"], np.float64, steps=5) as writer:
        behind = BackgroundWriter(writer, background)
        for i in range(5):
            behind.append(float(i), {"v1": np.array([10.0 * i])})
        background.wait()
    background.close()
    with VtkHdfReader(tmp_path / "a.vtkhdf") as file:
        assert [float(file.field("v1", i)[0]) for i in range(5)] == [0.0, 10.0, 20.0, 30.0, 40.0]
