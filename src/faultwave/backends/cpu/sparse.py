"""Functions that multiply with a constant sparse matrix, fully unrolled, in C or in assembly language for x86-64.

The sums of a block stay in registers, and each input number is loaded once. Matrix entries are broadcast, at no cost on vector units
with broadcasting operands. A call computes one column, or a few adjacent columns where registers are scarce and a broadcast should serve
several columns.

Such a function repeats a few instructions thousands of times, and would take most of the compile time of a kernel: where the instruction
set is known (``assembly``), the instructions are written directly, elsewhere the same sums are written as C.

The sums have the same terms in the same order as in the C text, so that results agree bit for bit. Matrix entries are read
from memory: AVX-512 broadcasts them in the multiplication, AVX2 with a separate instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

_MANY, _FEW = ((8, 1),), ((2, 3), (5, 2), (12, 1))  # (rows, columns) held in registers, widest first


@dataclass(frozen=True)
class Block:
    """Block of rows that are summed at once; each term is a row of the input with its (row, entry number) pairs."""

    rows: range
    terms: list[tuple[int, list[tuple[int, int]]]]


@dataclass(frozen=True)
class Contraction:
    """Matrix product out[:, :width] (+)= matrix @ inp[:, :width].

    The rows of inp and out are ``strides`` numbers apart; ``entries`` are the nonzeros in the order of the blocks.
    """

    name: str
    entries: list[float]
    blocks: list[Block]
    strides: tuple[int, int]
    accumulate: bool
    width: int


class SparseFunctions:
    """Contraction functions of a kernel; equal matrices with equal strides share one.

    Parameters
    ----------
    registers : int
        Number of vector registers.
    write : callable, optional
        Returns the C text of a contraction; ``in_c`` by default.

    Attributes
    ----------
    texts : list of str
        Texts of all functions.
    """

    def __init__(self, registers: int, write: Callable[[Contraction], str] | None = None):
        self.registers = registers
        self.blocks = _MANY if registers >= 32 else _FEW
        self.write = write or in_c
        self.texts: list[str] = []
        self.names: dict[tuple, str] = {}

    def calls(
        self,
        matrix: np.ndarray,
        strides: tuple[int, int],
        columns: Sequence[tuple[int, int]],
        accumulate: bool,
        inp: str,
        out: str,
    ) -> list[str]:
        """Return the C statements of out[:, o] (+)= matrix @ inp[:, i] for every (i, o) in ``columns``."""
        lines, at = [], 0
        while at < len(columns):
            rows, width = next(b for b in self.blocks if _neighbours(columns[at : at + b[1]], b[1]))
            source, target = columns[at]
            name = self.function(matrix, strides, accumulate, rows, width)
            lines.append(f"{name}({inp} + {source}, {out} + {target});")
            at += width
        return lines

    def function(self, matrix: np.ndarray, strides: tuple[int, int], accumulate: bool, rows: int, width: int) -> str:
        key = (matrix.shape, matrix.tobytes(), strides, accumulate, rows, width)
        if key not in self.names:
            name = self.names[key] = f"contract{len(self.names)}"
            entries, blocks = _blocks(matrix, rows)
            self.texts.append(self.write(Contraction(name, entries, blocks, strides, accumulate, width)))
        return self.names[key]


def _neighbours(columns: Sequence[tuple[int, int]], width: int) -> bool:
    first = columns[0]
    return list(columns) == [(first[0] + c, first[1] + c) for c in range(width)]


def _blocks(matrix: np.ndarray, size: int) -> tuple[list[float], list[Block]]:
    """Return the nonzeros in the order in which blocks of ``size`` rows need them, and the blocks."""
    entries: list[float] = []
    blocks = []
    for start in range(0, len(matrix), size):
        rows, terms = range(start, min(start + size, len(matrix))), []
        for k in np.flatnonzero(matrix[start : rows.stop].any(0)):
            nonzero = [r for r in rows if matrix[r, k]]
            terms.append((int(k), [(r, len(entries) + n) for n, r in enumerate(nonzero)]))
            entries += [float(matrix[r, k]) for r in nonzero]
        blocks.append(Block(rows, terms))
    return entries or [0.0], blocks


def in_c(c: Contraction) -> str:
    """Return a contraction as a C function."""
    columns, (inner, outer) = range(c.width), c.strides
    lines: list[str] = []
    for block in c.blocks:
        each = [(r, k) for r in block.rows for k in columns]
        starts = [f"y[{r * outer + k}]" if c.accumulate else "SPLAT(0.0)" for r, k in each]
        lines.append("  { " + " ".join(f"V a{r}_{k} = {s};" for (r, k), s in zip(each, starts, strict=True)))
        for row, sums in block.terms:
            loads = " ".join(f"const V x{k} = x[{row * inner + k}];" for k in columns)
            terms = " ".join(f"a{r}_{k} += m[{n}] * x{k};" for r, n in sums for k in columns)
            lines.append(f"    {{ {loads} {terms} }}")
        lines.append(f"    {' '.join(f'y[{r * outer + k}] = a{r}_{k};' for r, k in each)} }}")
    return "\n".join(
        [
            f"static const R {c.name}_m[] = {{{', '.join(map(repr, c.entries))}}};",
            f"static __attribute__((noinline)) void {c.name}(const V *restrict x, V *restrict y) {{",
            f"  const R *m = {c.name}_m;",
            '  __asm__("" : "+r"(m)); /* keep the entries in memory: as literals each would be a whole vector */',
            *lines,
            "}",
        ]
    )


NEEDED = ("__x86_64__", "__LP64__", "__ELF__", "__FMA__", "__AVX__")
"""Macros that compilers for such machines define."""


def writer(real: str, lanes: int, registers: int) -> Callable[[Contraction], str]:
    """Return a function that writes contractions for vectors of ``lanes`` numbers and a number of vector ``registers``."""
    return _Writer(real, lanes, registers).text


class _Writer:
    def __init__(self, real: str, lanes: int, registers: int):
        self.dtype = np.dtype({"double": np.float64, "float": np.float32}[real])
        self.lanes, self.bytes, self.last = lanes, lanes * self.dtype.itemsize, registers - 1
        self.kind = {64: "zmm", 32: "ymm", 16: "xmm"}[self.bytes]
        self.packed = "pd" if real == "double" else "ps"
        self.single = "sd" if real == "double" else "ss"

    def text(self, c: Contraction) -> str:
        """Return C text: a declaration, and the function as top-level assembly."""
        lines = [
            ".section .rodata", ".p2align 6", f"{c.name}_m:", *self.entries(c.entries), ".text", ".p2align 5",
            f".type {c.name}, @function", f"{c.name}:", f"lea {c.name}_m(%rip), %rax", *self.body(c), "vzeroupper", "ret",
            f".size {c.name}, .-{c.name}",
        ]  # fmt: skip
        declared = f'void {c.name}(const V *x, V *y) __attribute__((visibility("hidden")));'
        written = "\n".join(f'  "{line}\\n"' for line in lines)
        return f"{declared}\n__asm__(\n{written}\n);"

    def entries(self, values: Sequence[float]) -> list[str]:
        """Return the matrix entries as bit patterns, so that decimals are not rounded twice."""
        bits = np.array(values, self.dtype).view(f"u{self.dtype.itemsize}")
        kind = {8: ".quad", 4: ".long"}[self.dtype.itemsize]
        return [f"{kind} {', '.join(f'{b:#x}' for b in bits[i : i + 8])}" for i in range(0, len(bits), 8)]

    def body(self, c: Contraction) -> list[str]:
        lines: list[str] = []
        columns, (inner, outer) = range(c.width), c.strides
        for block in c.blocks:
            sums = {(r, k): i for i, (r, k) in enumerate((r, k) for r in block.rows for k in columns)}
            inputs = [len(sums) + k for k in columns]
            for (r, k), i in sums.items():
                lines.append(self.move(f"{(r * outer + k) * self.bytes}(%rsi)", i) if c.accumulate else self.zero(i))
            for row, terms in block.terms:
                places = [f"{(row * inner + k) * self.bytes}(%rdi)" for k in columns]
                if len(terms) > 1 or self.kind == "zmm":
                    lines += [self.move(place, x) for place, x in zip(places, inputs, strict=True)]
                    places = [f"%{self.kind}{x}" for x in inputs]
                for r, n in terms:
                    lines += self.add(n, [(places[k], sums[r, k]) for k in columns])
            for (r, k), i in sums.items():
                lines.append(f"vmova{self.packed} %{self.kind}{i}, {(r * outer + k) * self.bytes}(%rsi)")
        return lines

    def move(self, place: str, register: int) -> str:
        return f"vmova{self.packed} {place}, %{self.kind}{register}"

    def zero(self, register: int) -> str:
        return f"vxorps %xmm{register}, %xmm{register}, %xmm{register}"  # clears the whole register

    def add(self, entry: int, sums: Sequence[tuple[str, int]]) -> list[str]:
        """Return instructions that add an entry times the number at each place to the sum in a register, for each column."""
        factor, own = f"{entry * self.dtype.itemsize}(%rax)", f"%{self.kind}{self.last}"
        multiply = f"vfmadd231{self.packed}"
        if self.kind == "zmm":
            return [f"{multiply} {factor}{{1to{self.lanes}}}, {x}, %zmm{a}" for x, a in sums]
        return [
            f"vbroadcast{self.single} {factor}, {own}",
            *(f"{multiply} {x}, {own}, %{self.kind}{a}" for x, a in sums),
        ]
