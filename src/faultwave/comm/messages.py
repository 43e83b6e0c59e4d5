"""Messages as MPI is given them, whatever memory they come from and go to: see ``slots`` for whose they are."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from faultwave.comm.compression import Codec, Loss


class Outgoing(Protocol):
    """One message that is sent again and again. ``buffer``: what MPI sends, of ``nbytes`` bytes."""

    buffer: Any
    nbytes: int

    def fill(self, turn: int) -> None:
        """Begin to put there what is to be sent in even (0) or odd (1) steps, as all work asked for so far leaves it."""
        ...

    @property
    def here(self) -> bool:
        """Whether ``finish`` would not wait."""
        ...

    def finish(self) -> None:
        """Return when MPI may send it."""
        ...


class Incoming(Protocol):
    """One message that is received again and again. ``buffer``: what MPI receives into."""

    buffer: Any

    def ready(self) -> None:
        """Return when MPI may receive into it: nobody reads what came before any more."""
        ...

    def landed(self) -> None:
        """It has come: put it where kernels asked for from now on read it."""
        ...


class HostOutgoing:
    """Slots (2, n) of memory (slots, width), for even and for odd steps; rounded by ``codec`` where there is one, and what the other
    process gets less what is here left in ``lost`` (n, width)."""

    here = True

    def __init__(
        self, memory: np.ndarray, slots: np.ndarray, codec: Codec | None, loss: Loss, lost: np.ndarray | None = None
    ):
        self.memory, self.slots, self.codec, self.loss, self.lost = memory, slots, codec, loss, lost
        self.numbers: np.ndarray = np.empty((slots.shape[1], memory.shape[1]), memory.dtype)
        self.buffer = np.empty(codec.size, np.uint8) if codec else self.numbers
        self.nbytes = self.buffer.nbytes

    def fill(self, turn: int) -> None:
        np.take(self.memory, self.slots[turn], 0, self.numbers)

    def finish(self) -> None:
        if self.codec:
            self.codec.pack(self.numbers, self.buffer)
            lost = self.codec.unpack(self.buffer) - self.numbers
            self.loss.add(lost, self.numbers)
            if self.lost is not None:
                self.lost[:] = lost


class HostIncoming:
    """Received where kernels read it, unless it has to be unpacked."""

    def __init__(self, into: np.ndarray, codec: Codec | None):
        self.into, self.codec = into, codec
        self.buffer = np.empty(codec.size, np.uint8) if codec else into

    def ready(self) -> None:
        return

    def landed(self) -> None:
        if self.codec:
            self.into[:] = self.codec.unpack(self.buffer)


__all__ = ["HostIncoming", "HostOutgoing", "Incoming", "Outgoing"]
