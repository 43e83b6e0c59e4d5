"""Messages of fewer bytes (``numerics.halo_compression``): numbers in single precision, or blocks of them in fixed point by ZFP
(Lindstrom 2014).

Both have the same size whatever the numbers are, and what they lose is known to the sender at once. Numbers that are not finite arrive as
such: ZFP alone would make finite ones of them, and a run that blows up would go on at the receiver.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from faultwave.base.errors import BackendError


class Codec(Protocol):
    """Packs arrays of one shape."""

    size: int  # bytes of a message

    def pack(self, values: np.ndarray, into: np.ndarray) -> None:
        """``values`` (n, width) into bytes (size,)."""

    def unpack(self, packed: np.ndarray) -> np.ndarray:
        """The values (n, width) that the other process gets."""


SMALLEST = 2.0**-126
"""Normal number in single precision: those below it count as zero, as some compilers of devices have it."""

LEAST = 2.0**-900
"""Below it numbers count as zero in blocks, far from where powers of two run out."""


class Single:
    """Numbers in single precision."""

    def __init__(self, shape: tuple[int, int]):
        self.shape, self.size = shape, 4 * shape[0] * shape[1]

    def pack(self, values: np.ndarray, into: np.ndarray) -> None:
        into.view(np.float32)[:] = np.where(np.abs(values) < SMALLEST, 0.0, values).reshape(-1)

    def unpack(self, packed: np.ndarray) -> np.ndarray:
        return packed.view(np.float32).reshape(self.shape).astype(np.float64)


NOT_FINITE = 0b1110
"""The first four bits of a block that holds a number which is not finite. ZFP writes none such: its first bit, 0, says that the block is
nothing but zeros, and the bits after it are 0 then."""


class Zfp:
    """Blocks of four faces' numbers of one mode, ``bits`` a number. A block with a number that is not finite arrives as four NaN."""

    def __init__(self, shape: tuple[int, int], bits: int):
        import zfpy

        self.shape, self.bits, self._zfp = shape, bits, zfpy
        self.size = len(self._packed(np.zeros(shape[0] * shape[1])))
        starts = np.arange(-(-shape[0] * shape[1] // 4)) * bits  # of blocks, in units of four bits
        self._bytes, self._shifts = starts // 2, (4 * (starts % 2)).astype(np.uint8)

    def _packed(self, flat: np.ndarray) -> bytes:
        return bytes(self._zfp.compress_numpy(flat, rate=self.bits, write_header=False))

    def pack(self, values: np.ndarray, into: np.ndarray) -> None:
        flat = np.ascontiguousarray(np.where(np.abs(values) < LEAST, 0.0, values).T).reshape(-1)
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
    """That of 'exact' (None), 'single', or 'zfp-BITS'. Raises BackendError where ZFP is not installed."""
    if name == "exact":
        return None
    if name == "single":
        return Single(shape)
    try:
        return Zfp(shape, int(name.removeprefix("zfp-")))
    except ImportError:
        raise BackendError("numerics.halo_compression zfp needs zfpy: pip install 'faultwave[zfp]'") from None


class Loss:
    """What messages have lost: the largest and the mean square of the errors relative to each message's largest value."""

    def __init__(self) -> None:
        self._largest, self._squares, self._count = 0.0, 0.0, 0
        self.sources: list[Callable[[], tuple[float, float, int]]] = []  # the same, of messages that devices count

    def total(self) -> tuple[float, float, int]:
        """The largest error, the sum of squares, of how many numbers."""
        found = [(self._largest, self._squares, self._count), *(source() for source in self.sources)]
        return max(x for x, _, _ in found), sum(x for _, x, _ in found), sum(x for _, _, x in found)

    @property
    def largest(self) -> float:
        return self.total()[0]

    @property
    def rms(self) -> float:
        """The root of the mean square."""
        _, squares, count = self.total()
        return float(np.sqrt(squares / max(count, 1)))

    def add(self, error: np.ndarray, values: np.ndarray) -> None:
        """Of one message; numbers that are not finite do not count."""
        finite = np.isfinite(values) & np.isfinite(error)
        if not finite.all():
            error, values = error[finite], values[finite]
        scale = float(np.abs(values).max(initial=0.0))
        if scale > 0:
            relative = error / scale
            self._largest = max(self._largest, float(np.abs(relative).max()))
            self._squares += float((relative**2).sum())
            self._count += relative.size
