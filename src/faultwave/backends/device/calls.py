"""Records of kernel launches and their arguments, and which of them may run concurrently."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from faultwave.kernels.expr import Scalars

Memory: TypeAlias = Any
"""Memory of a device: an array of CuPy, or a buffer of PyOpenCL."""

Function: TypeAlias = Any
"""Compiled function that a device can launch."""

Arguments: TypeAlias = list[Any]
"""Arguments of a function: memory and numbers of NumPy."""


class Numbers(Protocol):
    """Tables of scalars that change between launches."""

    nbytes: int
    itemsize: int

    def filled(self, scalars: Scalars) -> np.ndarray: ...


@dataclass(frozen=True)
class Call:
    """Recorded launch of a kernel.

    Attributes
    ----------
    function
        Compiled kernel of the device.
    groups, threads : int
        Number of thread groups, and of threads in a group.
    memory : list
        Device memory of the kernel's arguments.
    rest : list
        Remaining arguments.
    changing : Numbers, optional
        Tables of scalars that change between launches.
    kind : hashable, optional
        Launches of the same kind on disjoint ``items`` are independent; None: such launches may depend on each other.
    items : (int, int)
        Range [begin, end) of the items.
    block : hashable, optional
        Launches of the same block are independent of each other.
    table
        Device memory of the changing tables of all recorded launches.
    at : int
        Index of the first number of this launch in ``table``.
    """

    function: Function
    groups: int
    threads: int
    memory: list[Memory]
    rest: Arguments
    changing: Numbers | None = None
    kind: Hashable = None
    items: tuple[int, int] = (0, 0)
    block: Hashable = None
    table: Memory = None
    at: int = 0

    @property
    def arguments(self) -> Arguments:
        where = [] if self.table is None else [self.table, np.int32(self.at)]
        return [*self.memory, *where, *self.rest]


def concurrent_groups(calls: Iterable[Call]) -> list[list[Call]]:
    """Return the launches in order, grouped by those that may run concurrently."""
    found: list[list[Call]] = []
    for call in calls:
        last = found[-1] if found else []
        if last and all(_apart(call, c) for c in last):
            last.append(call)
        else:
            found.append([call])
    return found


def _apart(a: Call, b: Call) -> bool:
    """Return True if neither launch has to wait for the other."""
    if a.block is not None and a.block == b.block:
        return True
    return a.kind is not None and a.kind == b.kind and (a.items[1] <= b.items[0] or b.items[1] <= a.items[0])
