"""Stencil programs executed with NumPy, level by level over whole boxes: the meaning every backend must agree with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from faultwave.backends.grid import GridArrays, offsets, wrap_axis
from faultwave.kernels.stencil import REACH, Axis, Box, Launch, Layout, Program, check, record


class _Slices:
    """A point that is a whole box: every read is a view."""

    def __init__(self, arrays: GridArrays, program: Program, launch: Launch):
        self.arrays, self.program, self.launch = arrays, program, launch

    def _name(self, name: str) -> str:
        return self.launch.names.get(name, name)

    def at(self, name: str, x: int = 0, y: int = 0, z: int = 0) -> np.ndarray:
        name = self._name(name)
        layout = self.program.arrays[name]
        part = _part(self.arrays.view(name, layout.halo), layout, self.launch.box, (z, y, x))
        return part.astype(self.arrays.dtype) if name in self.arrays.halves else part

    def line(self, name: str, axis: Axis) -> np.ndarray:
        name, k = self._name(name), "zyx".index(axis)
        first = self.program.arrays[name].box.lo[k]
        part = self.arrays.view(name)[self.launch.box.lo[k] - first : self.launch.box.hi[k] - first]
        return part.reshape([-1 if i == k else 1 for i in range(3)])

    def parity(self, name: str) -> np.ndarray:
        (z0, y0, x0), (z1, y1, x1) = self.launch.box.lo, self.launch.box.hi
        table = self.arrays.view(self._name(name))
        return table[np.ix_(np.arange(z0, z1) % 2, np.arange(y0, y1) % 2, np.arange(x0, x1))]

    def scalar(self, name: str) -> Any:
        return self.arrays.dtype.type(self.program.scalars[name])


def _part(view: np.ndarray, own: Layout, box: Box, offset: tuple[int, int, int]) -> np.ndarray:
    lo = [b - o + own.halo + d for b, o, d in zip(box.lo, own.box.lo, offset, strict=True)]
    if min(lo) < 0 or any(s + n > full for s, n, full in zip(lo, box.shape, view.shape, strict=True)):
        raise ValueError(f"the box {box} with offset {offset} (z, y, x) leaves the array of {own.box}")
    return view[tuple(slice(s, s + n) for s, n in zip(lo, box.shape, strict=True))]


class StencilRunner:
    """Runs a program step by step."""

    def __init__(self, program: Program, precision: str, threads: int | None = None):
        check(program)
        self.program = program
        self.arrays = GridArrays(program, {"double": np.float64, "single": np.float32}[precision], REACH)

    def view(self, name: str, halo: int = 0) -> np.ndarray:
        return self.arrays.view(name, halo)

    @property
    def nbytes(self) -> int:
        return self.arrays.nbytes

    def prepare(self, steps: int) -> None:
        """Nothing to choose."""

    def run(self, steps: int, amplitudes: np.ndarray) -> list[np.ndarray]:
        program = self.program
        tapes = [np.zeros((steps, len(t.points)), self.arrays.dtype) for t in program.tapes]
        for step in range(steps):
            for number, level in enumerate(program.levels):
                for lagging in (False, True):
                    for launch in level:
                        if (launch.lag > 0) == lagging:
                            self._launch(launch)
                    if not lagging:
                        self._inject(number, amplitudes[number, step])
                    for axis in program.periodic:
                        self._wrap(level, axis)
                for tape, listed in zip(tapes, program.tapes, strict=True):
                    if listed.level == number:
                        view = self.view(listed.array, REACH)
                        tape[step] = view[offsets(program.arrays, listed.array, listed.points, view)]
        return tapes

    def _launch(self, launch: Launch) -> None:
        point = _Slices(self.arrays, self.program, launch)
        values = {name: np.array(v) for name, v in launch.stencil.function(point).items()}
        for name, value in values.items():
            point.at(name)[...] = value

    def _inject(self, level: int, amplitude: np.ndarray) -> None:
        for i in self.program.injections:
            if i.level == level:
                view = self.view(i.array, REACH)
                index = offsets(self.program.arrays, i.array, i.points, view)
                np.add.at(view, index, (i.weights * amplitude[i.sources]).astype(view.dtype))

    def _wrap(self, level: Sequence[Launch], axis: Axis) -> None:
        for name in written(level, self.program):
            wrap_axis(self.view(name, REACH), "zyx".index(axis))


def written(level: Sequence[Launch], program: Program) -> list[str]:
    """Names of the arrays with a halo that the launches of a level write."""
    names = dict.fromkeys(launch.names.get(n, n) for launch in level for n in record(launch.stencil)[1])
    return [name for name in names if program.arrays[name].halo]
