"""Copies of selected items to stores, and point sources, each in one launch on a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import resources
from typing import cast

import numpy as np

from faultwave.backends.base import Part, Points
from faultwave.backends.device.calls import Function, Memory
from faultwave.backends.device.interface import Device
from faultwave.backends.device.lower import prelude
from faultwave.backends.device.memory import GROUP, DeviceBuffer, Host, ScratchMemory
from faultwave.kernels.expr import Scalars

COPY_KERNEL = "readings"


def copy_kernel_text(real: Sequence[str], listed: Sequence[bool]) -> str:
    """Return a kernel that copies numbers of items of several buffers to stores, one thread per number.

    In the text, part i has c{i} numbers: t{i} numbers of each item, from number f{i} on or with the indices w{i}, of the s{i} numbers of
    an item, which lie in batches of n{i} lanes.

    Parameters
    ----------
    real : sequence of {"double", "float"}
        C type of the numbers of each part.
    listed : sequence of bool
        True if the indices of the numbers are listed for each item of a part.

    Returns
    -------
    str
        Text of the kernel, without the prelude.
    """
    arguments, body = [], []
    for i, (r, table) in enumerate(zip(real, listed, strict=True)):
        arguments.append(f"GLOBAL const {r} *b{i}, GLOBAL const int *i{i}, GLOBAL {r} *l{i}")
        if table:
            arguments.append(f"GLOBAL const int *w{i}")
        number = f"w{i}[t]" if table else f"t % t{i}"
        body.append(
            f"  if (t < c{i}) {{\n    const long item = i{i}[t / t{i}];\n"
            f"    l{i}[(long)reading * c{i} + t] = b{i}[item / n{i} * s{i} * n{i} + (long)(f{i} + {number}) * n{i} + item % n{i}];\n"
            f"    return;\n  }}\n  t -= c{i};"
        )
    numbers = [
        f"const int c{i}, const int t{i}, const int f{i}, const int s{i}, const int n{i}" for i in range(len(real))
    ]
    head = f"KERNEL({GROUP}, 1) void {COPY_KERNEL}({', '.join((*arguments, *numbers))}, const int reading) {{"
    return "\n".join((head, f"  int t = GROUP * {GROUP} + THREAD;", *body, "}\n"))


class Readings:
    """Copier of items of several buffers to rows of stores, in one launch.

    Parameters
    ----------
    device : Device
        Device of the buffers.
    build : callable
        ``build(text, name)`` compiles a kernel.
    parts : sequence of Part
        Items, their numbers and the stores that receive them.
    launched : callable
        Called with the arguments of every launch, which it records.
    """

    def __init__(
        self,
        device: Device,
        build: Callable[[str, str], Function],
        parts: Sequence[Part],
        launched: Callable[..., None],
    ):
        self.device, self.launched = device, launched
        self.parts = [p for p in parts if len(p.items)]
        self.memory: list[Memory] = []
        self.numbers: list[np.int32] = []
        count = 0
        buffers = [cast(DeviceBuffer, p.buffer) for p in self.parts]
        for p, buffer in zip(self.parts, buffers, strict=True):
            store = cast(DeviceBuffer, p.store)
            first, end, _ = p.rows.indices(buffer.shape[0])
            inner = buffer.size // buffer.shape[0]
            taken = (end - first) * inner if p.some is None else p.some.shape[1]
            if store.access.dtype != buffer.access.dtype or store.size != taken:
                raise ValueError("items of a buffer fit slots of as many numbers of the same kind only")
            numbers = len(p.items) * taken, taken, first * inner, buffer.size, buffer.lanes
            self.numbers += [np.int32(n) for n in numbers]
            self.memory += [buffer.memory_on_device, buffer.access.listed(p.items), store.memory_on_device]
            if p.some is not None:
                self.memory.append(buffer.access.listed(p.some.reshape(-1)))
            count += numbers[0]
        self.groups = -(-count // GROUP)
        real = [{8: "double", 4: "float"}[b.access.dtype.itemsize] for b in buffers]
        listed = [p.some is not None for p in self.parts]
        self.function = (
            build(prelude(device.target, False, False) + copy_kernel_text(real, listed), COPY_KERNEL) if real else None
        )

    def __call__(self, reading: int) -> None:
        """Copy all parts to the rows of reading number ``reading`` of their stores."""
        if self.parts:
            numbers = [*self.numbers, np.int32(reading)]
            self.device.launch(self.function, self.groups, GROUP, [*self.memory, *numbers])
            self.launched(self.function, self.groups, GROUP, self.memory, numbers)


INJECTION_KERNEL = "inject"


class Amounts:
    """Table of the amounts of all sources, which change in every launch (see ``recording.Numbers``)."""

    def __init__(self, count: int, dtype: np.dtype):
        self.numbers = np.zeros(count, dtype)
        self.nbytes, self.itemsize = self.numbers.nbytes, dtype.itemsize

    def filled(self, scalars: Scalars) -> np.ndarray:
        """Return the amounts as an array that the next call overwrites."""
        self.numbers[:] = scalars["amounts"]
        return self.numbers


class Injector:
    """Injector of sources in one kernel launch.

    Parameters
    ----------
    device : Device
        Device of the buffers.
    host : Host
        Pinned memory of the host.
    scratch : ScratchMemory
        Allocator of device memory for tables of items.
    build : callable
        ``build(text, name)`` compiles a kernel.
    points : Points
        Items, and the rows and columns of numbers that sources add to them.
    launched : callable
        Called with the arguments of every launch, which it records.
    """

    def __init__(
        self,
        device: Device,
        host: Host,
        adjacent: ScratchMemory,
        build: Callable[[str, str], Function],
        points: Points,
        launched: Callable[..., None],
    ):
        buffer = cast(DeviceBuffer, points.buffer)
        dtype = buffer.access.dtype
        self.device, self.host, self.launched = device, host, launched
        count, (modes, wide) = len(points.items), (points.rows.shape[1], points.columns.shape[1])
        if buffer.shape != (modes, wide):
            raise ValueError(f"sources of {modes} x {wide} numbers do not fit items of {buffer.shape}")
        given = (
            points.items.astype(np.int32),
            points.first.astype(np.int32),
            points.rows.astype(dtype),
            points.columns.astype(dtype),
        )
        self.memory = [buffer.memory_on_device]
        for values in given:
            memory = adjacent.allocate(max(4, values.nbytes))
            if values.size:
                device.upload(memory, np.ascontiguousarray(values))
            self.memory.append(memory)
        self.amounts = Amounts(len(points.rows), dtype)
        self.table = adjacent.allocate(max(4, self.amounts.nbytes))
        self.rest = [np.int32(n) for n in (count, modes, wide, buffer.lanes)]
        self.groups = -(-count * modes * wide // GROUP)
        single = dtype == np.float32
        body = resources.files(__package__).joinpath("include", "inject.h").read_text()
        self.function = build(prelude(device.target, single, single) + body, INJECTION_KERNEL)

    def __call__(self, amounts: np.ndarray) -> None:
        if not self.groups:
            return
        self.host.send(self.table, self.amounts.filled({"amounts": amounts}))
        self.device.launch(self.function, self.groups, GROUP, [*self.memory, self.table, np.int32(0), *self.rest])
        self.launched(self.function, self.groups, GROUP, self.memory, self.rest, self.amounts)
