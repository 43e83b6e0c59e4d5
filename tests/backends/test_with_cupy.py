"""What is asked of CuPy, with a stand-in that remembers: there need be no device."""

from __future__ import annotations

import ctypes
import sys
import threading
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from faultwave import backends
from faultwave.backends.base import Part
from faultwave.backends.device import with_cupy
from faultwave.backends.device.backend import DeviceBackend, concurrent_groups
from faultwave.backends.device.compilers import CUDA_FLAGS
from faultwave.base.errors import BackendError
from faultwave.dg.method.forms import form
from faultwave.dg.operators import kernels
from faultwave.kernels.language import Kernel
from faultwave.kernels.stencil import Box, Launch, Layout, Program, Stencil
from faultwave.physics.waves import law

H200 = {"name": b"NVIDIA H200", "major": 9, "minor": 0, "sharedMemPerBlock": 49152, "sharedMemPerBlockOptin": 232448,
        "sharedMemPerMultiprocessor": 233472}  # fmt: skip


class Full(MemoryError):
    pass


class Here(threading.local):
    device = 0


here = Here()  # the device of each thread


class Function:
    def __init__(self, device: int = 0) -> None:
        self.calls: list[Any] = []
        self.device, self.given = device, 0
        self.does: Callable[..., None] = lambda *arguments: None

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        return self.given

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, size: int) -> None:
        if size > 232448:
            raise RuntimeError("CUDA_ERROR_INVALID_VALUE")
        self.given = size

    def __call__(self, grid: Any, block: Any, arguments: Any, shared_mem: int = 0, *, stream: Stream) -> None:
        stream.own()
        for a in arguments:
            assert not isinstance(a, np.ndarray) or a.size == 1, "CuPy passes others by their address only"
        stream.asked.append("launch")
        stream.later(lambda: self.does(*arguments))
        self.calls.append((grid, block, arguments, shared_mem))


class Event:
    """After so much work of a stream."""

    def __init__(self, stream: Stream):
        self.stream, self.after = stream, stream.given

    @property
    def done(self) -> bool:
        return self.stream.worked >= self.after

    def synchronize(self) -> None:
        self.stream.work(self.after)


class Stream:
    """Does its work when somebody waits for it, and counts what it is asked for; what is launched while it captures is the graph's."""

    def __init__(self, non_blocking: bool = False, priority: int = 0):
        assert non_blocking, "the default stream cannot be captured, and others would wait for it"
        self.asked: list[str] = []
        self.capturing = False
        self.device = here.device
        self.queue: list[Callable[[], None]] = []
        self.given = self.worked = 0

    def own(self) -> None:
        assert here.device == self.device, "drivers refuse streams of another device than the thread's"

    def later(self, work: Callable[[], None]) -> None:
        self.own()
        self.queue.append(work)
        self.given += 1

    def work(self, until: int) -> None:
        while self.worked < until:
            self.worked += 1
            self.queue.pop(0)()

    def record(self) -> Event:
        self.own()
        self.asked.append("record")
        return Event(self)

    def wait_event(self, event: Event) -> None:
        self.asked.append("wait")
        self.later(event.synchronize)

    def synchronize(self) -> None:
        assert not self.capturing, "a stream that is captured cannot be waited for"
        self.asked.append("synchronize")
        self.work(self.given)

    def begin_capture(self) -> None:
        self.own()
        assert not self.queue, "what fails before would look like a graph that cannot be captured"
        self.capturing = True

    def end_capture(self) -> Any:
        self.capturing = False

        def launch(stream: Stream) -> None:
            stream.own()
            stream.asked.append("graph")

        return SimpleNamespace(launch=launch)


