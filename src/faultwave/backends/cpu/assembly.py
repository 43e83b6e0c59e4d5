"""Contractions in assembly language for x86-64 processors with fused multiply-add and systems with ELF files.

The sums have the same terms in the same order as in the C text, so that results agree bit for bit. Matrix entries are read
from memory: AVX-512 broadcasts them in the multiplication, AVX2 with a separate instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from faultwave.backends.cpu.sparse import Contraction

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


__all__ = ["NEEDED", "writer"]
