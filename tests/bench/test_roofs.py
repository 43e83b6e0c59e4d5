"""The roofs exist, are positive, and their kernels compute what they say; how high they are is the machine's affair."""

import ctypes

import numpy as np
import pytest

from faultwave.bench.rooflines.roofs import Roofs, measure, thread_counts

SWEEP = 2**20


@pytest.mark.parametrize("precision", ["double", "single"])
def test_every_roof_is_positive(precision):
    roofs = Roofs(precision, 1, SWEEP)
    for _ in range(3):
        found = roofs.sample()
    assert {"fma", "fma_memory", "copy", "triad"} <= set(found)
    assert all(value > 0 for value in found.values())
    roof = roofs.roof("fma")
    assert roof.value == np.median(roof.samples)
    assert len(roof.samples) == 3


@pytest.mark.parametrize("streaming", ["", "stream_"])
@pytest.mark.parametrize("precision", ["double", "single"])
def test_sweeps_move_every_number(precision, streaming):
    roofs = Roofs(precision, 2, SWEEP)
    a, b, c = roofs._memory()
    a[:] = np.arange(a.size)
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (a, b, c)]
    getattr(roofs.library, f"{streaming}copy")(ctypes.c_long(a.size // roofs.lanes), *pointers)
    np.testing.assert_array_equal(c, a)
    getattr(roofs.library, f"{streaming}triad")(ctypes.c_long(a.size // roofs.lanes), *pointers)
    np.testing.assert_array_equal(c, a + a.dtype.type(0.5) * b)


def test_rows_for_every_number_of_threads():
    rows = measure(2, repeats=1, sweep=SWEEP)
    assert {(r["roof"], r["precision"], r["threads"]) for r in rows} >= {
        ("fma", "double", 1), ("fma", "single", 2), ("copy", "double", 2), ("fma_memory", "single", 1),
    }  # fmt: skip
    assert all(r["value"] > 0 for r in rows)


def test_thread_counts():
    assert thread_counts(1) == [1]
    assert thread_counts(2) == [1, 2]
    assert thread_counts(6) == [1, 2, 4, 6]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("precision", ["double", "single"])
def test_loops_do_the_multiply_adds_they_count(precision, threads, monkeypatch):
    roofs = Roofs(precision, threads, SWEEP)
    roofs.library.omp_set_num_threads(threads)
    rounds, out = 50, ctypes.c_double(0.0)
    roofs.library.fma_registers(ctypes.c_long(rounds), ctypes.byref(out))
    decay = 0.999**rounds
    chains = np.arange(1, roofs.chains + 1)
    assert out.value == pytest.approx(threads * (chains * decay + 1.0 - decay).sum(), rel=1e-4)
    # one element of each vector of every thread: each of 6 accumulators gained 48 x 0.001 x 1 a round
    out.value = 0.0
    table, vectors = (ctypes.c_void_p(x.ctypes.data) for x in (roofs._table, roofs._vectors))
    roofs.library.fma_memory(ctypes.c_long(rounds), ctypes.c_long(48), table, vectors, ctypes.byref(out))
    assert out.value == pytest.approx(threads * 6 * rounds * 48e-3, rel=1e-4)


def test_what_is_counted(monkeypatch):
    """With every measurement said to last a second: flops, and bytes as STREAM counts them."""
    roofs = Roofs("double", 2, SWEEP)
    monkeypatch.setattr("faultwave.bench.rooflines.roofs._timed", lambda work: 1.0)
    found = roofs.sample()
    assert found["fma"] == 1000 * 2 * roofs.chains * roofs.lanes * 2
    assert found["fma_memory"] == 1000 * 2 * 48 * 6 * roofs.lanes * 2
    assert found["copy"] == 2 * SWEEP
    assert found["triad"] == 3 * SWEEP
