"""Overlaps of parts of a grid: everyone tells its neighbours at once and goes on computing until it needs what they tell."""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from faultwave.base.errors import RunError
from faultwave.comm.compression import Loss, codec
from faultwave.comm.exchange import PATIENCE
from faultwave.comm.world import World


class Pieces(Protocol):
    """Numbers somewhere, which a backend gathers and puts back."""

    size: int

    def pack(self, into: np.ndarray) -> None: ...

    def unpack(self, values: np.ndarray) -> None: ...


class _Line:
    """Numbers to and from one neighbour; a process may be its own."""

    def __init__(
        self, mpi: Any, rank: int, tags: tuple[int, int], out: Pieces, into: Pieces, dtype: Any, halo: str, loss: Loss
    ):
        self.out, self.into, self.dtype, self.loss = out, into, np.dtype(dtype), loss
        self.values, self.found = np.empty(out.size, dtype), np.empty(into.size, dtype)
        exact = halo == "exact" or (halo == "single" and self.dtype == np.float32)
        self.packing, self.unpacking = (None if exact else codec(halo, (p.size, 1)) for p in (out, into))
        self.sent, self.got = self.values.view(np.uint8), self.found.view(np.uint8)
        if self.packing and self.unpacking:
            self.sent, self.got = (np.empty(x.size, np.uint8) for x in (self.packing, self.unpacking))
        self.sending = mpi.Send_init(self.sent, rank, tags[0])
        self.receiving = mpi.Recv_init(self.got, rank, tags[1])

    def start(self) -> int:
        self.receiving.Start()
        self.out.pack(self.values)
        if self.packing:
            given = self.values.astype(float).reshape(-1, 1)
            self.packing.pack(given, self.sent)
            self.loss.add(self.packing.unpack(self.sent) - given, given)
        self.sending.Start()
        return self.sent.nbytes

    def take(self) -> None:
        if self.unpacking:
            self.found[:] = self.unpacking.unpack(self.got)[:, 0]
        self.into.unpack(self.found)


class Halo:
    """All overlaps of a process. ``listed``: (rank, tag of what leaves, tag of what comes, what leaves, what comes)."""

    def __init__(
        self, world: World, listed: Sequence[tuple[int, int, int, Pieces, Pieces]], dtype: Any, halo: str = "exact"
    ):
        mpi = world.mpi.Dup()  # nobody else's messages
        self.loss = Loss()
        self.lines = [_Line(mpi, rank, (a, b), out, into, dtype, halo, self.loss) for rank, a, b, out, into in listed]
        self.seconds = {"pack": 0.0, "wait": 0.0, "unpack": 0.0}
        self.messages = self.bytes = 0

    def start(self) -> None:
        """Tell all neighbours what is here now."""
        began = clock.perf_counter()
        for line in self.lines:
            self.bytes += line.start()
            self.messages += 1
        self.seconds["pack"] += clock.perf_counter() - began

    def finish(self) -> None:
        """Put what they told into its place. Raises RunError where nothing comes any more."""
        began = clock.perf_counter()
        open_ = list(self.lines)
        while open_:
            open_ = [line for line in open_ if not (line.receiving.Test() and line.sending.Test())]
            if open_:
                clock.sleep(0)
                if clock.perf_counter() - began > PATIENCE:
                    raise RunError(f"nothing has come from other processes for {PATIENCE:.0f} s")
        here = clock.perf_counter()
        for line in self.lines:
            line.take()
        self.seconds["wait"] += here - began
        self.seconds["unpack"] += clock.perf_counter() - here


__all__ = ["Halo"]
