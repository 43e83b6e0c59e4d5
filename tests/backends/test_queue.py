"""Launches of the processor that wait for others: done in their order, and before anybody looks."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.backends.base import Part
from faultwave.backends.cpu import queue as queues
from faultwave.backends.cpu.runtime import CpuBackend
from faultwave.kernels.language import Kernel


def scaled() -> Kernel:
    """x = c[0] x + c[1]: what comes out depends on the order of the launches."""
    k = Kernel("scaled")
    x, c = k.batch("x", 1, 2, "inout"), k.scalar("c", 2)
    k.pointwise(lambda x, a, b: [[a[0] * v + b[0] for v in x]], [x, c.view(0, 1), c.view(1, 1)], [x])
    return k


@pytest.mark.parametrize("precision", ["double", "single"])
def test_waiting_launches_are_done_in_order_before_anybody_looks(precision: str) -> None:
    backend = CpuBackend(precision, 1)
    size = 4 * backend.lanes
    x, kept = backend.batch(size, 1, 2), backend.store(6, 2)
    x.put(np.ones((size, 1, 2)))
    launch = backend.compile([scaled()])["scaled"]({"x": x})
    copy = backend.copier([Part(x, np.array([3, 0]), slice(None), kept), Part(x, np.zeros(0, int), slice(None), kept)])
    launch(0, size, c=[1.0, 1.0])
    assert backend.queue.computed == 0.0, "nothing waits that nobody asked to"
    backend.queue.defer()
    seconds: dict[str, float] = {}
    backend.queue.section = seconds, "first", 0
    launch(0, size, c=[3.0, 1.0])
    copy(0)
    backend.queue.section = seconds, "second", 1
    launch(0, backend.lanes, c=[2.0, 0.0])
    copy(2)
    assert not seconds
    np.testing.assert_array_equal(x.get()[:, 0, 0], np.repeat([14.0, 7.0], [backend.lanes, size - backend.lanes]))
    np.testing.assert_array_equal(kept.get(), np.repeat([7.0, 0.0, 14.0], 2)[:, None] * np.ones(2))
    assert set(seconds) == {"first", "second"} and sum(seconds.values()) == backend.queue.computed > 0
    for _ in range(2):
        launch(0, size, c=[2.0, 1.0])
        copy(1)
    assert backend.queue.count == 4
    np.testing.assert_array_equal(kept.get()[2:4], [[4.0 * 14.0 + 3.0] * 2, [4.0 * 14.0 + 3.0] * 2])
    launch(0, size, c=[0.0, 5.0])
    x.put(np.full((1, 1, 2), 1.0), np.array([0]))
    np.testing.assert_array_equal(x.get()[:2, 0, 0], [1.0, 5.0])


def test_less_waits_where_work_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a signal is heeded soon, whatever an item costs; and more again when it costs less."""
    backend = CpuBackend("double", 1)
    x = backend.batch(queues.FEW, 1, 2)
    launch = backend.compile([scaled()])["scaled"]({"x": x})
    backend.queue.defer()
    for longest, waiting in ((1e-12, 2), (1e-12, 0), (1e6, 1)):
        monkeypatch.setattr(queues, "LONGEST", longest)
        for _ in range(2):
            launch(0, queues.FEW, c=[1.0, 1.0])
        assert backend.queue.count == waiting
        backend.queue.flush()
    assert (x.get() == 6).all()


def test_no_more_waits_than_there_is_room_for() -> None:
    backend = CpuBackend("double", 1)
    few, many = backend.batch(backend.lanes, 1, 2), backend.batch(queues.ITEMS, 1, 2)
    backend.queue.defer()
    launches = [backend.compile([scaled()])["scaled"]({"x": x}) for x in (few, many)]
    for _ in range(3 * queues.MOST + 1):
        launches[0](0, backend.lanes, c=[1.0, 1.0])
    assert 1 <= backend.queue.count < queues.MOST
    launches[1](0, queues.ITEMS, c=[1.0, 1.0])
    assert backend.queue.count == 0, "long work does not wait"
    assert (few.get() == 3 * queues.MOST + 1).all() and (many.get() == 1).all()
