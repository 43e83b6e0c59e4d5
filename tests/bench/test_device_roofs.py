"""The roofs of a device count what their kernels do, and are measured on it."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from faultwave import backends
from faultwave.bench.problem import Setting
from faultwave.bench.proxy import joules, proxy, why_no_energy
from faultwave.bench.report import proxy_sections
from faultwave.bench.rooflines import roofs
from faultwave.bench.rooflines.roofs import FLOPS, adding, copying, multiplying
from faultwave.kernels.count import cost

needs_opencl = pytest.mark.skipif(bool(backends.missing("opencl")), reason=backends.missing("opencl"))


def test_flops_are_those_of_the_kernels() -> None:
    assert cost(adding()).flops == pytest.approx(FLOPS["fma"], rel=0.05)
    assert cost(multiplying()).flops == FLOPS["fma_memory"]
    assert cost(copying()).bytes(8, 4) == 2 * roofs.MATRIX_ROWS * 8 * 8


@pytest.mark.parametrize("name", ("roof_fma", "roof_fma_memory"))
def test_numbers_stay_numbers(name: str) -> None:
    """Overflow or underflow would make a processor slower or faster than it is."""
    kernel = {k.name: k for k in (adding(), multiplying())}[name]
    backend: Any = backends.make("numpy")
    buffers = {a.name: backend.batch(1, a.rows, a.cols) for a in kernel.arguments}
    for buffer in buffers.values():
        buffer.put(0.5)
    for _ in range(3):
        backend.compile([kernel])[name](buffers)(0, 1)
    found = np.abs(list(buffers.values())[-1].get())
    assert (found > 0.1).all() and (found < 100.0).all()


@needs_opencl
def test_a_proxy_on_a_device_is_judged_by_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roofs, "SECONDS", 1e-4)
    result = proxy(Setting(order=2, cells=200, steps=1, backend="opencl", repeats=1), sweep=1 << 16)
    assert result["runs_on"].startswith("opencl on ") and not result["in_cache"]
    assert set(result["roofs"]) == {"copy", "fma", "fma_memory"}
    assert all(r["value"] > 0 for r in result["roofs"].values()) and result["updates_per_second"] > 0
    assert result["updates_per_joule"] is None and "opencl" in result["energy_missing"]
    text = {row[0]: row[1:] for _, _, rows in proxy_sections(result) for row in rows}
    assert text["updates per joule"][0] == "not available"


@needs_opencl
def test_a_small_mesh_is_stepped_by_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roofs, "SECONDS", 1e-4)
    result = proxy(Setting(order=2, cells=200, steps=6, backend="opencl", repeats=1), sweep=1 << 16)
    assert result["steps_replayed"] >= 12
    assert result["kernels"] and all(k["ns_per_item"] > 0 for k in result["kernels"])


def test_energy_is_what_the_driver_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(Exception):
        pass

    def total(handle: str) -> int:
        if handle != "board 0000:1B:00.0":
            raise Broken
        return 7_500

    nvml = SimpleNamespace(
        nvmlInit=lambda: None, NVMLError=Broken, nvmlDeviceGetTotalEnergyConsumption=total,
        nvmlDeviceGetHandleByPciBusId=lambda bus: f"board {bus.decode()}",
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    board = SimpleNamespace(name="cuda", device=SimpleNamespace(bus="0000:1B:00.0"))
    assert joules(board) == 7.5 and why_no_energy(board) == ""
    board.device.bus = "0000:00:00.0"
    assert joules(board) is None
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert joules(board) is None and "nvidia-ml-py" in why_no_energy(board)
