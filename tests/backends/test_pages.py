"""Memory that is taken beforehand: its pages are there, and what is written to it meanwhile stays."""

from __future__ import annotations

import ctypes
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave.backends.cpu import runtime
from faultwave.backends.cpu.runtime import CpuBackend, _aligned
from faultwave.base.errors import RunError
from faultwave.dg.run_forecast import PartialBackend

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which pages are there")


def resident(array: np.ndarray) -> float:
    """Share of an array's pages that are in memory (proc_pid_pagemap(5), bit 63)."""
    first, last = array.ctypes.data // runtime.PAGE, (array.ctypes.data + array.nbytes - 1) // runtime.PAGE
    with Path("/proc/self/pagemap").open("rb") as file:
        file.seek(8 * first)
        entries = np.frombuffer(file.read(8 * (last + 1 - first)), np.uint64)
    return float((entries >> np.uint64(63)).mean())


@linux
def test_pages_are_there_before_anybody_writes() -> None:
    array = _aligned((3 * runtime.PIECE // 8 + 1000,), np.float64)
    if populated(_aligned((2 * runtime.PAGE,), np.uint8)):
        pytest.skip("a system before Linux 5.14")
    array[::1_000_000] = 1.0  # by whoever prepares
    thread = runtime.populate([array])
    assert thread is not None
    thread.join()
    assert resident(array) > 0.99
    assert array.sum() == len(array[::1_000_000]) and array[1] == 0.0


def populated(array: np.ndarray) -> int:
    """What the system answers, 0 where it did."""
    begin = ctypes.c_void_p(-(-array.ctypes.data // runtime.PAGE) * runtime.PAGE)
    return int(ctypes.CDLL(None).madvise(begin, ctypes.c_size_t(runtime.PAGE), runtime.POPULATE))


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """First bytes of what is asked for."""
    asked: list[int] = []
    where = "faultwave.backends.cpu.runtime"
    monkeypatch.setattr(f"{where}.populate", lambda arrays: asked.extend(a.ctypes.data for a in arrays))
    monkeypatch.setattr(f"{where}._numa_nodes", lambda: 1)
    return asked


def test_memory_near_its_threads_is_not_taken_once_more(taken: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    backend = CpuBackend("double", 1)
    store = backend.store(5, 7)
    for numa in (True, False):
        monkeypatch.setattr(backend, "numa", numa)
        backend.take_memory([store])
        assert taken == ([] if numa else [store.storage.ctypes.data])


def test_a_forecast_touches_nothing_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    backend: Any = CpuBackend("double", 1)
    monkeypatch.setattr(backend, "first_touch", lambda buffers, ranges: pytest.fail("all of them"))
    PartialBackend(backend, 0.1).first_touch([backend.store(5, 7)], [(0, backend.lanes)])


@pytest.mark.parametrize("integrator", ["ader", "leapfrog"])
def test_a_run_takes_the_memory_that_its_steps_write_to(tmp_path: Path, taken: list[int], integrator: str) -> None:
    """Neither set-up nor what goes on from a checkpoint, which need more for a moment, and not what this integrator has no use for."""
    box = {"shape": "box", "cells": [2, 2, 2], "lower": [0.0] * 3, "upper": [1.0] * 3}
    case = {
        "end_time": 0.3, "mesh": {"generate": box}, "numerics": {"order": 2, "integrator": integrator, "backend": "cpu"},
        "material": {"constant": {"rho": 1.0, "lambda": 2.0, "mu": 1.0}}, "output": {"folder": str(tmp_path / "out")},
    }  # fmt: skip
    with pytest.raises(RunError, match="continue with"):
        fw.simulate(case).run(progress=lambda p: signal.raise_signal(signal.SIGTERM))
    taken.clear()
    session: Any = fw.resume(tmp_path / "out")
    assert not taken
    session.run()
    op = session.solver.operator
    changed = [op.q, op.own_waves, op.waves] if integrator == "ader" else [op.q, op.traces]
    assert {b.storage.ctypes.data for b in changed} <= set(taken)
    others = [op.cell, op.face] + ([] if integrator == "ader" else [op.own_waves, op.waves])
    assert not {b.storage.ctypes.data for b in others} & set(taken)
