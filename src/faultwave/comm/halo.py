"""Overlaps of parts of a grid: everyone tells its neighbours at once and goes on computing until it needs what they tell."""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from faultwave.base.errors import RunError
from faultwave.comm.compression import Codec, Loss, codec
from faultwave.comm.exchange import PATIENCE
from faultwave.comm.messages import Incoming, Outgoing
from faultwave.comm.world import World


class Pieces(Protocol):
    """Numbers that a backend gathers and puts back: those of the host."""

    size: int

    def pack(self, into: np.ndarray) -> None: ...

    def unpack(self, values: np.ndarray) -> None: ...


class _Packed:
    """A message of what leaves, rounded by ``codec`` where there is one: see ``Outgoing``."""

    here = True

    def __init__(self, pieces: Pieces, dtype: np.dtype, codec: Codec | None, loss: Loss):
        self.pieces, self.codec, self.loss = pieces, codec, loss
        self.values: np.ndarray = np.empty(pieces.size, dtype)
        self.buffer = np.empty(codec.size, np.uint8) if codec else self.values.view(np.uint8)
        self.nbytes = self.buffer.nbytes

    def fill(self, turn: int) -> None:
        self.pieces.pack(self.values)

    def finish(self) -> None:
        if self.codec:
            given = self.values.astype(float).reshape(-1, 1)
            self.codec.pack(given, self.buffer)
            self.loss.add(self.codec.unpack(self.buffer) - given, given)


class _Unpacked:
    """A message of what comes: see ``Incoming``."""

    def __init__(self, pieces: Pieces, dtype: np.dtype, codec: Codec | None):
        self.pieces, self.codec = pieces, codec
        self.values: np.ndarray = np.empty(pieces.size, dtype)
        self.buffer = np.empty(codec.size, np.uint8) if codec else self.values.view(np.uint8)

    def ready(self) -> None:
        return

    def landed(self) -> None:
        if self.codec:
            self.values[:] = self.codec.unpack(self.buffer)[:, 0]
        self.pieces.unpack(self.values)


class _Line:
    """Numbers to and from one neighbour; a process may be its own."""

    def __init__(self, mpi: Any, rank: int, tags: tuple[int, int], out: Outgoing, into: Incoming):
        self.out, self.into = out, into
        self.sending = mpi.Send_init(out.buffer, rank, tags[0])
        self.receiving = mpi.Recv_init(into.buffer, rank, tags[1])

    def fill(self) -> None:
        self.into.ready()
        self.receiving.Start()
        self.out.fill(0)

    def send(self) -> int:
        self.out.finish()
        self.sending.Start()
        return self.out.nbytes


def messages(
    out: Any, into: Any, dtype: np.dtype, rounding: str, loss: Loss, direct: bool
) -> tuple[Outgoing, Incoming]:
    """Of what leaves and what comes: ``Pieces`` of the host, or a device's, which make messages of themselves (``outgoing``,
    ``incoming``)."""
    if rounding == "single" and dtype == np.float32:
        rounding = "exact"
    if hasattr(out, "outgoing"):
        made = out.outgoing(direct, rounding)
        if made.lost is not None:
            loss.sources.append(made.lost)
        return made, into.incoming(direct, rounding)
    packing, unpacking = (codec(rounding, (p.size, 1)) for p in (out, into))
    return _Packed(out, dtype, packing, loss), _Unpacked(into, dtype, unpacking)


class Halo:
    """All overlaps of a process. ``listed``: (rank, tag of what leaves, tag of what comes, what leaves, what comes), the last two as
    ``messages`` takes them; ``rounding``: 'exact' or the name of a codec; ``direct``: MPI is given memory of the device they are on."""

    def __init__(
        self, world: World, listed: Sequence[tuple[int, int, int, Any, Any]], dtype: Any, rounding: str = "exact",
        direct: bool = False,
    ):  # fmt: skip
        mpi = world.mpi.Dup()  # nobody else's messages
        self.loss = Loss()
        self.lines = []
        for rank, a, b, out, into in listed:
            made = messages(out, into, np.dtype(dtype), rounding, self.loss, direct)
            self.lines.append(_Line(mpi, rank, (a, b), *made))
        self.seconds = {"pack": 0.0, "wait": 0.0, "unpack": 0.0}
        self.messages = self.bytes = 0

    def start(self) -> None:
        """Tell all neighbours what is here now."""
        began = clock.perf_counter()
        for line in self.lines:
            line.fill()
        for line in self.lines:
            self.bytes += line.send()
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
            line.into.landed()
        self.seconds["wait"] += here - began
        self.seconds["unpack"] += clock.perf_counter() - here


__all__ = ["Halo", "messages"]
