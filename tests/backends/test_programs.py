"""Kernels of every kind of statement: each backend against the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave import backends
from faultwave.backends.device.lower import lower
from faultwave.backends.device.target import TARGETS
from faultwave.backends.numpy.runtime import execute
from faultwave.kernels import math as m
from faultwave.kernels.language import Kernel
from tests.backends.here import present

BOTH = pytest.mark.parametrize("precision", ("double", "single"))
TABLES = 3
OTHERS = pytest.mark.parametrize("name", present(backends.names()))


def check(
    kernel: Kernel, name: str, precision: str, items: int, slots: int = 0, **scalars: Any
) -> dict[str, np.ndarray]:
    """Random arguments through the backend and through the reference, double precision as the truth."""
    backend: Any = backends.make(name, precision, 2)
    lanes = backend.fixed_lanes if kernel.fixed else backend.lanes
    padded = items + -items % lanes
    rng = np.random.default_rng(7)
    data, buffers = {}, {}
    chosen = {a.chosen for a in kernel.arguments}
    for a in kernel.arguments:
        if a.name in chosen:
            values = np.repeat(rng.integers(0, TABLES, padded // lanes), lanes)[:, None]
            data[a.name], buffers[a.name] = values, backend.index(values, kernel.fixed)
            continue
        if a.space == "index":
            # Each column a permutation of slots: no two items write the same one.
            values = np.stack([rng.permutation(slots)[:padded] for _ in range(a.cols)], 1)
            data[a.name], buffers[a.name] = values, backend.index(values, kernel.fixed)
            continue
        shape = {"batch": (padded, a.rows, a.cols), "store": (slots, a.rows * a.cols), "matrix": (a.rows, a.cols)}[
            a.space
        ]
        values = rng.normal(size=(TABLES, *shape) if a.chosen else shape)
        data[a.name] = values.astype(backend.dtype if not (kernel.fixed and a.space != "store") else np.float64).astype(
            float
        )
        if a.space == "matrix":
            buffers[a.name] = backend.matrix(values, kernel.fixed)
            data[a.name] = data[a.name].reshape(-1, *shape)
            continue
        buffers[a.name] = (
            backend.batch(padded, a.rows, a.cols, kernel.fixed) if a.space == "batch" else backend.store(*shape)
        )
        buffers[a.name].put(values)
    execute(kernel, data, scalars, np.float64)
    launch = backend.compile([kernel])[kernel.name](buffers)
    half = (padded // lanes // 2) * lanes  # two launches: items are independent
    launch(0, half, **scalars)
    launch(half, padded, **scalars)
    tolerance = 1e-13 if kernel.fixed or precision == "double" else 2e-5
    for a in kernel.arguments:
        got = buffers[a.name].get()
        if a.space == "store" and precision == "single":
            np.testing.assert_allclose(got, data[a.name], rtol=1e-6, atol=2e-5)
        elif a.space in ("batch", "store"):
            np.testing.assert_allclose(got, data[a.name], rtol=tolerance, atol=tolerance, err_msg=a.name)
    return data


@OTHERS
@BOTH
@pytest.mark.parametrize("fixed", (False, True))
def test_everything_in_one_kernel(name: str, precision: str, fixed: bool) -> None:
    k = Kernel("everything", fixed=fixed)
    q, z, out = k.batch("q_in", 5, 3), k.batch("z_in", 1, 2), k.batch("result", 4, 3, "inout")
    index, store = k.index("slots", 3), k.store("store", 4, 3, "inout")
    table, dense = k.scalar("table", 3, 2), k.matrix("dense", 4, 5)
    factor = k.scalar("factor")
    local, other = k.temp("local", 4, 3), k.temp("other", 5, 3)
    constant = np.array([[0.3, 0.0, -1.0, 0.0, 0.0], [0.0] * 5, [0.0, 2.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0]])
    k.contract(local, constant, q)
    k.contract(local, dense, q, [(0, 2), (2, 0)], accumulate=True)
    k.contract(local.view(0, 2, 1, 2), constant[:2, :3], q.view(1, 3, 0, 1), [(0, 1)], accumulate=True)

    def mixed(x: Any, z: Any, f: Any) -> Any:
        first = m.exp(-x[0] * x[0]) + z[0] * f[0]  # z and f do not change with the row
        return [[first, m.where(x[1] > z[1], m.sqrt(m.abs(x[1])), -x[2]), m.minimum(x[2], first) + 1.0]]

    k.pointwise(mixed, [local, z, factor], [other.view(0, 4)], rows=4)
    k.pointwise(lambda a, b: [[x + y for x, y in zip(a, b, strict=True)]], [out, other.view(0, 4)], [out])
    k.gather(local, store, index, 1)
    k.pointwise(lambda a, b: [[0.5 * x + y for x, y in zip(a, b, strict=True)]], [local, out], [local])
    k.scatter(local, store, index, 1)
    k.scatter(out, store, index, 1, accumulate=True)

    def body(i: Any) -> None:
        k.pointwise(lambda x, t: [[x[0] * t[0] + t[1]]], [out.view(1, 3, 2, 1), table.view(i)], [out.view(1, 3, 2, 1)])
        k.contract(other.view(0, 4), constant[:, :4], local)
        k.pointwise(lambda x, y: [[a + 0.1 * b for a, b in zip(x, y, strict=True)]], [local, other.view(0, 4)], [local])

    k.repeat("sub", 3, body)
    k.scatter(local, store, index, 1, accumulate=True)
    check(k, name, precision, 37, 64, table=[[1.0, 0.5], [-0.5, 2.0], [0.25, -1.0]], factor=1.5)


@pytest.mark.skipif(bool(backends.missing("opencl")), reason=backends.missing("opencl"))
@BOTH
def test_products_in_loops_are_those_written_out(precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large kernels of OpenCL have tables of nonzeros: sums in the same order, and the same to the last bit."""
    rng = np.random.default_rng(2)
    k = Kernel("products")
    q, out = k.batch("given", 7, 4), k.batch("result", 30, 4, "inout")
    between = k.temp("between", 30, 3)
    sparse = rng.normal(size=(30, 7)) * (rng.uniform(size=(30, 7)) < 0.4)
    sparse[4] = 0.0
    k.contract(between, sparse, q, [(0, 0), (3, 2)])
    k.contract(between, sparse[:, :5], q.view(2, 5), [(1, 1)])
    k.contract(between, rng.normal(size=(30, 7)), q, [(2, 0), (1, 2)], accumulate=True)
    k.contract(out, rng.normal(size=(9, 30)), between, [(2, 0), (0, 3)], accumulate=True)
    found = []
    for most in (0, 1 << 30):
        monkeypatch.setattr("faultwave.backends.device.lower.LONG", most)
        text = lower(k, TARGETS["opencl"], False)[0]
        assert ("+= table_" in text) == (most == 0) and ("* x0;" in text) == (most > 0)
        assert "+= table_" not in lower(k, TARGETS["sm_90"], False)[0]
        backend: Any = backends.make("opencl", precision)
        rng = np.random.default_rng(9)
        buffers = {"given": backend.batch(32, 7, 4), "result": backend.batch(32, 30, 4)}
        for b in buffers.values():
            b.put(rng.normal(size=(32, *b.shape)))
        backend.compile([k])["products"](buffers)(0, 32)
        found.append(buffers["result"].get())
    np.testing.assert_array_equal(*found)
    monkeypatch.setattr("faultwave.backends.device.lower.LONG", 0)
    check(k, "opencl", precision, 37)


