"""Repeated sequences of launches: a list recorded once and replayed without the host handling each launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from faultwave.backends.device.calls import Call, Numbers, concurrent_groups
from faultwave.backends.device.memory import Device, Host
from faultwave.backends.device.types import Memory
from faultwave.base.errors import BackendError
from faultwave.kernels.types import Scalars

ALIGNED = 16  # alignment of tables of changing scalars, in numbers of 8 bytes


class Recording:
    """Sequence of launches that can be replayed.

    ``alone`` is True if the host read or wrote no buffer during the recording, so that the launches can be replayed without it.
    """

    def __init__(self, device: Device, host: Host, allocate: Callable[[int], Memory]):
        self.device, self.host, self.allocate, self.alone = device, host, allocate, True
        self.calls: list[Call] = []
        self.play: Callable[[], None] | None = None

    def add(self, call: Call) -> None:
        self.calls.append(call)

    @property
    def launches(self) -> int:
        return len(self.calls)

    @property
    def stages(self) -> int:
        return len(concurrent_groups(self.calls))

    def finished(self) -> Recording | None:
        """Place the scalars of all calls in one table and build the graph; return None if memory does not suffice for the table."""
        offset, places = 0, []
        for call in self.calls:
            places.append(offset)
            if call.changing is not None:
                size = ALIGNED * 8
                offset += -(-call.changing.nbytes // size) * size
        try:
            self.table = self.allocate(offset) if offset else None
        except BackendError:
            return None
        self.numbers = np.zeros(offset, np.uint8)
        placed = []
        for call, at in zip(self.calls, places, strict=True):
            if call.changing is not None:
                call = replace(call, table=self.table, at=at // call.changing.itemsize)
            placed.append(call)
        self.calls = placed
        self.places = [(c.changing, at) for c, at in zip(self.calls, places, strict=True) if c.changing is not None]
        self.play = self.device.graph(self.calls)
        return self

    def replay(self, tables: Sequence[Scalars] = ()) -> None:
        """Execute all launches again; ``tables`` lists the changing scalars of each launch that has any, in order."""
        for (changing, at), scalars in zip(self.places, tables, strict=True):
            self.numbers[at : at + changing.nbytes] = changing.filled(scalars).view(np.uint8)
        if self.table is not None:
            self.host.send(self.table, self.numbers)
        assert self.play is not None
        self.play()


__all__ = ["Call", "Numbers", "Recording", "concurrent_groups"]
