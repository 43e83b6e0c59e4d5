"""Messages of a device's buffers: packed there into memory of their own, which MPI is given, or which crosses to pinned memory of the host.

Who may touch a message changes: kernels fill it, MPI sends it; MPI receives it, kernels read it. ``Passage`` says when. Kernels are done in
turn, so that what they are asked for needs no waiting; MPI is no part of the queue and waits for a ``Crossing``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from faultwave.backends.device.pinned import Crossing

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
    """A message that kernels fill: ``_pack`` asks for them."""

    def __init__(self, device: Device, size: int, direct: bool):
        self.passage, self.nbytes = passage(device, max(1, size), direct), size
        self.buffer = self.passage.buffer
        self.crossing: Crossing | None = None

    def _pack(self, turn: int) -> None:
        raise NotImplementedError

    def fill(self, turn: int) -> None:
        self.passage.take(False)
        self._pack(turn)
        self.crossing = self.passage.give(True)

    @property
    def here(self) -> bool:
        return self.crossing is None or self.crossing.done

    def finish(self) -> None:
        if self.crossing is not None:
            self.crossing.wait()

    def error(self) -> np.ndarray | None:
        return None


class Received:
    """A message that kernels read: ``_unpack`` asks for them."""

    def __init__(self, device: Device, size: int, direct: bool):
        self.passage = passage(device, max(1, size), direct)
        self.buffer = self.passage.buffer
        self.lent = self.passage.give(False)

    def _unpack(self) -> None:
        raise NotImplementedError

    def ready(self) -> None:
        self.lent.wait()

    def landed(self) -> None:
        self.passage.take(True)
        self._unpack()
        self.lent = self.passage.give(False)


class SentSlots(Sent):
    """Slots (2, n) of a store, in even and in odd steps."""

    def __init__(self, access: Access, store: DeviceBuffer, slots: np.ndarray, direct: bool):
        self.access, self.store, self.count = access, store, slots.shape[1]
        size = self.count * store.size * access.dtype.itemsize
        access.beside.take(size)
        super().__init__(access.device, size, direct)
        self.slots = [access.listed(x) for x in slots]

    def _pack(self, turn: int) -> None:
        self.access.touched()
        self.access.moved("pack", self.store, self.slots[turn], self.count, self.passage.memory)


class ReceivedSlots(Received):
    """For slots of a store one after the other from ``first`` on."""

    def __init__(self, access: Access, store: DeviceBuffer, first: int, count: int, direct: bool):
        self.access, self.store, self.count = access, store, count
        size = count * store.size * access.dtype.itemsize
        access.beside.take(size)
        super().__init__(access.device, size, direct)
        self.slots = access.listed(np.arange(first, first + count))

    def _unpack(self) -> None:
        self.access.touched()
        self.access.moved("unpack", self.store, self.slots, self.count, self.passage.memory)


__all__ = ["Passage", "Received", "ReceivedSlots", "Sent", "SentSlots", "Staged", "passage"]
