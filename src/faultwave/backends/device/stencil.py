"""Lowering of stencil programs for graphics processors: one kernel per launch, in the three dialects of ``lower``.

A thread processes a column of points upwards, plane by plane. Numbers that a stencil reads in several planes of the column are read once
and passed on in registers; adjacent rows come from the first-level cache, which adjacent threads of a group fill for each other. Every
number thus crosses the memory bus once per launch, and the memory bandwidth limits the rate (docs/decisions/0010).
The text of a kernel does not depend on its box: the same kernel works on any part of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultwave.backends.device.lower import ScalarFormula, prelude
from faultwave.backends.device.target import Dialect, Target
from faultwave.backends.grid import GridArrays
from faultwave.kernels.stencil import Launch, Program, record

THREADS = 256
CHUNK = 32
"""Number of planes of a thread: with more, fewer planes are read twice; with fewer, all multiprocessors are busy."""
BUSY = 2  # least number of resident groups of a multiprocessor (HIP: waves of each of its four units, the same at 256 threads)

HALVES: dict[Dialect, str] = {
    "cuda": (
        "typedef unsigned short H;\n__device__ static inline float half_of(H h) {\n"
        '  float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h)); return f;\n}\n#define LOAD_HALF(p) half_of(*(p))\n'
    ),
    "hip": "typedef _Float16 H;\n#define LOAD_HALF(p) ((R)*(p))\n",
    "opencl": "#pragma OPENCL FP_CONTRACT OFF\ntypedef half H;\n#define LOAD_HALF(p) ((R)vload_half(0, p))\n",
}
"""Definitions of half-precision numbers; for OpenCL also without contraction, so that every operation rounds as in NumPy."""


@dataclass(frozen=True)
class StencilPlan:
    """Launch plan of a stencil kernel.

    Attributes
    ----------
    name, text : str
        Name and source text of the kernel.
    groups : tuple of str
        Groups of arrays, in the order of the arguments.
    width : int
        Threads of a group along x.
    target : Target
        Device.
    threads : int
        Threads of a group.
    shared : int
        Shared memory of a group [bytes].
    """

    name: str
    text: str
    groups: tuple[str, ...]
    width: int
    target: Target
    threads: int = THREADS
    shared: int = 0

    def grid(self, shape: tuple[int, int, int]) -> tuple[int, int, int]:
        """Return the number of thread groups along (z, y, x) for a box of this shape."""
        tile = (CHUNK, self.threads // self.width, self.width)
        z, y, x = (-(-n // t) for n, t in zip(shape, tile, strict=True))
        return z, y, x


def lower_launch(program: Program, arrays: GridArrays, launch: Launch, name: str, target: Target) -> StencilPlan:
    """Return the plan of the kernel of one launch, for the memory layout ``arrays``."""
    writer = _Writer(program, arrays, launch)
    width = 32
    while width > launch.box.shape[2] and width > 4:
        width //= 2
    return StencilPlan(name, head(program, arrays, target) + writer.text(name, width), writer.groups, width, target)


def head(program: Program, arrays: GridArrays, target: Target) -> str:
    """Return the common header of all kernels of a program."""
    single = arrays.dtype == np.float32
    return (
        prelude(target, single, single)
        + HALVES[target.dialect]
        + f"typedef struct {{ R v[{max(1, len(program.scalars))}]; }} Scalars;\n"
        "typedef struct { int z0, z1, y0, y1, x0, x1, wide, high; } Extent;\n"
    )


class _Writer:
    """Writer of the text of one kernel."""

    def __init__(self, program: Program, arrays: GridArrays, launch: Launch):
        self.program, self.arrays, self.launch = program, arrays, launch
        self.reads, self.writes = record(launch.stencil)
        self.found: dict[str, int] = {}  # group -> argument
        self.formula = ScalarFormula({}, "f")

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(self.found)

    def pointer(self, formal: str) -> str:
        """Return the number of the argument with the group of an array."""
        group = self.arrays.group[self.launch.names.get(formal, formal)]
        return f"{self.found.setdefault(group, len(self.found))}"

    def place(self, formal: str, z: int = 0, y: int = 0, x: int = 0) -> str:
        """Return the C expression ('p0 + 544L') of the address of a number of an array at an offset from the current point."""
        name = self.launch.names.get(formal, formal)
        s, number = self.arrays.strides[name], self.pointer(formal)
        return f"p{number} + ({z * s.plane + y * s.row + x + self.arrays.origin[name]}L)"

    def load(self, formal: str, z: int, y: int, x: int) -> str:
        half = self.launch.names.get(formal, formal) in self.arrays.half_precision
        place = self.place(formal, z, y, x)
        return f"LOAD_HALF({place})" if half else f"*({place})"

    def on(self, formal: str, plane: int, y: int, x: int) -> str:
        """Return the C expression of a number of a fixed plane, at an offset from the current row and column."""
        name = self.launch.names.get(formal, formal)
        s, number = self.arrays.strides[name], self.pointer(formal)
        place = f"G{number}[{self.arrays.origin[name] + plane * s.plane + y * s.row + x}L + (long)j * {s.row} + i]"
        return f"LOAD_HALF(&{place})" if name in self.arrays.half_precision else place

    def columns(self) -> dict[tuple[str, int, int], list[int]]:
        """Return the columns that are read in several planes: (array, y, x) -> planes, lowest first."""
        planes: dict[tuple[str, int, int], set[int]] = {}
        for key in self.reads:
            if key[0] == "at":
                planes.setdefault((key[1], key[3], key[4]), set()).add(key[2])
        return {k: list(range(min(v), max(v) + 1)) for k, v in planes.items() if len(v) > 1}

    def inputs(self, columns: dict[tuple[str, int, int], list[int]]) -> None:
        scalars = list(self.program.scalars)
        for key in self.reads:
            kind, formal = key[:2]
            moving = True
            if kind == "at":
                z, y, x = key[2:]
                window = columns.get((formal, y, x))
                text = _window((formal, y, x), z - window[0]) if window else self.load(formal, z, y, x)
            elif kind == "on":
                text, moving = self.on(formal, *key[2:]), False
            elif kind == "line":
                origin = self.arrays.origin[self.launch.names.get(formal, formal)]
                at = {"z": "k", "y": "j", "x": "i"}[key[2]]
                text, moving = f"G{self.pointer(formal)}[{origin} + {at}]", key[2] == "z"
            elif kind == "parity":
                name = self.launch.names.get(formal, formal)
                s = self.arrays.strides[name]
                text = (
                    f"G{self.pointer(formal)}[{self.arrays.origin[name]} + (k & 1) * {s.plane} + (j & 1) * {s.row} + i]"
                )
            else:
                text, moving = f"s.v[{scalars.index(formal)}]", False
            self.formula.inputs[key] = (text, moving)

    def text(self, name: str, width: int) -> str:
        columns = self.columns()
        self.inputs(columns)
        stores = [f"*({self.place(n)}) = {self.formula.emit(v)};" for n, v in self.writes.items()]
        fixed, each = (scope.lines for scope in self.formula.scopes)
        before, newest, shift = [], [], []
        for key, planes in columns.items():
            formal, y, x = key
            names = [_window(key, n) for n in range(len(planes))]
            before += [
                f"R {n} = {self.load(formal, z, y, x)};" for n, z in zip(names[:-1], planes[:-1], strict=True)
            ] + [f"R {names[-1]};"]
            newest.append(f"{names[-1]} = {self.load(formal, planes[-1], y, x)};")
            shift += [f"{a} = {b};" for a, b in zip(names, names[1:], strict=False)]
        written = {self.arrays.group[self.launch.names.get(n, n)] for n in self.writes}
        arguments, pointers, steps = [], [], []
        for group, number in self.found.items():
            kind = "H" if self.arrays.storage[group].dtype == np.float16 else "R"
            const = "" if group in written else "const "
            restrict = "RESTRICT " if const else ""
            arguments.append(f"GLOBAL {const}{kind} *{restrict}G{number}")
            s = next(self.arrays.strides[n] for n in self.program.arrays if self.arrays.group[n] == group)
            if self._moves(group):
                pointers.append(
                    f"GLOBAL {const}{kind} *p{number} = G{number} + (long)k0 * {s.plane} + (long)j * {s.row} + i;"
                )
                steps.append(f"p{number} += {s.plane};")
        rows = [
            f"KERNEL({THREADS}, {BUSY}) void {name}({', '.join(arguments)}, const Scalars s, const Extent e) {{",
            "  const int wide = GROUP % e.wide, high = GROUP / e.wide % e.high, deep = GROUP / e.wide / e.high;",
            f"  const int i = e.x0 + wide * {width} + THREAD % {width}, j = e.y0 + high * {THREADS // width} + THREAD / {width};",
            f"  const int k0 = e.z0 + deep * {CHUNK}, k1 = k0 + {CHUNK} < e.z1 ? k0 + {CHUNK} : e.z1;",
            "  if (i >= e.x1 || j >= e.y1) return;",
            *(f"  {line}" for line in (*pointers, *fixed, *before)),
            "  for (int k = k0; k < k1; ++k) {",
            *(f"    {line}" for line in (*newest, *each, *stores, *shift, *steps)),
            "  }\n}\n",
        ]
        return "\n".join(rows)

    def _moves(self, group: str) -> bool:
        """Return True if a group's arrays are grids, not lines or tables."""
        name = next(n for n in self.program.arrays if self.arrays.group[n] == group)
        return self.program.arrays[name].kind == "grid"


def _window(key: tuple[str, int, int], number: int) -> str:
    formal, y, x = key
    signed = "".join(f"{'m' if v < 0 else 'p'}{abs(v)}" for v in (y, x))
    return f"w_{formal}_{signed}_{number}"
