"""Sources and targets of messages: rows of a store, in host or device memory.

The host receives messages where kernels read them, unless they are compressed. A device packs and unpacks by itself; a GPU-aware MPI
accesses its memory directly, any other goes through pinned host memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.comm.compression import Codec, CompressionLoss, codec
from faultwave.comm.messages import Source, Target

Place = tuple[Any, int]
"""Store, and the first of several consecutive rows."""


class HostSource:
    """Message source in host memory, optionally compressed.

    Parameters
    ----------
    gather : callable
        ``gather(parity, into)`` collects the numbers (n, width).
    values : ndarray, shape (n, width)
        Memory for the numbers.
    codec : Codec or None
        Compression.
    loss : CompressionLoss
        Accumulates the compression errors.
    errors : ndarray, shape (n, width), optional
        Receives the compression errors: the receiver's value minus the sender's.
    """

    packed = True

    def __init__(
        self, gather: Callable[[int, np.ndarray], None], values: np.ndarray, codec: Codec | None, loss: CompressionLoss,
        errors: np.ndarray | None = None,
    ):  # fmt: skip
        """Store the arguments and allocate the message buffer."""
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
    """Message target in host memory, received in place unless compressed.

    Parameters
    ----------
    values : ndarray, shape (n, width)
        Memory for the numbers.
    codec : Codec or None
        Compression.
    scatter : callable, optional
        ``scatter(values)`` copies the numbers to where they are used, if that is elsewhere.
    """

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
    """Rows of a store of any backend as messages; ``gpu_aware`` is True if MPI accesses the store's device memory."""

    store: Any
    gpu_aware: bool = False

    def source(self, rows: np.ndarray, rounding: str, loss: CompressionLoss, errors: Place | None) -> Source:
        """Return a source that sends rows of the store.

        Parameters
        ----------
        rows : ndarray of int, shape (2, n)
            Rows that are sent after even and odd steps.
        rounding : str
            Compression: 'exact' or the name of a codec.
        loss : CompressionLoss
            Accumulates the compression errors.
        errors : Place or None
            Rows of a store of the same backend that receive the compression errors.
        """
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
        """Return the targets of a message that is received into consecutive rows.

        A device has two, which are received into alternately: kernels may still read one of them.

        Parameters
        ----------
        first, count : int
            First row and number of rows.
        rounding : str
            Compression: 'exact' or the name of a codec.
        """
        if not hasattr(self.store, "memory"):
            return [self.store.message_target(first, count, self.gpu_aware, rounding) for _ in range(2)]
        values = self.store.memory[first : first + count]
        return [HostTarget(values, codec(rounding, values.shape))]


def box_source(boxes: Any, dtype: np.dtype, rounding: str, loss: CompressionLoss, gpu_aware: bool) -> Source:
    """Return a source of boxes of arrays of a stencil program, of any backend.

    Parameters
    ----------
    boxes : object
        Boxes of arrays, from ``Runner.halo_buffer``.
    dtype : dtype
        Type of the arrays.
    rounding : str
        Compression: 'exact' or the name of a codec.
    loss : CompressionLoss
        Accumulates the compression errors.
    gpu_aware : bool
        True if MPI accesses device memory.
    """
    rounding = _effective(rounding, dtype)
    if hasattr(boxes, "message_source"):
        made: Source = _counted(boxes.message_source(gpu_aware, rounding), loss)
        return made
    values = np.empty((boxes.size, 1), dtype)
    return HostSource(lambda parity, into: boxes.pack(into[:, 0]), values, codec(rounding, values.shape), loss)


def box_target(boxes: Any, dtype: np.dtype, rounding: str, gpu_aware: bool) -> Target:
    """Return a target that writes into boxes of arrays; parameters as for ``box_source``."""
    rounding = _effective(rounding, dtype)
    if hasattr(boxes, "message_target"):
        made: Target = boxes.message_target(gpu_aware, rounding)
        return made
    values = np.empty((boxes.size, 1), dtype)
    return HostTarget(values, codec(rounding, values.shape), lambda found: boxes.unpack(found[:, 0]))


def _effective(rounding: str, dtype: np.dtype) -> str:
    """Return the effective compression: arrays in single precision are exact in single precision."""
    return "exact" if rounding == "single" and dtype == np.float32 else rounding


def _counted(source: Any, loss: CompressionLoss) -> Any:
    """Register the compression errors that a device counts, and return its source."""
    if source.lost is not None:
        loss.sources.append(source.lost)
    return source
