"""Fetching the next batch's numbers into the second-level cache while this batch computes.

A batch of an order-4 kernel works for microseconds on numbers that fit the caches, and the hardware's own prefetchers
stop at every page: without this, memory and arithmetic take turns. The lines are asked for a few at a time, in
proportion to the work between; too many at once would stall what computes.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

from faultwave.backends.cpu.names import c_name
from faultwave.kernels.count import flops
from faultwave.kernels.language import (
    Array,
    Gather,
    Kernel,
    Pointwise,
    Repeat,
    Scatter,
    Statement,
    When,
    WhenAny,
    touched,
)


class Prefetch:
    """The fetches of a kernel, statement by statement."""

    def __init__(self, kernel: Kernel, lanes: int):
        usual = [a for a in kernel.arguments if a.space == "batch" and a.name not in kernel.occasional]
        self.lanes = lanes
        self.kernel, self.fetched = kernel, set[str]()
        self.by_rows: dict[int, tuple[int, int]] = {}  # of a statement, what is fetched row by row
        self._spread(usual, kernel.statements)

    def inside(self, statement: WhenAny) -> Prefetch:
        """Of the body of a statement: what only such bodies touch, unless one before does. The next batch will most often need it,
        where this one does."""
        inner = copy.copy(self)
        if statement.mostly:
            inner.first, last = self._share(statement)
            inner.vectors, inner.done = last - inner.first, 0
            inner.flops = {id(s): _flops_of_all(s) for s in statement.body}
            inner.work = max(1, sum(inner.flops.values()))
            return inner
        names = (set(touched(statement)) & self.kernel.occasional) - self.fetched
        self.fetched |= names
        inner._spread([a for a in self.kernel.arguments if a.name in names], statement.body)
        return inner

    def _spread(self, batches: Sequence[Array], statements: Sequence[Statement]) -> None:
        """Fetch ``batches`` while ``statements`` are done."""
        first = {name: i for i, s in reversed(list(enumerate(statements))) for name in touched(s)}
        # What is needed first is fetched first.
        needed = sorted((a for a in batches if a.rows * a.cols > 1), key=lambda a: first.get(a.name, 0))
        self.streams = [(a, a.rows * a.cols) for a in needed]
        self.vectors = sum(n for _, n in self.streams)
        self.flops = {id(s): _flops_of_all(s) for s in statements}
        self.work = max(1, sum(self.flops.values()))
        self.done = self.first = 0

    def _share(self, statement: Statement) -> tuple[int, int]:
        """The part of the next batch that is as large as the statement is of the work."""
        done, self.done = self.done, self.done + self.flops[id(statement)]
        begin, end = (self.first + self.vectors * x // self.work for x in (done, self.done))
        return begin, end

    def instead(self, inner: Prefetch) -> list[str]:
        """C statements that fetch what the body would have, where it is left out."""
        return self._range(inner.first, inner.first + inner.vectors)

    def before(self, statement: Statement) -> list[str]:
        """C statements fetching as large a part of the next batch as ``statement`` is of the work; of one that repeats others nothing:
        see ``repeated``."""
        if isinstance(statement, Repeat) or (isinstance(statement, WhenAny) and statement.mostly):
            return []
        begin, end = self._share(statement)
        if isinstance(statement, Pointwise) and end - begin > statement.rows > 1:
            self.by_rows[id(statement)] = begin, end
            return []
        lines = self._range(begin, end)
        if isinstance(statement, Gather):
            lines += self._slots(statement.store, statement.index, statement.column)
        if isinstance(statement, When):
            lines += self._where_any(statement)
        return lines

    def _where_any(self, statement: When) -> list[str]:
        """Slots that a body gathers and scatters, where the next batch does."""
        found = {(s.store.name, s.index.name, s.column): s for s in statement.body if isinstance(s, Gather | Scatter)}
        if not found:
            return []
        index = statement.index
        first = f"{c_name(index.name)} + next * {index.cols * self.lanes} + {statement.column * self.lanes}"
        fetches = [line for s in found.values() for line in self._slots(s.store, s.index, s.column)]
        return [f"if (any({first})) {{", *fetches, "}"]

    def _range(self, begin: int, end: int) -> list[str]:
        lines, at = [], 0
        for array, count in self.streams:
            first, last = max(begin - at, 0), min(end - at, count)
            if first < last:
                where = f"{c_name(array.name)} + next * {count} + i"
                by = "i += 2" if array.narrow else "++i"  # half a line a vector
                lines.append(f"for (int i = {first}; i < {last}; {by}) FETCH({where});")
            at += count
        return lines

    def repeated(self, statement: Repeat) -> list[list[str]]:
        """C statements before each of those in the body of one that repeats them, which fetch its part of the next batch."""
        if id(statement) not in self.flops:  # inside another statement
            return [[] for _ in statement.body]
        begin, end = self._share(statement)
        works = [_flops_of_all(s) for s in statement.body]
        round_, passed, found = c_name(statement.index.name), 0, []
        for work in works:
            parts = [
                f"{(end - begin) / statement.count} * ({round_} + {x / max(1, sum(works))})"
                for x in (passed, passed + work)
            ]
            passed += work
            found.append(
                [
                    f"{{ const int from = {begin} + (int)({parts[0]}), to = {begin} + (int)({parts[1]});",
                    *self._clipped(),
                    "}",
                ]
            )
        return found

    def within(self, statement: Pointwise, step: int) -> list[str]:
        """C statements at the start of every ``step`` rows of a statement that is much of the work: too many fetches at once would wait."""
        begin, end = self.by_rows.pop(id(statement), (0, 0))
        if begin == end:
            return []
        share = f"{begin} + {end - begin} * (r + %d) / {-(-statement.rows // step) * step}"
        return [f"{{ const int from = {share % 0}, to = {share % step};", *self._clipped(), "}"]

    def _clipped(self) -> list[str]:
        """Fetch from number ``from`` up to ``to`` of all streams, which follow each other."""
        lines, at = [], 0
        for array, count in self.streams:
            place = f"{c_name(array.name)} + (next * {count} - {at})"
            lines.append(
                f"for (int i = from > {at} ? from : {at}; i < to && i < {at + count}; ++i) FETCH({place} + i);"
            )
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
    """Flops of a statement that most batches execute."""
    seldom = isinstance(s, When) or (isinstance(s, WhenAny) and not s.mostly)
    return 0 if seldom else round(flops([s]))
