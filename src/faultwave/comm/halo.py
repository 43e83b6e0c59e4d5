"""Halo exchange of the boxes of a grid: each process sends its border to its neighbours and computes its interior until theirs is there."""

from __future__ import annotations

import time as clock
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.comm.compression import Loss
from faultwave.comm.messages import Receive, Send, free, wait_all
from faultwave.comm.packing import box_source, box_target
from faultwave.comm.world import World


@dataclass(frozen=True)
class Neighbour:
    """A neighbouring process, which may be this one where the grid is periodic: tags of the messages to and from it, and the boxes of
    arrays that are sent and received, as ``box_source`` and ``box_target`` take them."""

    rank: int
    send_tag: int
    receive_tag: int
    sent: Any
    received: Any


class HaloExchange:
    """The messages of a process to and from all its neighbours. ``rounding``: 'exact' or the name of a codec; ``gpu_aware``: MPI is given
    memory of the device that the arrays are on."""

    def __init__(
        self, world: World, neighbours: Sequence[Neighbour], dtype: Any, rounding: str = "exact", gpu_aware: bool = False
    ):  # fmt: skip
        mpi = world.mpi.Dup()  # apart from all other messages
        self.loss = Loss()
        self.sends: list[Send] = []
        self.receives: list[Receive] = []
        for n in neighbours:
            source = box_source(n.sent, np.dtype(dtype), rounding, self.loss, gpu_aware)
            target = box_target(n.received, np.dtype(dtype), rounding, gpu_aware)
            self.sends.append(Send(mpi, n.rank, n.send_tag, source, "the border of the grid"))
            self.receives.append(Receive(mpi, n.rank, n.receive_tag, target, "the border of the grid"))
        self.seconds = {"pack": 0.0, "wait": 0.0, "unpack": 0.0}
        self.messages = self.bytes = 0
        # At the latest before MPI ends, which was loaded earlier.
        weakref.finalize(self, free, [*self.receives, *self.sends])

    def start(self) -> None:
        """Send the border as it is now to all neighbours."""
        began = clock.perf_counter()
        for receive, send in zip(self.receives, self.sends, strict=True):
            receive.start()
            send.pack()
        for send in self.sends:
            self.bytes += send.start()
            self.messages += 1
        self.seconds["pack"] += clock.perf_counter() - began

    def finish(self) -> None:
        """Wait for what the neighbours sent, and put it into the halo. Raises RunError where one is silent."""
        before = sum(r.seconds for r in self.receives)
        spent = wait_all([*self.receives, *self.sends])
        unpacking = sum(r.seconds for r in self.receives) - before
        self.seconds["wait"] += spent - unpacking
        self.seconds["unpack"] += unpacking


__all__ = ["HaloExchange", "Neighbour"]
