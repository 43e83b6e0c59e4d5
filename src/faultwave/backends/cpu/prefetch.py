"""Software prefetch: the next batch's numbers are fetched into the second-level cache while this batch computes.

A batch of an order-4 kernel computes for microseconds on numbers that fit the caches, and hardware prefetchers stop at
every page: without this, memory and arithmetic take turns. A few lines are requested at a time, in proportion to the work
between; too many at once would stall the computation. Columns that only rarely executed bodies touch are fetched there,
such as the slip of a locked fault.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from faultwave.backends.cpu.vector_formula import c_name
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
"""Size of a cache line [bytes]."""

Column = tuple[str, int]
"""Column of an array, by the array's name."""


@dataclass(frozen=True)
class Stream:
    """Range of ``width`` columns of a batch array from ``col`` on, in all rows."""

    array: Array
    col: int
    width: int

    @property
    def count(self) -> int:
        return self.array.rows * self.width

    def fetch(self, i: str) -> str:
        """Return a C statement that fetches number ``i`` of these columns of the next batch."""
        a, between = self.array, self.array.cols - self.width
        place = f"{i} + {i} / {self.width} * {between} + {self.col}" if between else i
        return f"FETCH({c_name(a.name)} + next * {a.rows * a.cols} + {place});"


@dataclass(frozen=True)
class Slots:
    """Cache lines of the slots that the next batch gathers: ``lanes`` slots of ``size`` bytes."""

    gather: Gather
    size: int
    lanes: int

    @property
    def count(self) -> int:
        return self.lanes * self._lines

    @property
    def _lines(self) -> int:
        """Number of cache lines of a slot, which may start inside a line."""
        return -(-self.size // LINE) + (self.size % LINE > 0)

    def fetch(self, i: str) -> str:
        """Return a C statement that fetches line ``i``: the first lines of all slots, then the second ones."""
        index, store, bits = self.gather.index, self.gather.store, self.lanes.bit_length() - 1
        first = index.cols * self.lanes, self.gather.column * self.lanes
        slot = f"{c_name(index.name)}[next * {first[0]} + {first[1]} + ({i} & {self.lanes - 1})]"
        return f"FETCH((const char *){c_name(store.name)} + {slot} * {self.size}L + ({i} >> {bits}) * {LINE});"


class Prefetch:
    """The fetches of a kernel, statement by statement."""

    def __init__(self, kernel: Kernel, lanes: int, size_of: Callable[[Array], int]):
        """Plan the fetches of a kernel; ``size_of`` returns the size of a number of a store [bytes]."""
        self.lanes, self.kernel, self.size_of = lanes, kernel, size_of
        self.by_rows: dict[int, tuple[int, int]] = {}  # id of a statement -> range that is fetched row by row
        usual = [s for s in kernel.statements if not isinstance(s, WhenAny) or s.mostly]
        self.fetched = {column for s in usual for column in columns(s)}
        self._spread(self.fetched, kernel.statements)

    def inside(self, statement: WhenAny) -> Prefetch:
        """Return the fetches in a conditional body: data that only such bodies touch, unless an earlier one does.

        The next batch most often needs them if this one does.
        """
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
        """Distribute the fetches of the columns ``wanted`` over ``statements``."""
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
        # Statements that only copy numbers get no fetches, so that a kernel of copies alone would prefetch nothing. There is no such
        # kernel, and a test kernel that copies slots took 1.01 times as long with prefetches (20,000 batches of order 4, random slots,
        # medians of pairs).
        self.flops = {id(s): _flops_of_all(s) for s in statements}
        self.work = max(1, sum(self.flops.values()))
        self.done = self.first = 0

    def _share(self, statement: Statement) -> tuple[int, int]:
        """Return the range of the next batch's fetches in proportion to the statement's work."""
        done, self.done = self.done, self.done + self.flops[id(statement)]
        begin, end = (self.first + self.vectors * x // self.work for x in (done, self.done))
        return begin, end

    def instead(self, inner: Prefetch) -> list[str]:
        """Return C statements for the fetches of a body that is skipped."""
        return self._range(inner.first, inner.first + inner.vectors)

    def before(self, statement: Statement) -> list[str]:
        """Return C statements that fetch a part of the next batch in proportion to the work of ``statement``.

        Repetitions fetch nothing here; see ``repeated``.
        """
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
        """Return C statements that fetch the slots of a conditional body, if the next batch executes it."""
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
        """Return C statements before each statement of a repeated body, which fetch its part of the next batch."""
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
        """Return C statements for every ``step`` rows of a long statement, since too many fetches at once would stall."""
        begin, end = self.by_rows.pop(id(statement), (0, 0))
        if begin == end:
            return []
        share = f"{begin} + {end - begin} * (r + %d) / {-(-statement.rows // step) * step}"
        return [f"{{ const int from = {share % 0}, to = {share % step};", *self._clipped(), "}"]

    def _clipped(self) -> list[str]:
        """Return C lines that fetch the numbers ``from`` to ``to`` of the concatenated streams."""
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
    """Return the flops of a statement that most batches execute, else 0."""
    seldom = isinstance(s, When) or (isinstance(s, WhenAny) and not s.mostly)
    return 0 if seldom else round(flops([s]))


def columns(s: Statement) -> Iterator[Column]:
    """Yield the columns that a statement reads or writes, without inputs that its formula does not use."""
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
    """Return the inputs (argument, column) that results depend on."""
    numbering = Numbering()
    for e in results:
        numbering.number(e)
    return {v.content for v in numbering.values if v.op == "input"}


def _runs(array: Array, wanted: set[Column]) -> list[Stream]:
    """Return the wanted columns of an array, grouped in contiguous ranges."""
    found: list[Stream] = []
    for c in (c for c in range(array.cols) if (array.name, c) in wanted):
        if found and found[-1].col + found[-1].width == c:
            found[-1] = Stream(array, found[-1].col, found[-1].width + 1)
        else:
            found.append(Stream(array, c, 1))
    return found
