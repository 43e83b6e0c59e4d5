"""What is asked of CuPy, with a stand-in that remembers: there need be no device."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from faultwave.backends.device import with_cupy
from faultwave.backends.device.backend import DeviceBackend
from faultwave.backends.device.recording import together
from faultwave.base.errors import BackendError
from faultwave.engines.dg import kernels
from faultwave.engines.dg.forms import form
from faultwave.kernels.language import Kernel
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
        for a in arguments:
            assert not isinstance(a, np.ndarray) or a.size == 1, "CuPy passes others by their address only"
        self.calls.append((grid, block, arguments, shared_mem))


class Event:
    done = False

    def synchronize(self) -> None:
        self.done = True


class Stream:
    """Counts what it is asked for; what is launched while it captures is the graph's."""

    def __init__(self, non_blocking: bool = False, priority: int = 0):
        assert non_blocking, "the default stream cannot be captured, and others would wait for it"
        self.asked: list[str] = []
        self.capturing = False

    def use(self) -> Stream:
        return self

    def __enter__(self) -> Stream:
        self.asked.append("launch")
        return self

    def __exit__(self, *error: Any) -> None: ...

    def record(self) -> Event:
        self.asked.append("record")
        return Event()

    def wait_event(self, event: Event) -> None:
        assert isinstance(event, Event)
        self.asked.append("wait")

    def synchronize(self) -> None:
        assert not self.capturing, "a stream that is captured cannot be waited for"
        self.asked.append("synchronize")

    def begin_capture(self) -> None:
        self.capturing = True

    def end_capture(self) -> Any:
        self.capturing = False
        return SimpleNamespace(launch=lambda stream: stream.asked.append("graph"))


