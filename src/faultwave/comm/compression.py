"""Compression of messages (``numerics.halo_compression``): single precision or ZFP (Lindstrom 2014).

Messages have a fixed size that does not depend on the values, and the sender knows the error at once. Non-finite numbers arrive as
such: ZFP alone would turn them into finite ones, and the receiver of a run that blows up would continue.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from faultwave.base.errors import BackendError


class Codec(Protocol):
    """Encoder and decoder of arrays of one shape."""

    size: int  # bytes of a message

    def pack(self, values: np.ndarray, into: np.ndarray) -> None:
        """Encode ``values`` (n, width) into an array of bytes (size,)."""

    def unpack(self, packed: np.ndarray) -> np.ndarray:
        """Return the values (n, width) that the receiver obtains."""


SMALLEST_NORMAL = 2.0**-126
"""Smallest normal number of single precision; smaller ones count as zero, as in some device compilers."""

ZFP_ZERO_BELOW = 2.0**-900
"""Magnitude below which numbers count as zero in ZFP blocks, far above the underflow of exponents."""


class Single:
    """Codec that rounds to single precision."""

    def __init__(self, shape: tuple[int, int]):
        self.shape, self.size = shape, 4 * shape[0] * shape[1]

    def pack(self, values: np.ndarray, into: np.ndarray) -> None:
        into.view(np.float32)[:] = np.where(np.abs(values) < SMALLEST_NORMAL, 0.0, values).reshape(-1)

    def unpack(self, packed: np.ndarray) -> np.ndarray:
        return packed.view(np.float32).reshape(self.shape).astype(np.float64)


NOT_FINITE = 0b1110
"""First four bits of a block with a non-finite number.

ZFP never writes them: its first bit 0 marks a block of zeros, and the bits after it are then 0 too.
"""


class Zfp:
    """ZFP codec of blocks of four values, usually one mode on four faces, with ``bits`` bits per value.

    A block with a non-finite number arrives as four NaN.
    """

    def __init__(self, shape: tuple[int, int], bits: int):
        import zfpy

        self.shape, self.bits, self._zfp = shape, bits, zfpy
        self.size = len(self._packed(np.zeros(shape[0] * shape[1])))
        starts = np.arange(-(-shape[0] * shape[1] // 4)) * bits  # first bit of each block, in units of four bits
        self._bytes, self._shifts = starts // 2, (4 * (starts % 2)).astype(np.uint8)

    def _packed(self, flat: np.ndarray) -> bytes:
        return bytes(self._zfp.compress_numpy(flat, rate=self.bits, write_header=False))

    def pack(self, values: np.ndarray, into: np.ndarray) -> None:
        flat = np.ascontiguousarray(np.where(np.abs(values) < ZFP_ZERO_BELOW, 0.0, values).T).reshape(-1)
        bad = np.unique(np.flatnonzero(~np.isfinite(flat)) // 4)
        if len(bad):
            flat[np.isin(np.arange(len(flat)) // 4, bad)] = 0.0
        into[:] = np.frombuffer(self._packed(flat), np.uint8)
        np.bitwise_or.at(into, self._bytes[bad], np.left_shift(np.uint8(NOT_FINITE), self._shifts[bad]))

    def unpack(self, packed: np.ndarray) -> np.ndarray:
        flat = np.empty(self.shape[0] * self.shape[1])
        kind = self._zfp.dtype_to_ztype(flat.dtype)
        self._zfp._decompress(packed.tobytes(), kind, flat.shape, out=flat, rate=self.bits)
        bad = np.flatnonzero((packed[self._bytes] >> self._shifts & 15) == NOT_FINITE)
        if len(bad):
            flat[np.isin(np.arange(len(flat)) // 4, bad)] = np.nan
        return np.ascontiguousarray(flat.reshape(self.shape[::-1]).T)


def codec(name: str, shape: tuple[int, int]) -> Codec | None:
    """Return the codec of a name.

    Parameters
    ----------
    name : str
        'exact', 'single' or 'zfp-BITS'.
    shape : tuple of int
        Shape (n, width) of the values.

    Returns
    -------
    Codec or None
        None for 'exact'.

    Raises
    ------
    BackendError
        If ZFP is not installed.
    """
    if name == "exact":
        return None
    if name == "single":
        return Single(shape)
    try:
        return Zfp(shape, int(name.removeprefix("zfp-")))
    except ImportError:
        raise BackendError("numerics.halo_compression zfp needs zfpy: pip install 'faultwave[zfp]'") from None


class CompressionLoss:
    """Accumulated compression errors, relative to the largest value of each message."""

    def __init__(self) -> None:
        self._largest, self._squares, self._count = 0.0, 0.0, 0
        self.sources: list[Callable[[], tuple[float, float, int]]] = []  # totals counted on devices

    def total(self) -> tuple[float, float, int]:
        """Return the largest error, the sum of squared errors and the number of values."""
        found = [(self._largest, self._squares, self._count), *(source() for source in self.sources)]
        return max(x for x, _, _ in found), sum(x for _, x, _ in found), sum(x for _, _, x in found)

    @property
    def largest(self) -> float:
        """Largest relative error."""
        return self.total()[0]

    @property
    def rms(self) -> float:
        """Root mean square of the relative errors."""
        _, squares, count = self.total()
        return float(np.sqrt(squares / max(count, 1)))

    def add(self, error: np.ndarray, values: np.ndarray) -> None:
        """Add the errors of one message, without non-finite numbers."""
        finite = np.isfinite(values) & np.isfinite(error)
        if not finite.all():
            error, values = error[finite], values[finite]
        scale = float(np.abs(values).max(initial=0.0))
        if scale > 0:
            relative = error / scale
            self._largest = max(self._largest, float(np.abs(relative).max()))
            self._squares += float((relative**2).sum())
            self._count += relative.size
