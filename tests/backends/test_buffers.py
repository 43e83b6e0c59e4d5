"""Buffers of every backend: what is fetched is what was there, and sums over items."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from faultwave import backends
from faultwave.backends import Part, Points
from faultwave.backends.base import inject_on_host
from faultwave.backends.device.backend import SPARE, piece_of
from faultwave.kernels.language import Kernel
from tests.backends.here import DEVICE, needs_device, present

EVERY = present(backends.names())


def doubling() -> Kernel:
    k = Kernel("doubling")
    q = k.batch("q", 5, 3, "inout")
    k.pointwise(lambda x: [[2.0 * v for v in x]], [q], [q])
    return k


@pytest.mark.parametrize("precision", ("double", "single"))
@pytest.mark.parametrize("name", EVERY)
def test_what_is_fetched_is_what_was_there(name: str, precision: str) -> None:
    """Whatever happens to the buffer before the numbers are looked at."""
    backend: Any = backends.make(name, precision)
    buffer, values = backend.batch(64, 5, 3), np.random.default_rng(0).normal(size=(64, 5, 3)).astype(backend.dtype)
    buffer.put(values)
    launch = backend.compile([doubling()])["doubling"]({"q": buffer})
    chosen = np.array([63, 3, 40])
    awaited = [buffer.fetch(chosen, slice(1, 3)), buffer.fetch(slice(0, 20)), buffer.fetch()]
    launch(0, 64)
    later = buffer.fetch(chosen)
    buffer.put(0.0)
    np.testing.assert_array_equal(later.values(), 2 * values[chosen])
    for got, want in zip(awaited, (values[chosen, 1:3], values[:20], values), strict=True):
        np.testing.assert_array_equal(got.values(), want)
        assert got.here and got.values() is got.values()
    assert buffer.fetch(np.zeros(0, int)).values().shape == (0, 5, 3)


@pytest.mark.parametrize("name", EVERY)
def test_many_items_are_those_asked_for(name: str) -> None:
    """In any order, some of them twice, close together or far apart, and of all or some rows."""
    backend: Any = backends.make(name)
    values = np.random.default_rng(0).normal(size=(4096, 5, 3))
    buffer = backend.batch(4096, 5, 3)
    buffer.put(values)
    rng = np.random.default_rng(1)
    for items in (rng.permutation(np.arange(613, 1500)), rng.integers(7, 400, 700), rng.integers(0, 4096, 300)):
        np.testing.assert_array_equal(buffer.get(items), values[items])
        np.testing.assert_array_equal(buffer.get(items, slice(1, 3)), values[items, 1:3])
    np.testing.assert_array_equal(buffer.get(values[:, 0, 0] > 0), values[values[:, 0, 0] > 0])
    if name == "cpu":  # counted from the end, as NumPy does, too
        for items in (np.arange(-300, 0), np.arange(-150, 150)):
            np.testing.assert_array_equal(buffer.get(items), values[items])


def test_items_may_have_no_numbers() -> None:
    """As slots of a surface that nobody observes."""
    empty = backends.make("cpu", "double").index(np.zeros((64, 0), int))
    empty.put(np.zeros((64, 1, 0), int))
    assert empty.get().shape == (64, 1, 0)


@pytest.mark.parametrize("precision", ("double", "single"))
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("items", (32, 7 * 32, 320_000))
def test_sums_over_items(name: str, precision: str, items: int) -> None:
    """In double precision whatever the buffer's: many numbers of which a few are large."""
    backend: Any = backends.make(name, precision)
    buffer = backend.batch(items, 1, 7)
    values = np.random.default_rng(1).uniform(0, 1, (items, 1, 7)).astype(backend.dtype)
    values[3] = 1e9
    buffer.put(values)
    np.testing.assert_allclose(buffer.total(), values.sum(0, np.float64), rtol=1e-13)
    store = backend.store(50, 3)
    store.put(values[:32, 0, :3], np.arange(32))
    np.testing.assert_allclose(store.total().reshape(-1), values[:32, 0, :3].sum(0, np.float64), rtol=1e-13)


@pytest.mark.parametrize("name", EVERY)
def test_marks_are_done_when_all_before_is(name: str) -> None:
    backend: Any = backends.make(name)
    launch = backend.compile([doubling()])["doubling"]({"q": backend.batch(64, 5, 3)})
    launch(0, 64)
    mark = backend.mark()
    backend.finish()
    assert mark.done


