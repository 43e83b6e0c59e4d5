"""Buffers in the memory of a device. Data for the host are packed there, so that only these are transferred."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import resources

import numpy as np
import numpy.typing as npt

from faultwave.backends.base import Awaited, Here
from faultwave.backends.device.calls import Memory
from faultwave.backends.device.interface import Device
from faultwave.backends.device.lower import prelude
from faultwave.backends.device.messages import (
    BufferPool,
    DeviceSource,
    DeviceTarget,
    PooledBuffer,
)
from faultwave.backends.device.rounding import Kernels
from faultwave.base.errors import BackendError

GROUP = 256  # threads of a group in copy kernels
KEPT_LISTS = 512
PIECE = 64 << 20
"""Largest size of a transfer between device and host [bytes]."""

AHEAD = 4
"""Number of pieces of a request that are in flight at the same time."""

SUMMED = 1 << 16  # number of threads that compute sums


class Host:
    """Pinned host memory for copies to and from a device, in pieces of at most ``piece`` bytes."""

    def __init__(self, device: Device, piece: int):
        self.device, self.piece, self.pieces = device, piece, BufferPool(device.pinned, 2 * AHEAD * piece)

    def send(self, memory: Memory, values: np.ndarray) -> None:
        """Queue a copy of contiguous ``values`` to the start of ``memory`` and return at once; ``values`` may then be changed."""
        piece = self.pieces.take(values.nbytes)
        near = piece.memory[: values.nbytes]
        near[:] = values.reshape(-1).view(np.uint8)
        self.pieces.give(piece, self.device.send(memory, near))


class PendingTransfer:
    """Pending copy of numbers packed in ``scratch`` to pinned host memory (see ``Awaited``)."""

    def __init__(
        self, host: Host, scratches: BufferPool, scratch: PooledBuffer, shape: tuple[int, ...], dtype: np.dtype
    ):
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


class PendingTransfers:
    """Pending copy of numbers (n, ...) in several pieces, of which a few are in flight at a time (see ``Awaited``)."""

    def __init__(self, pieces: Iterable[PendingTransfer], shape: tuple[int, ...], dtype: np.dtype):
        self.copied, self.filled = np.empty(shape, dtype), 0
        self.open: deque[PendingTransfer] = deque()
        for piece in pieces:
            if len(self.open) == AHEAD:
                self._fill()
            self.open.append(piece)

    def _fill(self) -> None:
        values = self.open.popleft().values()
        self.copied[self.filled : self.filled + len(values)] = values
        self.filled += len(values)

    @property
    def here(self) -> bool:
        return all(piece.here for piece in self.open)

    def values(self) -> np.ndarray:
        while self.open:
            self._fill()
        return self.copied


class ScratchMemory:
    """Allocator of device memory in addition to the buffers; ``take(bytes)`` accounts for it."""

    def __init__(self, device: Device, take: Callable[[int], None], piece: int):
        self.device, self.take = device, take
        self.scratches = BufferPool(self.allocate, AHEAD * piece)

    def allocate(self, size: int) -> Memory:
        self.take(size)
        return self.device.allocate(size)


class Access:
    """Copies of numbers between buffers of one data type and packed memory."""

    def __init__(
        self, device: Device, dtype: npt.DTypeLike, host: Host, adjacent: ScratchMemory, touched: Callable[[], None]
    ):  # fmt: skip
        """Build the copy kernels; ``touched()`` is called whenever the host reads or writes a buffer."""
        self.device, self.dtype, self.host, self.scratch = device, np.dtype(dtype), host, adjacent
        self.touched = touched
        self.rounding = Kernels(device, self.dtype)
        names = ["pack", "unpack", "add", "not_finite", "sums"]
        single = self.dtype == np.float32
        text = (
            prelude(device.target, single, single)
            + resources.files(__package__).joinpath("include", "access.h").read_text()
        )
        self.functions = device.build(text, names, None)
        self.lists: OrderedDict[bytes, Memory] = OrderedDict()

    def listed(self, items: np.ndarray) -> Memory:
        """Return item numbers in device memory, from a cache of recently used lists."""
        items = np.ascontiguousarray(items, np.int32)
        key = items.tobytes()
        if key in self.lists:
            self.lists.move_to_end(key)
            return self.lists[key]
        memory = self.scratch.allocate(max(4, items.nbytes))
        self.host.send(memory, items)
        self.lists[key] = memory
        if len(self.lists) > KEPT_LISTS:
            dropped, _ = self.lists.popitem(last=False)
            self.scratch.take(-max(4, len(dropped)))
        return memory

    def _pieces(self, items: np.ndarray, numbers: int) -> list[np.ndarray]:
        """Return the items in pieces that can be transferred at once, for ``numbers`` numbers per item."""
        some = max(1, self.host.piece // (numbers * self.dtype.itemsize))
        return [items[i : i + some] for i in range(0, len(items), some)]

    def _run(
        self, name: str, buffer: DeviceBuffer, items: Memory, count: int, listed: Memory, first: int, taken: int
    ) -> None:
        """Launch the kernel ``name``, which moves numbers between a buffer and packed memory.

        Parameters
        ----------
        name : {"pack", "unpack", "add"}
            Kernel.
        buffer : DeviceBuffer
            Buffer of the items.
        items
            Item numbers, in device memory.
        count : int
            Number of items.
        listed
            Packed memory of the device.
        first, taken : int
            First number of an item, and how many are moved.
        """
        count *= taken
        if count > np.iinfo(np.int32).max:
            raise BackendError(
                f"{count} numbers in one copy exceed the 32-bit indices of a device; request fewer items"
            )
        numbers = [np.int32(n) for n in (count, first, taken, buffer.size, buffer.lanes)]
        memory = [buffer.memory_on_device, items, listed]
        groups = -(-count // GROUP)
        self.device.launch(self.functions[name], groups, GROUP, [*memory, *numbers])

    def moved(self, name: str, buffer: DeviceBuffer, items: Memory, count: int, listed: Memory) -> None:
        """Move all numbers of ``count`` items, numbered in ``items`` on the device, between a buffer and packed memory ``listed``."""
        if count and buffer.size:
            self._run(name, buffer, items, count, listed, 0, buffer.size)

    @contextmanager
    def _numbered(self, items: np.ndarray, whole: bool) -> Iterator[Memory]:
        """Provide item numbers in device memory for the next launch; lists of ``whole`` requests are cached, as they may recur."""
        if whole:
            yield self.listed(items)
            return
        items = np.ascontiguousarray(items, np.int32)
        scratch = self.scratch.scratches.take(items.nbytes)
        self.host.send(scratch.memory, items)
        yield scratch.memory
        self.scratch.scratches.give(scratch)

    def put(self, name: str, buffer: DeviceBuffer, items: np.ndarray, values: np.ndarray) -> None:
        """Write ``values`` (n, numbers) to the listed items of a buffer ("unpack") or add them ("add")."""
        self.touched()
        if not values.size:
            return
        pieces, begin = self._pieces(items, buffer.size), 0
        for piece in pieces:
            part = values[begin : begin + len(piece)]
            scratch = self.scratch.scratches.take(part.nbytes)
            self.host.send(scratch.memory, part)
            with self._numbered(piece, len(pieces) == 1) as slots:
                self._run(name, buffer, slots, len(piece), scratch.memory, 0, buffer.size)
            self.scratch.scratches.give(scratch)
            begin += len(piece)

    def fetch(self, buffer: DeviceBuffer, items: np.ndarray, first: int, shape: tuple[int, ...]) -> Awaited:
        """Start to copy numbers, from ``first`` on, of the listed items to the host, with shape (items, *shape)."""
        self.touched()
        taken, whole = int(np.prod(shape)), (len(items), *shape)
        if not len(items) * taken:
            return Here(np.empty(whole, self.dtype))
        pieces = self._pieces(items, taken)
        if len(pieces) == 1:
            return self._fetch(buffer, items, first, shape, True)
        return PendingTransfers((self._fetch(buffer, x, first, shape, False) for x in pieces), whole, self.dtype)

    def _fetch(
        self, buffer: DeviceBuffer, items: np.ndarray, first: int, shape: tuple[int, ...], whole: bool
    ) -> PendingTransfer:
        taken, scratches = int(np.prod(shape)), self.scratch.scratches
        scratch = scratches.take(len(items) * taken * self.dtype.itemsize)
        with self._numbered(items, whole) as slots:
            self._run("pack", buffer, slots, len(items), scratch.memory, first, taken)
        return PendingTransfer(self.host, scratches, scratch, (len(items), *shape), self.dtype)

    def total(self, buffer: DeviceBuffer) -> np.ndarray:
        """Return the sums (numbers,) over all items: the device sums parts, the host adds these."""
        self.touched()
        batches = buffer.items // buffer.lanes
        parts = max(1, min(batches, SUMMED // buffer.size))
        scratch = self.scratch.scratches.take(8 * parts * buffer.size)
        numbers = [np.int32(n) for n in (batches, buffer.size, buffer.lanes, parts)]
        groups = -(-parts * buffer.size // GROUP)
        self.device.launch(self.functions["sums"], groups, GROUP, [buffer.memory_on_device, scratch.memory, *numbers])
        partial = PendingTransfer(
            self.host, self.scratch.scratches, scratch, (parts, buffer.size), np.dtype(np.float64)
        )
        return np.asarray(partial.values().sum(0))

    def finite(self, buffer: DeviceBuffer) -> bool:
        self.touched()
        flag = self.device.allocate(4)
        count = buffer.nbytes // self.dtype.itemsize
        groups = max(1, min(1024, -(-count // GROUP)))
        numbers = [np.int64(count), np.int32(groups * GROUP)]
        self.device.launch(self.functions["not_finite"], groups, GROUP, [buffer.memory_on_device, flag, *numbers])
        reported = np.zeros(1, np.int32)
        self.device.download(flag, reported)
        return not reported[0]


class DeviceBuffer:
    """Device array (items, *shape), stored in the layout [batch][number][lane]; slots have one lane."""

    def __init__(self, access: Access, items: int, shape: tuple[int, ...], lanes: int):
        if items % lanes:
            raise ValueError(f"{items} items are not a multiple of {lanes} lanes")
        self.access, self.items, self.shape, self.lanes = access, items, shape, lanes
        self.size = int(np.prod(shape))
        self.nbytes = items * self.size * access.dtype.itemsize
        self.memory_on_device = access.device.allocate(max(1, self.nbytes))

    def _whole(self) -> np.ndarray:
        """Return an empty host array in the layout of the device."""
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
            whole = self._whole()  # without a packed copy, for which memory may not suffice
            self.access.device.download(self.memory_on_device, whole)
            return np.ascontiguousarray(whole.transpose(0, 2, 1)).reshape(self.items, *self.shape)
        return self.fetch(items, rows).values()

    def fetch(self, items: np.ndarray | slice | None = None, rows: slice = slice(None)) -> Awaited:
        chosen = self._select(items)
        first, end, step = rows.indices(self.shape[0])
        if step != 1:
            raise ValueError("only contiguous rows can be copied")
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
        """Add values to items, which may repeat: values of equal items are summed on the host first."""
        chosen, which = np.unique(items, return_inverse=True)
        sums = np.zeros((len(chosen), self.size), self.access.dtype)
        np.add.at(sums, which, np.asarray(values).reshape(len(items), self.size))
        self.access.put("add", self, chosen, sums)

    def message_source(
        self, rows: np.ndarray, gpu_aware: bool, rounding: str = "exact", errors: tuple[DeviceBuffer, int] | None = None
    ) -> DeviceSource:
        """Return a message that sends rows of a store.

        Parameters
        ----------
        rows : ndarray (2, n)
            Rows that are sent in even and in odd steps.
        gpu_aware : bool
            True if MPI sends from device memory.
        rounding : str
            'exact', 'single' or 'zfp-BITS'.
        errors : (DeviceBuffer, int), optional
            Store that receives the rounding errors, and its first row.
        """
        access, count = self.access, rows.shape[1]
        listed = [access.listed(x) for x in rows]

        def gather(parity: int, into: Memory) -> None:
            access.touched()
            access.moved("pack", self, listed[parity], count, into)

        error = None if errors is None else (errors[0].memory_on_device, errors[1] * errors[0].size)
        shape = count, self.size
        made = DeviceSource(access.device, access.rounding, shape, gpu_aware, rounding, gather, error)
        access.scratch.take(made.held)
        return made

    def message_target(self, first: int, count: int, gpu_aware: bool, rounding: str = "exact") -> DeviceTarget:
        """Return a message that is received into ``count`` rows of a store from ``first`` on."""
        access = self.access
        listed = access.listed(np.arange(first, first + count))

        def scatter(values: Memory) -> None:
            access.touched()
            access.moved("unpack", self, listed, count, values)

        made = DeviceTarget(access.device, access.rounding, (count, self.size), gpu_aware, rounding, scatter)
        access.scratch.take(made.held)
        return made

    def total(self) -> np.ndarray:
        return self.access.total(self).reshape(self.shape)

    def finite(self) -> bool:
        return self.access.finite(self)
