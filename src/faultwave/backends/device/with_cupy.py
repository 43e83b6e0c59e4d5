"""CUDA and HIP through CuPy: memory, modules compiled at run time (NVRTC, hipRTC), launches on one stream.

Every thread has a current device and stream, which CuPy uses by default. As calls may come from any thread, each selects its device and
names its stream.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from faultwave.backends.device.backend import DeviceBackend, readable_bytes
from faultwave.backends.device.calls import Arguments, Call, Function, Memory, concurrent_groups
from faultwave.backends.device.compilers import CUDA_FLAGS
from faultwave.backends.device.target import TARGETS, Target
from faultwave.base.errors import BackendError

Name = Literal["cuda", "hip"]
BESIDE = 5
"""Number of additional streams for concurrent launches."""

ASKED = 48 * 1024
"""Shared memory of a group [bytes] above which NVIDIA's driver requires an opt-in before a launch; AMD's does not."""

INSTALL = {
    # CUDA release notes, CUDA minor version compatibility: drivers that each major version requires.
    "cuda": (
        "pip install 'faultwave[cuda]', which needs NVIDIA's driver 580 or newer; for 525 and newer "
        "'faultwave[cuda12]' instead"
    ),
    "hip": "CuPy built for ROCm (pip install amd-cupy), and AMD's ROCm",
}


def missing(name: Name) -> str:
    """Return why the backend cannot run here and what to install; empty if it can."""
    try:
        import cupy
    except ImportError:
        return f"the backend '{name}' needs CuPy, which is not installed: {INSTALL[name]}"
    if bool(cupy.cuda.runtime.is_hip) != (name == "hip"):
        other = "AMD" if cupy.cuda.runtime.is_hip else "NVIDIA"
        return f"the backend '{name}' needs a different CuPy; the installed one is for {other}: {INSTALL[name]}"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"the backend '{name}' finds no device ({error}): {INSTALL[name]}"
    if not count:
        return f"the backend '{name}' finds no device: {INSTALL[name]}"
    try:
        cupy.cuda.nvrtc.getVersion()
    except RuntimeError as error:  # CuPy loads the library on first use
        reason = str(error).partition("\n")[0][:200]
        return f"the backend '{name}' finds no compiler at run time ({reason}): {INSTALL[name]}"
    return ""


def target_of(name: Name, properties: dict[str, Any]) -> Target:
    """Return the target of a device from the properties that its driver reports."""
    if name == "hip":
        arch = properties["gcnArchName"].decode().partition(":")[0]
    else:
        arch = f"sm_{properties['major']}{properties['minor']}"
    known = TARGETS.get(arch, replace(TARGETS["gfx90a" if name == "hip" else "sm_86"], name=arch, device=""))
    shared = max(int(properties["sharedMemPerBlock"]), int(properties.get("sharedMemPerBlockOptin", 0)))
    unit = int(properties.get("sharedMemPerMultiprocessor", known.unit))
    resident = int(properties.get("maxThreadsPerMultiProcessor", known.resident))
    return replace(known, shared=shared, unit=unit, resident=resident)


class Copied:
    """Completion of a copy, or of all work so far, by an event recorded after it."""

    def __init__(self, event: Any):
        self.event = event

    @property
    def done(self) -> bool:
        return bool(self.event.done)

    def wait(self) -> None:
        self.event.synchronize()


class GpuAwareBuffer:
    """Message buffer in device memory, passed to MPI by the CUDA array interface (also for HIP)."""

    def __init__(self, device: CupyDevice, size: int):
        self.device, self.memory, self.buffer = device, device.allocate(size), self
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (int(self.memory.ptr), False),
            "version": 3,  # no stream: the receiver of the array need not wait for any
        }

    def take(self, received: bool) -> None:
        """Do nothing: when MPI reports a message as received, its data are in device memory."""

    def give(self, sent: bool) -> Copied:
        return self.device.mark()


def _whole(structure: bytes) -> np.ndarray:
    """Return a structure as an array of one element, which CuPy passes by value."""
    return np.frombuffer(structure, np.dtype((np.void, len(structure))))


def _launch(stream: Any, function: Function, groups: int, threads: int, arguments: Arguments) -> None:
    kernel, shared = function
    given = tuple(_whole(a) if isinstance(a, bytes) else a for a in arguments)
    kernel((groups,), (threads,), given, shared_mem=shared, stream=stream)


class CupyDevice:
    """Device of CUDA or HIP, accessed through CuPy."""

    def __init__(self, name: Name, place: int = 0):
        """Open a device; processes of a machine, numbered by ``place``, use its devices in cyclic order."""
        if why := missing(name):
            raise BackendError(why)
        import cupy

        self.cupy, runtime = cupy, cupy.cuda.runtime
        self.failures: tuple[type[Exception], ...] = (runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError)
        self.number = (int(runtime.getDevice()) + place) % int(runtime.getDeviceCount())
        self._here()
        properties = runtime.getDeviceProperties(self.number)
        self.name = properties["name"].decode()
        self.bus = runtime.deviceGetPCIBusId(self.number)  # address of the board, for the meters of its driver
        self.target = target_of(name, properties)
        self.stream, self.copies = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))  # work; copies to the host
        self.side_streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(BESIDE)]

    def _here(self) -> None:
        """Select this device for the calling thread."""
        self.cupy.cuda.runtime.setDevice(self.number)

    def free_memory(self) -> int:
        """Return the free memory [bytes]."""
        self._here()
        free, _ = self.cupy.cuda.runtime.memGetInfo()
        return int(free) + int(self.cupy.get_default_memory_pool().free_bytes())

    def allocate(self, size: int) -> Memory:
        self._here()
        try:
            memory = self.cupy.cuda.alloc(size)
        except self.cupy.cuda.memory.OutOfMemoryError as error:
            raise BackendError(
                f"{self.name} cannot allocate {readable_bytes(size)}: {readable_bytes(self.free_memory())} are "
                f"free ({error})"
            ) from None
        memory.memset_async(0, size, self.stream)
        return memory

    def pinned(self, size: int) -> np.ndarray:
        self._here()
        return np.frombuffer(self.cupy.cuda.alloc_pinned_memory(size), np.uint8, size)

    def bring(self, memory: Memory, into: np.ndarray) -> Copied:
        self._here()
        self.copies.wait_event(self.stream.record())
        memory.copy_to_host_async(ctypes.c_void_p(into.ctypes.data), into.nbytes, self.copies)
        return Copied(self.copies.record())

    def send(self, memory: Memory, values: np.ndarray) -> Copied:
        self._here()
        memory.copy_from_host_async(ctypes.c_void_p(values.ctypes.data), values.nbytes, self.stream)
        return Copied(self.stream.record())

    def upload(self, memory: Memory, values: np.ndarray) -> None:
        self._here()
        memory.copy_from_host_async(ctypes.c_void_p(values.ctypes.data), values.nbytes, self.stream)
        self.finish()

    def download(self, memory: Memory, values: np.ndarray) -> None:
        self._here()
        memory.copy_to_host_async(ctypes.c_void_p(values.ctypes.data), values.nbytes, self.stream)
        self.finish()

    def why_not_gpu_aware(self) -> str:
        return ""

    def gpu_aware_buffer(self, size: int) -> GpuAwareBuffer:
        return GpuAwareBuffer(self, size)

    def attach(self) -> None:
        self._here()

    def build(self, text: str, names: list[str], shared: int | None) -> dict[str, Function]:
        self._here()
        try:
            module = self.cupy.RawModule(code=text, options=CUDA_FLAGS[:1])
            found = {name: module.get_function(name) for name in names}
            if shared and shared > ASKED and not self.cupy.cuda.runtime.is_hip:
                for function in found.values():
                    function.max_dynamic_shared_size_bytes = shared
        except (
            self.cupy.cuda.compiler.CompileException,
            RuntimeError,
        ) as error:  # RuntimeError: failures of drivers and libraries
            raise BackendError(f"compiling {', '.join(names)} for {self.name} failed: {str(error)[:2000]}") from None
        return {name: (function, shared or 0) for name, function in found.items()}

    def launch(self, function: Function, groups: int, threads: int, arguments: Arguments) -> None:
        self._here()
        _launch(self.stream, function, groups, threads, arguments)

    def graph(self, calls: Sequence[Call]) -> Callable[[], None]:
        """Return a function that plays a graph captured from the stream or, with HIP, the launches one by one."""
        if self.cupy.cuda.runtime.is_hip:  # CuPy cannot capture graphs with HIP
            return functools.partial(self._all, calls)
        self._here()
        self.finish()  # report earlier failures as such, not as a failed capture
        self.stream.begin_capture()
        try:
            for alike in concurrent_groups(calls):
                self._at_once(alike)
        except BaseException:
            with contextlib.suppress(RuntimeError):  # a failed capture cannot be ended; its cause is raised below
                self.stream.end_capture()
            raise
        return functools.partial(self._play, self.stream.end_capture())

    def _play(self, captured: Any) -> None:
        self._here()
        captured.launch(self.stream)

    def _all(self, calls: Sequence[Call]) -> None:
        self._here()
        for c in calls:
            _launch(self.stream, c.function, c.groups, c.threads, c.arguments)

    def _at_once(self, calls: Sequence[Call]) -> None:
        """Launch independent kernels on several streams between two events, as branches of a graph."""
        used = self.side_streams[: len(calls) - 1]
        begun = self.stream.record() if used else None
        for stream in used:
            stream.wait_event(begun)
        for i, c in enumerate(calls):
            stream = used[(i - 1) % len(used)] if i else self.stream
            _launch(stream, c.function, c.groups, c.threads, c.arguments)
        for stream in used:
            self.stream.wait_event(stream.record())

    def mark(self) -> Copied:
        self._here()
        return Copied(self.stream.record())

    def finish(self) -> None:
        self.stream.synchronize()


@functools.cache
def device(name: Name, place: int = 0) -> CupyDevice:
    """Return the device that the process numbered ``place`` uses."""
    return CupyDevice(name, place)


def backend(name: Name, precision: str = "double", place: int = 0) -> DeviceBackend:
    """Return the backend of the device that the process numbered ``place`` uses."""
    return DeviceBackend(name, device(name, place), precision)
