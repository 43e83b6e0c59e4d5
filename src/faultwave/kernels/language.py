"""Kernel language: a kernel is a short list of statements over a batch of items (cells or faces).

Arguments declare their content and use; strides, lanes, threads and memory spaces belong to backends.

* ``batch``   per-item matrix (rows, cols), one per item of the batch
* ``store``   slots of (rows, cols) numbers reached through an index, shared by kernels
* ``index``   per-item slot numbers
* ``matrix``  dense table of numbers passed at launch, the same for all items, or one of several that an index selects:
  a contraction chosen at run time
* ``scalar``  small table of numbers, the same for all items of a launch; ``changing`` if it differs between steps of
  the same length
* ``temp``    private to the kernel
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from faultwave.kernels.expr import Expr, Formula, Key, wrap

Space = Literal["batch", "store", "index", "matrix", "scalar", "temp"]


@dataclass(frozen=True)
class Array:
    """Kernel argument or temporary.

    Attributes
    ----------
    name : str
        Name in the kernel.
    rows, cols : int
        Shape per item or slot.
    space : {'batch', 'store', 'index', 'matrix', 'scalar', 'temp'}
        Kind of memory (see the module's text).
    intent : {'in', 'out', 'inout', ''}
        Use by the kernel.
    fixed : bool
        Double precision in every run.
    changing : bool
        Scalar table that differs between steps of the same length.
    chosen : str
        Name of the index whose first column selects one of several tables of a matrix, the same for a whole batch.
    narrow : bool
        Single precision in memory: numbers are rounded when stored, and computed with in the run's precision.
    """

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
        """Return a view of rows from ``row`` and columns from ``col``.

        A row that a loop counts (``LoopIndex``) selects one row by default. Raises ValueError outside the array.
        """
        if isinstance(row, int):
            rows = self.rows - row if rows is None else rows
        else:
            rows = 1 if rows is None else rows
        cols = self.cols - col if cols is None else cols
        first = row if isinstance(row, int) else 0
        if min(first, col) < 0 or min(rows, cols) < 1 or first + rows > self.rows or col + cols > self.cols:
            raise ValueError(
                f"{self.name} has {self.rows} rows and {self.cols} columns; a view of {rows} rows from {first} and {cols} columns "
                f"from {col} is not inside"
            )
        return View(self, row, rows, col, cols)


@dataclass(frozen=True)
class LoopIndex:
    """Counter of a ``Repeat``, which selects a row of a scalar table."""

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
        """Return True if both views may touch the same number. A row counted by a loop may be any row."""
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
    """Matrix product: out[:, o] (+)= matrix @ inp[:, i] for every (i, o) in ``columns``.

    The matrix is constant and sparse, or an argument of space ``matrix``.
    """

    out: View
    matrix: np.ndarray | Array
    inp: View
    columns: tuple[tuple[int, int], ...]
    accumulate: bool


@dataclass(frozen=True)
class Pointwise:
    """Formula applied row by row: outs = function(*ins).

    Each argument of the function is a list with one value per column; an array of one row (or a scalar table) is the same for
    every row. The function returns one list per output. With ``as_written``, backends compute values in the order of the
    function, not output by output.
    """

    function: Formula
    ins: tuple[View, ...]
    outs: tuple[View, ...]
    rows: int
    as_written: bool = False

    def recorded(self) -> list[list[Expr]]:
        """Return the expressions of the columns of each output.

        Column ``c`` of argument ``i`` is the input (i, c), or the input of an earlier argument that is the same column of the
        same array.
        """
        known: dict[Key, Expr] = {}

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
    """Read of slots: out = store[index[:, column]]."""

    out: View
    store: Array
    index: Array
    column: int


@dataclass(frozen=True)
class Scatter:
    """Write to slots: store[index[:, column]] (+)= inp."""

    inp: View
    store: Array
    index: Array
    column: int
    accumulate: bool


@dataclass(frozen=True)
class Repeat:
    """Loop that executes its body ``count`` times."""

    index: LoopIndex
    count: int
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class When:
    """Body for the items whose slot index[:, column] is not 0.

    A backend may execute it for other items too: all results leave through this column, or through others that are 0 for the
    same items, and slot 0 of a store belongs to no item.
    """

    index: Array
    column: int
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class WhenAny:
    """Body for the items whose ``flag`` is not 0.

    A backend may execute it for other items too, so the body must leave every bit of their data unchanged. Batch arguments
    that no other statement touches are read and written only then. ``mostly``: the body is executed for many items, and may
    be vectorised.
    """

    flag: View
    body: tuple[Statement, ...]
    mostly: bool = False


@dataclass(frozen=True)
class Barrier:
    """Boundary between two kernels that are fused: the statements before it round as in a separate kernel."""


Statement = Barrier | Contract | Pointwise | Gather | Scatter | Repeat | When | WhenAny


@dataclass(eq=False)
class Kernel:
    """Arguments and statements of a kernel, built with the methods below and passed to a backend.

    Once a backend has compiled it, it must not change any more: its fingerprint is computed only once.

    Attributes
    ----------
    name : str
        Name of the kernel.
    fixed : bool
        Compute in double precision in every run.
    arrays : dict of str to Array
        Arguments and temporaries by name.
    statements : list
        Statements in the order of execution.
    column_names : dict of str to tuple of str
        Names of columns in printed formulas.
    """

    name: str
    fixed: bool = False  # compute in double whatever the run's precision
    arrays: dict[str, Array] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
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
                raise ValueError(
                    f"kernel {self.name}: {array.name} has {array.cols} columns, but {len(names)} names were passed"
                )
            self.column_names[array.name] = tuple(names)

    def _declare(self, array: Array) -> Array:
        if array.name in self.arrays:
            raise ValueError(f"kernel {self.name}: {array.name} is declared twice")
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
        """Declare a dense table, or several from which the index ``chosen`` selects one per batch of items."""
        which = chosen.name if chosen is not None else ""
        return self._declare(Array(name, rows, cols, "matrix", "in", self.fixed, chosen=which))

    def temp(self, name: str, rows: int, cols: int) -> Array:
        return self._declare(Array(name, rows, cols, "temp", "", self.fixed))

    def scratch(self, name: str, rows: int, cols: int) -> Array:
        """Return the temporary of this name and size, which separate statements may share."""
        known = self.arrays.get(name)
        if known is not None and (known.space, known.rows, known.cols) == ("temp", rows, cols):
            return known
        return self.temp(name, rows, cols)

    def barrier(self) -> None:
        """Append a boundary: later statements see arguments as stored in memory, earlier ones round as in a separate kernel."""
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
            raise ValueError(
                f"kernel {self.name}: a matrix of {rows} x {used} does not fit {inp.rows} rows of {inp.array.name} (input) and "
                f"{out.rows} rows of {out.array.name} (output)"
            )
        if any(not (0 <= i < inp.cols and 0 <= o < out.cols) for i, o in columns):
            raise ValueError(
                f"kernel {self.name}: the pairs of columns (input, output) {columns} exceed the {inp.cols} columns of "
                f"{inp.array.name} or the {out.cols} of {out.array.name}"
            )
        if out.overlaps(inp):
            raise ValueError(f"kernel {self.name}: a contraction cannot write {out.array.name} while it reads it")
        if out.array.narrow or inp.array.narrow:
            raise ValueError(f"kernel {self.name}: contractions work on numbers of the run's precision")
        self.statements.append(Contract(out, matrix, inp, columns, accumulate))

    def pointwise(
        self,
        function: Formula,
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
                        f"kernel {self.name}: row by row, {out.array.name} would be written before another row reads it. "
                        "Write another array"
                    )
        if any(v.array.narrow and v.array.space != "batch" for v in (*given, *views)):
            raise ValueError(f"kernel {self.name}: only batch arguments of pointwise formulas may be narrow")
        for v in (*given, *views):
            if v.array.space != "scalar" and v.rows < count and not (v.rows == 1 and v in given):
                raise ValueError(f"kernel {self.name}: {v.array.name} has {v.rows} rows, but the formula needs {count}")
        self.statements.append(Pointwise(function, given, views, count, as_written))

    def gather(self, out: Array | View, store: Array, index: Array, column: int = 0) -> None:
        self.statements.append(Gather(as_view(out), store, index, column))

    def scatter(self, inp: Array | View, store: Array, index: Array, column: int = 0, accumulate: bool = False) -> None:
        self.statements.append(Scatter(as_view(inp), store, index, column, accumulate))

    def repeat(self, name: str, count: int, body: Callable[[LoopIndex], None]) -> None:
        """Record ``body(counter)`` once, to be executed ``count`` times."""
        outer, self.statements = self.statements, []
        body(LoopIndex(name))
        outer.append(Repeat(LoopIndex(name), count, tuple(self.statements)))
        self.statements = outer

    def when(self, index: Array, column: int, body: Callable[[], None], also: Sequence[int] = ()) -> None:
        """Record ``body()`` for the items that have a slot in this column; ``also`` lists columns with slots for the same items."""
        outer, self.statements = self.statements, []
        body()
        for s in _unrolled(self.statements):
            if isinstance(s, Scatter) and (s.index.name != index.name or s.column not in (column, *also)):
                raise ValueError(
                    f"kernel {self.name}: the body of a condition on {index.name} can scatter only through its own columns, not through "
                    f"column {s.column} of {s.index.name}"
                )
        outer.append(When(index, column, tuple(self.statements)))
        self.statements = outer

    def when_any(self, flag: Array | View, body: Callable[[], None], mostly: bool = False) -> None:
        """Record ``body()`` for the batches in which an item's ``flag`` (a temporary of one number) is not 0.

        The statement stands at the top level of a kernel, and its body contains only contractions and pointwise formulas, also
        repeated ones. ``mostly``: the condition holds for so large a share of the batches that prefetching its data pays.
        """
        view = as_view(flag)
        if (view.rows, view.cols, view.array.space) != (1, 1, "temp"):
            raise ValueError(
                f"kernel {self.name}: {view.array.name} cannot be a flag (allowed: a temporary of 1 row and 1 column)"
            )
        outer, self.statements = self.statements, []
        body()
        for s in _unrolled(self.statements):
            if not isinstance(s, Contract | Pointwise):
                raise ValueError(
                    f"kernel {self.name}: the body of when_any on {view.array.name} contains other statements "
                    "(allowed: contract, pointwise, repeat)"
                )
        outer.append(WhenAny(view, tuple(self.statements), mostly))
        self.statements = outer

    @property
    def occasional(self) -> frozenset[str]:
        """Names of the batch arguments that only ``when_any`` bodies touch which are not executed ``mostly``."""
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
    """Yield the statements, with the bodies of repetitions in place of the repetitions."""
    for s in statements:
        yield from _unrolled(s.body) if isinstance(s, Repeat) else (s,)


def fuse(name: str, *parts: Kernel) -> Kernel:
    """Return one kernel that executes all ``parts`` in turn for an item before the next item.

    Arguments and temporaries of the same name are identified. Work between two large kernels, such as a limiter at nodal
    points, thus operates on numbers that are already in fast memory. Every number is rounded as in the separate kernels.

    Parameters
    ----------
    name : str
        Name of the new kernel.
    *parts : Kernel
        Kernels in the order of execution.

    Raises
    ------
    ValueError
        If a name means two different arrays, or if only some kernels always compute in double precision.
    """
    fused = Kernel(name, parts[0].fixed)
    for part in parts:
        if part.fixed != fused.fixed:
            raise ValueError(f"{name}: {part.name} and {parts[0].name} do not compute in the same precision")
        for array in part.arrays.values():
            known = fused.arrays.setdefault(array.name, array)
            if replace(known, intent=array.intent) != array:
                raise ValueError(
                    f"{name}: {array.name} of {part.name} differs from the array of this name in an earlier kernel"
                )
            if known.intent != array.intent:
                fused.arrays[array.name] = replace(known, intent="inout")
        if fused.statements:
            fused.barrier()
        fused.statements += part.statements
        fused.column_names |= part.column_names
    return fused


def touched(s: Statement) -> list[str]:
    """Return the names of the data arrays that a statement and its body read or write.

    Stores, indices, matrices of contractions passed at launch and the flag of a ``WhenAny`` are left out. Names may repeat.
    """
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
    """Return a view unchanged and an array as a view of all of it."""
    return array if isinstance(array, View) else array.view()


def sparse(matrix: np.ndarray) -> np.ndarray:
    """Return the matrix with rounding noise (|entry| <= 1e-10) set to exact zero."""
    return np.where(np.abs(matrix) > 1e-10, matrix, 0.0)
