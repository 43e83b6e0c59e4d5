"""Where messages come from and go to: slots of a store in the host's memory, or in a device's.

A device packs what is sent and brings it through pinned memory; what arrives is put into its queue. It is the way of the host in any MPI.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np


class Leaving(Protocol):
    """Numbers on their way to where a message is sent from."""

    @property
    def here(self) -> bool:
        """Whether ``finish`` would not wait."""
        ...

    def finish(self) -> None:
        """Return when they are there."""


class Slots(Protocol):
    """Slots of ``width`` numbers."""

    width: int
    dtype: Any

    def copy(self, slots: np.ndarray, out: np.ndarray) -> Leaving:
        """Begin to copy the listed slots, as all work asked for so far leaves them, to ``out`` (n, width)."""
        ...

    def landing(self, first: int, count: int) -> np.ndarray:
        """Where a message for so many slots from ``first`` on may be received, (count, width)."""
        ...

    def landed(self, first: int, values: np.ndarray) -> None:
        """Put a message into its slots, unless its landing is there already."""
        ...


class Left:
    """Nothing was to be waited for."""

    here = True

    def finish(self) -> None:
        return


class HostSlots:
    """Of memory (slots, width)."""

    def __init__(self, memory: np.ndarray):
        self.memory, self.width, self.dtype = memory, memory.shape[1], memory.dtype

    def copy(self, slots: np.ndarray, out: np.ndarray) -> Leaving:
        np.take(self.memory, slots, 0, out)
        return Left()

    def landing(self, first: int, count: int) -> np.ndarray:
        return self.memory[first : first + count]

    def landed(self, first: int, values: np.ndarray) -> None:
        there = self.memory[first : first + len(values)]
        if not np.shares_memory(there, values):
            there[:] = values


class Fetched:
    """What a device brings."""

    def __init__(self, awaited: Any, out: np.ndarray):
        self.awaited, self.out = awaited, out

    @property
    def here(self) -> bool:
        return bool(self.awaited.here)

    def finish(self) -> None:
        self.out[:] = self.awaited.values()


class DeviceSlots:
    """Of a device's store: anything with ``fetch`` and ``put``."""

    def __init__(self, store: Any, width: int, dtype: Any):
        self.store, self.width, self.dtype = store, width, np.dtype(dtype)

    def copy(self, slots: np.ndarray, out: np.ndarray) -> Leaving:
        return Fetched(self.store.fetch(slots), out)

    def landing(self, first: int, count: int) -> np.ndarray:
        return np.empty((count, self.width), self.dtype)

    def landed(self, first: int, values: np.ndarray) -> None:
        self.store.put(values, np.arange(first, first + len(values)))


def slots_of(store: Any) -> Slots:
    """Of a store of any backend."""
    if hasattr(store, "memory"):
        return HostSlots(store.memory)
    return DeviceSlots(store, store.size, store.access.dtype)


__all__ = ["DeviceSlots", "HostSlots", "Leaving", "Left", "Slots", "slots_of"]
