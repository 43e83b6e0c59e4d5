"""Messages of a device's buffers: packed there into memory of their own, which MPI is given, or which crosses to pinned memory of the host.

Who may touch a message changes: kernels fill it, MPI sends it; MPI receives it, kernels read it. ``Passage`` says when. Kernels are done in
turn, so that what they are asked for needs no waiting; MPI is no part of the queue and waits for a ``Crossing``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from faultwave.backends.device.pinned import Crossing
from faultwave.backends.device.rounding import Kernels, Rounding

if TYPE_CHECKING:
    from faultwave.backends.device.memory import Access, Device, DeviceBuffer


class Passage(Protocol):
    """Memory between kernels and MPI. ``memory``: as kernels are given it; ``buffer``: as MPI is."""

    memory: Any
    buffer: Any

    def take(self, received: bool) -> None:
        """From MPI: kernels asked for from now on may touch it, and find what was ``received``."""
        ...

    def give(self, sent: bool) -> Crossing:
        """To MPI: once the crossing is done it may touch it, and finds what kernels asked for so far put there, where that is to be
        ``sent``."""
        ...


class Staged:
    """Through pinned memory of the host, the way of any MPI."""

    def __init__(self, device: Device, size: int):
        self.device = device
        self.memory, self.buffer = device.allocate(size), device.pinned(size)[:size]
        self.brought: Crossing = device.mark()

    def take(self, received: bool) -> None:
        if received:
            self.brought = self.device.send(self.memory, self.buffer)

    def give(self, sent: bool) -> Crossing:
        return self.device.bring(self.memory, self.buffer) if sent else self.brought


def passage(device: Device, size: int, direct: bool) -> Passage:
    """Of so many bytes; ``direct``: MPI is given memory of the device."""
    return device.lend(size) if direct else Staged(device, size)


class Sent:
    """A message that kernels fill: ``_gather`` asks for those that bring its numbers (n, width), of ``dtype``, to memory of the device.

    ``rounding``: 'exact', 'single' or 'zfp-BITS'; ``error``: memory and the number in it where what that takes begins, else nobody wants
    to know. ``lost()``: how much it was, see ``Rounding.lost``.
    """

    def __init__(
        self, device: Device, kernels: Kernels, shape: tuple[int, int], direct: bool, rounding: str, error: tuple[Any, int] | None
    ):  # fmt: skip
        exact = shape[0] * shape[1] * kernels.dtype.itemsize
        self.rounding = None if rounding == "exact" else Rounding(kernels, rounding, *shape)
        self.nbytes = self.rounding.size if self.rounding else exact
        self.passage = passage(device, max(1, self.nbytes), direct)
        self.buffer = self.passage.buffer
        self.values = device.allocate(max(1, exact)) if self.rounding else self.passage.memory
        self.error = error or (self.values, 0)
        self.lost = self.rounding.lost if self.rounding else None
        self.crossing: Crossing | None = None

    def _gather(self, turn: int, into: Any) -> None:
        raise NotImplementedError

    def fill(self, turn: int) -> None:
        self.passage.take(False)
        self._gather(turn, self.values)
        if self.rounding:
            self.rounding.pack(self.values, self.passage.memory, *self.error)
        self.crossing = self.passage.give(True)

    @property
    def here(self) -> bool:
        return self.crossing is None or self.crossing.done

    def finish(self) -> None:
        if self.crossing is not None:
            self.crossing.wait()


class Received:
    """A message that kernels read: ``_spread`` asks for those that put its numbers (n, width) where they belong."""

    def __init__(self, device: Device, kernels: Kernels, shape: tuple[int, int], direct: bool, rounding: str):
        exact = shape[0] * shape[1] * kernels.dtype.itemsize
        self.rounding = None if rounding == "exact" else Rounding(kernels, rounding, *shape)
        self.passage = passage(device, max(1, self.rounding.size if self.rounding else exact), direct)
        self.buffer = self.passage.buffer
        self.values = device.allocate(max(1, exact)) if self.rounding else self.passage.memory
        self.lent = self.passage.give(False)

    def _spread(self, values: Any) -> None:
        raise NotImplementedError

    def ready(self) -> None:
        self.lent.wait()

    def landed(self) -> None:
        self.passage.take(True)
        if self.rounding:
            self.rounding.unpack(self.passage.memory, self.values)
        self._spread(self.values)
        self.lent = self.passage.give(False)


class SentSlots(Sent):
    """Slots (2, n) of a store, in even and in odd steps; errors to slots of another store from one on."""

    def __init__(
        self, access: Access, store: DeviceBuffer, slots: np.ndarray, direct: bool, rounding: str, errors: tuple[DeviceBuffer, int] | None
    ):  # fmt: skip
        self.access, self.store, self.count = access, store, slots.shape[1]
        error = None if errors is None else (errors[0].memory_on_device, errors[1] * errors[0].size)
        super().__init__(access.device, access.rounding, (self.count, store.size), direct, rounding, error)
        access.beside.take(_held(self))
        self.slots = [access.listed(x) for x in slots]

    def _gather(self, turn: int, into: Any) -> None:
        self.access.touched()
        self.access.moved("pack", self.store, self.slots[turn], self.count, into)


class ReceivedSlots(Received):
    """For slots of a store one after the other from ``first`` on."""

    def __init__(self, access: Access, store: DeviceBuffer, first: int, count: int, direct: bool, rounding: str):
        self.access, self.store, self.count = access, store, count
        super().__init__(access.device, access.rounding, (count, store.size), direct, rounding)
        access.beside.take(_held(self))
        self.slots = access.listed(np.arange(first, first + count))

    def _spread(self, values: Any) -> None:
        self.access.touched()
        self.access.moved("unpack", self.store, self.slots, self.count, values)


def _held(message: SentSlots | ReceivedSlots) -> int:
    """Bytes of the device that a message takes."""
    exact = message.count * message.store.size * message.access.dtype.itemsize
    made = message.rounding
    return exact + made.size + made.nbytes if made else exact


__all__ = ["Passage", "Received", "ReceivedSlots", "Sent", "SentSlots", "Staged", "passage"]
