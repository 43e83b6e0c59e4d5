"""Lowering of kernels to C: one function over batches of ``lanes`` items, explicit vectors, OpenMP over batches.

Layout: batch arrays [batch][row][col][lane]; stores [slot][row][col]; indices [batch][col][lane].
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources

from faultwave.backends.cpu import sparse
from faultwave.backends.cpu.prefetch import Prefetch
from faultwave.backends.cpu.sparse import SparseFunctions
from faultwave.backends.cpu.vector_formula import SAME, VectorFormula, c_name, iterates
from faultwave.backends.formula import pointwise_lines
from faultwave.kernels.language import (
    Array,
    Barrier,
    Contract,
    Gather,
    Kernel,
    LoopIndex,
    Pointwise,
    Repeat,
    Scatter,
    Statement,
    View,
    When,
    WhenAny,
)


def transposes(lanes: int, narrow: bool = False) -> str:
    """Return C text of ``transpose(V *a)`` (LANES x LANES, in place) and of ``load`` and ``save`` of slots by such blocks.

    The last block of a slot overlaps the previous one. ``narrow``: for slots of single precision, with suffixed names.
    """
    real, kind, anywhere, end = ("float", "VN", "VNU", "_narrow") if narrow else ("R", "V", "VU", "")
    wide, slim = ("WIDE({})", "NARROW({})") if narrow else ("{}", "{}")
    lanes_in = " ".join(f"t[{i}] = *(const {anywhere} *)(slot[{i}] + at);" for i in range(lanes))
    lanes_out = " ".join(f"*({anywhere} *)(slot[{i}] + at) = t[{i}];" for i in range(lanes))
    rows_in = " ".join(f"t[{i}] = {slim.format(f'v[at + {i}]')};" for i in range(lanes))
    rows_out = " ".join(f"v[at + {i}] = {wide.format(f't[{i}]')};" for i in range(lanes))
    following = f"if (at + {lanes} == size) break; at = at + {2 * lanes} <= size ? at + {lanes} : size - {lanes};"
    each = f"for (int i = 0; i < {lanes}; ++i) for (int j = 0; j < size; ++j)"
    return "\n".join(
        [
            *_transpose(lanes, kind, end),
            f"F void load{end}(V *v, {real} *const *slot, int size) {{",
            f"  if (size < {lanes}) {{",
            f"    {each} v[j][i] = slot[i][j];",
            "    return;",
            "  }",
            f"  for (int at = 0;;) {{ {kind} t[{lanes}]; {lanes_in} transpose{end}(t); {rows_out} {following} }}",
            "}",
            f"F void save{end}(const V *v, {real} *const *slot, int size) {{",
            f"  if (size < {lanes}) {{",
            f"    {each} slot[i][j] = v[j][i];",
            "    return;",
            "  }",
            f"  for (int at = 0;;) {{ {kind} t[{lanes}]; {rows_in} transpose{end}(t); {lanes_out} {following} }}",
            "}",
        ]
    )


def _transpose(lanes: int, kind: str, end: str) -> list[str]:
    """Return the lines of ``transpose`` for vectors of a kind."""
    lines, step = [f"F void transpose{end}({kind} *a) {{", f"  {kind} b;"], lanes // 2
    while step:
        low = ", ".join(str(i if not i & step else lanes + i - step) for i in range(lanes))
        high = ", ".join(str(i + step if not i & step else lanes + i) for i in range(lanes))
        for i in range(lanes):
            if not i & step:
                j = i + step
                lines.append(
                    f"  b = __builtin_shufflevector(a[{i}], a[{j}], {low}); "
                    f"a[{j}] = __builtin_shufflevector(a[{i}], a[{j}], {high}); a[{i}] = b;"
                )
        step //= 2
    return [*lines, "}"]


NARROW = """/* Vectors of numbers that are single in memory and double here. */
typedef float VN __attribute__((vector_size(LANES * sizeof(float))));
typedef float VNU __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float))));
#define WIDE(x) __builtin_convertvector(x, V)
#define NARROW(x) __builtin_convertvector(x, VN)"""

