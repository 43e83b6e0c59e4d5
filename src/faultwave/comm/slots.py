"""Where messages come from and go to: slots of a store in the host's memory, or in a device's.

Messages of the host are received where they are read. A device packs what is sent and unpacks what has come by itself; MPI is given its
memory (``direct``), or pinned memory of the host that the numbers pass through, which is the way in any MPI.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from faultwave.comm.compression import Loss, codec
from faultwave.comm.messages import HostIncoming, HostOutgoing, Incoming, Outgoing

Place = tuple[Any, int]
"""A store, and its first slot of some one after the other."""


class Slots(Protocol):
    """Slots of numbers that messages are made of and put into."""

    def outgoing(self, slots: np.ndarray, rounding: str, loss: Loss, errors: Place | None) -> Outgoing:
        """A message of the listed slots (2, n), in even and in odd steps. ``rounding``: 'exact' or the name of a codec; what that takes is
        counted in ``loss`` and left in ``errors``, a store of the same backend."""
        ...

    def incoming(self, first: int, count: int, rounding: str) -> Sequence[Incoming]:
        """Messages for so many slots from ``first`` on, received in turn: one while kernels may still read what the one before brought."""
        ...


class HostSlots:
    """Of memory (slots, width)."""

    def __init__(self, memory: np.ndarray):
        self.memory = memory

    def outgoing(self, slots: np.ndarray, rounding: str, loss: Loss, errors: Place | None) -> Outgoing:
        count = slots.shape[1]
        lost = None if errors is None else errors[0].memory[errors[1] : errors[1] + count]
        return HostOutgoing(self.memory, slots, codec(rounding, (count, self.memory.shape[1])), loss, lost)

    def incoming(self, first: int, count: int, rounding: str) -> Sequence[Incoming]:
        into = self.memory[first : first + count]
        return [HostIncoming(into, codec(rounding, into.shape))]


class DeviceSlots:
    """Of a device's store: anything with ``outgoing`` and ``incoming``."""

    def __init__(self, store: Any, direct: bool):
        self.store, self.direct = store, direct

    def outgoing(self, slots: np.ndarray, rounding: str, loss: Loss, errors: Place | None) -> Outgoing:
        made = self.store.outgoing(slots, self.direct, rounding, errors)
        if made.lost is not None:
            loss.sources.append(made.lost)
        return made

    def incoming(self, first: int, count: int, rounding: str) -> Sequence[Incoming]:
        return [self.store.incoming(first, count, self.direct, rounding) for _ in range(2)]


def slots_of(store: Any, direct: bool = False) -> Slots:
    """Of a store of any backend; ``direct``: MPI takes memory of the device that it is on."""
    return HostSlots(store.memory) if hasattr(store, "memory") else DeviceSlots(store, direct)


__all__ = ["DeviceSlots", "HostSlots", "Place", "Slots", "slots_of"]
