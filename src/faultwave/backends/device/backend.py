"""A backend on a device: buffers there, kernels lowered for it, launches put into its queue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from faultwave.backends.device.lower import lower
from faultwave.backends.device.memory import Access, Device, DeviceBuffer
from faultwave.backends.device.schedule import Plan
from faultwave.backends.device.target import LINE
from faultwave.base.errors import BackendError
from faultwave.kernels.language import Kernel


class DeviceBackend:
    """Kernels and buffers on one device."""

    def __init__(self, name: str, device: Device, precision: str = "double"):
        self.name, self.device, self.threads = name, device, 1
        self.dtype = {"double": np.float64, "single": np.float32}[precision]
        self.fixed_lanes = LINE // 8
        self.lanes = LINE // np.dtype(self.dtype).itemsize
        self._access: dict[Any, Access] = {}
        self.room, self.held = device.room(), 0  # bytes there were at first, and those taken since

    def _kind(self, dtype: Any) -> Access:
        if dtype not in self._access:
            self._access[dtype] = Access(self.device, dtype)
        return self._access[dtype]

    @property
    def described(self) -> str:
        return f"{self.name} on {self.device.name}"

    def settle(self, buffers: Any, ranges: Any) -> None:
        """Nothing to do: there is one memory."""

    def finish(self) -> None:
        self.device.finish()

    def _take(self, size: int) -> None:
        """Account for so many bytes more. Raises BackendError where they are too many: some drivers only tell when it is too late."""
        if self.held + size > self.room:
            raise BackendError(
                f"{self.device.name} has {self.room / 2**30:.2f} GiB free; {self.held / 2**30:.2f} GiB are taken and "
                f"{size / 2**30:.2f} GiB more are needed. Take a lower order, single precision or a smaller mesh"
            )
        self.held += size

    def batch(self, items: int, rows: int, cols: int, fixed: bool = False) -> DeviceBuffer:
        dtype, lanes = (np.float64, self.fixed_lanes) if fixed else (self.dtype, self.lanes)
        self._take(items * rows * cols * np.dtype(dtype).itemsize)
        return DeviceBuffer(self._kind(dtype), items, (rows, cols), lanes)

    def store(self, slots: int, size: int) -> DeviceBuffer:
        self._take(slots * size * np.dtype(self.dtype).itemsize)
        return DeviceBuffer(self._kind(self.dtype), slots, (size,), 1)

    def index(self, values: np.ndarray, fixed: bool = False) -> IndexBuffer:
        self._take(4 * np.asarray(values).size)
        return IndexBuffer(self.device, np.asarray(values), self.fixed_lanes if fixed else self.lanes)

    def matrix(self, values: np.ndarray, fixed: bool = False) -> DeviceBuffer:
        values = np.asarray(values, float)
        buffer = DeviceBuffer(self._kind(np.float64 if fixed else self.dtype), len(values), values.shape[1:], 1)
        buffer.put(values)
        return buffer

    def lowered(self, kernel: Kernel) -> tuple[str, Plan]:
        """The text of one kernel, and its plan."""
        return lower(kernel, self.device.target, self.dtype == np.float32)

    def source(self, kernel: Kernel) -> str:
        return self.lowered(kernel)[0]

    def compile(self, kernels: Iterable[Kernel]) -> Mapping[str, Callable[[Mapping[str, Any]], Any]]:
        return {k.name: _Compiled(k, self) for k in kernels}


class IndexBuffer:
    """Slot numbers [batch][column][lane]."""

    def __init__(self, device: Device, values: np.ndarray, lanes: int):
        if values.size and values.max() > np.iinfo(np.int32).max:
            raise BackendError(f"{values.max()} slots are more than 32-bit numbers count; run on more ranks")
        self.device, self.items, self.lanes = device, len(values), lanes
        self.columns = values.size // max(1, self.items)
        lined = values.reshape(self.items // lanes, lanes, self.columns).transpose(0, 2, 1)
        self.memory_on_device = device.allocate(max(4, 4 * values.size))
        self.nbytes = 4 * values.size
        if values.size:
            device.upload(self.memory_on_device, np.ascontiguousarray(lined, np.int32))

    def get(self) -> np.ndarray:
        """(items, columns)"""
        lined = np.empty((self.items // self.lanes, self.columns, self.lanes), np.int32)
        self.device.download(self.memory_on_device, lined)
        return lined.transpose(0, 2, 1).reshape(self.items, self.columns)


class _Compiled:
    """A built kernel; calling it binds buffers and returns the launch."""

    def __init__(self, kernel: Kernel, backend: DeviceBackend):
        text, self.plan = backend.lowered(kernel)
        self.kernel, self.device = kernel, backend.device
        self.real = np.float64 if kernel.fixed else backend.dtype
        self.function = self.device.build(text, [kernel.name], self.plan.shared)[kernel.name]

    def __call__(self, buffers: Mapping[str, Any]) -> Any:
        bound = [buffers[a.name] for a in self.kernel.arguments]
        memory = [b.memory_on_device for b in bound]
        sizes = [(t.name, t.rows * t.cols) for t in self.kernel.scalars]
        share, threads, device, function = self.plan.share, self.plan.threads, self.device, self.function
        numbers = np.zeros(max(1, sum(s for _, s in sizes)), self.real)

        def launch(begin: int, end: int, **scalars: Any) -> None:
            at = 0
            for name, size in sizes:
                numbers[at : at + size] = np.ravel(scalars[name])
                at += size
            if end > begin:
                arguments = [*memory, np.int32(begin), numbers.tobytes()]
                device.launch(function, (end - begin) // share, threads, arguments)

        launch.buffers = bound  # type: ignore[attr-defined]
        return launch


__all__ = ["DeviceBackend", "IndexBuffer"]
