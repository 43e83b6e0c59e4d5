"""A kernel: a short list of statements over a batch of items (cells, faces).

Arguments say what they hold and how they are used; strides, lanes, threads and memory spaces belong to backends.

* ``batch``   per-item matrix (rows, cols), one per item of the batch
* ``store``   slots of (rows, cols) numbers reached through an index, shared by kernels
* ``index``   per-item slot numbers
* ``matrix``  a dense table of numbers given at launch, the same for all items, or one of several that an index names: a contraction
  chosen at run time
* ``scalar``  a small table of numbers, the same for all items of a launch; ``changing`` where steps of one length have others
* ``temp``    private to the kernel
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from faultwave.kernels.expr import Expr, wrap

Space = Literal["batch", "store", "index", "matrix", "scalar", "temp"]


@dataclass(frozen=True)
class Array:
    """A kernel argument or temporary. ``fixed`` asks for double whatever the run's precision, ``narrow`` for memory in single precision:
    numbers are rounded where they are written, and computed with as all others. ``chosen``: index whose first column says which of several
    tables a matrix is; it is the same for all items of a batch."""

    name: str
    rows: int
    cols: int
    space: Space
    intent: Literal["in", "out", "inout", ""] = ""
    fixed: bool = False
    changing: bool = False
    chosen: str = ""
    narrow: bool = False

    def view(self, row: int | LoopIndex = 0, rows: int | None = None, col: int = 0, cols: int | None = None) -> View:
        """Rows from ``row`` (one row, where a loop counts it) and columns from ``col``; ValueError outside the
        array."""
        if isinstance(row, int):
            rows = self.rows - row if rows is None else rows
        else:
            rows = 1 if rows is None else rows
        cols = self.cols - col if cols is None else cols
        first = row if isinstance(row, int) else 0
        if min(first, col) < 0 or min(rows, cols) < 1 or first + rows > self.rows or col + cols > self.cols:
            raise ValueError(
                f"{self.name} is {self.rows} x {self.cols}: no {rows} rows from {first}, {cols} columns from {col}"
            )
        return View(self, row, rows, col, cols)


@dataclass(frozen=True)
class LoopIndex:
    """Counter of a ``Repeat``; selects a row of a scalar table."""

    name: str


@dataclass(frozen=True)
class View:
    """Rows [row, row+rows) and columns [col, col+cols) of an array."""

    array: Array
    row: int | LoopIndex
    rows: int
    col: int
    cols: int

    def overlaps(self, other: View) -> bool:
        """Whether both may touch the same number; a counted row may be any."""
        if self.array.name != other.array.name:
            return False
        counted = isinstance(self.row, LoopIndex) or isinstance(other.row, LoopIndex)
        return (counted or _cross(self.row, self.rows, other.row, other.rows)) and _cross(
            self.col, self.cols, other.col, other.cols
        )


def _cross(a: Any, size: int, b: Any, other: int) -> bool:
    return bool(a < b + other and b < a + size)


@dataclass(frozen=True)
class Contract:
    """out[:, o] (+)= matrix @ inp[:, i] for every (i, o) in ``columns``; the matrix is constant and sparse, or an
    argument of space ``matrix``."""

    out: View
    matrix: np.ndarray | Array
    inp: View
    columns: tuple[tuple[int, int], ...]
    accumulate: bool


@dataclass(frozen=True)
class Pointwise:
    """outs = function(*ins) row by row. Each argument is a list with one value per column; an array of one row (or
    a scalar table) is the same for every row. The function returns one list per out. ``as_written``: values are best computed in the
    order in which the function does, not output by output."""

    function: Callable[..., Any]
    ins: tuple[View, ...]
    outs: tuple[View, ...]
    rows: int
    as_written: bool = False

    def recorded(self) -> list[list[Expr]]:
        """The expressions of the outs' columns. Column ``c`` of argument ``i`` is the input (i, c), or that of an argument
        before it that is the same column of the same array."""
        known: dict[tuple[Any, ...], Expr] = {}

        def column(v: View, i: int, c: int) -> Expr:
            return known.setdefault((v.array.name, v.row, v.rows, v.col + c), Expr("input", value=(i, c)))

        inputs = [[column(v, i, c) for c in range(v.cols)] for i, v in enumerate(self.ins)]
        results = [[wrap(x) for x in columns] for columns in self.function(*inputs)]
        for view, columns in zip(self.outs, results, strict=True):
            if len(columns) != view.cols:
                raise ValueError(f"pointwise into {view.array.name}: {len(columns)} values for {view.cols} columns")
        return results


@dataclass(frozen=True)
class Gather:
    """out = store[index[:, column]]"""

    out: View
    store: Array
    index: Array
    column: int


@dataclass(frozen=True)
class Scatter:
    """store[index[:, column]] (+)= inp"""

    inp: View
    store: Array
    index: Array
    column: int
    accumulate: bool


@dataclass(frozen=True)
class Repeat:
    """The body, ``count`` times."""

    index: LoopIndex
    count: int
    body: tuple[Any, ...]


@dataclass(frozen=True)
class When:
    """The body, for items whose slot index[:, column] is not 0. A backend may execute it for other items too: all results
    leave through that column, or others that are 0 for the same items, and slot 0 of a store belongs to no item."""

    index: Array
    column: int
    body: tuple[Any, ...]


@dataclass(frozen=True)
class WhenAny:
    """The body, where ``flag``, a number of each item, is not 0. A backend may execute it for other items too: the body must leave
    every bit of theirs as it was. Batch arguments that no other statement touches are read and written only then. ``mostly``: it is done
    for many items, side by side."""

    flag: View
    body: tuple[Any, ...]
    mostly: bool = False


@dataclass(frozen=True)
class Barrier:
    """Between the parts of a fused kernel: what comes before rounds as if it stood alone."""


Statement = Barrier | Contract | Pointwise | Gather | Scatter | Repeat | When | WhenAny


@dataclass
class Kernel:
    """Arguments and statements; build with the methods, then hand to a backend."""

    name: str
    fixed: bool = False  # compute in double whatever the run's precision
    arrays: dict[str, Array] = field(default_factory=dict)
    statements: list[Any] = field(default_factory=list)
    column_names: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def name_columns(self, names: Sequence[str], *arrays: Array) -> None:
        """Name the columns of arrays for printed formulas; generated code does not depend on it.

        Parameters
        ----------
        names : sequence of str
            One name for each column.
        *arrays : Array
            Arrays with as many columns.

        Raises
        ------
        ValueError
            If an array has another number of columns.
        """
        for array in arrays:
            if array.cols != len(names):
                raise ValueError(f"kernel {self.name}: {len(names)} names for the {array.cols} columns of {array.name}")
            self.column_names[array.name] = tuple(names)

    def _declare(self, array: Array) -> Array:
        if array.name in self.arrays:
            raise ValueError(f"kernel {self.name}: {array.name} declared twice")
        self.arrays[array.name] = array
        return array

    def batch(
        self, name: str, rows: int, cols: int, intent: Literal["in", "out", "inout"] = "in", narrow: bool = False
    ) -> Array:
        return self._declare(Array(name, rows, cols, "batch", intent, self.fixed, narrow=narrow))

    def store(
        self, name: str, rows: int, cols: int, intent: Literal["in", "out", "inout"] = "in", narrow: bool = False
    ) -> Array:
        return self._declare(Array(name, rows, cols, "store", intent, narrow=narrow))

    def index(self, name: str, cols: int = 1) -> Array:
        return self._declare(Array(name, 1, cols, "index", "in"))

    def scalar(self, name: str, rows: int = 1, cols: int = 1, changing: bool = False) -> Array:
        return self._declare(Array(name, rows, cols, "scalar", "in", changing=changing))

    def matrix(self, name: str, rows: int, cols: int, chosen: Array | None = None) -> Array:
        """A table, or several of which ``chosen`` says which one an item takes: all items of a batch the same."""
        which = chosen.name if chosen is not None else ""
        return self._declare(Array(name, rows, cols, "matrix", "in", self.fixed, chosen=which))

    def temp(self, name: str, rows: int, cols: int) -> Array:
        return self._declare(Array(name, rows, cols, "temp", "", self.fixed))

    def scratch(self, name: str, rows: int, cols: int) -> Array:
        """The temporary of this name and size, which statements in different places may share."""
        known = self.arrays.get(name)
        if known is not None and (known.space, known.rows, known.cols) == ("temp", rows, cols):
            return known
        return self.temp(name, rows, cols)

    def barrier(self) -> None:
        """What follows sees arguments as memory holds them: what comes before rounds as if it stood alone."""
        self.statements.append(Barrier())

    def contract(
        self,
        out: Array | View,
        matrix: np.ndarray | Array,
        inp: Array | View,
        columns: Sequence[tuple[int, int]] | None = None,
        accumulate: bool = False,
    ) -> None:
        out, inp = as_view(out), as_view(inp)
        columns = tuple(columns) if columns is not None else tuple((i, i) for i in range(inp.cols))
        rows, used = (matrix.rows, matrix.cols) if isinstance(matrix, Array) else matrix.shape
        if rows > out.rows or used > inp.rows:
            raise ValueError(f"kernel {self.name}: matrix ({rows}, {used}) against {out} and {inp}")
        if any(not (0 <= i < inp.cols and 0 <= o < out.cols) for i, o in columns):
            raise ValueError(f"kernel {self.name}: columns {columns} against {inp.cols} in and {out.cols} out")
        if out.overlaps(inp):
            raise ValueError(f"kernel {self.name}: a contraction cannot write {out.array.name} while it reads it")
        if out.array.narrow or inp.array.narrow:
            raise ValueError(f"kernel {self.name}: contractions work on numbers of the run's precision")
        self.statements.append(Contract(out, matrix, inp, columns, accumulate))

    def pointwise(
        self,
        function: Callable[..., Any],
        ins: Sequence[Array | View],
        outs: Sequence[Array | View],
        rows: int | None = None,
        as_written: bool = False,
    ) -> None:
        views = tuple(as_view(v) for v in outs)
        count = rows if rows is not None else views[0].rows
        given = tuple(as_view(v) for v in ins)
        for out in views:
            for inp in given:
                if out.overlaps(inp) and count > 1 and (inp.row != out.row or inp.rows == 1):
                    raise ValueError(
                        f"kernel {self.name}: row by row, {out.array.name} would be written before another row reads it"
                    )
        if any(v.array.narrow and v.array.space != "batch" for v in (*given, *views)):
            raise ValueError(f"kernel {self.name}: row by row, only batches are in single precision")
        for v in (*given, *views):
            if v.array.space != "scalar" and v.rows < count and not (v.rows == 1 and v in given):
                raise ValueError(f"kernel {self.name}: {v.array.name} has {v.rows} rows, not {count}")
        self.statements.append(Pointwise(function, given, views, count, as_written))

    def gather(self, out: Array | View, store: Array, index: Array, column: int = 0) -> None:
        self.statements.append(Gather(as_view(out), store, index, column))

    def scatter(self, inp: Array | View, store: Array, index: Array, column: int = 0, accumulate: bool = False) -> None:
        self.statements.append(Scatter(as_view(inp), store, index, column, accumulate))

    def repeat(self, name: str, count: int, body: Callable[[LoopIndex], None]) -> None:
        """Record ``body(counter)`` once; it runs ``count`` times."""
        outer, self.statements = self.statements, []
        body(LoopIndex(name))
        outer.append(Repeat(LoopIndex(name), count, tuple(self.statements)))
        self.statements = outer

    def when(self, index: Array, column: int, body: Callable[[], None], also: Sequence[int] = ()) -> None:
        """Record ``body()``, done for the items that have a slot in this column. ``also``: columns in which the same items have slots."""
        outer, self.statements = self.statements, []
        body()
        for s in self.statements:
            if isinstance(s, Scatter) and (s.index.name != index.name or s.column not in (column, *also)):
                raise ValueError(
                    f"kernel {self.name}: what is done for some items only cannot go through {s.index.name}"
                )
        outer.append(When(index, column, tuple(self.statements)))
        self.statements = outer

    def when_any(self, flag: Array | View, body: Callable[[], None], mostly: bool = False) -> None:
        """Record ``body()``, done for batches in which an item's ``flag`` (a temporary of one number) is not 0. It stands for
        itself: not inside another statement, and without messages: it contracts and computes, also repeatedly. ``mostly``: this is done for
        so many batches that what it touches is worth fetching ahead."""
        view = as_view(flag)
        if (view.rows, view.cols, view.array.space) != (1, 1, "temp"):
            raise ValueError(f"kernel {self.name}: {view.array.name} is no temporary of one number")
        outer, self.statements = self.statements, []
        body()
        for s in _unrolled(self.statements):
            if not isinstance(s, Contract | Pointwise):
                raise ValueError(
                    f"kernel {self.name}: what depends on {view.array.name} can contract and compute, no more"
                )
        outer.append(WhenAny(view, tuple(self.statements), mostly))
        self.statements = outer

    @property
    def occasional(self) -> frozenset[str]:
        """Names of batch arguments that only statements under ``when_any`` touch, of those that are not done mostly."""
        often = {n for s in self.statements if not isinstance(s, WhenAny) or s.mostly for n in touched(s)}
        return frozenset(a.name for a in self.arguments if a.space == "batch") - often

    @property
    def arguments(self) -> list[Array]:
        return [a for a in self.arrays.values() if a.space in ("batch", "store", "index", "matrix")]

    @property
    def scalars(self) -> list[Array]:
        return [a for a in self.arrays.values() if a.space == "scalar"]

    @property
    def temps(self) -> list[Array]:
        return [a for a in self.arrays.values() if a.space == "temp"]


def _unrolled(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Statements, with those that are repeated in place of what repeats them."""
    for s in statements:
        yield from _unrolled(s.body) if isinstance(s, Repeat) else (s,)


