"""Copies of items of several buffers to stores in one launch: see ``backends.copier``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from faultwave.backends.copier import Part
from faultwave.backends.device.lower import prelude
from faultwave.backends.device.memory import GROUP, Device
from faultwave.backends.device.types import Function, Memory

NAME = "readings"


def text(real: Sequence[str], listed: Sequence[bool]) -> str:
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
    head = f"KERNEL({GROUP}, 1) void {NAME}({', '.join((*arguments, *numbers))}, const int reading) {{"
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
        for p in self.parts:
            first, end, _ = p.rows.indices(p.buffer.shape[0])
            inner = p.buffer.size // p.buffer.shape[0]
            taken = (end - first) * inner if p.some is None else p.some.shape[1]
            if p.store.access.dtype != p.buffer.access.dtype or p.store.size != taken:
                raise ValueError("items of a buffer fit slots of as many numbers of the same kind only")
            numbers = len(p.items) * taken, taken, first * inner, p.buffer.size, p.buffer.lanes
            self.numbers += [np.int32(n) for n in numbers]
            self.memory += [p.buffer.memory_on_device, p.buffer.access.listed(p.items), p.store.memory_on_device]
            if p.some is not None:
                self.memory.append(p.buffer.access.listed(p.some.reshape(-1)))
            count += numbers[0]
        self.groups = -(-count // GROUP)
        real = [{8: "double", 4: "float"}[p.buffer.access.dtype.itemsize] for p in self.parts]
        listed = [p.some is not None for p in self.parts]
        self.function = build(prelude(device.target, False, False) + text(real, listed), NAME) if real else None

    def __call__(self, reading: int) -> None:
        """Copy all parts to the rows of reading number ``reading`` of their stores."""
        if self.parts:
            numbers = [*self.numbers, np.int32(reading)]
            self.device.launch(self.function, self.groups, GROUP, [*self.memory, *numbers])
            self.launched(self.function, self.groups, GROUP, self.memory, numbers)


__all__ = ["Readings", "text"]
