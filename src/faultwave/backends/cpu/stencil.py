"""Lowering of stencil programs to C: a function for each stencil that updates rows, and a loop with space-time tiles.

A row function is straight-line code over vectors along x, with all strides written as constants. The loop (wavefront.h)
performs several steps in one pass through memory. The order of operations at a point does not depend on tiles or threads, so
that results agree bit for bit for every choice.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import platform
import time
from collections.abc import Hashable, Iterable, Sequence, Set
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from faultwave.backends.cpu import two_planes
from faultwave.backends.cpu.blocking import Blocking, candidates, default_blocking, skew
from faultwave.backends.cpu.compile import AS_WRITTEN, SHORT_SPIN, build, cache_folder, load, vector_bytes
from faultwave.backends.cpu.queue import address
from faultwave.backends.cpu.row_table import TABLE, forget, invalidate_injected_rows, watched, with_table
from faultwave.backends.cpu.rows import RowFunction, formulas, rows_of
from faultwave.backends.cpu.two_planes import can_pair_planes
from faultwave.backends.grid import GridArrays, HostHaloBuffer, ends, offsets
from faultwave.backends.numpy.stencil import written
from faultwave.base.files.cache import read_sealed, write_sealed
from faultwave.base.log import get_logger
from faultwave.base.processes import host
from faultwave.kernels.stencil import Axis, Box, Launch, Program, Work, check, whole_work

WORTH_TUNING = 2e10
"""Point updates of a run below which tuning takes longer than it saves."""

CACHED = 64
"""Number of work lists whose calls are cached."""

_P, _N = [ctypes.c_void_p], [ctypes.c_long]
ARGUMENTS: Any = 3 * _P + 2 * _N + _P + 2 * _N + _P + _N + 2 * _P + 2 * _N
"""Argument types of both compiled functions (wavefront.h)."""


LOWERED = 16
"""Number of programs whose C source is stored for the next run of the process."""
_lowered: dict[Hashable, str] = {}


def source_of(program: Program, arrays: GridArrays, lanes: int) -> str:
    """Return the C source of a program, stored from an earlier run of the process if its launches and memory layout are the same.

    Programs with masks, whose formulas have more parts, are lowered anew.
    """
    if program.peaks or any(launch.stencil.changes for level in program.levels for launch in level):
        return lower(program, arrays, lanes)
    key = _identity(program, arrays, lanes)
    text = _lowered.pop(key, None) or lower(program, arrays, lanes)
    _lowered[key] = text
    if len(_lowered) > LOWERED:
        del _lowered[next(iter(_lowered))]
    return text


def _identity(program: Program, arrays: GridArrays, lanes: int) -> Hashable:
    """Return everything that the C source of a program depends on, with the limits that decide on planes in one loop."""
    levels = tuple(
        tuple((formulas(launch.stencil), launch.box, tuple(launch.names.items()), launch.lag) for launch in level)
        for level in program.levels
    )
    sources = tuple((x.level, x.array, x.points.tobytes()) for x in program.injections)
    recorded = tuple((x.level, x.array, x.points.tobytes()) for x in program.sample_buffers)
    layouts = tuple((name, layout, arrays.group[name]) for name, layout in program.arrays.items())
    stages = tuple(map(tuple, program.stages))
    return (
        levels, sources, recorded, layouts, stages, tuple(program.scalars), program.box, program.periodic, program.together,
        program.reach, tuple(arrays.strides.items()), arrays.half_precision, arrays.dtype.name, lanes,
        two_planes.MOST_READ, two_planes.LONG_ROW,
    )  # fmt: skip


def lower(program: Program, arrays: GridArrays, lanes: int) -> str:
    """Return the C source of a program for the memory layout ``arrays``."""
    real = {"float32": "float", "float64": "double"}[arrays.dtype.name]
    head = "".join(
        resources.files("faultwave.backends.cpu").joinpath("include", f).read_text() for f in ("vector.h", "fused.h")
    )
    loop = resources.files("faultwave.backends.cpu").joinpath("include", "wavefront.h").read_text()
    functions: dict[str, str] = {}
    entries, most_arrays = [], 1
    for launches in program.levels:
        for row in rows_of(launches):
            made, both = RowFunction(program, arrays, row), "0"
            function = functions.setdefault(made.text, f"row_{len(functions)}_{row[0].stencil.name}")
            if not made.table.place and can_pair_planes(row, arrays.dtype.itemsize):
                text = RowFunction(program, arrays, row, made).text
                both = functions.setdefault(text, f"row_{len(functions)}_{row[0].stencil.name}_of_two_planes")
            entries.append(f"  {{{function}, {both}, {row[0].lag}, {{{', '.join(map(str, made.pointers))}}}}},")
            most_arrays = max(most_arrays, len(made.pointers))
    bodies = [text.replace("ROW_NAME", name) for text, name in functions.items()]
    return (
        f"{AS_WRITTEN}#define R {real}\n#define LANES {lanes}\n#define R_IS_DOUBLE {int(real == 'double')}\n{head}\n"
        f"#define LEVELS {len(program.levels)}\n#define REACH {program.reach}\n#define MOST_ARRAYS {most_arrays}\n"
        f"#define MOST_SEGMENTS {most_segments(program)}\n{_behind(program)}"
        f"#define TOGETHER {program.box.hi[0] + program.reach - 1 if program.together is None else program.together}\n"
        f"#define Z0 {program.box.lo[0]}\n#define Z1 {program.box.hi[0]}\n#define Y0 {program.box.lo[1]}\n#define Y1 {program.box.hi[1]}\n"
        "typedef V U __attribute__((aligned(4), may_alias));\n"
        "#define LOAD(p) (*(const U *)(p))\n#define STORE(p, v) (*(U *)(p) = (v))\n"
        f"{resources.files('faultwave.backends.cpu').joinpath('include', 'tail.h').read_text()}\n"
        + (
            f"{resources.files('faultwave.backends.cpu').joinpath('include', 'half.h').read_text()}\n"
            if arrays.half_precision
            else ""
        )
        + (
            resources.files("faultwave.backends.cpu").joinpath("include", "row_table.h").read_text()
            if program.peaks
            else ""
        )
        + "\n".join(bodies)
        + "\ntypedef void (*row_function)(R *const *, const R *, long, long, long, const long (*)[2]);\n"
        "static const struct entry {\n  row_function row, both;\n  int lag, array[MOST_ARRAYS];\n} entries[] = {\n"
        + "\n".join(entries)
        + f"\n}};\n#define ENTRIES {len(entries)}\n{invalidate_injected_rows(program, arrays)}\n{loop}"
    )


def row_source(program: Program, launch: Launch, precision: str) -> str:
    """Return the C function that updates rows of points of one launch and of the adjacent launches that share its rows.

    Parameters
    ----------
    program : Program
        The program that has the launch.
    launch : Launch
        One of the launches of its levels.
    precision : {"double", "single"}
        Precision of the arrays.
    """
    dtype = {"double": np.float64, "single": np.float32}[precision]
    row = next(r for level in program.levels for r in rows_of(level) if any(x is launch for x in r))
    program = with_table(program)
    arrays = GridArrays(program, dtype, vector_bytes() // np.dtype(dtype).itemsize)
    return RowFunction(program, arrays, row).text.replace("ROW_NAME", launch.stencil.name)


def _behind(program: Program) -> str:
    """Return the lags of half-steps for wavefront.h."""
    of = skew(program)
    lists = [(f"{axis}_OF_LEVELS", f"{{{', '.join(map(str, n))}}}") for axis, n in (("Z", of.z), ("Y", of.y))]
    steps = [("Z_OF_STEP", of.step[0]), ("Y_OF_STEP", of.step[1])]
    return "".join(f"#define {name} {value}\n" for name, value in (*lists, *steps))


def most_segments(program: Program) -> int:
    """Return the largest number of segments in a row of the program."""
    return max(len(row) for level in program.levels for row in rows_of(level))


class _Calls:
    """Calls of half-steps in the layout of the compiled loop.

    Each row (5 + 2 segments) holds entry, z0, z1, y0, y1 and a range along x for each segment of the entry's rows.
    """

    def __init__(self, program: Program):
        self.rows = [[len(row) for row in rows_of(level)] for level in program.levels]
        self.first = np.cumsum([0, *map(len, self.rows)])
        self.width = most_segments(program)

    def of(self, level: int, boxes: Sequence[Sequence[Box]]) -> np.ndarray:
        """Return the calls of a half-step for ``boxes`` by slot. Segments with the same rows share a call."""
        listed, slot, entries = [], 0, int(self.first[-1])
        for number, segments in enumerate(self.rows[level], int(self.first[level])):
            listed += self._together(number, boxes[slot : slot + segments])
            slot += segments
        for number, points in zip((entries, entries + 1), boxes[slot:], strict=True):
            for box in points:
                listed += self._together(number, [[box]])
        return np.array(listed, np.int64).reshape(-1, 5 + 2 * self.width)

    def _together(self, entry: int, boxes: Sequence[Sequence[Box]]) -> list[list[int]]:
        found: list[list[int]] = []
        for segment, of_launch in enumerate(boxes):
            for box in of_launch:
                start = [entry, box.lo[0], box.hi[0], box.lo[1], box.hi[1]]
                at = slice(5 + 2 * segment, 7 + 2 * segment)
                fitting = [call for call in found if call[:5] == start and call[at] == [0, 0]]
                call = fitting[0] if fitting else start + [0, 0] * self.width
                call[at] = box.lo[2], box.hi[2]
                found += [] if fitting else [call]
        return found


@dataclass(frozen=True)
class _Listed:
    """Calls of several half-steps, where each half-step begins (half-steps + 1,), and their ``work`` as a cache key."""

    calls: np.ndarray
    first: np.ndarray
    work: Work | None = None

    @classmethod
    def of(cls, parts: Sequence[np.ndarray], work: Work | None = None) -> _Listed:
        return cls(np.concatenate(parts), np.cumsum([0, *map(len, parts)], dtype=np.int64), work)

    @cached_property
    def addresses(self) -> tuple[int, int]:
        """Addresses of both arrays."""
        return self.calls.ctypes.data, self.first.ctypes.data


@dataclass(frozen=True)
class Part:
    """Function address and arguments of one half-step of some rows (joint.h).

    ``held`` keeps the memory of ``given`` alive; the function fills ``sample_buffers``.
    """

    given: tuple[int, ...]
    held: object
    sample_buffers: list[np.ndarray]


class StencilRunner:
    """Runner of a compiled program; ``blocking`` may be set, and results do not depend on it."""

    def __init__(self, program: Program, precision: str, threads: int | None = None, place: int = 0):
        check(program)
        dtype = {"double": np.float64, "single": np.float32}[precision]
        self.program, self.threads = program, threads or host.thread_count()
        program = with_table(program)
        lanes = vector_bytes() // np.dtype(dtype).itemsize
        self.arrays = GridArrays(program, dtype, lanes)
        self.source = source_of(program, self.arrays, lanes)
        for variable, value in SHORT_SPIN.items():
            os.environ.setdefault(variable, value)
        loaded = load(str(build([(program.name, self.source)])[program.name]))
        loaded.omp_set_num_threads(self.threads)
        self._run, self._level, self._some_rows = loaded.run, loaded.level, loaded.some_rows
        for function in (self._run, self._level):
            function.argtypes, function.restype = ARGUMENTS, None
        self.blocking = Blocking(1, 16)
        self._watched = watched(program)
        self._forget()
        self._base = (ctypes.c_void_p * len(program.arrays))(*[self.arrays.address(n) for n in program.arrays])
        self._scalars = np.array(list(program.scalars.values()), dtype)
        self._points = _PointLists(program, self.arrays)
        self._fixed = (ctypes.addressof(self._base), self._scalars.ctypes.data, self._points.addresses.ctypes.data)
        self._ends: dict[tuple[int, Axis], list[tuple[np.ndarray, np.ndarray]]] = {}
        self._calls = _Calls(program)
        self._cache: dict[int, _Listed] = {}
        self._whole = [self._calls.of(n, whole_work(program, n)) for n in range(self._levels)]
        self._passes: dict[int, _Listed] = {}

    def view(self, name: str, halo: int = 0) -> np.ndarray:
        if name in self._watched:  # the caller may write to the view
            self._forget(self._watched)
        return self.arrays.view(name, halo)

    def _forget(self, names: Set[str] = frozenset()) -> None:
        """Invalidate the row table for some arrays, or for all."""
        if TABLE in self.arrays.program.arrays:
            forget(self.arrays.view(TABLE), self.program, names)

    @property
    def nbytes(self) -> int:
        return self.arrays.nbytes

    @property
    def steps_a_pass(self) -> int:
        return self.blocking.steps

    def values(self, name: str, halo: int = 0) -> np.ndarray:
        return self.arrays.view(name, halo)

    def halo_buffer(self, listed: Sequence[tuple[str, Box]]) -> HostHaloBuffer:
        return _HaloBuffer(self, listed)

    def finite(self, names: Iterable[str]) -> bool:
        return self.arrays.finite(names)

    def run(self, steps: int, amplitudes: np.ndarray, work: Work | None = None) -> list[np.ndarray]:
        real = self.arrays.dtype
        values = np.ascontiguousarray(amplitudes, real)
        sample_buffers = np.zeros((steps, max(1, self._points.taped)), real)
        most = 1 if self.program.periodic else self.blocking.steps
        for start in range(0, steps, most):
            count = min(most, steps - start)
            listed, first = (self._pass(count), 0) if work is None else (self._listed(work), start)
            if self.program.periodic:
                self._level_by_level(start, values, sample_buffers, listed, first)
            else:
                more = (self.blocking.rows, self.threads)
                self._call(self._run, start, count, values, sample_buffers, listed, first * self._levels, *more)
        return [sample_buffers[:, a:b] for a, b in self._points.parts]

    def _pass(self, count: int) -> _Listed:
        """Return the calls of ``count`` whole steps."""
        if count not in self._passes:
            self._passes[count] = _Listed.of(self._whole * count)
        return self._passes[count]

    def _listed(self, work: Work) -> _Listed:
        """Return the calls of some work, cached because listing them takes longer than a step of a small grid."""
        found = self._cache.get(id(work))
        if found is None or found.work is not work:
            found = _Listed.of([self._calls.of(n % self._levels, w) for n, w in enumerate(work)], work)
            if len(self._cache) == CACHED:
                del self._cache[next(iter(self._cache))]
            self._cache[id(work)] = found
        return found

    @property
    def _levels(self) -> int:
        return len(self.program.levels)

    def _call(
        self, function: ctypes._FuncPointer, start: int, count: int, values: np.ndarray, sample_buffers: np.ndarray, listed: _Listed,
        half: int, *more: int,
    ) -> None:  # fmt: skip
        """Call a compiled function; ``half`` is the first half-step among the listed ones."""
        calls, first = listed.addresses
        given = self._given(start, count, values, sample_buffers)
        function(*given, calls, first + half * listed.first.itemsize, *more)

    def _given(self, start: int, count: int, values: np.ndarray, sample_buffers: np.ndarray) -> tuple[int, ...]:
        """Return the first arguments of each compiled function (wavefront.h)."""
        sizes, taken = values.shape[1:], sample_buffers.shape[1]
        return *self._fixed, start, count, values.ctypes.data, *sizes, sample_buffers.ctypes.data, taken

    def part(self, steps: int, amplitudes: np.ndarray, work: Work) -> Part:
        """Return the arguments for some work of a ``joint`` pass, which has yet to be executed."""
        values = np.ascontiguousarray(amplitudes, self.arrays.dtype)
        buffers, listed = np.zeros((steps, max(1, self._points.taped)), self.arrays.dtype), self._listed(work)
        given = (address(self._some_rows), *self._given(0, steps, values, buffers), *listed.addresses)
        return Part(given, (values, listed), [buffers[:, a:b] for a, b in self._points.parts])

    def _level_by_level(
        self, step: int, values: np.ndarray, sample_buffers: np.ndarray, listed: _Listed, first: int
    ) -> None:
        """Execute one step level by level; ``first`` is the number of its work among the listed."""
        for number in range(self._levels):
            half = first * self._levels + number
            for turn in range(3):
                self._call(self._level, step, 1, values, sample_buffers, listed, half, number, turn)
                for axis in self.program.periodic if turn < 2 else ():
                    self._wrap(number, axis)

    def _wrap(self, number: int, axis: Axis) -> None:
        if (number, axis) not in self._ends:  # cached: the search takes longer than a step of a small grid
            names, reach = written(self.program.levels[number], self.program), self.program.reach
            self._ends[number, axis] = [e for n in names for e in ends(self.view(n, reach), "zyx".index(axis), reach)]
        for halo, inside in self._ends[number, axis]:
            np.copyto(halo, inside)

    def prepare(self, steps: int, together: bool = False) -> None:
        """Choose the blocking: the cached one for this program and machine, or a measured one if ``steps`` justify it."""
        if self.program.periodic:
            return
        self.blocking = default_blocking(self.arrays, self.threads)
        listed = self._worth_trying(together)
        key = hashlib.sha256(f"{self.source}\0{self.threads}\0{_machine()}\0{listed}".encode()).hexdigest()[:24]
        path = cache_folder() / "blocking" / f"{key}.json"
        try:
            found = json.loads(read_sealed(path) or b"null")
            self.blocking = Blocking(int(found["steps"]), int(found["rows"]))
        except (OSError, ValueError, KeyError, TypeError):
            if self.program.box.points * steps < WORTH_TUNING:
                return
            times = self.tune(listed)
            try:
                retained = {**asdict(self.blocking), "seconds_a_step": min(times.values())}
                write_sealed(path, json.dumps(retained).encode())
            except OSError:
                get_logger(__name__).info("the blocking that was found could not be stored in %s", path)

    def _worth_trying(self, together: bool) -> list[Blocking]:
        """Return the blockings that ``prepare`` measures.

        Programs that receive planes take at least the default number of steps, and more only ``together`` with others (``joint``).
        """
        listed, usual = candidates(self.arrays, self.threads), self.blocking.steps
        if not self.program.stages:
            return listed
        return [b for b in listed if b.steps == usual or (together and b.steps > usual)]

    def tune(self, listed: Sequence[Blocking]) -> dict[Blocking, float]:
        """Measure the seconds per step of each blocking, select the fastest, and restore the state."""
        times = {}
        sources = 1 + max([int(i.sources.max(initial=0)) for i in self.program.injections], default=0)
        names = {n for level in self.program.levels for n in written(level, self.program, with_halo=False)}
        state = {n: self.arrays.view(n, self.program.arrays[n].halo) for n in names}
        before = {n: view.copy() if view.any() else 0 for n, view in state.items()}
        for blocking in listed:
            self.blocking = blocking
            zeros = np.zeros((len(self.program.levels), 2 * blocking.steps, sources))
            start = time.perf_counter()
            self.run(2 * blocking.steps, zeros)
            times[blocking] = (time.perf_counter() - start) / (2 * blocking.steps)
        for name, view in state.items():
            view[...] = before[name]
        self._forget()
        self.blocking = min(times, key=times.__getitem__)
        return times


def _machine() -> str:
    """Return the machine properties that a blocking depends on: processor and vector width."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next((line.strip() for line in file if line.startswith("model name")), "") + str(vector_bytes())
    except OSError:
        return platform.processor() + str(vector_bytes())