def fuse(name: str, *parts: Kernel) -> Kernel:
    """One kernel that does all ``parts`` in turn for an item before it goes on to the next: arguments and temporaries of
    one name are one.

    What lies between two large kernels, such as a limiter at nodal points, so works on numbers that are in fast memory
    already. Every number is rounded as in the separate kernels. ValueError where a name means two things, or where only
    some parts compute in double whatever the run's precision.
    """
    fused = Kernel(name, parts[0].fixed)
    for part in parts:
        if part.fixed != fused.fixed:
            raise ValueError(f"{name}: {part.name} and {parts[0].name} do not compute in the same precision")
        for array in part.arrays.values():
            known = fused.arrays.setdefault(array.name, array)
            if replace(known, intent=array.intent) != array:
                raise ValueError(f"{name}: {array.name} of {part.name} is another array in an earlier kernel")
            if known.intent != array.intent:
                fused.arrays[array.name] = replace(known, intent="inout")
        if fused.statements:
            fused.barrier()
        fused.statements += part.statements
        fused.column_names |= part.column_names
    return fused


def touched(s: Any) -> list[str]:
    """Names of the arrays that a statement and those inside it work on."""
    match s:
        case Contract():
            return [s.inp.array.name, s.out.array.name]
        case Pointwise():
            return [v.array.name for v in (*s.ins, *s.outs)]
        case Gather():
            return [s.out.array.name]
        case Scatter():
            return [s.inp.array.name]
        case Repeat() | When() | WhenAny():
            return [name for inner in s.body for name in touched(inner)]
    return []


def as_view(array: Array | View) -> View:
    return array if isinstance(array, View) else array.view()


def sparse(matrix: np.ndarray) -> np.ndarray:
    """The matrix with rounding noise set to exact zero (|entry| <= 1e-10)."""
    return np.where(np.abs(matrix) > 1e-10, matrix, 0.0)
