"""Lowers a kernel to C: one function over batches of ``lanes`` items, explicit vectors, OpenMP over batches.

Layout: batch arrays [batch][row][col][lane]; stores [slot][row][col]; indices [batch][col][lane].
"""

from __future__ import annotations

from importlib import resources

import numpy as np

from faultwave.backends.cpu.formula import Formula
from faultwave.kernels.expr import Expr, wrap
from faultwave.kernels.language import (
    Array,
    Contract,
    Gather,
    Kernel,
    LoopIndex,
    Pointwise,
    Repeat,
    Scatter,
    Statement,
    View,
)


def lower(kernel: Kernel, real: str, lanes: int) -> str:
    """C source of ``kernel`` with ``real`` ('double' or 'float') numbers and ``lanes`` items a vector."""
    return _Lowering(kernel, real, lanes).source()


# What the C text calls its own, beside names that end in a number.
_TAKEN = frozenset(
    """arg scalar begin end batch lane r o p j m x V VM I R F ALL SPLAT SELECT LANES MAGNITUDE BIAS MANTISSA run it
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while""".split()
)


def text(name: str) -> str:
    """How an array or counter is called in the C text."""
    return f"{name}_" if name in _TAKEN or name[-1] == "_" or name[-1].isdigit() else name


class _Lowering:
    def __init__(self, kernel: Kernel, real: str, lanes: int):
        self.kernel, self.store_real, self.lanes = kernel, real, lanes
        self.real = "double" if kernel.fixed else real
        self.tables: list[str] = []
        self.lines: list[str] = []
        self.formulas = 0
        self.scalar_offset: dict[str, int] = {}
        offset = 0
        for table in kernel.scalars:
            self.scalar_offset[table.name] = offset
            offset += table.rows * table.cols

    def source(self) -> str:
        for statement in self.kernel.statements:
            self.statement(statement)
        head = resources.files(__package__).joinpath("vector.h").read_text()
        body = "\n".join("    " + line for line in self.declarations() + self.lines)
        return (
            f"#define R {self.real}\n#define LANES {self.lanes}\n"
            f"#define R_IS_DOUBLE {int(self.real == 'double')}\n{head}\n" + "\n".join(self.tables) + "\n"
            f"void run(void **restrict arg, const double *restrict scalar, long begin, long end) {{\n"
            f"  #pragma omp parallel for schedule(dynamic, 4) if (end - begin > 1)\n"
            f"  for (long batch = begin; batch < end; ++batch) {{\n{body}\n  }}\n}}\n"
        )

    def declarations(self) -> list[str]:
        lines = []
        for i, a in enumerate(self.kernel.arguments):
            const = "const " if a.intent == "in" else ""
            if a.space == "batch":
                lines.append(f"{const}V *restrict {text(a.name)} = ({const}V *)arg[{i}] + batch * {a.rows * a.cols};")
            elif a.space == "index":
                lines.append(
                    f"const long *restrict {text(a.name)} = (const long *)arg[{i}] + batch * {a.cols * self.lanes};"
                )
            elif a.space == "matrix":
                lines.append(f"const R *restrict {text(a.name)} = (const R *)arg[{i}];")
            else:
                lines.append(f"{const}{self.store_real} *{text(a.name)} = ({const}{self.store_real} *)arg[{i}];")
        lines += [f"V {text(a.name)}[{a.rows * a.cols}];" for a in self.kernel.temps]
        return lines

    def statement(self, s: Statement) -> None:
        match s:
            case Contract():
                self.contract(s)
            case Pointwise():
                self.pointwise(s)
            case Gather():
                self.transfer(s.out, s.store, s.index, s.column, "{view}[{j}][lane] = p[{j}];", "const ")
            case Scatter():
                op = "+=" if s.accumulate else "="
                self.transfer(s.inp, s.store, s.index, s.column, f"p[{{j}}] {op} {{view}}[{{j}}][lane];", "")
            case Repeat():
                self.lines.append(
                    f"for (int {text(s.index.name)} = 0; {text(s.index.name)} < {s.count}; ++{text(s.index.name)}) {{"
                )
                for inner in s.body:
                    self.statement(inner)
                self.lines.append("}")
            case _:
                raise TypeError(f"unknown statement {s}")

    def transfer(self, view: View, store: Array, index: Array, column: int, move: str, const: str) -> None:
        """Between a private view and slots of a store: element-major there, lanes innermost here."""
        if view.cols != view.array.cols or not isinstance(view.row, int):
            raise ValueError(f"kernel {self.kernel.name}: gather and scatter need whole rows of {view.array.name}")
        size = view.rows * view.cols
        if store.rows * store.cols != size:
            raise ValueError(
                f"kernel {self.kernel.name}: {store.name} has {store.rows * store.cols} numbers, not {size}"
            )
        base = f"({text(view.array.name)} + {view.row * view.array.cols})"
        self.lines += [
            f"for (int lane = 0; lane < {self.lanes}; ++lane) {{",
            f"  {const}{self.store_real} *p = {text(store.name)} + {text(index.name)}[{column * self.lanes} + lane] * {size}L;",
            f"  for (int j = 0; j < {size}; ++j) {move.format(view=base, j='j')}",
            "}",
        ]

    def contract(self, s: Contract) -> None:
        if isinstance(s.matrix, Array):
            table = s.matrix
            step = (
                f"for (int p = 0; p < {table.cols}; ++p) {{",
                f"{text(table.name)}[r * {table.cols} + p]",
                f"p * {s.inp.array.cols}",
            )
            return self.contraction(s, table.rows, *step)
        n, rows = len(self.tables), len(s.matrix)
        self.table(n, s.matrix, s.inp.array.cols)
        step = f"for (int p = start{n}[r]; p < start{n}[r + 1]; ++p) {{", f"value{n}[p]", f"offset{n}[p]"
        self.contraction(s, rows, *step)

    def table(self, n: int, matrix: np.ndarray, stride: int) -> None:
        """Row table of a constant sparse matrix: values and offsets into the input."""
        pointer, offsets, values = [0], [], []
        for row in matrix:
            nonzero = np.flatnonzero(row)
            offsets += [int(k) * stride for k in nonzero]
            values += [repr(float(row[k])) for k in nonzero]
            pointer.append(len(values))
        if not values:
            values, offsets = ["0.0"], [0]
        self.tables.append(
            f"static const R value{n}[] = {{{', '.join(values)}}};\n"
            f"static const int offset{n}[] = {{{', '.join(map(str, offsets))}}};\n"
            f"static const int start{n}[] = {{{', '.join(map(str, pointer))}}};"
        )

    def contraction(self, s: Contract, rows: int, loop: str, value: str, offset: str) -> None:
        """One broadcast, then a multiply-add for every column, per nonzero of a row."""
        inp = f"{text(s.inp.array.name)} + {self.position(s.inp)}"
        out = f"{text(s.out.array.name)} + {self.position(s.out)}"
        accumulators = [f"a{i}" for i in range(len(s.columns))]
        lines = [f"for (int r = 0; r < {rows}; ++r) {{", f"  V *o = (V *)({out}) + r * {s.out.array.cols};"]
        for a, (_, target) in zip(accumulators, s.columns, strict=True):
            lines.append(f"  V {a} = {f'o[{target}]' if s.accumulate else 'SPLAT(0.0)'};")
        lines.append(f"  {loop} const R m = {value}; const V *x = ({inp}) + {offset};")
        lines += [f"    {a} += m * x[{source}];" for a, (source, _) in zip(accumulators, s.columns, strict=True)]
        lines.append("  }")
        lines += [f"  o[{target}] = {a};" for a, (_, target) in zip(accumulators, s.columns, strict=True)]
        self.lines += [*lines, "}"]

    def position(self, v: View) -> str:
        if isinstance(v.row, LoopIndex):
            return f"{text(v.row.name)} * {v.array.cols} + {v.col}"
        return str(v.row * v.array.cols + v.col)

    def pointwise(self, s: Pointwise) -> None:
        inputs: dict[object, tuple[str, bool]] = {}
        arguments: list[list[Expr]] = []
        for i, v in enumerate(s.ins):
            arguments.append([Expr("input", value=(i, c)) for c in range(v.cols)])
            for c in range(v.cols):
                inputs[i, c] = self.load(v, c, s.rows)
        self.formulas += 1
        formula = Formula(inputs, f"f{self.formulas}_")
        results = s.function(*arguments)
        stores = []
        for view, columns in zip(s.outs, results, strict=True):
            if len(columns) != view.cols:
                raise ValueError(f"pointwise into {view.array.name}: {len(columns)} values for {view.cols} columns")
            row = f" + r * {view.array.cols}" if s.rows > 1 else ""
            for c, value in enumerate(columns):
                name = formula.emit(wrap(value))
                stores.append(f"{text(view.array.name)}[{self.position(view)} + {c}{row}] = {name};")
        loop = f"for (int r = 0; r < {s.rows}; ++r) {{" if s.rows > 1 else "{"
        self.lines += ["{", *formula.scopes[0].lines, loop, *formula.scopes[1].lines, *stores, "}", "}"]

    def load(self, v: View, c: int, rows: int) -> tuple[str, bool]:
        a = v.array
        if a.space == "scalar":
            base = self.scalar_offset[a.name] + v.col + c
            row = f"{text(v.row.name)} * {a.cols}" if isinstance(v.row, LoopIndex) else str(v.row * a.cols)
            return f"SPLAT((R)scalar[{base} + {row}])", False
        if v.rows == 1 or rows == 1:
            return f"{text(a.name)}[{self.position(v)} + {c}]", False
        return f"{text(a.name)}[{self.position(v)} + {c} + r * {a.cols}]", True