class _HaloBuffer(HostHaloBuffer):
    """Halo buffer that notifies its runner when received values change arrays whose rows the runner watches."""

    def __init__(self, runner: StencilRunner, listed: Sequence[tuple[str, Box]]):
        super().__init__(runner.arrays, listed)
        self.runner = runner
        self.watched = [view for (name, _), view in zip(listed, self.views, strict=True) if name in runner._watched]

    def unpack(self, values: np.ndarray) -> None:
        super().unpack(values)
        if any(view.any() for view in self.watched):
            self.runner._forget(self.runner._watched)


class _PointLists:
    """Injections and sample buffers sorted by level and row: ``rows`` (levels * rows + 1,) are where each row's points begin.

    A point is the element of memory it stands for, counted from the address zero. Rows run over the program's box with
    its halo.
    """

    def __init__(self, program: Program, arrays: GridArrays):
        self.arrays, self.program = arrays, program
        item = arrays.dtype.itemsize
        where, weight, source, row = [], [], [], []
        columns = [i.points[:, 2] for i in program.injections]
        for i in program.injections:
            where.append(self._elements(i.array, i.points))
            weight.append(i.weights)
            source.append(i.sources)
            row.append(self._row(i.level, i.points))
        self.rows, order = self._sorted(row)
        self.where = (_joined(where, np.int64) * item)[order] + 0
        self.weight = _joined(weight, arrays.dtype)[order]
        self.source = _joined(source, np.int64)[order]
        self.columns = _joined(columns, np.int64)[order]
        where, row, parts, at = [], [], [], 0
        for t in program.sample_buffers:
            where.append(self._elements(t.array, t.points))
            row.append(self._row(t.level, t.points))
            parts.append((at, at + len(t.points)))
            at += len(t.points)
        self.parts, self.taped = parts, at
        self.tape_rows, order = self._sorted(row)
        self.tape_where = (_joined(where, np.int64) * item)[order] + 0
        self.tape_number = order.astype(np.int64)
        self.tape_columns = _joined([t.points[:, 2] for t in program.sample_buffers], np.int64)[order]
        self._held = (
            self.rows, self.where, self.weight, self.source, self.tape_rows, self.tape_where, self.tape_number,
            self.columns, self.tape_columns,
        )  # fmt: skip
        self.addresses = np.array([a.ctypes.data for a in self._held], np.int64)  # struct points

    def _elements(self, name: str, points: np.ndarray) -> np.ndarray:
        offsets(
            self.program.arrays, name, points, self.arrays.view(name, self.program.arrays[name].halo)
        )  # checks them
        s, base = self.arrays.strides[name], self.arrays.address(name)
        return points @ np.array([s.plane, s.row, 1]) + base // self.arrays.dtype.itemsize

    def _row(self, level: int, points: np.ndarray) -> np.ndarray:
        (z0, y0, _), (z1, y1, _) = self.program.box.lo, self.program.box.hi
        reach = self.program.reach
        planes, rows = z1 - z0 + 2 * reach, y1 - y0 + 2 * reach
        return (level * planes + points[:, 0] - z0 + reach) * rows + points[:, 1] - y0 + reach

    def _sorted(self, row: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        (z0, y0, _), (z1, y1, _) = self.program.box.lo, self.program.box.hi
        around = 2 * self.program.reach
        total = len(self.program.levels) * (z1 - z0 + around) * (y1 - y0 + around)
        numbers = _joined(row, np.int64)
        order = np.argsort(numbers, kind="stable")
        return np.searchsorted(numbers[order], np.arange(total + 1)).astype(np.int64), order


def _joined(parts: list[np.ndarray], dtype: npt.DTypeLike) -> np.ndarray:
    return np.concatenate(parts).astype(dtype) if parts else np.zeros(0, dtype)