class Memory:
    """Bytes of a device, really moved."""

    def __init__(self, size: int):
        self.bytes, self.device = np.full(size, 255, np.uint8), here.device
        self.ptr = self.bytes.ctypes.data

    def memset_async(self, value: int, size: int, stream: Stream) -> None:
        assert not stream.capturing
        stream.later(lambda: self.bytes[:size].fill(value))

    def _copy(self, pointer: Any, size: int, stream: Stream, there: bool) -> None:
        stream.asked.append("copy")
        assert self.device == stream.device
        host = np.ctypeslib.as_array(ctypes.cast(pointer, ctypes.POINTER(ctypes.c_uint8)), (size,))
        into, source = (self.bytes[:size], host) if there else (host, self.bytes[:size])
        stream.later(lambda: np.copyto(into, source))

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
        is_hip=False, CUDARuntimeError=RuntimeError, getDeviceCount=lambda: 3, getDeviceProperties=lambda n: H200,
        getDevice=lambda: here.device, setDevice=lambda n: setattr(here, "device", n),
        memGetInfo=lambda: (1 << 30, 1 << 37), deviceGetPCIBusId=lambda n: "0000:1B:00.0",
    )  # fmt: skip
    cuda = SimpleNamespace(
        runtime=runtime, alloc=alloc, memory=SimpleNamespace(OutOfMemoryError=Full),
        nvrtc=SimpleNamespace(getVersion=lambda: (13, 0)),
        compiler=SimpleNamespace(CompileException=ValueError), Stream=Stream,
        driver=SimpleNamespace(CUDADriverError=RuntimeError), alloc_pinned_memory=lambda size: np.zeros(size, np.uint8),
    )  # fmt: skip
    functions: dict[str, Function] = {}

    def module(code: str, options: Any) -> Any:
        assert (*options, "-ftz=true") == CUDA_FLAGS, "what CuPy compiles with is what reports and limits are made with"
        assert 'extern "C" __global__' in code
        return SimpleNamespace(get_function=lambda name: functions.setdefault(name, Function(here.device)))

    monkeypatch.setattr(here, "device", 0)
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
    function, stream = real.cuda.function.Function, SimpleNamespace(ptr=0)
    memory = real.cuda.MemoryPointer(real.cuda.UnownedMemory(4096, 64, None, 0), 0)
    arguments = [memory, np.int32(1), np.int64(2), np.arange(12.0).tobytes(), bytes(4)]
    with pytest.raises(RuntimeError, match="(?i)driver|device|handle|context"):
        with_cupy._launch(stream, (function.__new__(function), 0), 1, 1, arguments)


def test_results_cross_on_a_stream_of_their_own(cupy: Any) -> None:
    backend = DeviceBackend("cuda", with_cupy.CupyDevice("cuda"))
    device: Any = backend.device
    store = backend.store(8, 4)
    device.stream.asked.clear()
    packed = np.arange(8.0)
    cupy.functions["pack"].does = lambda buffer, items, into, *rest: np.copyto(into.bytes[:64], packed.view(np.uint8))
    awaited: Any = store.fetch(np.array([3, 5]))
    # Packed in turn; then the copy waits for that, and the work for nothing.
    assert device.stream.asked[-1] == "record" and "synchronize" not in device.stream.asked
    assert device.copies.asked == ["wait", "copy", "record"] and not awaited.here
    found = awaited.values()
    np.testing.assert_array_equal(found, np.arange(8.0).reshape(2, 4))
    assert awaited.here and awaited.values() is found
    packed += 1.0
    later: list[Any] = [store.fetch(np.array([3, 5])).values() for _ in range(3)]
    assert backend.host.pieces.nbytes == 2 * 4096 and [x[0, 0] for x in later] == [1.0] * 3
    assert found[0, 0] == 0.0, "what came before stays, though its piece is used again"


