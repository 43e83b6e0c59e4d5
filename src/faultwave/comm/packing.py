"""What messages are packed from and unpacked into: rows of a store, in memory of the host or of a device.

The host receives messages where kernels read them, unless they are compressed. A device packs and unpacks by itself; a GPU-aware MPI is
given its memory, any other pinned memory of the host that the numbers pass through.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.comm.compression import Codec, Loss, codec
from faultwave.comm.messages import Source, Target

Place = tuple[Any, int]
"""A store, and the first of some rows that follow each other."""


class HostSource:
    """Numbers (n, width) that ``gather(parity, into)`` collects, compressed by ``codec`` where there is one. What that takes from them is
    counted in ``loss``, and the receiver's number less the sender's is left in ``errors`` (n, width)."""

    packed = True

    def __init__(
        self, gather: Callable[[int, np.ndarray], None], values: np.ndarray, codec: Codec | None, loss: Loss,
        errors: np.ndarray | None = None,
    ):  # fmt: skip
        """``values``: memory for the numbers."""
        self.gather, self.values, self.codec, self.loss, self.errors = gather, values, codec, loss, errors
        self.buffer = np.empty(codec.size, np.uint8) if codec else values
        self.nbytes = self.buffer.nbytes

    def pack(self, parity: int) -> None:
        self.gather(parity, self.values)

    def finish(self) -> None:
        if self.codec:
            given = self.values.astype(np.float64, copy=False)
            self.codec.pack(given, self.buffer)
            error = self.codec.unpack(self.buffer) - given
            self.loss.add(error, given)
            if self.errors is not None:
                self.errors[:] = error


class HostTarget:
    """``values`` (n, width), received in place unless they are compressed; ``scatter(values)`` copies them to where they are used, if that
    is elsewhere."""

    def __init__(self, values: np.ndarray, codec: Codec | None, scatter: Callable[[np.ndarray], None] | None = None):
        self.values, self.codec, self.scatter = values, codec, scatter
        self.buffer = np.empty(codec.size, np.uint8) if codec else values

    def ready(self) -> None: ...

    def unpack(self) -> None:
        if self.codec:
            self.values[:] = self.codec.unpack(self.buffer)
        if self.scatter is not None:
            self.scatter(self.values)


@dataclass(frozen=True)
class StoreRows:
    """Rows of a store of any backend as messages. ``gpu_aware``: MPI is given memory of the device that the store is on."""

    store: Any
    gpu_aware: bool = False

    def source(self, rows: np.ndarray, rounding: str, loss: Loss, errors: Place | None) -> Source:
        """The listed ``rows`` (2, n), in even and in odd steps. ``rounding``: 'exact' or the name of a codec; what that takes is counted in
        ``loss`` and left in ``errors``, rows of a store of the same backend."""
        if not hasattr(self.store, "memory"):
            made: Source = _counted(self.store.message_source(rows, self.gpu_aware, rounding, errors), loss)
            return made
        memory, count = self.store.memory, rows.shape[1]
        values = np.empty((count, memory.shape[1]), memory.dtype)
        lost = None if errors is None else errors[0].memory[errors[1] : errors[1] + count]

        def gather(parity: int, into: np.ndarray) -> None:
            np.take(memory, rows[parity], 0, into)

        return HostSource(gather, values, codec(rounding, values.shape), loss, lost)

    def targets(self, first: int, count: int, rounding: str) -> list[Target]:
        """For so many rows from ``first`` on. A device has two that are received into in turn, one while kernels may still read the
        other."""
        if not hasattr(self.store, "memory"):
            return [self.store.message_target(first, count, self.gpu_aware, rounding) for _ in range(2)]
        values = self.store.memory[first : first + count]
        return [HostTarget(values, codec(rounding, values.shape))]


def box_source(boxes: Any, dtype: np.dtype, rounding: str, loss: Loss, gpu_aware: bool) -> Source:
    """The numbers of boxes of arrays, of a stencil program of any backend (``Runner.halo_buffer``)."""
    rounding = _effective(rounding, dtype)
    if hasattr(boxes, "message_source"):
        made: Source = _counted(boxes.message_source(gpu_aware, rounding), loss)
        return made
    values = np.empty((boxes.size, 1), dtype)
    return HostSource(lambda parity, into: boxes.pack(into[:, 0]), values, codec(rounding, values.shape), loss)


def box_target(boxes: Any, dtype: np.dtype, rounding: str, gpu_aware: bool) -> Target:
    """A message that is put into boxes of arrays."""
    rounding = _effective(rounding, dtype)
    if hasattr(boxes, "message_target"):
        made: Target = boxes.message_target(gpu_aware, rounding)
        return made
    values = np.empty((boxes.size, 1), dtype)
    return HostTarget(values, codec(rounding, values.shape), lambda found: boxes.unpack(found[:, 0]))


def _effective(rounding: str, dtype: np.dtype) -> str:
    """Numbers in single precision are exact in single precision."""
    return "exact" if rounding == "single" and dtype == np.float32 else rounding


def _counted(source: Any, loss: Loss) -> Any:
    """A device's source, whose rounding errors the device counts."""
    if source.lost is not None:
        loss.sources.append(source.lost)
    return source


__all__ = ["HostSource", "HostTarget", "Place", "StoreRows", "box_source", "box_target"]
