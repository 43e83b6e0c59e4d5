"""Tasks of a kernel: their reads and writes, their dependences, and the live ranges of temporaries.

Statements of the kernel language run one after the other, whereas a device executes independent tasks concurrently.
Temporaries that are reused (for the trace of one face, then of the next) are therefore split first: every such use becomes
a separate array, a web (Muchnick 1997, chapter 16.3.3). Arrays that are not needed at the same time share memory again later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from faultwave.kernels.language import (
    Array,
    Barrier,
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


@dataclass(frozen=True)
class Region:
    """Rows [row, end) and some columns of an array.

    ``spread`` is the row of the first worker if each row is accessed by one worker only, and None if any thread may access any number.
    """

    name: str
    row: int
    end: int
    cols: frozenset[int]
    spread: int | None = None

    def touches(self, other: Region) -> bool:
        return (
            self.name == other.name and self.row < other.end and other.row < self.end and bool(self.cols & other.cols)
        )

    def aligned(self, other: Region) -> bool:
        """Return True if each number in both regions is accessed by the same thread in both."""
        return self.spread is not None and self.spread == other.spread


@dataclass(frozen=True)
class Slots:
    """Slots of a store that are accessed through a column of an index.

    ``exclusive`` is True for slots that are overwritten: they differ from the slots of all other columns.
    """

    store: str
    through: tuple[str, int]
    exclusive: bool


@dataclass(frozen=True)
class Term:
    """Term of a product: ``matrix @ inp[:, columns[i]]`` for output column i."""

    matrix: np.ndarray
    inp: View
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Product:
    """Product ``out[:, columns] (+)= sum of terms``, whose constant matrices have equally many rows."""

    out: View
    columns: tuple[int, ...]
    terms: tuple[Term, ...]
    accumulate: bool

    @property
    def rows(self) -> int:
        return len(self.terms[0].matrix)


@dataclass(frozen=True)
class Dense:
    """Contraction with a matrix that is an argument of the launch."""

    statement: Contract


@dataclass(frozen=True)
class Copy:
    """Copy of a batch argument to (``inward``) or from its place in shared memory."""

    inner: Array
    argument: Array
    inward: bool


Work = Product | Dense | Pointwise | Gather | Scatter | Repeat | When | WhenAny | Copy


@dataclass
class Task:
    """Work with the regions and slots that it accesses; ``body`` has the tasks inside a repetition or a condition."""

    work: Work
    reads: list[Region]
    writes: list[Region]
    slot_reads: list[Slots] = field(default_factory=list)
    slot_writes: list[Slots] = field(default_factory=list)
    body: list[Task] = field(default_factory=list)
    chain: int = -1  # set by the schedule

    def after(self, earlier: Task) -> tuple[bool, bool]:
        """Return whether this task depends on an earlier one, and whether each thread then depends on itself only.

        Returns
        -------
        waits : bool
            True if this task must wait for the earlier one.
        own : bool
            True if no barrier is needed for that.
        """
        # Bodies run one after the other anyway, and may then share memory.
        waits, own = bool(self.body and earlier.body), not (self.body and earlier.body)
        for mine, theirs in ((self.reads, earlier.writes), (self.writes, earlier.writes), (self.writes, earlier.reads)):
            for a in mine:
                for b in theirs:
                    if a.touches(b):
                        waits, own = True, own and a.aligned(b)
        for given, taken in (
            (self.slot_reads, earlier.slot_writes),
            (self.slot_writes, earlier.slot_writes),
            (self.slot_writes, earlier.slot_reads),
        ):
            for s in given:
                for t in taken:
                    if s.store == t.store and not (s.exclusive and t.exclusive and s.through != t.through):
                        waits, own = True, False
        return waits, own


def tasks_of(kernel: Kernel) -> list[Task]:
    """Return the tasks of a kernel, with contractions into the same columns merged to one product."""
    return _tasks(kernel.statements)


def _tasks(statements: Iterable[Statement]) -> list[Task]:
    found: list[Task] = []
    for s in statements:
        if isinstance(s, Barrier):
            continue
        task = _task(s)
        if not (isinstance(s, Contract) and _joined(found, task)):
            found.append(task)
    return found


def _joined(found: list[Task], new: Task) -> bool:
    """Merge an accumulating product with the one that began its sums; return False if it depends on a task between them."""
    work = new.work
    if not isinstance(work, Product) or not work.accumulate:
        return False
    for at in range(len(found) - 1, -1, -1):
        old = found[at].work
        if isinstance(old, Product) and _same_sums(old, work):
            found[at] = _product_task(replace(old, terms=old.terms + work.terms))
            return True
        if new.after(found[at])[0]:
            return False
    return False


def _same_sums(a: Product, b: Product) -> bool:
    return (a.out.array.name, a.out.row, a.out.col, a.columns, a.rows) == (
        b.out.array.name,
        b.out.row,
        b.out.col,
        b.columns,
        b.rows,
    )


def _task(s: Statement) -> Task:
    match s:
        case Contract() if isinstance(s.matrix, Array):
            rows, used = s.matrix.rows, s.matrix.cols
            out = _region(s.out, rows, [o for _, o in s.columns], True)
            reads = [_region(s.inp, used, [i for i, _ in s.columns])]
            return Task(Dense(s), reads + ([out] if s.accumulate else []), [out])
        case Contract():
            assert isinstance(s.matrix, np.ndarray)
            term = Term(s.matrix, s.inp, tuple(i for i, _ in s.columns))
            return _product_task(Product(s.out, tuple(o for _, o in s.columns), (term,), s.accumulate))
        case Pointwise():
            reads = [
                _region(v, min(v.rows, s.rows), None, v.rows > 1 or s.rows == 1)
                for v in s.ins
                if v.array.space != "scalar"
            ]
            return Task(s, reads, [_region(v, s.rows, None, True) for v in s.outs])
        case Gather():
            slots = Slots(s.store.name, (s.index.name, s.column), False)
            return Task(s, [], [_region(s.out, s.out.rows)], slot_reads=[slots])
        case Scatter():
            slots = Slots(s.store.name, (s.index.name, s.column), not s.accumulate)
            return Task(s, [_region(s.inp, s.inp.rows)], [], slot_writes=[slots])
        case Repeat() | When():
            return _enclosing(s, _tasks(s.body))
        case WhenAny():
            return _enclosing(s, _tasks(s.body))
    raise TypeError(f"unknown statement {s}")


def _enclosing(work: Repeat | When | WhenAny, body: list[Task]) -> Task:
    """Return a body as one task; its regions have no owner threads, as the next iteration may access them again."""
    own = [_region(work.flag, 1)] if isinstance(work, WhenAny) else []
    reads = [*own, *[replace(r, spread=None) for t in body for r in t.reads]]
    return Task(
        work, reads, [replace(r, spread=None) for t in body for r in t.writes],
        [r for t in body for r in t.slot_reads], [r for t in body for r in t.slot_writes], body,
    )  # fmt: skip


def _product_task(p: Product) -> Task:
    out = _region(p.out, p.rows, p.columns)
    reads = [_region(t.inp, t.matrix.shape[1], t.columns) for t in p.terms]
    return Task(p, reads + ([out] if p.accumulate else []), [out])


def _region(v: View, rows: int, cols: Sequence[int] | None = None, by_rows: bool = False) -> Region:
    chosen = frozenset(v.col + c for c in (range(v.cols) if cols is None else cols))
    if isinstance(v.row, int):
        return Region(v.array.name, v.row, v.row + rows, chosen, v.row if by_rows else None)
    return Region(v.array.name, 0, v.array.rows, chosen)


# ---- webs ---------------------------------------------------------------------------------------------------------


Uses = dict[str, list[tuple[Region, int]]]
"""Accesses of a task to temporaries: name -> regions, each with a definition of its web."""


class _Webs:
    """Reaching definitions of each number of the temporaries, joined to webs by union-find."""

    def __init__(self, temporaries: Iterable[Array]):
        self.owner: list[int] = []  # definition -> another one of the same web, or itself
        self.reaching = {a.name: np.full((a.rows, a.cols), -1) for a in temporaries}

    def find(self, definition: int) -> int:
        """Return the representative definition of a web."""
        while self.owner[definition] != definition:
            definition = self.owner[definition]
        return definition

    def uses(self, task: Task) -> Uses:
        """Return the accesses of the next task in order to temporaries."""
        found: Uses = {}
        for r in task.reads:
            if r.name in self.reaching:
                found.setdefault(r.name, []).append((r, self._read(r)))
        for w in task.writes:
            if w.name in self.reaching:
                found.setdefault(w.name, []).append((w, self._written(w, found[w.name])))
        return found

    def _read(self, r: Region) -> int:
        """Return the web of all definitions that reach a region that is read, or a new one if nothing was written before."""
        part = self.reaching[r.name][r.row : r.end, sorted(r.cols)]
        return self._joined([i for i in np.unique(part) if i >= 0])

    def _written(self, w: Region, before: list[tuple[Region, int]]) -> int:
        """Return the web of a region that is written, joined with overlapping regions that the same task accesses ``before``."""
        number = self._joined([i for r, i in before if r.touches(w)])
        self.reaching[w.name][w.row : w.end, sorted(w.cols)] = number
        return number

    def _joined(self, definitions: Sequence[int]) -> int:
        if not definitions:
            self.owner.append(len(self.owner))
            return self.owner[-1]
        first = self.find(definitions[0])
        for other in definitions[1:]:
            self.owner[self.find(other)] = first
        return first


def split_temporaries(kernel: Kernel, tasks: list[Task]) -> tuple[list[Task], dict[str, Array]]:
    """Return tasks with a separate temporary for each web, and the temporaries by name.

    Temporaries that are accessed in bodies of ``Repeat`` or ``WhenAny`` are not split.
    """
    repeated = {r.name for t in _unrepeated(tasks) if t.body for r in (*t.reads, *t.writes)}
    temps = {a.name: a for a in kernel.temps}
    webs = _Webs(a for n, a in temps.items() if n not in repeated)
    line = list(_unrepeated(tasks))
    uses = [webs.uses(t) for t in line]
    arrays = {n: a for n, a in temps.items() if n in repeated}
    new: dict[tuple[str, int], Array] = {}  # (old name, web) -> new temporary
    for name, region, definition in ((n, r, i) for u in uses for n, parts in u.items() for r, i in parts):
        key = (name, webs.find(definition))
        if key not in new:
            new[key] = replace(temps[name], name=f"{name}.{sum(n == name for n, _ in new)}", rows=0)
        new[key] = replace(new[key], rows=max(new[key].rows, region.end))
    arrays |= {a.name: a for a in new.values()}

    def renamer(used: Uses, regions: list[Region]) -> Callable[[View], View]:
        def rename(view: View) -> View:
            parts = used.get(view.array.name)
            if not parts:
                return view
            mine = {new[view.array.name, webs.find(i)].name for r, i in parts if r in regions and _holds(view, r)}
            if len(mine) != 1:
                raise AssertionError(f"{view.array.name} is {mine} at once")
            return replace(view, array=arrays[mine.pop()])

        return rename

    done = iter([_renamed(t, renamer(u, t.reads), renamer(u, t.writes)) for t, u in zip(line, uses, strict=True)])
    return _rebuilt(tasks, done), arrays


def _unrepeated(tasks: Sequence[Task]) -> Iterator[Task]:
    """Yield the tasks in order, including the tasks in bodies of ``When``, which run at most once; other bodies are one task."""
    for t in tasks:
        if isinstance(t.work, When):
            yield from _unrepeated(t.body)
        else:
            yield t


def _rebuilt(tasks: Sequence[Task], done: Iterator[Task]) -> list[Task]:
    """Return the tasks with the tasks that ``_unrepeated`` yields replaced by ``done``."""
    return [_enclosing(t.work, _rebuilt(t.body, done)) if isinstance(t.work, When) else next(done) for t in tasks]


def _holds(view: View, region: Region) -> bool:
    first = view.row if isinstance(view.row, int) else 0
    return region.row == first and region.cols <= frozenset(range(view.col, view.col + view.cols))


def _renamed(task: Task, inner: Callable[[View], View], outer: Callable[[View], View]) -> Task:
    match task.work:
        case Product() as p:
            terms = tuple(replace(t, inp=inner(t.inp)) for t in p.terms)
            return _product_task(replace(p, out=outer(p.out), terms=terms))
        case Dense(s):
            return _task(replace(s, out=outer(s.out), inp=inner(s.inp)))
        case Pointwise() as s:
            return _task(replace(s, ins=tuple(map(inner, s.ins)), outs=tuple(map(outer, s.outs))))
        case Gather() as s:
            return _task(replace(s, out=outer(s.out)))
        case Scatter() as s:
            return _task(replace(s, inp=inner(s.inp)))
    return task


def replaced(task: Task, arrays: dict[str, Array]) -> Task:
    """Return the task with arrays replaced by ``arrays`` (name -> new array)."""

    def change(view: View) -> View:
        return replace(view, array=arrays[view.array.name]) if view.array.name in arrays else view

    if isinstance(task.work, Repeat | When | WhenAny):
        return _enclosing(task.work, [replaced(t, arrays) for t in task.body])
    return _renamed(task, change, change)


def every(tasks: Sequence[Task]) -> Iterator[Task]:
    """Yield the tasks, with the tasks of bodies in place of their enclosing task."""
    for t in tasks:
        if t.body:
            yield from every(t.body)
        else:
            yield t