@pytest.mark.parametrize("direct", [False, True])
def test_a_message_is_sent_when_it_is_packed(cupy: Any, direct: bool) -> None:
    """Of a device's memory by its address, or through one pinned piece; a stream is waited for by nobody but MPI."""
    backend = DeviceBackend("cuda", with_cupy.CupyDevice("cuda"))
    device: Any = backend.device
    store = backend.store(8, 4)
    message = store.message_source(np.array([[3, 5], [2, 4]]), direct)
    device.finish()
    device.stream.asked.clear()
    packed = {3: np.arange(8.0), 2: -np.arange(8.0)}

    def pack(buffer: Any, items: Any, into: Any, *rest: Any) -> None:
        np.copyto(into.bytes[:64], packed[int(items.bytes.view(np.int32)[0])].view(np.uint8))

    cupy.functions["pack"].does = pack
    for turn, first in ((0, 3), (1, 2)):
        message.pack(turn)
        assert not message.packed and "synchronize" not in device.stream.asked
        assert device.copies.asked[-3:] == ([] if direct else ["wait", "copy", "record"])
        message.finish()
        assert message.packed
        if direct:
            given = message.buffer.__cuda_array_interface__
            assert given["shape"] == (64,) and given["typestr"] == "|u1" and given.get("stream") is None
            sent = np.ctypeslib.as_array((ctypes.c_uint8 * 64).from_address(given["data"][0]))
        else:
            sent = message.buffer
        np.testing.assert_array_equal(sent.view(float), packed[first])


@pytest.mark.parametrize("direct", [False, True])
def test_a_message_is_received_again_when_it_has_been_unpacked(cupy: Any, direct: bool) -> None:
    backend = DeviceBackend("cuda", with_cupy.CupyDevice("cuda"))
    device: Any = backend.device
    message = backend.store(8, 4).message_target(5, 2, direct)
    message.ready()
    device.finish()
    found: list[np.ndarray] = []
    cupy.functions["unpack"].does = lambda buffer, items, given, *rest: found.append(
        given.bytes[:64].view(float).copy()
    )
    near = message.message_buffer.memory.bytes if direct else message.buffer
    near[:64] = np.arange(8.0).view(np.uint8)
    message.unpack()
    assert not found and not message.borrowed.done
    message.ready()
    assert len(found) == direct, "pinned memory is free once it is copied, the device's once it is unpacked"
    device.finish()
    np.testing.assert_array_equal(found, [np.arange(8.0)])


def test_pinned_pieces_are_used_again_when_their_copies_are_done(cupy: Any) -> None:
    backend = DeviceBackend("cuda", with_cupy.CupyDevice("cuda"))
    table = backend.device.allocate(64)
    backend.host.send(table, np.arange(8.0))
    values = np.zeros(8)
    backend.host.send(table, values)
    values[:] = 1.0
    pieces = backend.host.pieces
    assert pieces.nbytes == 2 * 4096, "the first copy may still be on its way"
    pieces.free[4096][0].crossing.wait()  # type: ignore[union-attr]
    np.testing.assert_array_equal(table.bytes.view(float), np.arange(8.0))
    backend.host.send(table, np.ones(8))
    assert pieces.nbytes == 2 * 4096
    backend.finish()
    np.testing.assert_array_equal(table.bytes.view(float), np.ones(8))


def test_numbers_that_cross_at_once_are_there_at_once(cupy: Any) -> None:
    backend = DeviceBackend("cuda", with_cupy.CupyDevice("cuda"))
    values = np.arange(64.0).reshape(32, 2)
    store = backend.store(32, 2)
    store.put(values)
    assert store.memory_on_device.bytes.view(float).tolist() == list(range(64))
    store.memory_on_device.bytes.view(float)[0] = 7.0
    found = store.get()
    assert found[0, 0] == 7.0
    np.testing.assert_array_equal(found.reshape(-1)[1:], values.reshape(-1)[1:])


def test_processes_of_a_machine_take_a_device_each(cupy: Any) -> None:
    assert [with_cupy.CupyDevice("cuda", place).number for place in (0, 1)] == [0, 1]
    here.device = 0
    assert with_cupy.CupyDevice("cuda", 5).number == 2 == here.device


