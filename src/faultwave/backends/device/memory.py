"""Buffers in the memory of a device. What the host wants of them is packed there, so that only that crosses over."""

from __future__ import annotations

from collections import OrderedDict
from importlib import resources
from typing import Any, Protocol

import numpy as np

from faultwave.backends.device.lower import prelude
from faultwave.backends.device.target import Target

GROUP = 256  # threads of the groups that move numbers
KEPT_LISTS = 64


class Device(Protocol):
    """A processor with memory of its own and one queue of work; what is asked of it is done in turn."""

    name: str
    target: Target

    def room(self) -> int:
        """Bytes that are free, or all there are where the driver does not tell."""
        ...

    def allocate(self, size: int) -> Any:
        """So many bytes of zeros."""
        ...

    def upload(self, memory: Any, values: np.ndarray) -> None:
        """Contiguous numbers to the start of ``memory``; they may be changed when this returns."""
        ...

    def download(self, memory: Any, values: np.ndarray) -> None:
        """Fill contiguous ``values`` from the start of ``memory``, once all work before is done."""
        ...

    def build(self, text: str, names: list[str], shared: int | None) -> dict[str, Any]:
        """Functions of a program, each with so many bytes of fast memory a group; None: they do not know of it."""
        ...

    def launch(self, function: Any, groups: int, threads: int, arguments: list[Any]) -> None:
        """``arguments``: memory, NumPy numbers, or bytes of a structure."""
        ...

    def finish(self) -> None:
        """Wait for all work."""
        ...


class Access:
    """Moves numbers between buffers of one kind and lists."""

    def __init__(self, device: Device, dtype: Any):
        self.device, self.dtype = device, np.dtype(dtype)
        names = ["pack", "unpack", "add", "not_finite"]
        single = self.dtype == np.float32
        text = prelude(device.target, single, single) + resources.files(__package__).joinpath("access.h").read_text()
        self.functions = device.build(text, names, None)
        self.lists: OrderedDict[bytes, Any] = OrderedDict()

    def listed(self, items: np.ndarray) -> Any:
        """Item numbers on the device; those asked for again and again stay there."""
        items = np.ascontiguousarray(items, np.int32)
        key = items.tobytes()
        if key in self.lists:
            self.lists.move_to_end(key)
            return self.lists[key]
        memory = self.device.allocate(max(4, items.nbytes))
        self.device.upload(memory, items)
        self.lists[key] = memory
        if len(self.lists) > KEPT_LISTS:
            self.lists.popitem(last=False)
        return memory

    def move(self, name: str, buffer: DeviceBuffer, items: np.ndarray, values: np.ndarray, first: int) -> None:
        """``values`` (n, numbers from ``first`` on) to or from the listed items of a buffer."""
        if not values.size:
            return
        scratch = self.device.allocate(values.nbytes)
        if name != "pack":
            self.device.upload(scratch, values)
        numbers = [np.int32(n) for n in (values.size, first, values[0].size, buffer.size, buffer.lanes)]
        groups = -(-values.size // GROUP)
        function = self.functions[name]
        self.device.launch(function, groups, GROUP, [buffer.memory_on_device, self.listed(items), scratch, *numbers])
        if name == "pack":
            self.device.download(scratch, values)

    def finite(self, buffer: DeviceBuffer) -> bool:
        flag = self.device.allocate(4)
        count = buffer.nbytes // self.dtype.itemsize
        groups = max(1, min(1024, -(-count // GROUP)))
        numbers = [np.int64(count), np.int32(groups * GROUP)]
        self.device.launch(self.functions["not_finite"], groups, GROUP, [buffer.memory_on_device, flag, *numbers])
        told = np.zeros(1, np.int32)
        self.device.download(flag, told)
        return not told[0]


class DeviceBuffer:
    """(items, *shape) seen item-major, stored [batch][number][lane]; slots have one lane."""

    def __init__(self, access: Access, items: int, shape: tuple[int, ...], lanes: int):
        if items % lanes:
            raise ValueError(f"{items} items are no multiple of {lanes} lanes")
        self.access, self.items, self.shape, self.lanes = access, items, shape, lanes
        self.size = int(np.prod(shape))
        self.nbytes = items * self.size * access.dtype.itemsize
        self.memory_on_device = access.device.allocate(max(1, self.nbytes))

    def _whole(self) -> np.ndarray:
        """All numbers as they lie on the device."""
        return np.empty((self.items // self.lanes, self.size, self.lanes), self.access.dtype)

    def _select(self, items: np.ndarray | slice | None) -> np.ndarray | None:
        if items is None or (isinstance(items, slice) and items == slice(None)):
            return None
        if isinstance(items, np.ndarray) and items.dtype != bool:
            return items
        return np.arange(self.items)[items]

    def get(self, items: np.ndarray | slice | None = None, rows: slice = slice(None)) -> np.ndarray:
        chosen = self._select(items)
        first, end, step = rows.indices(self.shape[0])
        if step != 1:
            raise ValueError("rows one after the other only")
        if chosen is None and (first, end) == (0, self.shape[0]):
            whole = self._whole()
            self.access.device.download(self.memory_on_device, whole)
            return np.ascontiguousarray(whole.transpose(0, 2, 1)).reshape(self.items, *self.shape)
        chosen = np.arange(self.items) if chosen is None else chosen
        inner = self.size // self.shape[0]
        values = np.empty((len(chosen), (end - first) * inner), self.access.dtype)
        self.access.move("pack", self, chosen, values, first * inner)
        return values.reshape(len(chosen), end - first, *self.shape[1:])

    def put(self, values: np.ndarray | float, items: np.ndarray | slice | None = None) -> None:
        chosen = self._select(items)
        count = self.items if chosen is None else len(chosen)
        flat = np.broadcast_to(np.asarray(values, self.access.dtype), (count, *self.shape)).reshape(count, self.size)
        if chosen is None:
            whole = flat.reshape(self.items // self.lanes, self.lanes, self.size).transpose(0, 2, 1)
            if whole.size:
                self.access.device.upload(self.memory_on_device, np.ascontiguousarray(whole))
        else:
            self.access.move("unpack", self, chosen, np.ascontiguousarray(flat), 0)

    def add(self, values: np.ndarray, items: np.ndarray) -> None:
        """Items may repeat: their values are summed here first."""
        chosen, which = np.unique(items, return_inverse=True)
        sums = np.zeros((len(chosen), self.size), self.access.dtype)
        np.add.at(sums, which, np.asarray(values).reshape(len(items), self.size))
        self.access.move("add", self, chosen, sums, 0)

    def finite(self) -> bool:
        return self.access.finite(self)


__all__ = ["Access", "Device", "DeviceBuffer"]
