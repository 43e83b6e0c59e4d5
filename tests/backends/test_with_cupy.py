"""What is asked of CuPy, with a stand-in that remembers: there need be no device."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from faultwave.backends.device import with_cupy
from faultwave.backends.device.backend import DeviceBackend
from faultwave.base.errors import BackendError
from faultwave.engines.dg import kernels
from faultwave.engines.dg.forms import form
from faultwave.laws import law

H200 = {"name": b"NVIDIA H200", "major": 9, "minor": 0, "sharedMemPerBlock": 49152, "sharedMemPerBlockOptin": 232448,
        "sharedMemPerMultiprocessor": 233472}  # fmt: skip


class Full(MemoryError):
    pass


class Function:
    max_dynamic_shared_size_bytes = 0

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def __call__(self, grid: Any, block: Any, arguments: Any, shared_mem: int = 0) -> None:
        self.calls.append((grid, block, arguments, shared_mem))


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    memory = SimpleNamespace(memset_async=lambda *a: None, copy_from_host=lambda *a: None, copy_to_host=lambda *a: None)

    def alloc(size: int) -> Any:
        if size > 1 << 34:
            raise Full(f"{size}")
        return memory

    runtime = SimpleNamespace(
        is_hip=False, CUDARuntimeError=RuntimeError, getDeviceCount=lambda: 1, getDeviceProperties=lambda n: H200,
        memGetInfo=lambda: (1 << 30, 1 << 37),
    )  # fmt: skip
    cuda = SimpleNamespace(
        runtime=runtime, alloc=alloc, memory=SimpleNamespace(OutOfMemoryError=Full), Device=lambda: SimpleNamespace(id=0),
        compiler=SimpleNamespace(CompileException=ValueError), memory_pool=None,
    )  # fmt: skip
    functions: dict[str, Function] = {}

    def module(code: str, options: Any) -> Any:
        assert 'extern "C" __global__' in code
        return SimpleNamespace(get_function=lambda name: functions.setdefault(name, Function()))

    pool = SimpleNamespace(free_bytes=lambda: 0)
    made = SimpleNamespace(cuda=cuda, RawModule=module, functions=functions, get_default_memory_pool=lambda: pool)
    monkeypatch.setitem(sys.modules, "cupy", made)
    return made


def test_a_launch(cupy: Any) -> None:
    backend = DeviceBackend("cuda", with_cupy.CupyDevice("cuda"))
    assert backend.described == "cuda on NVIDIA H200" and backend.device.target.shared == 232448
    k = kernels.correct(form(law("elastic"), 4))
    buffers = {
        a.name: backend.index(np.zeros((64, a.cols), int)) if a.space == "index"
        else backend.batch(64, a.rows, a.cols) if a.space == "batch" else backend.store(9, a.rows * a.cols)
        for a in k.arguments
    }  # fmt: skip
    backend.compile([k])["correct"](buffers)(16, 64)
    _, plan = backend.lowered(k)
    function = cupy.functions["correct"]
    ((grid, block, arguments, shared),) = function.calls
    assert (grid, block) == ((48 // plan.share,), (plan.threads,))
    assert shared == plan.shared == function.max_dynamic_shared_size_bytes > 48 * 1024
    assert len(arguments) == len(k.arguments) + 2 and arguments[-2] == 16 and arguments[-1].dtype == np.uint8


def test_running_out_of_memory_is_told_with_numbers(cupy: Any) -> None:
    backend = DeviceBackend("cuda", with_cupy.CupyDevice("cuda"))
    with pytest.raises(BackendError, match=r"H200 has no room for another 32.00 GiB, 1.00 GiB are free"):
        backend.device.allocate(1 << 35)
    # The driver may only tell when it is too late: what is taken is counted here.
    backend.store(1 << 16, 1 << 10)
    with pytest.raises(BackendError, match=r"has 1.00 GiB free; 0.50 GiB are taken and 0.75 GiB more are needed"):
        backend.store(3 << 15, 1 << 10)


def test_what_is_missing(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert with_cupy.missing("cuda") == ""
    assert "the one installed is for NVIDIA" in with_cupy.missing("hip")
    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", lambda: 0)
    assert "finds no device: pip install 'faultwave[cuda]'" in with_cupy.missing("cuda")
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert "needs CuPy, which is not installed" in with_cupy.missing("cuda")


def test_devices_that_are_not_in_the_table() -> None:
    made = with_cupy.target_of("cuda", {**H200, "major": 11, "minor": 3})
    assert (made.name, made.shared, made.warp) == ("sm_113", 232448, 32)
    amd = with_cupy.target_of("hip", {"gcnArchName": b"gfx90a:sramecc+", "sharedMemPerBlock": 65536})
    assert (amd.name, amd.warp, amd.shared) == ("gfx90a", 64, 65536)
