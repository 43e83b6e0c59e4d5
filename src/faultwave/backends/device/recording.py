"""Launches that follow each other again and again: a list made once, and replayed without the host looking at any of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from faultwave.backends.device.memory import Device, Host
from faultwave.base.errors import BackendError

ALIGNED = 16  # numbers that tables of changing scalars begin at multiples of


class Numbers(Protocol):
    """Tables of scalars that change."""

    nbytes: int
    itemsize: int

    def filled(self, scalars: Mapping[str, Any]) -> np.ndarray: ...


@dataclass(frozen=True)
class Call:
    """A launch: ``memory`` of the kernel's arguments, ``rest`` of its arguments, and its tables that ``change``. ``kind``: launches of one
    kind on different ``items`` [begin, end) touch none of each other's numbers; None: they may. Nor do those of one ``block``."""

    function: Any
    groups: int
    threads: int
    memory: list[Any]
    rest: list[Any]
    changing: Numbers | None = None
    kind: Hashable = None
    items: tuple[int, int] = (0, 0)
    block: Hashable = None
    table: Any = None
    at: int = 0  # where in it the call's tables begin, in numbers

    @property
    def arguments(self) -> list[Any]:
        where = [] if self.table is None else [self.table, np.int32(self.at)]
        return [*self.memory, *where, *self.rest]


def together(calls: Iterable[Call]) -> list[list[Call]]:
    """Launches in turn, those that may be done at the same time in one list."""
    found: list[list[Call]] = []
    for call in calls:
        last = found[-1] if found else []
        if last and all(_apart(call, c) for c in last):
            last.append(call)
        else:
            found.append([call])
    return found


def _apart(a: Call, b: Call) -> bool:
    """Whether neither need wait for the other."""
    if a.block is not None and a.block == b.block:
        return True
    return a.kind is not None and a.kind == b.kind and (a.items[1] <= b.items[0] or b.items[1] <= a.items[0])


class Recording:
    """``alone``: no buffer was read or written by the host meanwhile, so that the launches can be done again without it."""

    def __init__(self, device: Device, host: Host, allocate: Callable[[int], Any]):
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
        return len(together(self.calls))

    def finished(self) -> Recording | None:
        """Give every call its place in one table, and the whole to the device; None where there is no room left for the table."""
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

    def replay(self, tables: Sequence[Mapping[str, Any]] = ()) -> None:
        """Do all launches again; ``tables``: the scalars that change, of each launch that has some, in order."""
        for (changing, at), scalars in zip(self.places, tables, strict=True):
            self.numbers[at : at + changing.nbytes] = changing.filled(scalars).view(np.uint8)
        if self.table is not None:
            self.host.send(self.table, self.numbers)
        assert self.play is not None
        self.play()


__all__ = ["Call", "Recording", "together"]
