"""Lowering of planned kernels to one of three dialects (CUDA, HIP, OpenCL), which differ in their preludes only.

Memory layout: batch arguments [batch][row][col][lane], stores [slot][row][col], indices [batch][col][lane]; in shared memory
[row][col][lane] with the pitch of each array. A thread has a lane and a worker number; every loop over rows or columns is
distributed cyclically over the workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import resources

import numpy as np

from faultwave.backends.device.schedule import ROWS, Phase, Placed, Plan, plan
from faultwave.backends.device.target import Target
from faultwave.backends.device.tasks import Copy, Dense, Product, Task
from faultwave.backends.formula import Formula, number, pointwise_lines
from faultwave.kernels.language import (
    Array,
    Contract,
    Gather,
    Kernel,
    LoopIndex,
    Pointwise,
    Repeat,
    Scatter,
    View,
    When,
    WhenAny,
)
from faultwave.kernels.values import Value


def lower(kernel: Kernel, target: Target, single: bool) -> tuple[str, Plan]:
    """Return the source text of ``kernel`` for a target, and its launch plan.

    Parameters
    ----------
    kernel : Kernel
        Kernel to lower.
    target : Target
        Device that executes it.
    single : bool
        True for single precision; a kernel with ``fixed`` precision computes in double precision.
    """
    made = plan(kernel, target, single)
    return prelude(target, made.size == 4, single) + _Writer(made).text(), made


def _every(phases: Sequence[Phase]) -> Iterator[Task]:
    """Yield the tasks of phases, including tasks inside bodies."""
    for placed in (p for phase in phases for p in phase):
        yield placed.task
        yield from _every(placed.phases)


def prelude(target: Target, single: bool, single_stores: bool) -> str:
    """Return the common beginning of kernel texts: dialect, formulas, type R of computations and type S of numbers in stores."""
    dialect = {"hip": "cuda"}.get(target.dialect, target.dialect)  # both share one header
    head = resources.files(__package__).joinpath("include", f"{dialect}.h").read_text()
    real, store = ("float" if s else "double" for s in (single, single_stores))
    common = resources.files(__package__).joinpath("include", "formulas.h").read_text()
    return f"#define R {real}\n#define S {store}\n{head}{common}"


class ScalarFormula(Formula):
    """Formula on scalars of one thread, where conditions are 0 or 1."""

    def text(self, value: Value, args: tuple[str, ...]) -> str:
        return f"!{args[0]}" if value.op == "not" else super().text(value, args)


def name(array: str) -> str:
    """Return the name of an array in the generated text, distinct from all names of the text itself."""
    return "A_" + array.replace(".", "_w")


def _kind(a: Array) -> str:
    """Return the C type of an argument's numbers in memory."""
    return "float" if a.narrow else {"index": "int", "store": "S"}.get(a.space, "R")


LONG = 6000
"""Largest number of unrolled multiplications of an OpenCL kernel: drivers take minutes to compile more at the start of a run."""