@OTHERS
@BOTH
@pytest.mark.parametrize("fixed", (False, True))
def test_tables_that_batches_choose(name: str, precision: str, fixed: bool) -> None:
    """One launch for items that take different tables; one that takes the same stands beside."""
    k = Kernel("chosen", fixed=fixed)
    x, out, which = k.batch("given", 5, 3), k.batch("result", 4, 3, "out"), k.index("which")
    several, one = k.matrix("several", 4, 5, which), k.matrix("one", 4, 4)
    between = k.temp("between", 4, 3)
    k.contract(between, several, x)
    k.contract(out, one, between)
    k.contract(out, several, x, [(0, 1), (2, 0)], accumulate=True)
    data = check(k, name, precision, 100)
    each = np.einsum("nrc,ncq->nrq", data["several"][data["which"][:, 0]], data["given"])
    want = np.einsum("rs,nsq->nrq", data["one"][0], each)
    want[..., [1, 0]] += each[..., [0, 2]]
    np.testing.assert_allclose(data["result"], want, rtol=1e-12, atol=1e-12)
    assert len(np.unique(data["which"])) == TABLES


def newton(a: Any, b: Any, keep_last: bool = False) -> Any:
    """Root x > 0 of x^2 + b x = a, with a bound that some items meet."""

    def step(x: Any, change: Any) -> Any:
        new = x - (x * x + b * x - a) / (2.0 * x + b)
        return (new, m.abs(new - x)), change > 1e-6

    return m.iterate(step, (1.0 + 0.0 * a, 1.0 + 0.0 * a), 7, keep_last)


