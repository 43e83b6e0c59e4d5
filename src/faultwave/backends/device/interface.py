"""Interface of a device, which CUDA, HIP and OpenCL implement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from faultwave.backends.device.calls import Arguments, Call, Function, Memory
from faultwave.backends.device.messages import Crossing, MessageBuffer
from faultwave.backends.device.target import Target


class Device(Protocol):
    """Processor with its own memory and one in-order queue of work."""

    name: str
    target: Target
    failures: tuple[type[Exception], ...]  # exceptions of the driver

    def free_memory(self) -> int:
        """Free memory [bytes], or all memory if the driver does not report the free part."""
        ...

    def allocate(self, size: int) -> Memory:
        """Allocate ``size`` bytes of zeros."""
        ...

    def upload(self, memory: Memory, values: np.ndarray) -> None:
        """Copy contiguous ``values`` to the start of ``memory``; they may be changed when this returns."""
        ...

    def download(self, memory: Memory, values: np.ndarray) -> None:
        """Fill contiguous ``values`` from the start of ``memory``, once all work before is done."""
        ...

    def pinned(self, size: int) -> np.ndarray:
        """Allocate ``size`` bytes of pinned host memory for ``bring`` and ``send``."""
        ...

    def bring(self, memory: Memory, into: np.ndarray) -> Crossing:
        """Start to copy ``memory`` to pinned ``into``, after all work queued so far; later work does not wait for it."""
        ...

    def send(self, memory: Memory, values: np.ndarray) -> Crossing:
        """Begin to copy pinned ``values`` to the start of ``memory``, in turn with all other work."""
        ...

    def why_not_gpu_aware(self) -> str:
        """Return why MPI cannot use the device's memory directly (``gpu_aware_buffer``); empty if it can."""
        ...

    def gpu_aware_buffer(self, size: int) -> MessageBuffer:
        """Allocate ``size`` bytes of the device for messages that GPU-aware MPI sends and receives in place."""
        ...

    def attach(self) -> None:
        """Select this device for the calling thread, if threads have a current device."""
        ...

    def build(self, text: str, names: list[str], shared: int | None) -> dict[str, Function]:
        """Build the functions of a program, each with ``shared`` bytes of shared memory per group (None: unspecified)."""
        ...

    def launch(self, function: Function, groups: int, threads: int, arguments: Arguments) -> None:
        """Launch a function; ``arguments`` are device memory, NumPy numbers, or bytes of a structure."""
        ...

    def graph(self, calls: Sequence[Call]) -> Callable[[], None]:
        """Return a function that executes all launches in order, at less than the cost of each."""
        ...

    def mark(self) -> Crossing:
        """Return a mark that is done when all work so far is."""
        ...

    def finish(self) -> None:
        """Wait for all work."""
        ...