def sources(buffer: Any, rng: np.random.Generator) -> tuple[Points, np.ndarray]:
    """Two sources in one item, one in another, three in a third, none in others; and what each adds for an amount of one."""
    rows, columns = rng.normal(size=(6, 5)), rng.normal(size=(6, 3))
    items, first = np.array([2, 17, 63]), np.array([0, 2, 3, 6])
    each = np.zeros((6, 64, 5, 3))
    each[np.arange(6), np.repeat(items, np.diff(first))] = rows[:, :, None] * columns[:, None]
    return Points(buffer, items, first, rows, columns), each


@pytest.mark.parametrize("precision", ("double", "single"))
@pytest.mark.parametrize("name", EVERY)
def test_sources_add_to_items(name: str, precision: str) -> None:
    backend: Any = backends.make(name, precision)
    rng = np.random.default_rng(4)
    buffer, before = backend.batch(64, 5, 3), rng.normal(size=(64, 5, 3))
    buffer.put(before)
    points, each = sources(buffer, rng)
    amounts = rng.normal(size=6)
    amounts[3] = 0.0
    backend.injector(points)(amounts)
    want = before + np.einsum("m,mnrc->nrc", amounts, each)
    np.testing.assert_allclose(buffer.get(), want, rtol=0, atol={"double": 1e-14, "single": 2e-6}[precision])
    untouched = np.setdiff1d(np.arange(64), points.items)
    np.testing.assert_array_equal(buffer.get(untouched), before[untouched].astype(backend.dtype))
    none = np.zeros(0, np.int64)
    backend.injector(Points(buffer, none, np.zeros(1, np.int64), np.zeros((0, 5)), np.zeros((0, 3))))(np.zeros(0))


