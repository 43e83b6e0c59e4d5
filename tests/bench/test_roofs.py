"""The roofs exist, are positive, and their kernels compute what they say; how high they are is the machine's affair."""

import ctypes

import numpy as np
import pytest

from faultwave.bench.roofs import Roofs, measure, thread_counts

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
