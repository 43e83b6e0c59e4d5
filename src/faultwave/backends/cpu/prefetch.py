"""Fetching the next batch's numbers into the second-level cache while this batch computes.

A batch of an order-4 kernel works for microseconds on numbers that fit the caches, and the hardware's own prefetchers
stop at every page: without this, memory and arithmetic take turns. The lines are asked for a few at a time, in
proportion to the work between; too many at once would stall what computes. Columns of an array that only what is seldom done touches
are fetched there: of a locked fault nobody wants the slip.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from faultwave.backends.cpu.names import c_name
from faultwave.kernels.count import flops
from faultwave.kernels.expr import Expr
from faultwave.kernels.language import (
    Array,
    Contract,
    Gather,
    Kernel,
    Pointwise,
    Repeat,
    Scatter,
    Statement,
    View,
    When,
    WhenAny,
)
from faultwave.kernels.values import Numbering

LINE = 64
"""Bytes that are fetched at once."""

Column = tuple[str, int]
"""Of an array, by its name."""


@dataclass(frozen=True)
class Stream:
    """``width`` columns of a batch array from ``col`` on, of all rows."""

    array: Array
    col: int
    width: int

    @property
    def count(self) -> int:
        return self.array.rows * self.width

    def fetch(self, i: str) -> str:
        """C statement for the next batch's number ``i`` of these columns."""
        a, between = self.array, self.array.cols - self.width
        place = f"{i} + {i} / {self.width} * {between} + {self.col}" if between else i
        return f"FETCH({c_name(a.name)} + next * {a.rows * a.cols} + {place});"


@dataclass(frozen=True)
class Slots:
    """The cache lines of the slots that the next batch gathers; ``size`` bytes of one, ``lanes`` of them."""

    gather: Gather
    size: int
    lanes: int

    @property
    def count(self) -> int:
        return self.lanes * self._lines

    @property
    def _lines(self) -> int:
        """Of a slot, which may begin in the midst of one."""
        return -(-self.size // LINE) + (self.size % LINE > 0)

    def fetch(self, i: str) -> str:
        """C statement for line ``i``: the first of all slots, then the second ones."""
        index, store, bits = self.gather.index, self.gather.store, self.lanes.bit_length() - 1
        first = index.cols * self.lanes, self.gather.column * self.lanes
        slot = f"{c_name(index.name)}[next * {first[0]} + {first[1]} + ({i} & {self.lanes - 1})]"
        return f"FETCH((const char *){c_name(store.name)} + {slot} * {self.size}L + ({i} >> {bits}) * {LINE});"


class Prefetch:
    """The fetches of a kernel, statement by statement."""

    def __init__(self, kernel: Kernel, lanes: int, size_of: Callable[[Array], int]):
        """``size_of`` a number of a store [bytes]."""
        self.lanes, self.kernel, self.size_of = lanes, kernel, size_of
        self.by_rows: dict[int, tuple[int, int]] = {}  # of a statement, what is fetched row by row
        usual = [s for s in kernel.statements if not isinstance(s, WhenAny) or s.mostly]
        self.fetched = {column for s in usual for column in columns(s)}
        self._spread(self.fetched, kernel.statements)

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
        own = set(columns(statement)) - self.fetched
        self.fetched |= own
        inner._spread(own, statement.body)
        return inner

    def _spread(self, wanted: set[Column], statements: Sequence[Statement]) -> None:
        """Fetch ``wanted`` while ``statements`` are done."""
        first = {column: i for i, s in reversed(list(enumerate(statements))) for column in columns(s)}
        found: list[tuple[int, Stream | Slots]] = [
            (min(first.get((a.name, x.col + c), 0) for c in range(x.width)), x)
            for a in self.kernel.arguments
            if a.space == "batch" and a.rows * a.cols > 1
            for x in _runs(a, wanted)
        ]
        for i, g in enumerate(statements):
            if isinstance(g, Gather):
                found.append((i, Slots(g, g.store.rows * g.store.cols * self.size_of(g.store), self.lanes)))
        # What is needed first is fetched first.
        self.streams = [x for _, x in sorted(found, key=lambda pair: pair[0])]
        self.vectors = sum(x.count for x in self.streams)
        # Statements that only move numbers get no part. A kernel of nothing else would fetch nothing ahead; there is none, and one that
        # copies slots took 1.01 times as long with it (20,000 batches of order 4, slots at random, medians of pairs).
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
        for x in self.streams:
            first, last = max(begin - at, 0), min(end - at, x.count)
            if first < last:
                half = isinstance(x, Stream) and x.array.narrow and x.width == x.array.cols  # a line for two vectors
                by = "i += 2" if half else "++i"
                lines.append(f"for (int i = {first}; i < {last}; {by}) {x.fetch('i')}")
            at += x.count
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
        for x in self.streams:
            lines.append(
                f"for (int i = from > {at} ? from : {at}; i < to && i < {at + x.count}; ++i) {x.fetch(f'(i - {at})')}"
            )
            at += x.count
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


def columns(s: Statement) -> Iterator[Column]:
    """Those that a statement reads or writes; inputs that a formula is given and does not use are none."""
    match s:
        case Contract():
            for source, target in s.columns:
                yield s.inp.array.name, s.inp.col + source
                yield s.out.array.name, s.out.col + target
        case Pointwise():
            results = s.recorded()
            for i, c in _inputs(e for row in results for e in row):
                yield s.ins[i].array.name, s.ins[i].col + c
            yield from (column for view in s.outs for column in _of_view(view))
        case Gather():
            yield from _of_view(s.out)
        case Scatter():
            yield from _of_view(s.inp)
        case Repeat() | When() | WhenAny():
            yield from (column for inner in s.body for column in columns(inner))


def _of_view(view: View) -> Iterator[Column]:
    return ((view.array.name, view.col + c) for c in range(view.cols))


def _inputs(results: Iterable[Expr]) -> set[tuple[int, int]]:
    """The inputs (argument, column) that results are computed from."""
    numbering = Numbering()
    for e in results:
        numbering.number(e)
    return {v.content for v in numbering.values if v.op == "input"}


def _runs(array: Array, wanted: set[Column]) -> list[Stream]:
    """The columns of an array that are wanted, those together that follow each other."""
    found: list[Stream] = []
    for c in (c for c in range(array.cols) if (array.name, c) in wanted):
        if found and found[-1].col + found[-1].width == c:
            found[-1] = Stream(array, found[-1].col, found[-1].width + 1)
        else:
            found.append(Stream(array, c, 1))
    return found
