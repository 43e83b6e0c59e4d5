"""Contractions with a constant sparse matrix as C functions: fully unrolled over the nonzeros of a block of rows.

A block's sums stay in registers while each input number is loaded once; what varies is the broadcast matrix entry,
which vector units with broadcasting operands take for free. One call does one column, or a few neighbouring ones where
registers are scarce and an entry is better broadcast once for several.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_MANY, _FEW = ((8, 1),), ((2, 3), (5, 2), (12, 1))  # (rows, columns) held in registers, widest first


class SparseFunctions:
    """The functions of one kernel; equal matrices with equal strides share one."""

    def __init__(self, registers: int):
        self.registers = registers
        self.blocks = _MANY if registers >= 32 else _FEW
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
        """C statements for out[:, o] (+)= matrix @ inp[:, i], for every (i, o) in ``columns``."""
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
            self.names[key] = f"contract{len(self.names)}"
            self.texts.append(_text(self.names[key], matrix, strides, accumulate, rows, width))
        return self.names[key]


def _neighbours(columns: Sequence[tuple[int, int]], width: int) -> bool:
    first = columns[0]
    return list(columns) == [(first[0] + c, first[1] + c) for c in range(width)]


def _text(
    name: str, matrix: np.ndarray, strides: tuple[int, int], accumulate: bool, block: int, width: int
) -> str:  # fmt: skip
    values: list[str] = []
    lines: list[str] = []
    columns = range(width)
    for start in range(0, len(matrix), block):
        rows = range(start, min(start + block, len(matrix)))
        initial = [f"y[{r * strides[1] + c}]" if accumulate else "SPLAT(0.0)" for r in rows for c in columns]
        sums = [f"a{r}_{c}" for r in rows for c in columns]
        lines.append("  { " + " ".join(f"V {a} = {i};" for a, i in zip(sums, initial, strict=True)))
        for k in np.flatnonzero(matrix[start : rows.stop].any(0)):
            nonzero = [r for r in rows if matrix[r, k]]
            loads = " ".join(f"const V x{c} = x[{k * strides[0] + c}];" for c in columns)
            terms = [f"a{r}_{c} += m[{len(values) + n}] * x{c};" for n, r in enumerate(nonzero) for c in columns]
            lines.append(f"    {{ {loads} {' '.join(terms)} }}")
            values += [repr(float(matrix[r, k])) for r in nonzero]
        ends = " ".join(f"y[{r * strides[1] + c}] = a{r}_{c};" for r in rows for c in columns)
        lines.append(f"    {ends} }}")
    return "\n".join(
        [
            f"static const R {name}_m[] = {{{', '.join(values) or '0.0'}}};",
            f"static __attribute__((noinline)) void {name}(const V *restrict x, V *restrict y) {{",
            f"  const R *m = {name}_m;",
            '  __asm__("" : "+r"(m)); /* keep the entries in memory: as literals each would be a whole vector */',
            *lines,
            "}",
        ]
    )