@OTHERS
@BOTH
def test_loops_of_formulas(name: str, precision: str) -> None:
    k = Kernel("loops")
    x, z, out = k.batch("x_in", 3, 2), k.batch("z_in", 1, 2), k.batch("result", 3, 5, "out")

    def f(x: Any, z: Any) -> Any:
        by_row = newton(1.0 + x[0] * x[0], m.abs(x[1]))[0]
        by_item = newton(1.0 + z[0] * z[0], m.abs(z[1]))[0]  # the same for all rows: leaves the row loop

        def outer(y: Any) -> Any:
            inner = m.iterate(lambda v: ((0.5 * (v + y / v),), m.abs(v * v - y) > 1e-3), (1.0 + 0.0 * y,), 20)[0]
            return (y + inner,), y < 4.0 + x[0]

        nested = m.iterate(outer, (m.abs(x[0]) + 1.0,), 6)[0]
        fed = newton(by_row + nested, m.abs(x[1]))[0]
        rounded = newton(by_row + nested, m.abs(x[1]), keep_last=True)[1]  # what the last step changed
        return [[by_row, by_item, nested, fed, rounded]]

    k.pointwise(f, [x, z], [out])
    check(k, name, precision, 50)


@OTHERS
def test_launches_do_not_touch_other_items(name: str) -> None:
    k = Kernel("range")
    a = k.batch("a_in", 2, 1, "inout")
    k.pointwise(lambda x: [[x[0] + 1.0]], [a], [a])
    backend: Any = backends.make(name, "double", 2)
    lanes = backend.lanes
    buffer = backend.batch(6 * lanes, 2, 1)
    launch = backend.compile([k])["range"]({"a_in": buffer})
    launch(lanes, 4 * lanes)
    launch(2 * lanes, 2 * lanes)
    want = np.zeros((6 * lanes, 2, 1))
    want[lanes : 4 * lanes] = 1.0
    np.testing.assert_array_equal(buffer.get(), want)


@OTHERS
@BOTH
def test_buffers_give_back_what_was_put(name: str, precision: str) -> None:
    backend: Any = backends.make(name, precision)
    items = 3 * backend.lanes
    rng = np.random.default_rng(0)
    for buffer, shape in ((backend.batch(items, 4, 3), (items, 4, 3)), (backend.store(items, 5), (items, 5))):
        assert buffer.items == items and not buffer.get().any() and buffer.finite()
        want = rng.normal(size=shape).astype(backend.dtype)
        buffer.put(want)
        np.testing.assert_array_equal(buffer.get(), want)
        some = np.array([items - 1, 0, 2])
        buffer.put(want[:3] * 2, some)
        want[some] = want[:3] * 2
        buffer.add(want[:2], np.array([1, 1]))  # the same item twice: both count
        want[1] += want[0] + want[1]
        np.testing.assert_allclose(buffer.get(), want, rtol=1e-6)
        np.testing.assert_allclose(buffer.get(some, slice(1, 3)), want[some][:, 1:3], rtol=1e-6)
        copy = buffer.get()
        copy[:] = 0
        assert buffer.get().any()
        for bad in (np.nan, np.inf):
            buffer.put(np.full((1, *shape[1:]), bad), np.array([items - 1]))
            with np.errstate(all="ignore"):
                assert not buffer.finite()


def test_backend_that_does_not_exist() -> None:
    from faultwave.base.errors import BackendError

    with pytest.raises(BackendError, match="does not exist.*cpu, cuda, hip, numpy, opencl"):
        backends.make("gpu")
    with pytest.raises(BackendError, match="did you mean 'numpy'"):
        backends.make("nunpy")


def test_cpu_refuses_items_that_do_not_fill_the_lanes() -> None:
    backend: Any = backends.make("cpu")
    with pytest.raises(ValueError, match="lanes"):
        backend.batch(backend.lanes + 1, 1, 1)


@BOTH
def test_names_that_the_c_text_uses_itself(precision: str) -> None:
    """Whatever arrays and counters are called, they are told from what the generated text declares."""
    k = Kernel("names")
    x, m_, r, o, j = (k.batch(n, 3, 2, "inout") for n in ("x", "m", "r", "o", "j"))
    p, lane, a1 = k.index("p"), k.store("lane", 3, 2, "inout"), k.temp("a1", 3, 2)
    value0, a1_ = k.matrix("value0", 3, 3), k.temp("a1_", 3, 2)
    f1_1, batch = k.batch("f1_1", 1, 1), k.scalar("batch", 2, 1)
    k.gather(a1, lane, p)
    k.contract(a1, np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 0.0], [0.0, 0.0, 2.0]]), x, accumulate=True)
    k.contract(a1_, value0, a1)
    k.pointwise(lambda a, b, c: [[u + 2.0 * v * c[0] for u, v in zip(a, b, strict=True)]], [a1_, m_, f1_1], [r])
    k.repeat("restrict", 2, lambda i: k.pointwise(lambda a, b: [[u * b[0] for u in a]], [r, batch.view(i)], [r]))
    k.repeat("r2", 2, lambda i: k.contract(o, np.eye(3), r, accumulate=True))
    k.scatter(r, lane, p)
    k.pointwise(lambda a: [list(a)], [o], [j])
    check(k, "cpu", precision, 16, 32, batch=[0.5, -1.5])