SIDE_BY_SIDE = 2
"""Number of rows computed side by side in formulas that iterate. With three, numbers would leave the registers."""


def lower(kernel: Kernel, real: str, lanes: int, registers: int = 32, assembled: bool = False) -> str:
    """Return the C source of a kernel.

    Parameters
    ----------
    kernel : Kernel
        Kernel to lower.
    real : {"double", "float"}
        C type of the numbers; a kernel with ``fixed`` precision computes in double precision.
    lanes : int
        Number of items in a vector.
    registers : int
        Number of vector registers of the machine.
    assembled : bool
        True to write contractions in assembly language (see ``assembly``).
    """
    return _Lowering(kernel, real, lanes, registers, assembled).source()


class _Lowering:
    def __init__(self, kernel: Kernel, real: str, lanes: int, registers: int, assembled: bool):
        self.kernel, self.store_real, self.lanes = kernel, real, lanes
        self.real = "double" if kernel.fixed else real
        self.sparse = SparseFunctions(registers, sparse.writer(self.real, lanes, registers) if assembled else None)
        self.lines: list[str] = []
        self.formulas = 0
        self.scalar_offset: dict[str, int] = {}
        offset = 0
        for table in kernel.scalars:
            self.scalar_offset[table.name] = offset
            offset += table.rows * table.cols

    def source(self) -> str:
        self.prefetch = Prefetch(self.kernel, self.lanes, lambda store: 8 if self.real_of(store) == "double" else 4)
        self.all(self.kernel.statements, self.prefetch)
        head = resources.files(__package__).joinpath("include", "vector.h").read_text()
        body = "\n".join("    " + line for line in self.declarations() + self.lines)
        return (
            f"#define R {self.real}\n#define LANES {self.lanes}\n"
            f"#define R_IS_DOUBLE {int(self.real == 'double')}\n{head}\n{transposes(self.lanes)}\n{self.narrow_moves()}"
            + "\n".join(self.sparse.texts)
            + "\n"
            f"void run(void **restrict arg, const double *restrict scalar, long begin, long end) {{\n"
            f"  share_out(end - begin);\n"
            f"  #pragma omp parallel for schedule(runtime) if (end - begin > 1)\n"
            f"  for (long batch = begin; batch < end; ++batch) {{\n    const int next = batch + 1 < end;\n{body}\n  }}\n}}\n"
        )

    def all(self, statements: Iterable[Statement], prefetch: Prefetch) -> None:
        for s in statements:
            self.lines += prefetch.before(s)
            self.statement(s)

    def declarations(self) -> list[str]:
        lines, tables = [], []
        for i, a in enumerate(self.kernel.arguments):
            const = "const " if a.intent == "in" else ""
            if a.space == "batch":
                kind = "VN" if self.is_narrow(a) else "V"
                lines.append(
                    f"{const}{kind} *restrict {c_name(a.name)} = ({const}{kind} *)arg[{i}] + batch * {a.rows * a.cols};"
                )
            elif a.space == "index":
                lines.append(
                    f"const int *restrict {c_name(a.name)} = (const int *)arg[{i}] + batch * {a.cols * self.lanes};"
                )
            elif a.space == "matrix":
                tables.append(f"const R *restrict {c_name(a.name)} = (const R *)arg[{i}]{self.chosen(a)};")
            else:
                real = self.real_of(a)
                lines.append(f"{real} *{c_name(a.name)} = ({real} *)arg[{i}];")
        lines += [f"V {c_name(a.name)}[{a.rows * a.cols}];" for a in self.kernel.temps]
        return [*lines, *tables]

    def is_narrow(self, a: Array) -> bool:
        """Return True if an argument has a shorter type in memory than in computations."""
        return a.narrow and self.real == "double"

    def real_of(self, store: Array) -> str:
        """Return the C type of a store's numbers in memory."""
        return "float" if store.narrow else self.store_real

    def narrow_moves(self) -> str:
        """Return C text for arguments with a shorter type in memory."""
        if not any(self.is_narrow(a) for a in self.kernel.arguments):
            return ""
        return f"{NARROW}\n{transposes(self.lanes, narrow=True)}\n"

    def chosen(self, a: Array) -> str:
        """Return the offset of the table that a batch selects."""
        return f" + {c_name(a.chosen)}[0] * {a.rows * a.cols}L" if a.chosen else ""

    def statement(self, s: Statement) -> None:
        match s:
            case Contract():
                self.contract(s)
            case Pointwise():
                self.pointwise(s)
            case Gather():
                self.transfer(s, s.out)
            case Scatter():
                self.transfer(s, s.inp)
            case Repeat():
                self.lines.append(
                    f"for (int {c_name(s.index.name)} = 0; {c_name(s.index.name)} < {s.count}; ++{c_name(s.index.name)}) {{"
                )
                for inner, fetches in zip(s.body, self.prefetch.repeated(s), strict=True):
                    self.lines += fetches
                    self.statement(inner)
                self.lines.append("}")
            case When():
                self.lines.append(f"if (any({c_name(s.index.name)} + {s.column * self.lanes})) {{")
                for inner in s.body:
                    self.statement(inner)
                self.lines.append("}")
            case WhenAny():
                flag = f"{c_name(s.flag.array.name)}[{self.position(s.flag)}]"
                self.lines.append(f"if (v_any({flag} != SPLAT(0.0))) {{")
                outer = self.prefetch
                self.prefetch = outer.inside(s)
                self.all(s.body, self.prefetch)
                self.lines += ["} else {", *outer.instead(self.prefetch), "}"] if s.mostly else ["}"]
                self.prefetch = outer
            case Barrier():
                self.lines.append('__asm__ volatile("" ::: "memory");')
            case _:
                raise TypeError(f"unknown statement {s}")

    def transfer(self, s: Gather | Scatter, view: View) -> None:
        """Write a transfer between a private view (lanes innermost) and slots of a store (element-major)."""
        if view.cols != view.array.cols or not isinstance(view.row, int):
            raise ValueError(f"kernel {self.kernel.name}: gather and scatter need whole rows of {view.array.name}")
        size, store, lanes = view.rows * view.cols, s.store, self.lanes
        if store.rows * store.cols != size:
            raise ValueError(
                f"kernel {self.kernel.name}: {store.name} has {store.rows * store.cols} numbers, not {size}"
            )
        base, real = f"{c_name(view.array.name)} + {view.row * view.array.cols}", self.real_of(store)
        slots = ", ".join(
            f"{c_name(store.name)} + {c_name(s.index.name)}[{s.column * lanes + i}] * {size}L" for i in range(lanes)
        )
        self.lines.append(f"{{ {real} *slot[{lanes}] = {{{slots}}};")
        if (real == self.real or self.is_narrow(store)) and not (isinstance(s, Scatter) and s.accumulate):
            narrow = "_narrow" if self.is_narrow(store) else ""
            self.lines.append(f"{'load' if isinstance(s, Gather) else 'save'}{narrow}({base}, slot, {size});")
        else:
            each = f"({base})[j][lane]"
            op = "+=" if isinstance(s, Scatter) and s.accumulate else "="
            move = f"{each} = slot[lane][j];" if isinstance(s, Gather) else f"slot[lane][j] {op} {each};"
            self.lines += [f"for (int lane = 0; lane < {lanes}; ++lane)", f"  for (int j = 0; j < {size}; ++j) {move}"]
        self.lines.append("}")

    def contract(self, s: Contract) -> None:
        inp = f"{c_name(s.inp.array.name)} + {self.position(s.inp)}"
        out = f"{c_name(s.out.array.name)} + {self.position(s.out)}"
        if isinstance(s.matrix, Array):
            self.dense(s, s.matrix, inp, out)
        else:
            strides = s.inp.array.cols, s.out.array.cols
            self.lines += self.sparse.calls(s.matrix, strides, s.columns, s.accumulate, inp, out)

    def dense(self, s: Contract, table: Array, inp: str, out: str) -> None:
        """Write a product with a matrix passed at launch, in blocks of rows so that enough sums are in flight."""
        block = max(1, (24 if self.sparse.registers >= 32 else 12) // len(s.columns))
        whole = table.rows // block * block
        if whole:
            self.dense_rows(s, table, inp, out, f"for (int r = 0; r < {whole}; r += {block}) {{", block)
        if whole < table.rows:
            self.dense_rows(s, table, inp, out, f"{{ const int r = {whole};", table.rows - whole)

    def dense_rows(self, s: Contract, table: Array, inp: str, out: str, head: str, rows: int) -> None:
        sums = [(i, source, target, f"a{i}_{target}") for i in range(rows) for source, target in s.columns]
        stride = s.out.array.cols
        lines = [head, f"  V *o = ({out}) + r * {stride};"]
        lines += [f"  V {a} = {f'o[{i * stride + t}]' if s.accumulate else 'SPLAT(0.0)'};" for i, _, t, a in sums]
        lines.append(f"  for (int p = 0; p < {table.cols}; ++p) {{ const V *x = {inp} + p * {s.inp.array.cols};")
        lines += [f"    const R m{i} = {c_name(table.name)}[(r + {i}) * {table.cols} + p];" for i in range(rows)]
        lines += [f"    {a} += m{i} * x[{source}];" for i, source, _, a in sums]
        lines.append("  }")
        lines += [f"  o[{i * stride + t}] = {a};" for i, _, t, a in sums]
        self.lines += [*lines, "}"]

    def position(self, v: View) -> str:
        if isinstance(v.row, LoopIndex):
            return f"{c_name(v.row.name)} * {v.array.cols} + {v.col}"
        return str(v.row * v.array.cols + v.col)

    def pointwise(self, s: Pointwise) -> None:
        def store(view: View, c: int, value: str) -> str:
            row = f" + r * {view.array.cols}" if s.rows > 1 else ""
            value = f"NARROW({value})" if self.is_narrow(view.array) else value
            return f"{c_name(view.array.name)}[{self.position(view)} + {c}{row}] = {value};"

        self.formulas += 1
        made: list[VectorFormula] = []
        loops = iterates(s)
        side_by_side = SIDE_BY_SIDE if s.rows > 1 and loops else 1
        names = ("r", *(f"r{k}" for k in range(1, side_by_side)))

        def written(by_one: bool) -> tuple[list[str], list[str]]:
            def make(inputs: dict[object, tuple[str, bool]]) -> VectorFormula:
                made.append(VectorFormula(inputs, f"f{self.formulas}_", names, by_one))
                return made[-1]

            return pointwise_lines(s, make, self.load, store)

        once, rows = written(False)
        if s.rows > 1 and not loops and len(made[-1].places) >= SAME:
            once, rows = written(True)
        # The last row may be done twice, by the same numbers.
        adjacent = [f"const int {n} = r + {k} < {s.rows} ? r + {k} : {s.rows - 1};" for k, n in enumerate(names) if k]
        loop = f"for (int r = 0; r < {s.rows}; r += {side_by_side}) {{" if s.rows > 1 else "{"
        head = [*adjacent, *made[-1].head(), *self.prefetch.within(s, side_by_side)]
        self.lines += ["{", *once, *made[-1].filled(), loop, *head, *rows, "}", "}"]

    def load(self, v: View, c: int, rows: int) -> tuple[str, bool]:
        a = v.array
        if a.space == "scalar":
            base = self.scalar_offset[a.name] + v.col + c
            row = f"{c_name(v.row.name)} * {a.cols}" if isinstance(v.row, LoopIndex) else str(v.row * a.cols)
            return f"SPLAT((R)scalar[{base} + {row}])", False
        same = v.rows == 1 or rows == 1
        number = f"{c_name(a.name)}[{self.position(v)} + {c}{'' if same else f' + r * {a.cols}'}]"
        return f"WIDE({number})" if self.is_narrow(a) else number, not same
