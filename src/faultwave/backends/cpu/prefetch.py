"""Fetching the next batch's numbers into the second-level cache while this batch computes.

A batch of an order-4 kernel works for microseconds on numbers that fit the caches, and the hardware's own prefetchers
stop at every page: without this, memory and arithmetic take turns. The lines are asked for a few at a time, in
proportion to the work between; too many at once would stall what computes.
"""

from __future__ import annotations

from faultwave.backends.cpu.names import c_name
from faultwave.kernels.count import flops
from faultwave.kernels.language import Array, Contract, Gather, Kernel, Pointwise, Repeat, Scatter, Statement, When


class Prefetch:
    """The fetches of a kernel, statement by statement."""

    def __init__(self, kernel: Kernel, lanes: int):
        self.lanes = lanes
        batches = [a for a in kernel.arguments if a.space == "batch" and a.rows * a.cols > 1]
        first = {name: i for i, s in reversed(list(enumerate(kernel.statements))) for name in _touched(s)}
        batches.sort(key=lambda a: first.get(a.name, 0))  # what is needed first is fetched first
        self.streams = [(a, a.rows * a.cols) for a in batches]
        self.vectors = sum(n for _, n in self.streams)
        self.flops = {id(s): _flops_of_all(s) for s in kernel.statements}
        self.work = max(1, sum(self.flops.values()))
        self.done = 0

    def before(self, statement: Statement) -> list[str]:
        """C statements fetching as large a part of the next batch as ``statement`` is of the work."""
        done, self.done = self.done, self.done + self.flops[id(statement)]
        lines = self._range(self.vectors * done // self.work, self.vectors * self.done // self.work)
        if isinstance(statement, Gather):
            lines += self._slots(statement.store, statement.index, statement.column)
        return lines

    def _range(self, begin: int, end: int) -> list[str]:
        lines, at = [], 0
        for array, count in self.streams:
            first, last = max(begin - at, 0), min(end - at, count)
            if first < last:
                where = f"{c_name(array.name)} + next * {count} + i"
                lines.append(f"for (int i = {first}; i < {last}; ++i) FETCH({where});")
            at += count
        return lines

    def _slots(self, store: Array, index: Array, column: int) -> list[str]:
        size = store.rows * store.cols
        slot = f"{c_name(index.name)}[next * {index.cols * self.lanes} + {column * self.lanes} + i]"
        return [
            f"for (int i = 0; i < {self.lanes}; ++i)",
            f"  FETCH_ALL({c_name(store.name)} + {slot} * {size}L, {size} * sizeof(*{c_name(store.name)}));",
        ]


def _flops_of_all(s: Statement) -> int:
    """Flops of a statement that every batch executes."""
    return 0 if isinstance(s, When) else round(flops([s]))


def _touched(s: Statement) -> list[str]:
    """Names of the arrays of a statement."""
    match s:
        case Contract():
            return [s.inp.array.name, s.out.array.name]
        case Pointwise():
            return [v.array.name for v in (*s.ins, *s.outs)]
        case Gather():
            return [s.out.array.name]
        case Scatter():
            return [s.inp.array.name]
        case Repeat() | When():
            return [name for inner in s.body for name in _touched(inner)]
    return []
