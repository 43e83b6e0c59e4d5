"""Where messages come from and go to: slots of a store in the host's memory, or in a device's.

A device packs what is sent and brings it through pinned memory; what arrives is put into its queue. It is the way of the host in any MPI.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np


class Slots(Protocol):
    """Slots of ``width`` numbers."""

    width: int
    dtype: Any

    def copy(self, slots: np.ndarray, out: np.ndarray) -> Callable[[], None]:
        """Begin to copy the listed slots, as all work asked for so far leaves them; they are in ``out`` (n, width) when what
        this gives back has been called."""
        ...

    def landing(self, first: int, count: int) -> np.ndarray:
        """Where a message for so many slots from ``first`` on may be received, (count, width)."""
        ...

    def landed(self, first: int, values: np.ndarray) -> None:
        """Put a message into its slots, unless its landing is there already."""
        ...


class HostSlots:
    """Of memory (slots, width)."""

    def __init__(self, memory: np.ndarray):
        self.memory, self.width, self.dtype = memory, memory.shape[1], memory.dtype

    def copy(self, slots: np.ndarray, out: np.ndarray) -> Callable[[], None]:
        np.take(self.memory, slots, 0, out)
        return lambda: None

    def landing(self, first: int, count: int) -> np.ndarray:
        return self.memory[first : first + count]

    def landed(self, first: int, values: np.ndarray) -> None:
        there = self.memory[first : first + len(values)]
        if not np.shares_memory(there, values):
            there[:] = values


class DeviceSlots:
    """Of a device's store: anything with ``fetch`` and ``put``."""

    def __init__(self, store: Any, width: int, dtype: Any):
        self.store, self.width, self.dtype = store, width, np.dtype(dtype)

    def copy(self, slots: np.ndarray, out: np.ndarray) -> Callable[[], None]:
        awaited = self.store.fetch(slots)

        def finish() -> None:
            out[:] = awaited.values()

        return finish

    def landing(self, first: int, count: int) -> np.ndarray:
        return np.empty((count, self.width), self.dtype)

    def landed(self, first: int, values: np.ndarray) -> None:
        self.store.put(values, np.arange(first, first + len(values)))


def slots_of(store: Any) -> Slots:
    """Of a store of any backend."""
    if hasattr(store, "memory"):
        return HostSlots(store.memory)
    return DeviceSlots(store, store.size, store.access.dtype)


__all__ = ["DeviceSlots", "HostSlots", "Slots", "slots_of"]