@pytest.mark.parametrize("name", ("cuda", "hip"))
def test_grids_take_the_device_of_their_process(cupy: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(with_cupy, "device", with_cupy.CupyDevice)  # not kept for other tests
    monkeypatch.setattr(cupy.cuda.runtime, "is_hip", name == "hip")
    monkeypatch.setitem(H200, "gcnArchName", b"gfx90a")
    box = Box((0, 0, 0), (4, 4, 8))
    copied = Stencil("copied", lambda p: {"a": p.at("b")})
    program = Program("p", box, {"a": Layout(box), "b": Layout(box)}, [[Launch(copied, box)]], {})
    runner: Any = backends.make_stencils(name, program, "double", place=2)
    assert runner.device.number == 2


def test_work_from_another_thread(cupy: Any) -> None:
    """Threads have a device and a stream of their own: neither is taken."""
    backend = DeviceBackend("cuda", with_cupy.CupyDevice("cuda", 1))
    device: Any = backend.device
    k = Kernel("scale")
    q, by = k.batch("q", 1, 1, "inout"), k.scalar("by")
    k.pointwise(lambda q, b: [[q[0] * b[0]]], [q, by], [q])
    launch = backend.compile([k])["scale"]({"q": backend.batch(64, 1, 1)})

    def work() -> Any:
        assert here.device == 0
        launch(0, 32, by=2.0)
        return here.device, device.stream.asked[-1]

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() == (1, "launch")

    def whole() -> Any:
        assert here.device == 0
        store = backend.store(8, 4)
        store.put(np.ones((8, 4)))
        backend.record(lambda: launch(0, 32, by=2.0)).replay()  # type: ignore[union-attr]
        return store.fetch(np.array([3, 5])), store.get(), store.add(np.ones((1, 4)), np.array([2])), here.device

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(whole).result()[-1] == 1
    here.device = 2
    play: Any = backend.record(lambda: launch(0, 32, by=2.0))
    here.device = 2
    play.replay()
    here.device = 2
    assert not backend.mark().done
    here.device = 2
    assert device.pinned(16).nbytes == 16 and here.device == 1


def test_what_a_driver_refuses_is_told(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    device = with_cupy.CupyDevice("cuda")
    text = 'extern "C" __global__ void f() {}'
    with pytest.raises(BackendError, match="compiling f for NVIDIA H200 failed: CUDA_ERROR_INVALID_VALUE"):
        device.build(text, ["f"], 1 << 20)
    monkeypatch.setattr(cupy.cuda.runtime, "is_hip", True)  # AMD's driver is not asked
    assert device.build(text, ["f"], 1 << 20)["f"][1] == 1 << 20


def test_a_graph_that_fails_tells_why(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    device, made, _ = recorded(cupy)

    def ended() -> None:
        raise RuntimeError("the capture was spoilt")

    def refused(*arguments: Any) -> None:
        raise RuntimeError("no such memory")

    monkeypatch.setattr(device.stream, "end_capture", ended)
    monkeypatch.setattr(with_cupy, "_launch", refused)
    with pytest.raises(RuntimeError, match="no such memory"):
        device.graph(made.calls)


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
    device.finish()
    assert table.bytes.view(float)[[0, 16, 32]].tolist() == [7.0, 8.0, 9.0]


def test_blocks_of_launches_are_branches_of_the_graph(cupy: Any) -> None:
    """What is said to be independent, and readings that follow each other, whatever is read."""
    backend = DeviceBackend("cuda", with_cupy.CupyDevice("cuda"))
    k = Kernel("scale")
    q, by = k.batch("q", 1, 1, "inout"), k.scalar("by")
    k.pointwise(lambda q, b: [[q[0] * b[0]]], [q, by], [q])
    compiled = backend.compile([k])["scale"]
    buffers = [backend.batch(128, 1, 1) for _ in range(2)]
    one, other = (compiled({"q": b}) for b in buffers)
    store = backend.store(6, 1)
    copy = backend.copier([Part(buffers[0], np.array([3, 4]), slice(None), store)])

    def both(readings: bool) -> None:
        with backend.independent(readings):
            one(0, 32, by=2.0)
            other(0, 32, by=2.0)

    def work() -> None:
        for readings in (False, False, True):
            both(readings)
        with backend.independent(readings=True):
            copy(1)
        one(0, 32, by=2.0)
        copy(2)

    made: Any = backend.record(work)
    assert [len(x) for x in concurrent_groups(made.calls)] == [2, 2, 3, 1, 1]


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
    assert [len(x) for x in concurrent_groups(made.calls)] == [3, 1, 1]
    assert [s.asked for s in device.side_streams] == [["wait", "launch", "record"]] * 2 + [[]] * 3
    assert device.stream.asked[-7:] == ["synchronize", "record", "launch", "wait", "wait", "launch", "launch"]
    assert len(cupy.functions["scale"].calls) == 10


def test_without_graphs_a_recording_is_its_launches(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(H200, "gcnArchName", b"gfx90a")
    _, made, calls = recorded(cupy, hip=True)
    assert len(calls) == 3
    made.replay([{"now": 7.0}] * 3)
    assert len(calls) == 6


def test_running_out_of_memory_is_told_with_numbers(cupy: Any) -> None:
    backend = DeviceBackend("cuda", with_cupy.CupyDevice("cuda"))
    with pytest.raises(BackendError, match=r"H200 cannot allocate 32.00 GiB: 1.00 GiB are free"):
        backend.device.allocate(1 << 35)
    # The driver may only tell when it is too late: what is taken is counted here.
    backend.store(1 << 16, 1 << 10)
    with pytest.raises(
        BackendError, match=r"has 1.00 GiB free .*3 %.*; 0.50 GiB are in use and 0.75 GiB more are needed"
    ):
        backend.store(3 << 15, 1 << 10)
    backend.store(471, 1 << 17)  # 0.96 GiB in all
    with pytest.raises(BackendError, match="0.96 GiB are in use and 16.00 MiB more are needed"):
        backend.store(1 << 11, 1 << 10)
    backend.scratch.scratches.take(1 << 24)  # what a run brings to the host has room kept for it


def test_what_is_missing(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert with_cupy.missing("cuda") == ""
    assert "the installed one is for NVIDIA" in with_cupy.missing("hip")

    def absent() -> None:
        raise RuntimeError('Failure finding "libnvrtc.so.13"\nand more')

    monkeypatch.setattr(cupy.cuda.nvrtc, "getVersion", absent)
    told = with_cupy.missing("cuda")
    assert (
        'finds no compiler at run time (Failure finding "libnvrtc.so.13"): pip install' in told and "more" not in told
    )
    assert "driver 580 or newer; for 525 and newer 'faultwave[cuda12]'" in told
    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", lambda: 0)
    assert "finds no device: pip install 'faultwave[cuda]'" in with_cupy.missing("cuda")
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert "needs CuPy, which is not installed" in with_cupy.missing("cuda")


def test_the_extras_bring_what_compiles() -> None:
    extras = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    for extra in ("cuda", "cuda12"):
        assert any(x.startswith("nvidia-cuda-nvrtc") for x in extras[extra]), f"CuPy's wheels bring no NVRTC: {extra}"


def test_devices_that_are_not_in_the_table() -> None:
    made = with_cupy.target_of("cuda", {**H200, "major": 11, "minor": 3})
    assert (made.name, made.shared, made.warp) == ("sm_113", 232448, 32)
    assert with_cupy.target_of("cuda", {**H200, "maxThreadsPerMultiProcessor": 1024}).resident == 1024
    amd = with_cupy.target_of("hip", {"gcnArchName": b"gfx90a:sramecc+", "sharedMemPerBlock": 65536})
    assert (amd.name, amd.warp, amd.shared) == ("gfx90a", 64, 65536)
