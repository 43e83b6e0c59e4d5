"""OpenCL devices through pyopencl: memory, programs compiled at run time, launches in one in-order queue."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from faultwave.backends.device.backend import Call, DeviceBackend, readable_bytes
from faultwave.backends.device.calls import Arguments, Function, Memory
from faultwave.backends.device.stencil_runner import DeviceStencilRunner
from faultwave.backends.device.target import TARGETS
from faultwave.base.errors import BackendError
from faultwave.kernels.stencil import Program

ALIGNED = 128  # [bytes] alignment of memory for messages

INSTALL = (
    "pip install 'faultwave[opencl]' brings pyopencl and PoCL, which runs OpenCL on processors; "
    "a GPU needs the OpenCL driver of its maker"
)

NEWER = "A newer driver may know this machine; for processors: apt-get install pocl-opencl-icd (Debian, Ubuntu)"
TRIAL = "kernel void trial(global double *x) { x[0] = 1.0; }"


def _doubles() -> list[Any]:
    """Return the devices with double precision, GPUs first."""
    import pyopencl as cl

    try:
        found = [d for p in cl.get_platforms() for d in p.get_devices()]
    except cl.Error:
        return []
    able = [d for d in found if d.double_fp_config]
    return sorted(able, key=lambda d: not d.type & cl.device_type.GPU)


NO_CACHE: Any = False
"""Cache setting of PyOpenCL, off: its cache of programs has no checksums."""


@functools.cache
def _refusal(device: Any) -> str:
    """Return the error of a device's compiler for a trivial kernel; empty if it compiles.

    A PoCL that is older than its processor does not know it and compiles nothing.
    """
    import pyopencl as cl

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cl.Program(cl.Context([device]), TRIAL).build(cache_dir=NO_CACHE)
    except cl.Error as error:
        said = [line.strip() for line in str(error).splitlines() if "error:" in line]
        return (said or str(error).splitlines() or ["unknown error"])[0]
    return ""


def _devices() -> list[Any]:
    """Return the devices with double precision whose compilers work, GPUs first."""
    return [d for d in _doubles() if not _refusal(d)]


def missing() -> str:
    """Return why this backend cannot run here and what to install; empty if it can."""
    try:
        found = _doubles()
    except ImportError:
        return f"the backend 'opencl' needs pyopencl, which is not installed: {INSTALL}"
    if not found:
        return f"the backend 'opencl' finds no OpenCL device with double precision: {INSTALL}"
    if _devices():
        return ""
    said = "; ".join(f"that of '{d.name}' ({d.platform.version.strip()}) says '{_refusal(d)}'" for d in found)
    return f"the backend 'opencl' finds no OpenCL compiler that works: {said}. {NEWER}"


def rank() -> int:
    """Return the priority of this backend in the automatic choice: above the backend 'cpu' with a GPU, else zero."""
    try:
        import pyopencl as cl
    except ImportError:
        return 0
    gpus = (d for d in _doubles() if d.type & cl.device_type.GPU)
    return 3 if any(not _refusal(d) for d in gpus) else 0


def _chosen(place: int) -> Any:
    """Return the device of process ``place``, in cyclic order.

    Candidates are the devices whose names contain $FAULTWAVE_OPENCL_DEVICE, and which are of the same type as the first of them.
    """
    why = missing()
    if why:
        raise BackendError(why)
    found, wanted = _devices(), os.environ.get("FAULTWAVE_OPENCL_DEVICE", "")
    able = [d for d in found if wanted.lower() in d.name.lower()]
    if able:
        alike = [d for d in able if d.type == able[0].type]
        return alike[place % len(alike)]
    names = ", ".join(f"'{d.name}'" for d in found)
    raise BackendError(f"FAULTWAVE_OPENCL_DEVICE='{wanted}' matches no OpenCL device (available: {names})")


class Copied:
    """Completion of a copy, or of all work so far, by its event."""

    def __init__(self, event: Any, complete: int):
        self.event, self.complete = event, complete

    @property
    def done(self) -> bool:
        return bool(self.event.command_execution_status == self.complete)

    def wait(self) -> None:
        self.event.wait()


class GpuAwareBuffer:
    """Message buffer in shared virtual memory, which has one address on the device and the host.

    It is mapped while MPI uses it and unmapped for kernels (OpenCL 2.0, section 5.6.1).
    """

    mapped: Any

    def __init__(self, device: OpenClDevice, size: int):
        cl = device.cl
        if why := device.why_not_gpu_aware():
            raise BackendError(why)
        self.device, self.mapped = device, None
        try:
            self.memory = cl.SVMAllocation(device.context, size, ALIGNED, cl.svm_mem_flags.READ_WRITE)
        except cl.MemoryError as error:
            raise BackendError(f"{device.name} cannot allocate {readable_bytes(size)} ({error})") from None
        self.buffer = np.asarray(self.memory.buf)

    def take(self, received: bool) -> None:
        if self.mapped is not None:
            self.mapped.release()
            self.mapped = None

    def give(self, sent: bool) -> Copied:
        cl, queue = self.device.cl, self.device.queue
        self.mapped = self.memory.map(queue, flags=cl.map_flags.READ | cl.map_flags.WRITE, is_blocking=False)
        queue.flush()
        return Copied(self.mapped.event, cl.command_execution_status.COMPLETE)


class OpenClDevice:
    """OpenCL device with its context, queue and memory."""

    def __init__(self, place: int = 0) -> None:
        import pyopencl as cl

        self.cl, self.device = cl, _chosen(place)
        self.name = self.device.name
        self.failures: tuple[type[Exception], ...] = (cl.Error,)
        self.context = cl.Context([self.device])
        self.queue = cl.CommandQueue(self.context)
        self.copies = cl.CommandQueue(self.context)  # copies to the host, concurrent with the other queue
        self.target = TARGETS["opencl"].with_shared(int(self.device.local_mem_size))
        self.largest = int(self.device.max_mem_alloc_size)

    def free_memory(self) -> int:
        """Return all memory of the device [bytes]; OpenCL does not report the free part."""
        return int(self.device.global_mem_size)

    def allocate(self, size: int) -> Memory:
        if size > self.largest:
            raise BackendError(
                f"{readable_bytes(size)} in one piece; {self.name} allocates at most {readable_bytes(self.largest)}"
            )
        try:
            memory = self.cl.Buffer(self.context, self.cl.mem_flags.READ_WRITE, size)
            self.cl.enqueue_fill_buffer(self.queue, memory, np.zeros(1, np.uint8), 0, size)
        except self.cl.MemoryError as error:
            raise BackendError(f"{self.name} cannot allocate {readable_bytes(size)} ({error})") from None
        return memory

    def upload(self, memory: Memory, values: np.ndarray) -> None:
        self.cl.enqueue_copy(self.queue, memory, values, is_blocking=True)

    def download(self, memory: Memory, values: np.ndarray) -> None:
        self.cl.enqueue_copy(self.queue, values, memory, is_blocking=True)

    def pinned(self, size: int) -> np.ndarray:
        cl = self.cl
        memory = cl.Buffer(self.context, cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR, size)
        way = cl.map_flags.READ | cl.map_flags.WRITE
        mapped, _ = cl.enqueue_map_buffer(self.copies, memory, way, 0, (size,), np.uint8)
        return mapped

    def bring(self, memory: Memory, into: np.ndarray) -> Copied:
        before = self.cl.enqueue_marker(self.queue)
        self.queue.flush()
        event = self.cl.enqueue_copy(self.copies, into, memory, is_blocking=False, wait_for=[before])
        self.copies.flush()
        return Copied(event, self.cl.command_execution_status.COMPLETE)

    def send(self, memory: Memory, values: np.ndarray) -> Copied:
        event = self.cl.enqueue_copy(self.queue, memory, values, is_blocking=False)
        return Copied(event, self.cl.command_execution_status.COMPLETE)

    def why_not_gpu_aware(self) -> str:
        """Return why MPI cannot use device memory; empty if it can.

        Shared virtual memory is missing in OpenCL before 2.0, and optional in 3.0.
        """
        try:
            able = self.device.svm_capabilities & self.cl.device_svm_capabilities.COARSE_GRAIN_BUFFER
        except self.cl.Error:
            able = 0
        return "" if able else f"{self.name} has no memory that the host can address, so MPI cannot access it"

    def gpu_aware_buffer(self, size: int) -> GpuAwareBuffer:
        return GpuAwareBuffer(self, size)

    def attach(self) -> None:
        """Do nothing: threads have no current device."""

    def build(self, text: str, names: list[str], shared: int | None) -> dict[str, Function]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                program = self.cl.Program(self.context, text).build(cache_dir=NO_CACHE)
        except self.cl.RuntimeError as error:
            raise BackendError(f"compiling {', '.join(names)} for {self.name} failed: {str(error)[:2000]}") from None
        return {name: (self.cl.Kernel(program, name), shared) for name in names}

    def launch(self, function: Function, groups: int, threads: int, arguments: Arguments) -> None:
        kernel, shared = function
        self._give(kernel, shared, arguments)
        self.cl.enqueue_nd_range_kernel(self.queue, kernel, (groups * threads,), (threads,))

    def _give(self, kernel: Function, shared: int | None, arguments: Arguments) -> None:
        for i, a in enumerate(arguments):
            kernel.set_arg(i, np.void(a) if isinstance(a, bytes) else a)
        if shared is not None:
            kernel.set_arg(len(arguments), self.cl.LocalMemory(max(8, shared)))  # zero bytes are not allowed

    def graph(self, calls: Sequence[Call]) -> Callable[[], None]:
        """Return a function that executes all launches, each with a separate kernel object whose arguments are set once."""
        cl, queue, ready = self.cl, self.queue, []
        for call in calls:
            kernel, shared = call.function
            own = cl.Kernel(kernel.program, kernel.function_name)
            self._give(own, shared, call.arguments)
            ready.append((own, (call.groups * call.threads,), (call.threads,)))

        def play() -> None:
            for kernel, whole, group in ready:
                cl.enqueue_nd_range_kernel(queue, kernel, whole, group)

        return play

    def mark(self) -> Copied:
        event = self.cl.enqueue_marker(self.queue)
        self.queue.flush()
        return Copied(event, self.cl.command_execution_status.COMPLETE)

    def finish(self) -> None:
        self.queue.finish()


@functools.cache
def device(place: int = 0) -> OpenClDevice:
    """Return the OpenCL device that the process numbered ``place`` uses."""
    return OpenClDevice(place)


def backend(precision: str = "double", threads: int | None = None, place: int = 0) -> DeviceBackend:
    """Return the OpenCL backend.

    Parameters
    ----------
    precision : {"double", "single"}
        Precision of the numbers.
    threads : int, optional
        Ignored: the device determines its threads.
    place : int
        Number of the process on the machine; processes use similar devices in cyclic order.

    Raises
    ------
    BackendError
        If the backend cannot run here.
    """
    why = missing()
    if why:
        raise BackendError(why)
    return DeviceBackend("opencl", device(place), precision)


def make_stencils(program: Program, precision: str, threads: int | None = None, place: int = 0) -> DeviceStencilRunner:
    """Prepare a stencil program; ``threads`` is ignored, and processes use similar devices in cyclic order of their number ``place``."""
    if why := missing():
        raise BackendError(why)
    return DeviceStencilRunner(program, precision, device(place))
