"""Memory that is taken beforehand: its pages are there, and what is written to it meanwhile stays."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import numpy as np
import pytest

from faultwave.backends.cpu import pages
from faultwave.backends.cpu.runtime import CpuBackend, _aligned
from faultwave.dg.partial import Partial

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which pages are there")


def resident(array: np.ndarray) -> float:
    """Share of an array's pages that are in memory (proc_pid_pagemap(5), bit 63)."""
    first, last = array.ctypes.data // pages.PAGE, (array.ctypes.data + array.nbytes - 1) // pages.PAGE
    with Path("/proc/self/pagemap").open("rb") as file:
        file.seek(8 * first)
        entries = np.frombuffer(file.read(8 * (last + 1 - first)), np.uint64)
    return float((entries >> np.uint64(63)).mean())


@linux
def test_pages_are_there_before_anybody_writes() -> None:
    array = _aligned((3 * pages.PIECE // 8 + 1000,), np.float64)
    if populated(_aligned((2 * pages.PAGE,), np.uint8)):
        pytest.skip("a system before Linux 5.14")
    array[::1_000_000] = 1.0  # by whoever prepares
    thread = pages.populate([array])
    assert thread is not None
    thread.join()
    assert resident(array) > 0.99
    assert array.sum() == len(array[::1_000_000]) and array[1] == 0.0


def populated(array: np.ndarray) -> int:
    """What the system answers, 0 where it did."""
    begin = ctypes.c_void_p(-(-array.ctypes.data // pages.PAGE) * pages.PAGE)
    return int(ctypes.CDLL(None).madvise(begin, ctypes.c_size_t(pages.PAGE), pages.POPULATE))


@linux
def test_a_backend_takes_the_memory_of_its_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for a forecast, which works on a part of what it asks for."""
    asked: list[int] = []
    monkeypatch.setattr(
        "faultwave.backends.cpu.runtime.populate", lambda arrays: asked.extend(a.nbytes for a in arrays)
    )
    backend = CpuBackend("double", 1)
    monkeypatch.setattr(backend, "numa", False)
    batch, store = backend.batch(4 * backend.lanes, 2, 3), backend.store(5, 7)
    Partial(backend, 0.1).first_touch([batch, store], [(0, 4 * backend.lanes)])
    assert not asked
    backend.first_touch([batch, store], [(0, 4 * backend.lanes)])
    assert asked == [batch.nbytes, store.nbytes]
