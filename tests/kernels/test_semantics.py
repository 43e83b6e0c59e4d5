"""What the statements of the kernel language mean, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave import backends
from faultwave.backends.numpy.runtime import execute
from faultwave.kernels import math as m
from faultwave.kernels.count import cost
from faultwave.kernels.expr import Expr
from faultwave.kernels.language import Kernel, LoopIndex, sparse
from tests.backends.here import present
from tests.messages import raises

RNG = np.random.default_rng(3)


def execute_double(kernel: Kernel, data: dict[str, np.ndarray], **scalars: Any) -> None:
    execute(kernel, data, scalars, np.float64)


def test_contract_maps_columns_and_leaves_others() -> None:
    k = Kernel("k")
    inp, out = k.batch("inp", 3, 2), k.batch("out", 3, 3, "inout")
    matrix = np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 4.0]])
    k.contract(out, matrix, inp, [(0, 2), (1, 0)])
    x, y = RNG.normal(size=(5, 3, 2)), RNG.normal(size=(5, 3, 3))
    want = y.copy()
    want[:, :2, 2], want[:, :2, 0] = x[:, :, 0] @ matrix.T, x[:, :, 1] @ matrix.T
    execute_double(k, {"inp": x, "out": y})
    np.testing.assert_allclose(y, want, rtol=1e-14)


def test_contract_accumulates() -> None:
    k = Kernel("k")
    inp, out = k.batch("inp", 2, 1), k.batch("out", 2, 1, "inout")
    table = k.matrix("table", 2, 2)
    k.contract(out, table, inp, accumulate=True)
    x, y, a = RNG.normal(size=(4, 2, 1)), RNG.normal(size=(4, 2, 1)), RNG.normal(size=(2, 2))
    want = y + a @ x
    execute_double(k, {"inp": x, "out": y, "table": a[None]})
    np.testing.assert_allclose(y, want, rtol=1e-14)


def test_pointwise_may_overwrite_what_it_reads() -> None:
    """All values of a row are computed before any is written: a swap needs no temporary."""
    k = Kernel("k")
    pair = k.batch("pair", 4, 2, "inout")
    k.pointwise(lambda p: [[p[1], p[0]]], [pair], [pair])
    x = RNG.normal(size=(3, 4, 2))
    want = x[..., ::-1].copy()
    execute_double(k, {"pair": x})
    np.testing.assert_array_equal(x, want)


def test_pointwise_repeats_one_row_and_scalars_for_every_row() -> None:
    k = Kernel("k")
    x, one, out = k.batch("x_in", 3, 1), k.batch("one", 1, 1), k.batch("out", 3, 1, "out")
    table = k.scalar("table", 2, 2)
    k.pointwise(lambda a, b, c: [[a[0] * b[0] + c[0]]], [x, one, table.view(1, 1, 1, 1)], [out])
    data = {"x_in": RNG.normal(size=(2, 3, 1)), "one": RNG.normal(size=(2, 1, 1)), "out": np.zeros((2, 3, 1))}
    execute_double(k, data, table=[[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_allclose(data["out"], data["x_in"] * data["one"] + 4.0)


def test_gather_and_scatter_through_an_index() -> None:
    k = Kernel("k")
    index, store = k.index("index", 2), k.store("store", 2, 2, "inout")
    local = k.temp("local", 2, 2)
    k.gather(local, store, index, 0)
    k.pointwise(lambda a: [[10.0 * x for x in a]], [local], [local])
    k.scatter(local, store, index, 1)
    slots = np.arange(20.0).reshape(5, 4)
    want = slots.copy()
    want[3], want[4] = 10 * slots[0], 10 * slots[1]
    execute_double(k, {"index": np.array([[0, 3], [1, 4]]), "store": slots})
    np.testing.assert_array_equal(slots, want)


def test_scatter_accumulates_also_into_one_slot() -> None:
    k = Kernel("k")
    index, store, value = k.index("index"), k.store("store", 1, 1, "inout"), k.batch("value", 1, 1)
    k.scatter(value, store, index, accumulate=True)
    slots = np.array([[1.0], [2.0]])
    execute_double(
        k, {"index": np.array([[1], [1], [0]]), "store": slots, "value": np.array([3.0, 4.0, 5.0])[:, None, None]}
    )
    np.testing.assert_array_equal(slots, [[6.0], [9.0]])


def test_repeat_counts_rows_of_tables() -> None:
    k = Kernel("k")
    sums, table = k.batch("sums", 1, 1, "inout"), k.scalar("table", 3)
    k.repeat("i", 3, lambda i: k.pointwise(lambda s, t: [[2.0 * s[0] + t[0]]], [sums, table.view(i)], [sums]))
    x = np.ones((2, 1, 1))
    execute_double(k, {"sums": x}, table=[1.0, 2.0, 3.0])
    np.testing.assert_array_equal(x[:, 0, 0], [2 * (2 * (2 * 1 + 1) + 2) + 3] * 2)


def test_precision_of_the_run_and_fixed_double() -> None:
    """1 + 1e-9 is 1 in single; a kernel marked fixed computes in double whatever the run."""
    for fixed, want in ((False, 0.0), (True, 1e-9)):
        k = Kernel("k", fixed=fixed)
        out, tiny = k.batch("out", 1, 1, "out"), k.scalar("tiny")
        t = k.temp("t", 1, 1)
        k.pointwise(lambda c: [[1.0 + c[0]]], [tiny], [t])
        k.pointwise(lambda a: [[a[0] - 1.0]], [t], [out])
        data = {"out": np.zeros((1, 1, 1), np.float64 if fixed else np.float32)}
        execute(k, data, {"tiny": 1e-9}, np.float32)
        assert data["out"][0, 0, 0] == pytest.approx(want, abs=1e-15)


# ---- iterate ------------------------------------------------------------------------------------------------------


def halve(x: Any) -> Any:
    return (0.5 * x,), x > 1.0


def test_iterate_stops_item_by_item() -> None:
    x = np.array([0.5, 1.0, 3.0, 100.0])
    np.testing.assert_array_equal(m.iterate(halve, (x,), 50)[0], [0.5, 1.0, 0.75, 100 / 128])


def test_iterate_stops_after_the_maximum() -> None:
    np.testing.assert_array_equal(m.iterate(halve, (np.array([1e9, 2.0]),), 2)[0], [2.5e8, 1.0])


def test_iterate_can_keep_the_last_round() -> None:
    """Values of the round that ends an item; a bound on the rounds leaves both forms alike."""
    x = np.array([0.5, 1.0, 3.0, 100.0])
    np.testing.assert_array_equal(m.iterate(halve, (x,), 50, keep_last=True)[0], [0.25, 0.5, 0.375, 50 / 128])
    np.testing.assert_array_equal(m.iterate(halve, (np.array([1e9, 2.0]),), 2, keep_last=True)[0], [2.5e8, 0.5])


def test_iterate_does_not_wake_an_item_again() -> None:
    """An item that was not active stays out, even where the condition would hold later."""

    def step(x: Any, rounds: Any) -> Any:
        return (x + 1.0, rounds + 1.0), (rounds < 1.0) | (x > 5.0) | (rounds > 1.5)

    x, rounds = m.iterate(step, (np.array([0.0, 7.0]), np.zeros(2)), 4)
    np.testing.assert_array_equal(x, [1.0, 11.0])
    np.testing.assert_array_equal(rounds, [1.0, 4.0])


def test_iterate_leaves_its_arguments_alone() -> None:
    x = np.array([8.0])
    m.iterate(halve, (x,), 9)
    assert x[0] == 8.0


# ---- what is refused ----------------------------------------------------------------------------------------------


def test_refuses_views_outside_the_array() -> None:
    k = Kernel("k")
    a = k.batch("a_in", 3, 2)
    for arguments in ((0, 4), (2, 2), (0, 1, 1, 2), (-1, 1), (0, 0), (0, 1, 0, 0)):
        with raises(ValueError):
            a.view(*arguments)


def test_refuses_what_backends_would_do_in_different_order() -> None:
    k = Kernel("k")
    a, t = k.batch("inout", 4, 2, "inout"), k.temp("t", 4, 2)
    with raises(ValueError):
        k.contract(a, np.eye(4), a)
    k.contract(a.view(0, 4, 0, 1), np.eye(4), a.view(0, 4, 1, 1))  # other columns: fine
    with raises(ValueError):
        k.pointwise(lambda x: [list(x)], [a.view(0, 3)], [a.view(1, 3)])
    with raises(ValueError):
        k.pointwise(lambda x, y: [[x[0] + y[0], y[1]]], [a.view(0, 1), t], [a])
    with raises(ValueError):
        k.pointwise(lambda x: [list(x)], [t.view(0, 2)], [a])


def test_refuses_mismatched_matrices_columns_and_names() -> None:
    k = Kernel("k")
    a, b = k.batch("first", 2, 2), k.batch("second", 2, 2, "out")
    with raises(ValueError):
        k.contract(b, np.ones((2, 3)), a)
    with raises(ValueError):
        k.contract(b, np.ones((2, 2)), a, [(0, 2)])
    with raises(ValueError):
        k.batch("first", 1, 1)


def test_formulas_cannot_branch_on_values() -> None:
    x = Expr("input", value=0)
    with raises(TypeError):
        bool(x > 0.0)
    with raises(TypeError):
        m.where(x == 0.0, x, 1.0)  # == compares nodes: always False
    with raises(TypeError):
        m.iterate(lambda v: ((v,), True), (x,), 3)
    with raises(ValueError):
        m.iterate(lambda v: ((v, v), v > 0.0), (x,), 3)


def test_wrong_number_of_values() -> None:
    k = Kernel("k")
    a = k.batch("a_in", 1, 2, "inout")
    k.pointwise(lambda x: [[x[0]]], [a], [a])
    with raises(ValueError):
        execute_double(k, {"a_in": np.zeros((1, 1, 2))})


def test_sparse_drops_rounding_noise_only() -> None:
    np.testing.assert_array_equal(sparse(np.array([1e-11, 2e-10, -1e-10, 1.0])), [0.0, 2e-10, 0.0, 1.0])


# ---- costs --------------------------------------------------------------------------------------------------------


def test_cost_of_a_kernel_counted_by_hand() -> None:
    k = Kernel("k")
    q, z, out = k.batch("q_in", 3, 2), k.batch("z_in", 1, 1), k.batch("out", 3, 2, "inout")
    index, store = k.index("index", 2), k.store("store", 3, 2, "inout")
    t = k.temp("t", 3, 2)
    k.contract(t, np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 0.0]]), q)  # 3 nonzeros x 2 columns x 2 = 12

    def f(x: Any, z: Any, y: Any) -> Any:
        s = m.sqrt(x[0] * x[0] + x[1])  # 3, used twice
        return [[s * z[0] + y[0], m.where(s > 1.0, -s, m.abs(x[1]))]]  # 2, no arithmetic in the second

    k.pointwise(f, [t, z, out], [out])  # 5 x 3 rows = 15
    k.gather(t, store, index, 0)
    k.scatter(t, store, index, 1, accumulate=True)
    k.repeat("i", 4, lambda i: k.pointwise(lambda x: [[x[0] / 3.0]], [t.view(0, 1, 0, 1)], [t.view(0, 1, 0, 1)]))  # 4
    found = cost(k)
    assert found.flops == 12 + 15 + 4
    # q 6, z 1, out read and written 12, index 2, slot read 6, slot added to 12
    assert found.numbers == 6 + 1 + 12 + 2 + 6 + 12


def test_cost_counts_what_all_rows_share_once() -> None:
    k = Kernel("k")
    q, z = k.batch("q_in", 5, 2, "inout"), k.batch("z_in", 1, 1)
    c = k.scalar("c")

    def f(x: Any, z: Any, c: Any) -> Any:
        scale = z[0] * c[0] + 1.0  # 2, the same for all rows
        return [[scale * x[0], scale * x[0] + x[1] * (z[0] * c[0])]]  # 3 a row: equal products are one

    k.pointwise(f, [q, z, c], [q])
    assert cost(k).flops == 2 + 5 * 3


def test_bytes_by_precision() -> None:
    k = Kernel("k")
    q, index, store = k.batch("q_in", 3, 2), k.index("index", 2), k.store("store", 3, 2, "out")
    k.scatter(q, store, index, 0)
    assert cost(k).bytes(8, 8) == 8 * (6 + 2 + 6)
    assert cost(k).bytes(4, 8) == 4 * (6 + 6) + 8 * 2

    fixed = Kernel("fixed", fixed=True)
    q, index, store = fixed.batch("q_in", 3, 2), fixed.index("index", 2), fixed.store("store", 3, 2, "out")
    fixed.scatter(q, store, index, 0)
    assert cost(fixed).bytes(4, 4) == 8 * 6 + 4 * 2 + 4 * 6  # a store keeps the run's precision


def narrow(numbers: int) -> Kernel:
    """Sums of what a store and a batch hold in single precision, to other slots and rows."""
    k = Kernel("narrow")
    index, store = k.index("index", 2), k.store("store", 1, numbers, "inout", narrow=True)
    held, exact = k.batch("held", 2, numbers, "inout", narrow=True), k.batch("exact", 1, numbers, "out")
    local = k.temp("local", 1, numbers)
    k.gather(local, store, index, 0)

    def sums(x: Any, y: Any) -> Any:
        found = [a + b for a, b in zip(x, y, strict=True)]
        return [found, [2.0 * v for v in found], found]

    k.pointwise(sums, [local, held.view(0, 1)], [local, held.view(1, 1), exact])
    k.scatter(local, store, index, 1)
    return k


@pytest.mark.parametrize("name", present(backends.names()))
@pytest.mark.parametrize("numbers", [3, 30])
def test_narrow_arguments_are_rounded_where_they_are_written(name: str, numbers: int) -> None:
    x, y = (RNG.normal(size=(64, numbers)).astype(np.float32).astype(float) for _ in range(2))
    backend: Any = backends.make(name, "double", 2)
    buffers = {
        "index": backend.index(np.stack([np.arange(64), 64 + RNG.permutation(64)], 1)), "exact": backend.batch(64, 1, numbers),
        "store": backend.store(128, numbers, narrow=True), "held": backend.batch(64, 2, numbers, narrow=True),
    }  # fmt: skip
    order = np.asarray(buffers["index"].get()).reshape(64, 2)[:, 1]
    buffers["store"].put(x, np.arange(64))
    buffers["held"].put(np.stack([y, 0 * y], 1))
    backend.compile([narrow(numbers)])["narrow"](buffers)(0, 64)
    exact = buffers["exact"].get()[:, 0]
    np.testing.assert_array_equal(exact, x + y)  # computed in double
    single = (x + y).astype(np.float32)
    assert (single != x + y).any()
    np.testing.assert_array_equal(buffers["store"].get()[order], single)
    np.testing.assert_array_equal(buffers["held"].get()[:, 1], (2.0 * (x + y)).astype(np.float32))
    assert buffers["store"].nbytes == 4 * 128 * numbers and buffers["held"].nbytes == 4 * 128 * numbers


def test_narrow_numbers_count_four_bytes() -> None:
    found = cost(narrow(30))
    assert found.bytes(8, 4) == 4 * (2 * 2 * 30 + 2 * 30) + 8 * 30 + 4 * 2
    assert found.bytes(4, 4) == 4 * (found.numbers - 2) + 4 * 2


def of_many_numbers(wide: int) -> Kernel:
    """Rows of a formula with many numbers that are the same for all items: also masks, choices and functions of them alone."""
    k = Kernel("many")
    numbers, one = k.scalar("numbers", 1, 30), k.batch("one", 1, 1)
    x, out = k.batch("x", 5, 2, narrow=True), k.batch("out", 5, wide + 4, "out", narrow=True)

    def sums(n: Any, one: Any, x: Any) -> Any:
        known = [m.exp(0.1 * v) for v in n] + [m.maximum(n[i], n[i + 1]) for i in range(29)]
        later, chosen = n[0] < n[1], m.where(n[0] < n[1], n[2], n[3])
        found = [x[i % 2] * known[i % 59] + m.where(x[0] > n[i % 30], known[i % 7], one[0]) for i in range(wide)]
        beside = m.maximum(one[0], n[4]) + m.where(one[0] > n[5], n[6], n[7])
        return [[*found, m.where(later, x[0], x[1]) + chosen, beside + x[1], n[8], chosen]]

    k.pointwise(sums, [numbers.view(0, 1), one, x], [out])
    return k


@pytest.mark.parametrize("name", present(backends.names()))
@pytest.mark.parametrize("wide", [30, 60])
@pytest.mark.parametrize("turned", [1.0, -1.0])
def test_formulas_of_many_numbers_that_are_the_same(name: str, wide: int, turned: float) -> None:
    numbers, x, one = RNG.normal(size=30), RNG.normal(size=(64, 5, 2)), RNG.normal(size=(64, 1, 1))
    numbers[:2] = -turned, turned
    x = x.astype(np.float32).astype(float)
    backend: Any = backends.make(name, "double", 2)
    kernel = of_many_numbers(wide)
    buffers = {
        a.name: backend.batch(64, a.rows, a.cols, narrow=a.narrow) for a in kernel.arguments if a.space == "batch"
    }
    buffers["x"].put(x)
    buffers["one"].put(one)
    backend.compile([kernel])["many"](buffers)(0, 64, numbers=numbers.tolist())
    want = {"x": x, "one": one, "out": np.zeros((64, 5, wide + 4))}
    execute_double(kernel, want, numbers=numbers[None])
    np.testing.assert_allclose(buffers["out"].get(), want["out"], rtol=2e-7)


def test_contractions_refuse_narrow_numbers() -> None:
    k = Kernel("k")
    held, out = k.batch("held", 2, 1, narrow=True), k.temp("out", 2, 1)
    with raises(ValueError):
        k.contract(out, np.eye(2), held)


def conditional() -> Kernel:
    """y += 1 where x > 0, and the state only then."""
    k = Kernel("k")
    x, y, held = k.batch("x", 1, 1), k.batch("y", 2, 1, "inout"), k.batch("held", 2, 1, "inout")
    flag = k.temp("flag", 1, 1)
    k.pointwise(lambda x: [[m.where(x[0] > 0.0, 1.0, 0.0)]], [x], [flag])

    def add(y: Any, held: Any, flag: Any) -> Any:
        yes = flag[0] > 0.0
        return [[m.where(yes, y[0] + 1.0, y[0])], [m.where(yes, held[0] + y[0], held[0])]]

    k.when_any(flag, lambda: k.pointwise(add, [y, held, flag], [y, held]))
    k.pointwise(lambda y: [[2.0 * y[0]]], [y], [y])
    return k


@pytest.mark.parametrize("name", present(backends.names()))
def test_when_any_does_it_for_items_with_a_flag(name: str) -> None:
    x, y, held = RNG.normal(size=(64, 1, 1)), RNG.normal(size=(64, 2, 1)), RNG.normal(size=(64, 2, 1))
    x[16:48] = -1.0  # whole batches without
    backend: Any = backends.make(name, "double", 2)
    kernel, buffers = conditional(), {}
    for argument, values in (("x", x), ("y", y), ("held", held)):
        buffers[argument] = backend.batch(64, *values.shape[1:])
        buffers[argument].put(values)
    backend.compile([kernel])["k"](buffers)(0, 64)
    np.testing.assert_array_equal(buffers["y"].get(), 2.0 * (y + (x > 0)))
    np.testing.assert_array_equal(buffers["held"].get(), np.where(x > 0, held + y, held))


def repeated(mostly: bool) -> Kernel:
    """y += 1 + 2 + 3 where x > 0, row by row through a table that sums both."""
    k = Kernel("k")
    x, y, numbers = k.batch("x", 1, 1), k.batch("y", 2, 1, "inout"), k.scalar("numbers", 3)
    flag, each = k.temp("flag", 1, 1), k.temp("each", 2, 1)
    k.pointwise(lambda x: [[m.where(x[0] > 0.0, 1.0, 0.0)]], [x], [flag])

    def body(i: LoopIndex) -> None:
        k.pointwise(lambda f, n: [[0.5 * f[0] * n[0]]], [flag, numbers.view(i, 1)], [each])
        k.contract(y, np.ones((2, 2)), each, accumulate=True)

    k.when_any(flag, lambda: k.repeat("i", 3, body), mostly)
    k.pointwise(lambda y: [[2.0 * y[0]]], [y], [y])
    return k


@pytest.mark.parametrize("mostly", [False, True])
@pytest.mark.parametrize("name", present(backends.names()))
def test_when_any_repeats(name: str, mostly: bool) -> None:
    x, y = RNG.normal(size=(64, 1, 1)), RNG.normal(size=(64, 2, 1))
    x[16:48] = -1.0  # whole batches without
    backend: Any = backends.make(name, "double", 2)
    kernel, buffers = repeated(mostly), {}
    for argument, values in (("x", x), ("y", y)):
        buffers[argument] = backend.batch(64, *values.shape[1:])
        buffers[argument].put(values)
    backend.compile([kernel])["k"](buffers)(0, 64, numbers=[[1.0], [2.0], [3.0]])
    np.testing.assert_allclose(buffers["y"].get(), 2.0 * (y + 6.0 * (x > 0)), rtol=1e-14)


def test_what_is_under_when_any_is_counted_by_its_share() -> None:
    kernel = conditional()
    assert kernel.occasional == {"held"}
    full, none = cost(kernel), cost(kernel, lambda s: 0.0)
    assert full.numbers - none.numbers == 4 and full.flops - none.flops == 4


def test_when_any_refuses_what_it_cannot_do() -> None:
    k = Kernel("k")
    x, flag = k.batch("x", 1, 1), k.temp("flag", 1, 1)
    store, index = k.store("store", 1, 1, "out"), k.index("index")
    with raises(ValueError):
        k.when_any(flag, lambda: k.scatter(x, store, index))
    with raises(ValueError):
        k.when_any(flag, lambda: k.repeat("i", 2, lambda i: k.scatter(x, store, index)))
    with raises(ValueError):
        Kernel("other").when_any(x, lambda: None)
