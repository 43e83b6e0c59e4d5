"""Halo exchange of grid blocks, overlapped with the computation of the interior."""

from __future__ import annotations

import time as clock
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.comm.compression import CompressionLoss
from faultwave.comm.messages import Receive, Send, free, wait_all
from faultwave.comm.packing import box_source, box_target
from faultwave.comm.world import World

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


@dataclass(frozen=True)
class Neighbour:
    """Neighbouring process, which may be this process itself if the grid is periodic.

    Attributes
    ----------
    rank : int
        Rank of the neighbour.
    send_tag, receive_tag : int
        Tags of the messages to and from it.
    sent, received : object
        Boxes of arrays, as ``box_source`` and ``box_target`` take them.
    """

    rank: int
    send_tag: int
    receive_tag: int
    sent: Any
    received: Any


class HaloExchange:
    """Messages of a process to and from all its neighbours.

    Parameters
    ----------
    world : World
        Processes of the run.
    neighbours : sequence of Neighbour
        Neighbours of this process.
    dtype : dtype
        Type of the arrays.
    rounding : str
        Compression: 'exact' or the name of a codec.
    gpu_aware : bool
        True if MPI accesses the device memory of the arrays.
    """

    def __init__(
        self, world: World, neighbours: Sequence[Neighbour], dtype: DTypeLike, rounding: str = "exact", gpu_aware: bool = False
    ):  # fmt: skip
        mpi = world.mpi.Dup()  # separate from all other messages
        self.loss = CompressionLoss()
        self.sends: list[Send] = []
        self.receives: list[Receive] = []
        for n in neighbours:
            source = box_source(n.sent, np.dtype(dtype), rounding, self.loss, gpu_aware)
            target = box_target(n.received, np.dtype(dtype), rounding, gpu_aware)
            self.sends.append(Send(mpi, n.rank, n.send_tag, source, "the border of the grid"))
            self.receives.append(Receive(mpi, n.rank, n.receive_tag, target, "the border of the grid"))
        self.seconds = {"pack": 0.0, "wait": 0.0, "unpack": 0.0}
        self.messages = self.bytes = 0
        # Runs at the latest before MPI is finalised, because MPI was imported earlier.
        weakref.finalize(self, free, [*self.receives, *self.sends])

    def start(self) -> None:
        """Send the current border to all neighbours."""
        began = clock.perf_counter()
        for receive, send in zip(self.receives, self.sends, strict=True):
            receive.start()
            send.pack()
        for send in self.sends:
            self.bytes += send.start()
            self.messages += 1
        self.seconds["pack"] += clock.perf_counter() - began

    def finish(self) -> None:
        """Wait for the neighbours' messages and write them into the halo. Raises RunError if one does not respond."""
        before = sum(r.seconds for r in self.receives)
        spent = wait_all([*self.receives, *self.sends])
        unpacking = sum(r.seconds for r in self.receives) - before
        self.seconds["wait"] += spent - unpacking
        self.seconds["unpack"] += unpacking


__all__ = ["HaloExchange", "Neighbour"]