def test_many_sources_of_an_item_are_summed_in_their_order_and_little_by_little() -> None:
    """A hundred sources in each of ten items: bit for bit what adding one after the other gives, in a cache's worth of memory."""
    buffer, rng = backends.make("numpy", "double").batch(10, 56, 9), np.random.default_rng(6)
    rows, columns, amounts = rng.normal(size=(1000, 56)), rng.normal(size=(1000, 9)), rng.normal(size=1000)
    points = Points(buffer, np.arange(10), 100 * np.arange(11), rows, columns)
    tracemalloc.start()
    inject_on_host(points, amounts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    want = np.zeros((10, 56, 9))
    for n in range(1000):
        want[n // 100] += amounts[n] * np.outer(rows[n], columns[n])
    np.testing.assert_array_equal(buffer.get(), want)
    assert peak < rows[0].size * columns.size * 8 // 2


@needs_device
@pytest.mark.parametrize("precision", ("double", "single"))
def test_recorded_sources_act_as_much_as_they_are_told(precision: str) -> None:
    backend: Any = backends.make(DEVICE, precision)
    rng = np.random.default_rng(5)
    buffer = backend.batch(64, 5, 3)
    points, each = sources(buffer, rng)
    inject, told = backend.injector(points), rng.normal(size=(5, 6))
    recording = backend.record(lambda: (inject(told[0]), inject(told[1])))
    assert recording.launches == 2
    recording.replay([{"amounts": told[2]}, {"amounts": told[3]}])
    inject(told[4])
    want = np.einsum("m,mnrc->nrc", told.sum(0), each)
    np.testing.assert_allclose(buffer.get(), want, rtol=0, atol={"double": 1e-13, "single": 1e-5}[precision])


@pytest.mark.parametrize("precision", ("double", "single"))
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("fixed", (False, True))
def test_items_are_copied_to_slots(name: str, precision: str, fixed: bool) -> None:
    """From batches and a store, in turn with launches; a store that is double in single runs, too."""
    backend: Any = backends.make(name, precision)
    buffer, store, some = backend.batch(64, 5, 3, fixed), backend.store(9, 15, fixed), backend.store(6, 6)
    single = backend.batch(32, 4, 3)
    values = np.random.default_rng(0).normal(size=(64, 5, 3)).astype(np.float64 if fixed else backend.dtype)
    buffer.put(values)
    numbers = np.arange(32 * 12.0).reshape(32, 4, 3)
    single.put(numbers)
    chosen, few, none = np.array([63, 3, 40]), np.array([31, 7]), np.zeros(0, np.int64)
    copy = backend.copier([
        Part(buffer, chosen, slice(None), store), Part(buffer, none, slice(None), store), Part(single, few, slice(1, 3), some)
    ])  # fmt: skip
    table = np.array([[14, 0, 6], [2, 2, 11], [5, 4, 3]])  # numbers of each item, counted row by row
    picked, of_store = backend.store(6, 3, fixed), backend.store(4, 2, fixed)
    pick = backend.copier(
        [Part(buffer, chosen, slice(None), picked, table), Part(buffer, few, slice(None), of_store, table[:2, :2])]
    )
    copy(1)
    pick(1)
    buffer.put(0.0)
    single.put(-1.0)
    other = backend.store(4, 4, fixed)
    backend.copier([Part(store, np.array([4, 2]), slice(5, 9), other)])(1)
    want = np.zeros((9, 15))
    want[3:6] = values[chosen].reshape(3, 15)
    np.testing.assert_array_equal(store.get(), want)
    flat = values.reshape(64, 15)
    np.testing.assert_array_equal(picked.get()[3:6], np.take_along_axis(flat[chosen], table, 1))
    np.testing.assert_array_equal(of_store.get()[2:4], np.take_along_axis(flat[few], table[:2, :2], 1))
    again = backend.store(2, 2, fixed)
    backend.copier([Part(store, np.array([3, 5]), slice(None), again, table[:2, 1:])])(0)
    np.testing.assert_array_equal(again.get(), np.take_along_axis(want[[3, 5]], table[:2, 1:], 1))
    np.testing.assert_array_equal(some.get()[2:4], numbers[few, 1:3].reshape(2, 6))
    np.testing.assert_array_equal(other.get()[2:4], want[[4, 2], 5:9])
    np.testing.assert_array_equal(some.get()[[0, 1, 4, 5]], 0.0)
    assert store.get().dtype == values.dtype
    backend.copier([])(0)


@needs_device
@pytest.mark.parametrize("precision", ("double", "single"))
def test_large_requests_cross_in_pieces(precision: str) -> None:
    """As the state of a large mesh for a checkpoint: neither scratch nor pinned memory of its size, and all items in their places."""
    backend: Any = backends.make(DEVICE, precision)
    piece = backend.host.piece = 1 << 12
    backend.scratch.scratches.most, backend.host.pieces.most = 4 * piece, 8 * piece
    rng = np.random.default_rng(0)
    items, values = rng.permutation(2048), rng.normal(size=(2048, 4, 3)).astype(backend.dtype)
    q = backend.batch(2048, 4, 3)
    q.put(values, items)
    kept = len(backend._kind(backend.dtype).lists)
    first = q.fetch(items)
    q.add(np.ones((2048, 4, 3)), items)
    np.testing.assert_array_equal(first.values(), values)
    assert first.here
    np.testing.assert_array_equal(q.get(items, slice(1, 3)), (values + 1)[:, 1:3])
    np.testing.assert_array_equal(q.get()[items], values + 1)
    assert len(backend._kind(backend.dtype).lists) == kept == 0, "lists asked for again and again stay, not these"
    assert backend.scratch.scratches.nbytes <= 8 * piece and backend.host.pieces.nbytes <= 12 * piece
    assert values.nbytes > 20 * piece


@needs_device
def test_all_memory_is_counted() -> None:
    backend: Any = backends.make(DEVICE)
    launch = backend.compile([doubling()])["doubling"]({"q": backend.batch(64, 5, 3)})
    held = backend.held
    backend.matrix(np.ones((3, 4, 5)))
    assert backend.held == held + 3 * 4 * 5 * 8
    store = backend.store(1000, 2)
    held = backend.held
    store.get(np.arange(500))
    assert backend.held == held + 500 * 4 + 8192, "a list, and a scratch piece of the next power of two"
    held = backend.held
    store.get(np.arange(500))
    made = backend.record(lambda: launch(0, 64))
    assert made is not None and backend.held == held


def test_pieces_fit_into_what_buffers_leave() -> None:
    assert piece_of(141 << 30) == 64 << 20 and piece_of(16 << 30) == 32 << 20
    for room in (1 << 28, 1 << 30, 24 << 30):
        assert 8 * piece_of(room) <= SPARE * room
