"""Stencil programs executed with NumPy, level by level over whole boxes: the reference for all backends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from faultwave.backends.base import Band
from faultwave.backends.grid import GridArrays, HostHaloBuffer, offsets, wrap_axis
from faultwave.kernels.stencil import Axis, Box, Launch, Layout, Program, Work, check, inside, record, whole_work


class _Slices:
    """Point of a stencil that stands for a whole box: every read is a view of an array, created once."""

    def __init__(self, arrays: GridArrays, program: Program, launch: Launch):
        self.arrays, self.program, self.launch = arrays, program, launch
        self.parts: dict[tuple[object, ...], np.ndarray] = {}

    def _name(self, name: str) -> str:
        return self.launch.names.get(name, name)

    def at(self, name: str, x: int = 0, y: int = 0, z: int = 0) -> np.ndarray:
        part = self.parts.get((name, x, y, z))
        if part is None:
            part = self.parts[name, x, y, z] = self._part(name, self.launch.box, (z, y, x))
        return self._full(name, part)

    def on(self, name: str, plane: int, x: int = 0, y: int = 0) -> np.ndarray:
        part = self.parts.get((name, plane, x, y, "on"))
        if part is None:
            (_, y0, x0), (_, y1, x1) = self.launch.box.lo, self.launch.box.hi
            box = Box((plane, y0, x0), (plane + 1, y1, x1))
            part = self.parts[name, plane, x, y, "on"] = self._part(name, box, (0, y, x))
        return self._full(name, part)

    def _part(self, name: str, box: Box, offset: tuple[int, int, int]) -> np.ndarray:
        layout = self.program.arrays[self._name(name)]
        return _part(self.arrays.view(self._name(name), layout.halo), layout, box, offset)

    def _full(self, name: str, part: np.ndarray) -> np.ndarray:
        """Return values in the precision of the program; arrays in half precision are converted."""
        return part.astype(self.arrays.dtype) if self._name(name) in self.arrays.half_precision else part

    def line(self, name: str, axis: Axis) -> np.ndarray:
        name, k = self._name(name), "zyx".index(axis)
        first = self.program.arrays[name].box.lo[k]
        part = self.arrays.view(name)[self.launch.box.lo[k] - first : self.launch.box.hi[k] - first]
        return part.reshape([-1 if i == k else 1 for i in range(3)])

    def parity(self, name: str) -> np.ndarray:
        (z0, y0, x0), (z1, y1, x1) = self.launch.box.lo, self.launch.box.hi
        table, first = self.arrays.view(self._name(name)), self.program.arrays[self._name(name)].box.lo[2]
        return table[np.ix_(np.arange(z0, z1) % 2, np.arange(y0, y1) % 2, np.arange(x0, x1) - first)]

    def scalar(self, name: str) -> np.floating:
        number: np.floating = self.arrays.dtype.type(self.program.scalars[name])
        return number


def _part(view: np.ndarray, own: Layout, box: Box, offset: tuple[int, int, int]) -> np.ndarray:
    lo = [b - o + own.halo + d for b, o, d in zip(box.lo, own.box.lo, offset, strict=True)]
    if min(lo) < 0 or any(s + n > full for s, n, full in zip(lo, box.shape, view.shape, strict=True)):
        raise ValueError(f"the box {box} with offset {offset} (z, y, x) leaves the array of {own.box}")
    return view[tuple(slice(s, s + n) for s, n in zip(lo, box.shape, strict=True))]


class StencilRunner:
    """Runner that executes a program step by step."""

    def __init__(self, program: Program, precision: str, threads: int | None = None, place: int = 0):
        check(program)
        self.program = program
        self.arrays = GridArrays(program, {"double": np.float64, "single": np.float32}[precision], program.reach)
        self.points: dict[tuple[int, int, Box], _Slices] = {}

    def view(self, name: str, halo: int = 0) -> np.ndarray:
        return self.arrays.view(name, halo)

    def values(self, name: str, halo: int = 0) -> np.ndarray:
        return self.arrays.view(name, halo)

    def halo_buffer(self, listed: Sequence[tuple[str, Box]]) -> HostHaloBuffer:
        return HostHaloBuffer(self.arrays, listed)

    def finite(self, names: Iterable[str]) -> bool:
        return self.arrays.finite(names)

    @property
    def nbytes(self) -> int:
        return self.arrays.nbytes

    @property
    def steps_a_pass(self) -> int:
        return 1

    def prepare(self, steps: int, together: bool = False) -> None:
        """Do nothing: there are no variants to choose from."""

    def run(self, steps: int, amplitudes: np.ndarray, work: Work | None = None) -> list[np.ndarray]:
        program = self.program
        sample_buffers = [np.zeros((steps, len(t.points)), self.arrays.dtype) for t in program.sample_buffers]
        every = [whole_work(program, number) for number in range(len(program.levels))]
        for step in range(steps):
            for number, level in enumerate(program.levels):
                boxes = every[number] if work is None else work[step * len(program.levels) + number]
                for lagging in (False, True):
                    for n, (launch, parts) in enumerate(zip(level, boxes, strict=False)):
                        if (launch.lag > 0) == lagging:
                            for part in parts:
                                self._launch(number, n, part)
                    if not lagging:
                        self._inject(number, amplitudes[number, step], boxes[-2])
                    for axis in program.periodic:
                        self._wrap(level, axis)
                for buffer, listed in zip(sample_buffers, program.sample_buffers, strict=True):
                    if listed.level == number:
                        halo = program.arrays[listed.array].halo
                        view, taken = self.view(listed.array, halo), inside(listed.points, boxes[-1])
                        buffer[step, taken] = view[offsets(program.arrays, listed.array, listed.points[taken], view)]
        return sample_buffers

    def _launch(self, level: int, number: int, box: Box) -> None:
        if not box.points:
            return
        launch, point = self.program.levels[level][number], self.points.get((level, number, box))
        if point is None:
            point = _Slices(self.arrays, self.program, replace(launch, box=box))
            self.points[level, number, box] = point
        values = {name: np.array(v) for name, v in launch.stencil.function(point).items()}
        for name, value in values.items():
            point.at(name)[...] = value

    def _inject(self, level: int, amplitude: np.ndarray, boxes: Sequence[Box]) -> None:
        for i in self.program.injections:
            if i.level == level:
                view = self.view(i.array, self.program.reach)
                acting = inside(i.points, boxes)
                index = offsets(self.program.arrays, i.array, i.points[acting], view)
                strength = i.weights.astype(view.dtype) * amplitude.astype(view.dtype)[i.sources]
                np.add.at(view, index, strength[acting])

    def _wrap(self, level: Sequence[Launch], axis: Axis) -> None:
        for name in written(level, self.program):
            wrap_axis(self.view(name, self.program.reach), "zyx".index(axis), self.program.reach)


def written(level: Sequence[Launch], program: Program, with_halo: bool = True) -> list[str]:
    """Return the names of the arrays that the launches of a level write: arrays with a halo or, without ``with_halo``, all."""
    names = dict.fromkeys(launch.names.get(n, n) for launch in level for n in record(launch.stencil)[1])
    return [name for name in names if program.arrays[name].halo or not with_halo]


def plane_product(rows: Band, columns: Band, values: np.ndarray, into: np.ndarray) -> Callable[[], None]:
    """Return the product of matrices and a plane (see ``backends.plane_product``): the rows first, in the order of the weights."""
    across = np.zeros((into.shape[0], values.shape[1]), values.dtype)
    down, over = (
        [(first + n, w.astype(values.dtype)) for n, w in enumerate(all_.T)] for first, all_ in (rows, columns)
    )

    def product() -> None:
        across[...] = into[...] = 0
        for at, weight in down:
            across[...] += weight[:, None] * values[at]
        for at, weight in over:
            into[...] += weight * across[:, at]

    return product
