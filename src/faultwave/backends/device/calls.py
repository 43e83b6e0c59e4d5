"""Records of kernel launches, and which of them may run concurrently."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class Numbers(Protocol):
    """Tables of scalars that change."""

    nbytes: int
    itemsize: int

    def filled(self, scalars: Mapping[str, Any]) -> np.ndarray: ...


@dataclass(frozen=True)
class Call:
    """Launch of a kernel.

    Attributes
    ----------
    memory : list
        Device memory of the arguments.
    rest : list
        Other arguments.
    changing : Numbers or None
        Tables that change between launches.
    kind : hashable or None
        Launches of one kind on different ``items`` [begin, end) access disjoint numbers, and so do launches of one ``block``; None if
        they may overlap.
    """

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


__all__ = ["Call", "Numbers", "together"]