class _Writer:
    def __init__(self, made: Plan):
        self.plan, self.kernel = made, made.kernel
        products = [t.work for t in _every(made.phases) if isinstance(t.work, Product)]
        written = sum(int(np.count_nonzero(term.matrix)) for p in products for term in p.terms)
        self.loops = made.target.dialect == "opencl" and written > LONG
        self.lines: list[str] = []
        self.tables: list[str] = []
        self.known: dict[tuple[str, str], str] = {}  # (type, content) -> name of a table
        self.formulas = 0
        self.skip = ""  # added to the start of loops
        self.offsets: dict[str, int] = {}
        self.sizes = {False: 0, True: 0}  # numbers of constant tables (arguments) and of changing ones (memory)
        for table in self.kernel.scalars:
            self.offsets[table.name] = self.sizes[table.changing]
            self.sizes[table.changing] += table.rows * table.cols

    def text(self) -> str:
        p = self.plan
        for i, phase in enumerate(p.phases):
            self.lines += ["BARRIER;"] if i else []
            self.phase(phase)
        arguments = [self.argument(a) for a in self.kernel.arguments]
        arguments += ["GLOBAL const R *RESTRICT changing", "const int at"] if self.sizes[True] else []
        body = "\n".join("  " + line for line in self.declarations() + self.lines)
        return (
            f"typedef struct {{ R v[{max(1, self.sizes[False])}]; }} Scalars;\n"
            + "\n".join(self.tables)
            + f"\nKERNEL({p.threads}, {p.target.bound(p.groups, p.threads)}) void {self.kernel.name}(\n"
            f"  {', '.join(arguments)}, const int first, const UNCHANGED Scalars s SHARED_ARGUMENT)\n{{\n"
            f"  SHARED_ARRAY\n  const int thread = THREAD, lane = thread % {p.share}, worker = thread / {p.share};\n"
            f"  const long item = first + (long)GROUP * {p.share};\n"
            f"  const long batch = item / {p.lanes};\n  const int part = (int)(item % {p.lanes});\n"
            f"{body}\n}}\n"
        )

    def argument(self, a: Array) -> str:
        const = "const " if a.intent == "in" else ""
        return f"GLOBAL {const}{_kind(a)} *RESTRICT G_{a.name}"

    def declarations(self) -> list[str]:
        lines, tables, lanes = [], [], self.plan.lanes
        for a in self.kernel.arguments:
            const = "const " if a.intent == "in" else ""
            if a.space == "batch":
                lines.append(
                    f"GLOBAL {const}{_kind(a)} *const {name(a.name)} = "
                    f"G_{a.name} + batch * {a.rows * a.cols * lanes} + part + lane;"
                )
            elif a.space == "index":
                lines.append(f"GLOBAL const int *const {name(a.name)} = G_{a.name} + batch * {a.cols * lanes} + part;")
            elif a.space == "matrix":
                which = f" + {name(a.chosen)}[0] * {a.rows * a.cols}" if a.chosen else ""
                tables.append(f"GLOBAL const R *const {name(a.name)} = G_{a.name}{which};")
            else:
                lines.append(f"GLOBAL {const}{_kind(a)} *const {name(a.name)} = G_{a.name};")
        return [*lines, *tables] + [
            f"LOCAL R *const {name(n)} = shared + {place.offset} + lane;" for n, place in self.plan.places.items()
        ]

    # ---- phases ---------------------------------------------------------------------------------------------------

    def phase(self, phase: Phase) -> None:
        for placed in phase:
            match placed.task.work:
                case Product() as p:
                    self.product(p, placed.worker)
                case Dense(s):
                    self.dense(s, placed.worker)
                case Pointwise() as s:
                    self.pointwise(s, placed.worker)
                case Gather() as s:
                    self.transfer(s, s.out)
                case Scatter() as s:
                    self.transfer(s, s.inp)
                case Copy() as c:
                    self.copy(c)
                case Repeat() as s:
                    self.repeat(s, placed)
                case When() as s:
                    slot = f"{name(s.index.name)}[{s.column * self.plan.lanes} + i]"
                    self.when(slot, placed)
                case WhenAny() as s:
                    self.when(f"{self.at(s.flag, 0)[:-1]} - lane + i] != 0", placed)

    def when(self, condition: str, placed: Placed) -> None:
        """Write a body that a group executes if a condition holds for any of its items.

        All threads evaluate the condition of every item i and so agree. If it is 0 for all, every loop of the body starts behind its end:
        with a branch around barriers, some compilers duplicate the rest of the kernel.
        """
        self.lines += ["{ int any = 0;", f"for (int i = 0; i < {self.plan.share}; ++i) any |= {condition};"]
        self.lines.append("const int skip = any ? 0 : 1 << 24;")
        self.skip = " + skip"
        for i, phase in enumerate(placed.phases):
            self.lines += ["BARRIER;"] if i else []
            self.phase(phase)
        self.skip = ""
        self.lines.append("}")

    def repeat(self, s: Repeat, placed: Placed) -> None:
        i = f"C_{s.index.name}"
        self.lines.append(f"for (int {i} = 0{self.skip}; {i} < {s.count}; ++{i}) {{")
        for phase in placed.phases:
            self.lines.append("BARRIER;")
            self.phase(phase)
        self.lines.append("}")

    def round(self, variable: str, count: int, worker: int, stride: int = 1) -> str:
        """Return the head of a loop that distributes ``count`` pieces of work cyclically, the first to ``worker``.

        The start is found by a comparison: with a remainder, the compiler of PoCL 3.0 (LLVM 14) left out the second iteration of some
        loops.
        """
        workers = self.plan.workers
        start = f"(worker < {worker} ? worker + {workers - worker} : worker - {worker})" if worker else "worker"
        return f"for (int {variable} = {start}{self.skip}; {variable} < {count}; {variable} += {workers}) {{"

    # ---- numbers --------------------------------------------------------------------------------------------------

    def pitch(self, array: Array) -> int:
        place = self.plan.places.get(array.name)
        return place.pitch if place else self.plan.lanes

    def at(self, v: View, col: int, row: str = "") -> str:
        """Return the C expression of a number of a view, in its first row plus the expression ``row``."""
        a, pitch = v.array, self.pitch(v.array)
        terms = [str((v.row * a.cols + v.col + col) * pitch if isinstance(v.row, int) else (v.col + col) * pitch)]
        if isinstance(v.row, LoopIndex):
            terms.append(f"C_{v.row.name} * {a.cols * pitch}")
        if row:
            terms.append(f"{row} * {a.cols * pitch}")
        return f"{name(a.name)}[{' + '.join(terms)}]"

    # ---- work -----------------------------------------------------------------------------------------------------

    def copy(self, c: Copy) -> None:
        """Write the copy of an argument between global and shared memory, one line of memory at a time."""
        count, workers = c.inner.rows * c.inner.cols, self.plan.workers
        inner = f"{name(c.inner.name)}[i * {self.pitch(c.inner)}]"
        outer = f"{name(c.argument.name)}[i * {self.plan.lanes}]"
        move = f"{inner} = {outer};" if c.inward else f"{outer} = {inner};"
        self.lines.append(f"for (int i = worker; i < {count}; i += {workers}) {move}")

    def transfer(self, s: Gather | Scatter, view: View) -> None:
        """Write a copy between shared memory and slots of a store, where adjacent threads access adjacent numbers of a slot."""
        if view.cols != view.array.cols or not isinstance(view.row, int):
            raise ValueError(f"kernel {self.kernel.name}: gather and scatter need whole rows of {view.array.name}")
        size, share, threads = view.rows * view.cols, self.plan.share, self.plan.threads
        if s.store.rows * s.store.cols != size:
            raise ValueError(
                f"kernel {self.kernel.name}: {s.store.name} has {s.store.rows * s.store.cols} numbers, not {size}"
            )
        pitch, first = self.pitch(view.array), view.row * view.array.cols
        slot = f"{name(s.index.name)}[{s.column * self.plan.lanes} + i / {size}]"
        outer = f"{name(s.store.name)}[(long){slot} * {size} + i % {size}]"
        near = f"{name(view.array.name)}[({first} + i % {size}) * {pitch} + i / {size} - lane]"
        if isinstance(s, Gather):
            move = f"{near} = (R){outer};"
        else:
            move = f"{outer} {'+=' if s.accumulate else '='} ({_kind(s.store)}){near};"
        self.lines.append(f"for (int i = thread{self.skip}; i < {size * share}; i += {threads}) {move}")

    def product(self, p: Product, worker: int) -> None:
        """Write a product: columns are distributed over the workers, matrix entries are literals, sums stay in registers."""
        if self.loops:
            self.looped(p, worker)
            return
        together = max(1, self.plan.target.warp // self.plan.share)
        width = -(-len(p.columns) // together) * together
        for first in range(0, p.rows, ROWS):
            rows = range(first, min(first + ROWS, p.rows))
            self.lines.append(self.round("k", len(p.columns), worker))
            self.lines += ["  " + line for line in self.sums(p, rows)]
            self.lines.append("}")
            worker = (worker + width) % self.plan.workers

    def sums(self, p: Product, rows: range) -> list[str]:
        pitch, cols = self.pitch(p.out.array), p.out.array.cols
        base = p.out.row * cols + p.out.col  # type: ignore[operator]
        lines = [f"LOCAL R *const y = {name(p.out.array.name)} + {self.column(p.columns, pitch, base * pitch)};"]
        if p.out.array.name not in self.plan.places:
            lines[0] = "GLOBAL" + lines[0][5:]
        start = [f"y[{r * cols * pitch}]" if p.accumulate else "0" for r in rows]
        lines.append("R " + ", ".join(f"a{r} = {x}" for r, x in zip(rows, start, strict=True)) + ";")
        for n, t in enumerate(p.terms):
            block = t.matrix[rows.start : rows.stop]
            inner, wide = self.pitch(t.inp.array), t.inp.array.cols
            origin = (t.inp.row * wide + t.inp.col) * inner  # type: ignore[operator]
            space = "LOCAL" if t.inp.array.name in self.plan.places else "GLOBAL const"
            lines.append(f"{{ {space} R *const x = {name(t.inp.array.name)} + {self.column(t.columns, inner, origin)};")
            for k in np.flatnonzero(block.any(0)):
                terms = [f"a{r} += {self.literal(t.matrix[r, k])} * x{k};" for r in rows if t.matrix[r, k]]
                lines.append(f"  const R x{k} = x[{k * wide * inner}]; {' '.join(terms)}")
            lines.append("}" if n < len(p.terms) else "")
        lines.append(" ".join(f"y[{r * cols * pitch}] = a{r};" for r in rows))
        return lines

    def looped(self, p: Product, worker: int) -> None:
        """Write a product as a loop over tables of nonzeros, distributed over the workers, with the summation order of ``sums``."""
        pitch, cols = self.pitch(p.out.array), p.out.array.cols
        base = (p.out.row * cols + p.out.col) * pitch  # type: ignore[operator]
        where = f"r * {cols * pitch} + {self.column(p.columns, pitch, base)}"
        number = f"{name(p.out.array.name)}[{where}]"
        self.lines.append(self.round("n", len(p.columns) * p.rows, worker))
        self.lines.append(f"  const int r = n % {p.rows}, k = n / {p.rows};")
        self.lines.append(f"  R a = {number if p.accumulate else '0'};")
        for t in p.terms:
            inner, wide = self.pitch(t.inp.array), t.inp.array.cols
            origin = (t.inp.row * wide + t.inp.col) * inner  # type: ignore[operator]
            space = "LOCAL" if t.inp.array.name in self.plan.places else "GLOBAL const"
            rows, used = np.nonzero(t.matrix)
            starts = self.table("int", [str(i) for i in np.searchsorted(rows, np.arange(p.rows + 1))])
            at = self.table("int", [str(i * wide * inner) for i in used])
            values = self.table("R", [self.literal(v) for v in t.matrix[rows, used]])
            self.lines.append(
                f"  {{ {space} R *const x = {name(t.inp.array.name)} + {self.column(t.columns, inner, origin)};\n"
                f"    for (int i = {starts}[r]; i < {starts}[r + 1]; ++i) a += {values}[i] * x[{at}[i]]; }}"
            )
        self.lines += [f"  {number} = a;", "}"]

    def table(self, kind: str, values: Sequence[str]) -> str:
        """Return the name of a table in constant memory; tables of equal content are shared."""
        content = kind, ", ".join(values) or "0"
        if content not in self.known:
            self.known[content] = made = f"table_{len(self.known)}"
            self.tables.append(f"CONSTANT {kind} {made}[] = {{{content[1]}}};")
        return self.known[content]

    def literal(self, value: float) -> str:
        return f"(R)({number(float(value))})"

    def column(self, columns: Sequence[int], pitch: int, origin: int) -> str:
        """Return the C expression of the offset of column k: linear if the columns are equally spaced, else a table in constant memory."""
        steps = {b - a for a, b in zip(columns, columns[1:], strict=False)}
        if len(steps) <= 1:
            step = steps.pop() if steps else 0
            return f"{origin + columns[0] * pitch} + k * {step * pitch}" if step else str(origin + columns[0] * pitch)
        return f"{origin} + {self.table('int', [str(c * pitch) for c in columns])}[k]"

    def dense(self, s: Contract, worker: int) -> None:
        """Write a product with a matrix passed at launch: a worker sums all columns of a row; rows are distributed over the workers."""
        table: Array = s.matrix  # type: ignore[assignment]
        self.lines.append(self.round("r", table.rows, worker))
        start = [self.at(s.out, o, "r") if s.accumulate else "0" for _, o in s.columns]
        self.lines.append("  R " + ", ".join(f"a{i} = {x}" for i, x in enumerate(start)) + ";")
        self.lines.append(
            f"  for (int p = 0; p < {table.cols}; ++p) {{ const R m = {name(table.name)}[r * {table.cols} + p];"
        )
        terms = [f"a{n} += m * {self.at(s.inp, i, 'p')};" for n, (i, _) in enumerate(s.columns)]
        self.lines.append(f"    {' '.join(terms)} }}")
        self.lines.append("  " + " ".join(f"{self.at(s.out, o, 'r')} = a{n};" for n, (_, o) in enumerate(s.columns)))
        self.lines.append("}")

    def pointwise(self, s: Pointwise, worker: int) -> None:
        self.formulas += 1
        once, rows = pointwise_lines(
            s,
            lambda inputs: ScalarFormula(inputs, f"f{self.formulas}_"),
            self.load,
            lambda view, c, value: f"{self.at(view, c, 'r' if s.rows > 1 else '')} = {value};",
        )
        self.lines += [self.round("r", s.rows, worker), *["  " + line for line in (*once, *rows)], "}"]

    def load(self, v: View, c: int, rows: int) -> tuple[str, bool]:
        a = v.array
        if a.space == "scalar":
            base = self.offsets[a.name] + v.col + c
            row = f"{base} + C_{v.row.name} * {a.cols}" if isinstance(v.row, LoopIndex) else str(base + v.row * a.cols)
            return (f"changing[at + {row}]" if a.changing else f"s.v[{row}]"), False
        here = "r" if v.rows > 1 and rows > 1 else ""
        return self.at(v, c, here), bool(here)
