"""Where messages come from and go to: slots of a store in the host's memory, or in a device's.

Messages of the host are received where they are read. A device packs what is sent and unpacks what has come by itself; MPI is given its
memory (``direct``), or pinned memory of the host that the numbers pass through, which is the way in any MPI.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from faultwave.comm.compression import Codec, Loss, codec
from faultwave.comm.messages import HostIncoming, HostOutgoing, Incoming, Outgoing


class Slots(Protocol):
    """Slots of numbers that messages are made of and put into."""

    def outgoing(self, slots: np.ndarray, rounding: str, loss: Loss) -> Outgoing:
        """A message of the listed slots (2, n), in even and in odd steps; ``rounding``: 'exact' or the name of a codec."""
        ...

    def incoming(self, first: int, count: int, rounding: str) -> Sequence[Incoming]:
        """Messages for so many slots from ``first`` on, received in turn: one while kernels may still read what the one before brought."""
        ...


class HostSlots:
    """Of memory (slots, width)."""

    def __init__(self, memory: np.ndarray):
        self.memory = memory

    def outgoing(self, slots: np.ndarray, rounding: str, loss: Loss) -> Outgoing:
        return HostOutgoing(self.memory, slots, codec(rounding, (slots.shape[1], self.memory.shape[1])), loss)

    def incoming(self, first: int, count: int, rounding: str) -> Sequence[Incoming]:
        into = self.memory[first : first + count]
        return [HostIncoming(into, codec(rounding, into.shape))]


class DeviceSlots:
    """Of a device's store: anything with ``outgoing`` and ``incoming``, and with ``fetch`` and ``put``."""

    def __init__(self, store: Any, direct: bool):
        self.store, self.direct = store, direct

    def outgoing(self, slots: np.ndarray, rounding: str, loss: Loss) -> Outgoing:
        packing = codec(rounding, (slots.shape[1], self.store.size))
        if packing is not None:
            return _RoundedHere(self.store, slots, packing, loss)
        made: Outgoing = self.store.outgoing(slots, self.direct)
        return made

    def incoming(self, first: int, count: int, rounding: str) -> Sequence[Incoming]:
        unpacking = codec(rounding, (count, self.store.size))
        if unpacking is not None:
            return [_RoundedThere(self.store, first, unpacking)]
        return [self.store.incoming(first, count, self.direct) for _ in range(2)]


class _RoundedHere:
    """What a device brings, rounded on the host."""

    def __init__(self, store: Any, slots: np.ndarray, packing: Codec, loss: Loss):
        self.store, self.slots, self.packing, self.loss = store, slots, packing, loss
        self.buffer, self.nbytes = np.empty(packing.size, np.uint8), packing.size
        self.awaited: Any = None
        self.lost: np.ndarray | None = None

    def fill(self, turn: int) -> None:
        self.awaited = self.store.fetch(self.slots[turn])

    @property
    def here(self) -> bool:
        return bool(self.awaited.here)

    def finish(self) -> None:
        numbers = self.awaited.values()
        self.packing.pack(numbers, self.buffer)
        self.lost = self.packing.unpack(self.buffer) - numbers
        self.loss.add(self.lost, numbers)

    def error(self) -> np.ndarray | None:
        return self.lost


class _RoundedThere:
    """What the host has unrounded, put into a device's queue."""

    def __init__(self, store: Any, first: int, unpacking: Codec):
        self.store, self.first, self.unpacking = store, first, unpacking
        self.buffer = np.empty(unpacking.size, np.uint8)

    def ready(self) -> None:
        return

    def landed(self) -> None:
        values = self.unpacking.unpack(self.buffer)
        self.store.put(values, np.arange(self.first, self.first + len(values)))


def slots_of(store: Any, direct: bool = False) -> Slots:
    """Of a store of any backend; ``direct``: MPI takes memory of the device that it is on."""
    return HostSlots(store.memory) if hasattr(store, "memory") else DeviceSlots(store, direct)


__all__ = ["DeviceSlots", "HostSlots", "Slots", "slots_of"]
