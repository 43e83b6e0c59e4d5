"""Buffers in the memory of a device. What the host wants of them is packed there, so that only that crosses over."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from faultwave.backends.awaited import Awaited, Here
from faultwave.backends.device.lower import prelude
from faultwave.backends.device.pinned import Crossing, Piece, Pieces
from faultwave.backends.device.target import Target
from faultwave.base.errors import BackendError

if TYPE_CHECKING:
    from faultwave.backends.device.recording import Call

GROUP = 256  # threads of the groups that move numbers
KEPT_LISTS = 512
SUMMED = 1 << 16  # threads that sum at once


class Device(Protocol):
    """A processor with memory of its own and one queue of work; what is asked of it is done in turn."""

    name: str
    target: Target
    failures: tuple[type[Exception], ...]  # what its driver raises

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

    def pinned(self, size: int) -> np.ndarray:
        """So many bytes of the host for ``bring`` and ``send``."""
        ...

    def bring(self, memory: Any, into: np.ndarray) -> Crossing:
        """Begin to fill pinned ``into`` from the start of ``memory`` as all work asked for so far leaves it; what is asked for
        later does not wait for it."""
        ...

    def send(self, memory: Any, values: np.ndarray) -> Crossing:
        """Begin to copy pinned ``values`` to the start of ``memory``, in turn with all other work."""
        ...

    def build(self, text: str, names: list[str], shared: int | None) -> dict[str, Any]:
        """Functions of a program, each with so many bytes of fast memory a group; None: they do not know of it."""
        ...

    def launch(self, function: Any, groups: int, threads: int, arguments: list[Any]) -> None:
        """``arguments``: memory, NumPy numbers, or bytes of a structure."""
        ...

    def graph(self, calls: Sequence[Call]) -> Callable[[], None]:
        """What does all the launches in turn, at less than the cost of each."""
        ...

    def mark(self) -> Crossing:
        """What is done when all work so far is."""
        ...

    def finish(self) -> None:
        """Wait for all work."""
        ...


class Host:
    """Pinned pieces of the host beside a device."""

    def __init__(self, device: Device):
        self.device, self.pieces = device, Pieces(device.pinned)

    def send(self, memory: Any, values: np.ndarray) -> None:
        """Contiguous ``values`` to the start of ``memory`` in turn; they may be changed when this returns, which is at once."""
        piece = self.pieces.take(values.nbytes)
        near = piece.memory[: values.nbytes]
        near[:] = values.reshape(-1).view(np.uint8)
        self.pieces.give(piece, self.device.send(memory, near))


class Arriving:
    """Numbers packed in ``scratch``, on their way to a pinned piece: see ``Awaited``."""

    def __init__(self, host: Host, scratches: Pieces, scratch: Piece, shape: tuple[int, ...], dtype: np.dtype):
        self.shape, self.dtype, self.host = shape, dtype, host
        self.size = int(np.prod(shape)) * dtype.itemsize
        self.piece = host.pieces.take(self.size)
        self.crossing = host.device.bring(scratch.memory, self.piece.memory[: self.size])
        scratches.give(scratch, self.crossing)
        self.copied: np.ndarray | None = None

    @property
    def here(self) -> bool:
        return self.copied is not None or self.crossing.done

    def values(self) -> np.ndarray:
        if self.copied is None:
            self.crossing.wait()
            self.copied = self.piece.memory[: self.size].view(self.dtype).reshape(self.shape).copy()
            self.host.pieces.give(self.piece)
        return self.copied


class Access:
    """Moves numbers between buffers of one kind and lists. ``take(bytes)`` accounts for memory of the device."""

    def __init__(
        self, device: Device, dtype: Any, host: Host, take: Callable[[int], None], touched: Callable[[], None],
        launched: Callable[..., None],
    ):  # fmt: skip
        """``touched()`` is told whenever the host reads or writes a buffer, ``launched(function, groups, threads, memory, rest)`` what
        is launched without it."""
        self.device, self.dtype, self.host = device, np.dtype(dtype), host
        self.touched, self.launched = touched, launched
        names = ["pack", "unpack", "add", "not_finite", "sums"]
        single = self.dtype == np.float32
        text = prelude(device.target, single, single) + resources.files(__package__).joinpath("access.h").read_text()
        self.functions = device.build(text, names, None)
        self.lists: OrderedDict[bytes, Any] = OrderedDict()

        def make(size: int) -> Any:
            take(size)
            return device.allocate(size)

        self.scratches = Pieces(make)

    def listed(self, items: np.ndarray) -> Any:
        """Item numbers on the device; those asked for again and again stay there."""
        items = np.ascontiguousarray(items, np.int32)
        key = items.tobytes()
        if key in self.lists:
            self.lists.move_to_end(key)
            return self.lists[key]
        memory = self.device.allocate(max(4, items.nbytes))
        self.host.send(memory, items)
        self.lists[key] = memory
        if len(self.lists) > KEPT_LISTS:
            self.lists.popitem(last=False)
        return memory

    def _run(
        self, name: str, buffer: DeviceBuffer, items: np.ndarray, listed: Any, first: int, taken: int, at: int = 0
    ) -> tuple[Any, ...]:
        """Move ``taken`` numbers from ``first`` on of each item between a buffer and ``listed`` memory, there from ``at`` on."""
        count = len(items) * taken
        if count > np.iinfo(np.int32).max:
            raise BackendError(f"{count} numbers at once are more than a device's lists count; ask for fewer items")
        numbers = [*(np.int32(n) for n in (count, first, taken, buffer.size, buffer.lanes)), np.int64(at)]
        memory = [buffer.memory_on_device, self.listed(items), listed]
        groups = -(-count // GROUP)
        self.device.launch(self.functions[name], groups, GROUP, [*memory, *numbers])
        return self.functions[name], groups, GROUP, memory, numbers

    def copy(self, buffer: DeviceBuffer, items: np.ndarray, store: DeviceBuffer, at: int) -> None:
        """The listed items of a buffer to slots of a store of the same kind; the host has no part in it."""
        if len(items) and buffer.size:
            self.launched(*self._run("pack", buffer, items, store.memory_on_device, 0, buffer.size, at * buffer.size))

    def put(self, name: str, buffer: DeviceBuffer, items: np.ndarray, values: np.ndarray) -> None:
        """``values`` (n, numbers) to the listed items of a buffer, in place of what is there or added to it."""
        self.touched()
        if not values.size:
            return
        scratch = self.scratches.take(values.nbytes)
        self.host.send(scratch.memory, values)
        self._run(name, buffer, items, scratch.memory, 0, buffer.size)
        self.scratches.give(scratch)

    def fetch(self, buffer: DeviceBuffer, items: np.ndarray, first: int, shape: tuple[int, ...]) -> Awaited:
        """Numbers from ``first`` on of the listed items, (items, *shape)."""
        self.touched()
        taken = int(np.prod(shape))
        if not len(items) * taken:
            return Here(np.empty((len(items), *shape), self.dtype))
        scratch = self.scratches.take(len(items) * taken * self.dtype.itemsize)
        self._run("pack", buffer, items, scratch.memory, first, taken)
        return Arriving(self.host, self.scratches, scratch, (len(items), *shape), self.dtype)

    def total(self, buffer: DeviceBuffer) -> np.ndarray:
        """Sums (numbers,) over all items: of parts of them there, of the parts here."""
        self.touched()
        batches = buffer.items // buffer.lanes
        parts = max(1, min(batches, SUMMED // buffer.size))
        scratch = self.scratches.take(8 * parts * buffer.size)
        numbers = [np.int32(n) for n in (batches, buffer.size, buffer.lanes, parts)]
        groups = -(-parts * buffer.size // GROUP)
        self.device.launch(self.functions["sums"], groups, GROUP, [buffer.memory_on_device, scratch.memory, *numbers])
        partial = Arriving(self.host, self.scratches, scratch, (parts, buffer.size), np.dtype(np.float64))
        return np.asarray(partial.values().sum(0))

    def finite(self, buffer: DeviceBuffer) -> bool:
        self.touched()
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
        if self._select(items) is None and rows.indices(self.shape[0]) == (0, self.shape[0], 1):
            self.access.touched()
            whole = self._whole()  # not through a packed copy, for which there may be no room
            self.access.device.download(self.memory_on_device, whole)
            return np.ascontiguousarray(whole.transpose(0, 2, 1)).reshape(self.items, *self.shape)
        return self.fetch(items, rows).values()

    def fetch(self, items: np.ndarray | slice | None = None, rows: slice = slice(None)) -> Awaited:
        chosen = self._select(items)
        first, end, step = rows.indices(self.shape[0])
        if step != 1:
            raise ValueError("rows one after the other only")
        chosen = np.arange(self.items) if chosen is None else chosen
        inner = self.size // self.shape[0]
        return self.access.fetch(self, chosen, first * inner, (end - first, *self.shape[1:]))

    def put(self, values: np.ndarray | float, items: np.ndarray | slice | None = None) -> None:
        chosen = self._select(items)
        count = self.items if chosen is None else len(chosen)
        flat = np.broadcast_to(np.asarray(values, self.access.dtype), (count, *self.shape)).reshape(count, self.size)
        if chosen is None:
            self.access.touched()
            whole = flat.reshape(self.items // self.lanes, self.lanes, self.size).transpose(0, 2, 1)
            if whole.size:
                self.access.device.upload(self.memory_on_device, np.ascontiguousarray(whole))
        else:
            self.access.put("unpack", self, chosen, np.ascontiguousarray(flat))

    def add(self, values: np.ndarray, items: np.ndarray) -> None:
        """Items may repeat: their values are summed here first."""
        chosen, which = np.unique(items, return_inverse=True)
        sums = np.zeros((len(chosen), self.size), self.access.dtype)
        np.add.at(sums, which, np.asarray(values).reshape(len(items), self.size))
        self.access.put("add", self, chosen, sums)

    def copy_to(self, store: DeviceBuffer, at: int, items: np.ndarray) -> None:
        if store.access is not self.access or store.size != self.size:
            raise ValueError("items of a buffer fit slots of as many numbers of the same kind only")
        self.access.copy(self, items, store, at)

    def total(self) -> np.ndarray:
        return self.access.total(self).reshape(self.shape)

    def finite(self) -> bool:
        return self.access.finite(self)


__all__ = ["Access", "Arriving", "Device", "DeviceBuffer", "Host"]