class Memory:
    """Bytes of a device, really moved."""

    def __init__(self, size: int):
        self.bytes = np.full(size, 255, np.uint8)

    def memset_async(self, value: int, size: int, stream: Stream) -> None:
        assert not stream.capturing
        self.bytes[:size] = value

    def _copy(self, pointer: Any, size: int, stream: Stream, there: bool) -> None:
        stream.asked.append("copy")
        host = np.ctypeslib.as_array(ctypes.cast(pointer, ctypes.POINTER(ctypes.c_uint8)), (size,))
        if there:
            self.bytes[:size] = host
        else:
            host[:] = self.bytes[:size]

    def copy_from_host_async(self, pointer: Any, size: int, stream: Stream) -> None:
        self._copy(pointer, size, stream, True)

    def copy_to_host_async(self, pointer: Any, size: int, stream: Stream) -> None:
        self._copy(pointer, size, stream, False)


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    def alloc(size: int) -> Any:
        if size > 1 << 34:
            raise Full(f"{size}")
        return Memory(size)

    runtime = SimpleNamespace(
        is_hip=False, CUDARuntimeError=RuntimeError, getDeviceCount=lambda: 1, getDeviceProperties=lambda n: H200,
        memGetInfo=lambda: (1 << 30, 1 << 37), deviceGetPCIBusId=lambda n: "0000:1B:00.0",
    )  # fmt: skip
    cuda = SimpleNamespace(
        runtime=runtime, alloc=alloc, memory=SimpleNamespace(OutOfMemoryError=Full), Device=lambda: SimpleNamespace(id=0),
        compiler=SimpleNamespace(CompileException=ValueError), memory_pool=None, Stream=Stream,
        driver=SimpleNamespace(CUDADriverError=RuntimeError), alloc_pinned_memory=lambda size: np.zeros(size, np.uint8),
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
    assert len(arguments) == len(k.arguments) + 2 and arguments[-2] == 16 and arguments[-1].nbytes % 8 == 0


def test_cupy_itself_takes_what_a_launch_gives() -> None:
    """Its own function, which looks at the arguments before it asks for a device."""
    real = pytest.importorskip("cupy")
    device: Any = SimpleNamespace(stream=SimpleNamespace(ptr=0))
    function = real.cuda.function.Function
    memory = real.cuda.MemoryPointer(real.cuda.UnownedMemory(4096, 64, None, 0), 0)
    arguments = [memory, np.int32(1), np.int64(2), np.arange(12.0).tobytes(), bytes(4)]
    with pytest.raises(RuntimeError, match="(?i)driver|device|handle|context"):
        with_cupy.CupyDevice.launch(device, (function.__new__(function), 0), 1, 1, arguments)


def test_results_cross_on_a_stream_of_their_own(cupy: Any) -> None:
    backend = DeviceBackend("cuda", with_cupy.CupyDevice("cuda"))
    device: Any = backend.device
    store = backend.store(8, 4)
    device.stream.asked.clear()
    awaited: Any = store.fetch(np.array([3, 5]))
    # Packed in turn; then the copy waits for that, and the work for nothing.
    assert device.stream.asked[-1] == "record" and "synchronize" not in device.stream.asked
    assert device.copies.asked == ["wait", "copy", "record"] and not awaited.here
    ((_, _, arguments, _),) = cupy.functions["pack"].calls
    arguments[2].bytes[:64] = np.arange(8.0).view(np.uint8)  # what the kernel would have packed
    backend.host.device.bring(arguments[2], awaited.piece.memory[:64])
    np.testing.assert_array_equal(awaited.values(), np.arange(8.0).reshape(2, 4))
    assert awaited.here and awaited.values() is awaited.values()


def test_pinned_pieces_are_used_again_when_their_copies_are_done(cupy: Any) -> None:
    backend = DeviceBackend("cuda", with_cupy.CupyDevice("cuda"))
    table = backend.device.allocate(64)
    backend.host.send(table, np.arange(8.0))
    np.testing.assert_array_equal(table.bytes.view(float), np.arange(8.0))
    backend.host.send(table, np.zeros(8))
    pieces = backend.host.pieces
    assert pieces.nbytes == 2 * 4096, "the first copy may still be on its way"
    for piece in pieces.free[4096]:
        piece.crossing.wait()  # type: ignore[union-attr]
    backend.host.send(table, np.ones(8))
    assert pieces.nbytes == 2 * 4096


def recorded(cupy: Any, hip: bool = False) -> tuple[Any, Any, Any]:
    """A kernel with a table that changes and one without, recorded: device, recording and the functions' calls."""
    cupy.cuda.runtime.is_hip = hip
    backend = DeviceBackend("cuda", with_cupy.CupyDevice("hip" if hip else "cuda"))
    k = Kernel("scale")
    q, now, still = k.batch("q", 1, 1, "inout"), k.scalar("now", changing=True), k.scalar("still")
    k.pointwise(lambda q, a, b: [[q[0] * a[0] * b[0]]], [q, now, still], [q])
    launch = backend.compile([k])["scale"]({"q": backend.batch(32, 1, 1)})
    made = backend.record(lambda: [launch(0, 32, now=1.0 + i, still=2.0) for i in range(3)])
    return backend.device, made, cupy.functions["scale"].calls


def test_a_recording_is_a_graph_with_a_table_of_what_changes(cupy: Any) -> None:
    device, made, calls = recorded(cupy)
    assert len(calls) == 6 and made.launches == 3, "each launched, and once more into the graph"
    assert [int(arguments[2]) for _, _, arguments, _ in calls[3:]] == [0, 16, 32]
    table = calls[3][2][1]
    assert table is not calls[0][2][1] and calls[5][2][1] is table
    asked = len(device.stream.asked)
    made.replay([{"now": 7.0}, {"now": 8.0}, {"now": 9.0}])
    assert device.stream.asked[asked:] == ["copy", "record", "graph"] and len(calls) == 6
    assert table.bytes.view(float)[[0, 16, 32]].tolist() == [7.0, 8.0, 9.0]


def test_launches_that_need_not_wait_for_each_other_are_branches_of_the_graph(cupy: Any) -> None:
    """Items of a kernel are independent; what comes after waits for all of them, and the same items again for the first."""
    backend = DeviceBackend("cuda", with_cupy.CupyDevice("cuda"))
    k = Kernel("scale")
    q, by = k.batch("q", 1, 1, "inout"), k.scalar("by")
    k.pointwise(lambda q, b: [[q[0] * b[0]]], [q, by], [q])
    compiled, buffer = backend.compile([k])["scale"], backend.batch(128, 1, 1)
    launch, other = compiled({"q": buffer}), compiled({"q": backend.batch(128, 1, 1)})

    def work() -> None:
        for begin in (0, 32, 64):
            launch(begin, begin + 32, by=2.0)
        launch(32, 64, by=2.0)
        other(64, 96, by=2.0)

    device: Any = backend.device
    made = backend.record(work)
    assert [len(x) for x in together(made.calls)] == [3, 1, 1]
    assert [s.asked for s in device.beside] == [["wait", "launch", "record"]] * 2 + [[]] * 3
    assert device.stream.asked[-3:] == ["record", "wait", "wait"]
    assert len(cupy.functions["scale"].calls) == 10


def test_without_graphs_a_recording_is_its_launches(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(H200, "gcnArchName", b"gfx90a")
    _, made, calls = recorded(cupy, hip=True)
    assert len(calls) == 3
    made.replay([{"now": 7.0}] * 3)
    assert len(calls) == 6


def test_running_out_of_memory_is_told_with_numbers(cupy: Any) -> None:
    backend = DeviceBackend("cuda", with_cupy.CupyDevice("cuda"))
    with pytest.raises(BackendError, match=r"H200 has no room for another 32.00 GiB, 1.00 GiB are free"):
        backend.device.allocate(1 << 35)
    # The driver may only tell when it is too late: what is taken is counted here.
    backend.store(1 << 16, 1 << 10)
    with pytest.raises(
        BackendError, match=r"has 1.00 GiB free .*3 %.*; 0.50 GiB are taken and 0.75 GiB more are needed"
    ):
        backend.store(3 << 15, 1 << 10)
    backend.store(471, 1 << 17)  # 0.96 GiB in all
    with pytest.raises(BackendError, match="0.96 GiB are taken and 16.00 MiB more are needed"):
        backend.store(1 << 11, 1 << 10)
    backend._kind(np.float64).scratches.take(1 << 24)  # what a run brings to the host has room kept for it


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
