"""Messages between devices, packed and unpacked by kernels, and the pool of buffers for asynchronous copies.

Buffers are pinned host memory, which a device accesses by DMA, or device memory where numbers are packed for such copies.

Kernels pack numbers into a message buffer on the device. GPU-aware MPI sends from it; otherwise it is copied to pinned memory of the host.

A message buffer is filled by kernels and sent by MPI, or received by MPI and read by kernels; ``MessageBuffer`` hands it from one to the
other. Kernels run in the order of the device's queue and need not wait; MPI does not use the queue and waits for a ``Crossing``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from faultwave.backends.device.calls import Memory
from faultwave.backends.device.rounding import Kernels, Rounding

SMALLEST_BUFFER = 1 << 12  # [bytes] smallest size of a buffer


class Crossing(Protocol):
    """Pending copy between host and device."""

    @property
    def done(self) -> bool: ...

    def wait(self) -> None: ...


@dataclass
class PooledBuffer:
    """Buffer of ``size`` bytes, and the last copy from or to it."""

    memory: Memory
    size: int
    crossing: Crossing | None = None


class BufferPool:
    """Pool of buffers whose sizes are powers of two.

    Parameters
    ----------
    make : callable
        ``make(bytes)`` allocates a buffer.
    most : int
        Size of the pool [bytes] beyond which a request waits for the pending copy of a returned buffer instead of allocating another.

    Attributes
    ----------
    nbytes : int
        Size of all buffers [bytes].
    """

    def __init__(self, make: Callable[[int], Memory], most: int):
        self.make, self.most, self.nbytes = make, most, 0
        self.free: dict[int, list[PooledBuffer]] = {}

    def take(self, size: int) -> PooledBuffer:
        """Return a buffer of at least ``size`` bytes that is unused and that no pending copy touches."""
        wanted = SMALLEST_BUFFER
        while wanted < size:
            wanted *= 2
        free = self.free.setdefault(wanted, [])
        for i, piece in enumerate(free):
            if piece.crossing is None or piece.crossing.done:
                return free.pop(i)
        if free and self.nbytes + wanted > self.most:
            oldest = free.pop(0)
            assert oldest.crossing is not None
            oldest.crossing.wait()
            return oldest
        made = PooledBuffer(self.make(wanted), wanted)
        self.nbytes += wanted
        return made

    def give(self, piece: PooledBuffer, crossing: Crossing | None = None) -> None:
        """Return a buffer to the pool, reusable once ``crossing`` is done."""
        piece.crossing = crossing
        self.free[piece.size].append(piece)


class Queue(Protocol):
    """Device interface that messages use."""

    def allocate(self, size: int) -> Memory: ...

    def pinned(self, size: int) -> np.ndarray: ...

    def bring(self, memory: Memory, into: np.ndarray) -> Crossing: ...

    def send(self, memory: Memory, values: np.ndarray) -> Crossing: ...

    def gpu_aware_buffer(self, size: int) -> MessageBuffer: ...

    def mark(self) -> Crossing: ...


class MessageBuffer(Protocol):
    """Memory shared by kernels and MPI: ``memory`` as passed to kernels, ``buffer`` as passed to MPI."""

    memory: Memory
    buffer: Any

    def take(self, received: bool) -> None:
        """Hand the buffer from MPI to kernels, which find the data ``received``."""
        ...

    def give(self, sent: bool) -> Crossing:
        """Hand the buffer from kernels to MPI, which may use it once the returned crossing is done.

        If it is to be ``sent``, it then holds the results of all kernels queued so far.
        """
        ...


class Staged:
    """Message buffer that is copied through pinned host memory, for any MPI."""

    def __init__(self, device: Queue, size: int):
        self.device = device
        self.memory, self.buffer = device.allocate(size), device.pinned(size)[:size]
        self.brought: Crossing = device.mark()

    def take(self, received: bool) -> None:
        if received:
            self.brought = self.device.send(self.memory, self.buffer)

    def give(self, sent: bool) -> Crossing:
        return self.device.bring(self.memory, self.buffer) if sent else self.brought


class DeviceMessage:
    """Memory of a message of numbers (n, width).

    Parameters
    ----------
    device : Queue
        Device of the numbers.
    kernels : Kernels
        Rounding kernels.
    shape : (int, int)
        Number of items, and of numbers per item.
    gpu_aware : bool
        True if MPI accesses device memory.
    rounding : str
        'exact', 'single' or 'zfp-BITS'.

    Attributes
    ----------
    values
        Device memory where kernels write and read the exact numbers.
    nbytes, held : int
        Size of the message, and device memory that it takes [bytes].
    """

    def __init__(self, device: Queue, kernels: Kernels, shape: tuple[int, int], gpu_aware: bool, rounding: str):
        exact = shape[0] * shape[1] * kernels.dtype.itemsize
        self.rounding = None if rounding == "exact" else Rounding(kernels, rounding, *shape)
        self.nbytes = self.rounding.size if self.rounding else exact
        size = max(1, self.nbytes)
        self.message_buffer: MessageBuffer = device.gpu_aware_buffer(size) if gpu_aware else Staged(device, size)
        self.buffer = self.message_buffer.buffer
        self.values = device.allocate(max(1, exact)) if self.rounding else self.message_buffer.memory
        self.held = exact + self.rounding.size + self.rounding.nbytes if self.rounding else exact


class DeviceSource(DeviceMessage):
    """Message to be sent, which kernels fill.

    ``gather(parity, into)`` launches the kernels that collect the numbers in device memory ``into``; ``lost()`` returns the rounding errors
    (see ``Rounding.lost``), and is None for exact messages.
    """

    def __init__(
        self, device: Queue, kernels: Kernels, shape: tuple[int, int], gpu_aware: bool, rounding: str,
        gather: Callable[[int, Memory], None], error: tuple[Memory, int] | None = None,
    ):  # fmt: skip
        """Allocate the message; ``error`` is the memory that receives rounding errors and its first number (None: discard them)."""
        super().__init__(device, kernels, shape, gpu_aware, rounding)
        self.gather, self.error = gather, error or (self.values, 0)
        self.lost = self.rounding.lost if self.rounding else None
        self.crossing: Crossing | None = None

    def pack(self, parity: int) -> None:
        self.message_buffer.take(False)
        self.gather(parity, self.values)
        if self.rounding:
            self.rounding.pack(self.values, self.message_buffer.memory, *self.error)
        self.crossing = self.message_buffer.give(True)

    @property
    def packed(self) -> bool:
        return self.crossing is None or self.crossing.done

    def finish(self) -> None:
        if self.crossing is not None:
            self.crossing.wait()


class DeviceTarget(DeviceMessage):
    """Message to be received; ``scatter(values)`` launches the kernels that distribute its numbers to buffers."""

    def __init__(
        self, device: Queue, kernels: Kernels, shape: tuple[int, int], gpu_aware: bool, rounding: str,
        scatter: Callable[[Memory], None],
    ):  # fmt: skip
        super().__init__(device, kernels, shape, gpu_aware, rounding)
        self.scatter, self.borrowed = scatter, self.message_buffer.give(False)

    def ready(self) -> None:
        self.borrowed.wait()

    def unpack(self) -> None:
        self.message_buffer.take(True)
        if self.rounding:
            self.rounding.unpack(self.message_buffer.memory, self.values)
        self.scatter(self.values)
        self.borrowed = self.message_buffer.give(False)
