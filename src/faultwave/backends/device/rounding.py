"""Compressed messages, encoded and decoded on the device with the same bytes as by the host's codecs (``comm.compression``).

Rounding errors are written to memory that the engine chooses; their statistics are accumulated on the device and read at the end of a run.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any, Protocol

import numpy as np

from faultwave.backends.device.calls import Arguments, Function, Memory
from faultwave.backends.device.lower import prelude
from faultwave.backends.device.target import Target

GROUP, MOST = 256, 64
"""Number of threads of a group, and largest number of groups that round a message."""


class Queue(Protocol):
    """Device interface that rounding uses."""

    target: Any

    def allocate(self, size: int) -> Memory: ...

    def download(self, memory: Memory, values: np.ndarray) -> None: ...

    def build(self, text: str, names: list[str], shared: int | None) -> dict[str, Function]: ...

    def launch(self, function: Function, groups: int, threads: int, arguments: Arguments) -> None: ...


class Kernels:
    """Rounding kernels of a device for numbers of one data type, built on first use."""

    def __init__(self, device: Queue, dtype: np.dtype):
        self.device, self.dtype = device, np.dtype(dtype)

    @functools.cached_property
    def functions(self) -> dict[str, Function]:
        rounding, fold = texts(self.device.target, self.dtype == np.float32)
        names = ["round_single", "unround_single", "round_zfp", "unround_zfp"]
        return self.device.build(rounding, names, None) | self.device.build(fold, ["fold"], 3 * 8 * GROUP)


def texts(target: Target, single: bool) -> tuple[str, str]:
    """Return the texts of the kernels that encode and decode messages, and of the kernel that accumulates rounding errors."""
    head, folder = prelude(target, False, single), resources.files(__package__)
    rounding, fold = (head + folder.joinpath("include", f"{name}.h").read_text() for name in ("rounding", "fold"))
    return rounding, fold


class Rounding:
    """Rounding of messages of a fixed size.

    Parameters
    ----------
    kernels : Kernels
        Rounding kernels of the device.
    name : str
        'single' or 'zfp-BITS'.
    count, width : int
        Number of items of a message, and of numbers per item.

    Attributes
    ----------
    size : int
        Size of an encoded message [bytes].
    nbytes : int
        Additional device memory, for error statistics [bytes].
    """

    def __init__(self, kernels: Kernels, name: str, count: int, width: int):
        self.kernels, self.numbers, self.width = kernels, count * width, width
        self.kind, _, bits = name.partition("-")
        self.bits = int(bits or 32)
        blocks = -(-self.numbers // 4)
        self.size = -(-blocks * 4 * self.bits // 64) * 8 if self.kind == "zfp" else 4 * self.numbers
        self.pieces = -(-blocks // 2) if self.kind == "zfp" else self.numbers  # units of work of one thread
        self.groups = max(1, min(MOST, -(-self.pieces // GROUP)))
        if kernels.dtype != np.float64 and self.kind == "single":
            raise ValueError("numbers in single precision are not rounded to it")
        self.partial = kernels.device.allocate(3 * 8 * self.groups * GROUP)
        self.totals = kernels.device.allocate(3 * 8)
        self.nbytes = 3 * 8 * (self.groups * GROUP + 1)

    def pack(self, values: Memory, packed: Memory, error: Memory, at: int) -> None:
        """Launch the kernels that encode ``values`` into ``packed`` and write errors to ``error`` from number ``at`` on.

        ``error`` may be ``values`` itself.
        """
        if not self.numbers:
            return
        k, stride = self.kernels, self.groups * GROUP
        numbers = [np.int32(n) for n in (self.numbers, stride, self.width, self.bits)]
        given = [values, packed, error, self.partial, *numbers, np.int64(at)]
        k.device.launch(k.functions[f"round_{self.kind}"], self.groups, GROUP, given)
        k.device.launch(
            k.functions["fold"], 1, GROUP, [self.partial, self.totals, np.int32(stride), np.int32(self.numbers)]
        )

    def unpack(self, packed: Memory, values: Memory) -> None:
        """Launch the kernel that decodes ``packed`` into ``values``."""
        if not self.numbers:
            return
        k = self.kernels
        numbers = [np.int32(n) for n in (self.numbers, self.width, self.bits)]
        k.device.launch(
            k.functions[f"unround_{self.kind}"], -(-self.pieces // GROUP), GROUP, [packed, values, *numbers]
        )

    def lost(self) -> tuple[float, float, int]:
        """Return statistics of the rounding errors so far, relative to the largest number of each message.

        Returns
        -------
        largest : float
            Largest relative error.
        squares : float
            Sum of the squared relative errors.
        count : int
            Number of rounded numbers.
        """
        totals = np.zeros(3)
        self.kernels.device.download(self.totals, totals)
        return float(totals[0]), float(totals[1]), int(totals[2])
