"""Sources that act on a device: see ``backends.injector``."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources

import numpy as np

from faultwave.backends.device.lower import prelude
from faultwave.backends.device.memory import GROUP, Device, Host, ScratchMemory
from faultwave.backends.device.types import Function
from faultwave.backends.injector import Points
from faultwave.kernels.types import Scalars

NAME = "inject"


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
    beside : ScratchMemory
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
        buffer, dtype = points.buffer, points.buffer.access.dtype
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
        body = resources.files(__package__).joinpath("inject.h").read_text()
        self.function = build(prelude(device.target, single, single) + body, NAME)

    def __call__(self, amounts: np.ndarray) -> None:
        if not self.groups:
            return
        self.host.send(self.table, self.amounts.filled({"amounts": amounts}))
        self.device.launch(self.function, self.groups, GROUP, [*self.memory, self.table, np.int32(0), *self.rest])
        self.launched(self.function, self.groups, GROUP, self.memory, self.rest, self.amounts)


__all__ = ["Injector"]
