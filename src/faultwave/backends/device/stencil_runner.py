"""Stencil program on a device: arrays in its memory, a copy on the host for access, launches in its queue."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any

import numpy as np

from faultwave.backends.device.backend import readable_bytes
from faultwave.backends.device.calls import Function, Memory
from faultwave.backends.device.interface import Device
from faultwave.backends.device.messages import DeviceSource, DeviceTarget
from faultwave.backends.device.rounding import Kernels
from faultwave.backends.device.stencil import THREADS, StencilPlan, head, lower_launch
from faultwave.backends.device.target import LINE
from faultwave.backends.grid import GridArrays, offsets
from faultwave.backends.numpy.stencil import written
from faultwave.base.errors import BackendError
from faultwave.kernels.stencil import Axis, Box, Launch, Program, Work, check, inside, whole_work

TAPE_STEPS = 256
"""Largest number of steps whose samples stay on the device before they are copied to the host."""


class DeviceStencilRunner:
    """Runner of a stencil program on a device.

    Arrays are in device memory; ``view`` copies a group of arrays to the host, and changes there are copied back before the next step.
    """

    threads = 1

    def __init__(self, program: Program, precision: str, device: Device):
        check(program)
        dtype = {"double": np.float64, "single": np.float32}[precision]
        self.program, self.device = program, device
        self.arrays = GridArrays(program, dtype, LINE // np.dtype(dtype).itemsize)
        available, needed = device.free_memory(), self.arrays.nbytes
        if needed > available:
            raise BackendError(
                f"{device.name} has {readable_bytes(available)} free; the grid needs {readable_bytes(needed)}. "
                "Use a larger spacing or more processes"
            )
        self.memory = {group: device.allocate(max(64, s.nbytes)) for group, s in self.arrays.storage.items()}
        self.newer = dict.fromkeys(self.memory, "")  # 'host' or 'device' if only that copy is up to date
        self.plans, self._launches = self._compile()
        self.points = self._functions(["inject", "record", "place", "copy", "not_finite"])
        self.rounding = Kernels(device, np.dtype(dtype))
        self._scalars = np.array([*program.scalars.values()] or [0.0], dtype).tobytes()
        self._injected = [self._injections(level) for level in range(len(program.levels))]
        self._sample_points, self._sampled, self._parts = self._sample_lists()

    # ---- making it ready ------------------------------------------------------------------------------------------

    def _compile(self) -> tuple[list[StencilPlan], list[list[tuple[StencilPlan, Function]]]]:
        """Return the plans of all distinct kernels, and the plan and function of each launch of each level."""
        named: dict[str, StencilPlan] = {}
        listed: list[list[StencilPlan]] = []
        for level in self.program.levels:
            listed.append([])
            for launch in level:
                plan = lower_launch(self.program, self.arrays, launch, "NAME", self.device.target)
                listed[-1].append(named.setdefault(plan.text, plan))
        functions = {}
        for text in named:
            name = "stencil"
            functions[text] = self.device.build(text.replace("NAME", name), [name], None)[name]
        return list(named.values()), [[(p, functions[p.text]) for p in level] for level in listed]

    def _functions(self, names: list[str]) -> dict[str, Function]:
        text = resources.files("faultwave.backends.device").joinpath("include", "points.h").read_text()
        return self.device.build(head(self.program, self.arrays, self.device.target) + text, names, None)

    def upload(self, values: np.ndarray) -> Memory:
        """Return device memory that contains ``values``."""
        values = np.ascontiguousarray(values)
        memory = self.device.allocate(max(64, values.nbytes))
        if values.size:
            self.device.upload(memory, values)
        return memory

    def _elements(self, name: str, points: np.ndarray) -> np.ndarray:
        """Return the offsets (n,) of points (n, 3) of an array in its group's memory, in numbers."""
        view = self.arrays.view(name, self.program.arrays[name].halo)
        offsets(self.program.arrays, name, points, view)  # checks them
        s = self.arrays.strides[name]
        return np.asarray(points @ np.array([s.plane, s.row, 1]) + self.arrays.origin[name])

    def _injections(self, level: int) -> dict[str, _Injected]:
        """Return the injections after a level by group of arrays; each point occurs once, with its sources in the given order."""
        found: dict[str, list[tuple[np.ndarray, ...]]] = {}
        for i in self.program.injections:
            if i.level == level and len(i.points):
                where = self._elements(i.array, i.points)
                found.setdefault(self.arrays.group[i.array], []).append((where, i.weights, i.sources, i.points))
        result = {}
        for group, parts in found.items():
            where, weights, sources, points = (np.concatenate(p) for p in zip(*parts, strict=True))
            order = np.argsort(where, kind="stable")
            where, first = np.unique(where[order], return_index=True)
            bounds = np.append(first, len(order)).astype(np.int32)
            result[group] = _Injected(
                points[order][first], self.upload(where.astype(np.int64)), self.upload(bounds),
                self.upload(weights[order].astype(self.arrays.dtype)), self.upload(sources[order].astype(np.int32)),
            )  # fmt: skip
        return result

    def _sample_lists(self) -> tuple[list[dict[str, _Taped]], int, list[tuple[int, int]]]:
        """Return the sampled points of each level and group, the numbers per step, and the range of each sample buffer in them."""
        at, parts, levels = 0, [], [dict[str, list[tuple[np.ndarray, ...]]]() for _ in self.program.levels]
        for t in self.program.sample_buffers:
            numbers = at + np.arange(len(t.points))
            parts.append((at, at + len(t.points)))
            at += len(t.points)
            group = self.arrays.group[t.array]
            levels[t.level].setdefault(group, []).append((self._elements(t.array, t.points), numbers, t.points))
        made: list[dict[str, _Taped]] = []
        for level in levels:
            made.append({})
            for group, listed in level.items():
                where, numbers, points = (np.concatenate(p) for p in zip(*listed, strict=True))
                made[-1][group] = _Taped(
                    points, self.upload(where.astype(np.int64)), self.upload(numbers.astype(np.int32))
                )
        return made, at, parts

    # ---- looking at arrays ----------------------------------------------------------------------------------------

    def _fetch(self, group: str) -> None:
        if self.newer[group] == "device":
            self.device.download(self.memory[group], self.arrays.storage[group])
            self.newer[group] = ""

    def view(self, name: str, halo: int = 0) -> np.ndarray:
        """Return the host copy of an array for writing; it is copied to the device before the next step."""
        group = self.arrays.group[name]
        self._fetch(group)
        self.newer[group] = "host"
        return self.arrays.view(name, halo)

    def values(self, name: str, halo: int = 0) -> np.ndarray:
        """Return the host copy of an array, read-only."""
        self._fetch(self.arrays.group[name])
        found = self.arrays.view(name, halo)
        found.flags.writeable = False
        return found

    def finite(self, names: Iterable[str]) -> bool:
        """Return True if all numbers of the groups of these arrays are finite."""
        reported = np.zeros(1, np.int32)
        flag = self.upload(reported)
        for group in {self.arrays.group[n] for n in names}:
            self.send(group)
            storage = self.arrays.storage[group]
            groups = max(1, min(1024, -(-storage.size // THREADS)))
            numbers = [np.int64(storage.size), np.int32(groups * THREADS)]
            self.device.launch(self.points["not_finite"], groups, THREADS, [self.memory[group], flag, *numbers])
        self.device.download(flag, reported)
        return not reported[0]

    def halo_buffer(self, listed: Sequence[tuple[str, Box]]) -> DeviceHaloBuffer:
        return DeviceHaloBuffer(self, listed)

    @property
    def nbytes(self) -> int:
        return self.arrays.nbytes

    # ---- running --------------------------------------------------------------------------------------------------

    @property
    def steps_a_pass(self) -> int:
        return 1

    def prepare(self, steps: int, together: bool = False) -> None:
        """Do nothing: there are no variants to choose from."""

    def run(self, steps: int, amplitudes: np.ndarray, work: Work | None = None) -> list[np.ndarray]:
        sample_buffer = np.zeros((steps, self._sampled), self.arrays.dtype)
        for group in self.memory:
            self.send(group)
        for first in range(0, steps, TAPE_STEPS):
            count = min(TAPE_STEPS, steps - first)
            self._run(amplitudes[:, first : first + count], sample_buffer[first : first + count], work)
        for level in self.program.levels:
            for launch in level:
                for name in written([launch], self.program, False):
                    self.newer[self.arrays.group[name]] = "device"
        return [sample_buffer[:, a:b] for a, b in self._parts]

    def send(self, group: str) -> None:
        """Update the device's copy of a group of arrays if the host has changed them."""
        if self.newer[group] == "host":
            self.device.upload(self.memory[group], self.arrays.storage[group])
            self.newer[group] = ""

    def _run(self, amplitudes: np.ndarray, sample_buffer: np.ndarray, work: Work | None) -> None:
        """Execute some steps, and fill ``sample_buffer`` after the last one."""
        steps = amplitudes.shape[1]
        given = self.upload(amplitudes.astype(self.arrays.dtype))
        taken = self.upload(sample_buffer) if sample_buffer.size else None
        every = [whole_work(self.program, level) for level in range(len(self.program.levels))]
        for step in range(steps):
            for number, level in enumerate(self.program.levels):
                boxes = every[number] if work is None else work[step * len(self.program.levels) + number]
                for lagging in (False, True):
                    for slot, launch in enumerate(level):
                        if (launch.lag > 0) == lagging:
                            for box in boxes[slot]:
                                self._launch(self._launches[number][slot], box)
                    if not lagging:
                        at = (number * steps + step) * amplitudes.shape[2]
                        self._inject(number, given, at, boxes[-2] if work else None)
                    for axis in self.program.periodic:
                        self._wrap(level, axis)
                if taken is not None:
                    self._record(number, taken, step, boxes[-1] if work else None)
        if taken is not None:
            self.device.download(taken, sample_buffer)
        else:
            self.device.finish()

    def _launch(self, made: tuple[StencilPlan, Function], box: Box) -> None:
        if not box.points:
            return
        plan, function = made
        deep, high, wide = plan.grid(box.shape)
        (z0, y0, x0), (z1, y1, x1) = box.lo, box.hi
        extent = np.array([z0, z1, y0, y1, x0, x1, wide, high], np.int32).tobytes()
        memory = [self.memory[g] for g in plan.groups]
        self.device.launch(function, deep * high * wide, THREADS, [*memory, self._scalars, extent])

    def _inject(self, level: int, amplitudes: Memory, at: int, boxes: Sequence[Box] | None) -> None:
        for group, x in self._injected[level].items():
            for begin, end in [(0, len(x.points))] if boxes is None else _runs(x.points, boxes):
                lists = [x.where, x.first, x.weight, x.source]
                numbers = [np.int32(n) for n in (begin, end, at)]
                groups = -(-(end - begin) // THREADS)
                self.device.launch(
                    self.points["inject"], groups, THREADS, [self.memory[group], *lists, amplitudes, *numbers]
                )

    def _record(self, level: int, sample_buffer: Memory, step: int, boxes: Sequence[Box] | None) -> None:
        for group, x in self._sample_points[level].items():
            for begin, end in [(0, len(x.points))] if boxes is None else _runs(x.points, boxes):
                numbers = [np.int32(begin), np.int32(end), np.int64(step * self._sampled)]
                arguments = [self.memory[group], x.where, x.number, sample_buffer, *numbers]
                self.device.launch(self.points["record"], -(-(end - begin) // THREADS), THREADS, arguments)

    def _wrap(self, level: Sequence[Launch], axis: Axis) -> None:
        """Copy the far ends of all arrays with a halo that a level writes into it, along one axis."""
        k, reach = "zyx".index(axis), self.program.reach
        for name in written(level, self.program):
            layout, s = self.program.arrays[name], self.arrays.strides[name]
            steps = [s.plane, s.row, 1]
            lowest = self.arrays.origin[name] + sum((a - reach) * d for a, d in zip(layout.box.lo, steps, strict=True))
            count, counts = layout.box.shape[k], [n + 2 * reach for n in layout.box.shape]
            counts[k] = reach
            groups = -(-int(np.prod(counts)) // THREADS)
            for source, target in ((count, 0), (reach, count + reach)):
                numbers = [
                    np.int64(lowest + source * steps[k]),
                    np.int64(lowest + target * steps[k]),
                    *map(np.int64, steps),
                ]
                arguments = [self.memory[self.arrays.group[name]], *numbers, *map(np.int32, counts)]
                self.device.launch(self.points["copy"], groups, THREADS, arguments)


class _Injected:
    """Injection points (n, 3), sorted by their place in memory, with their lists on the device."""

    def __init__(self, points: np.ndarray, where: Memory, first: Memory, weight: Memory, source: Memory):
        self.points, self.where, self.first, self.weight, self.source = points, where, first, weight, source


class _Taped:
    def __init__(self, points: np.ndarray, where: Memory, number: Memory):
        self.points, self.where, self.number = points, where, number


def _runs(points: np.ndarray, boxes: Sequence[Box]) -> list[tuple[int, int]]:
    """Return the ranges [begin, end) of consecutive points that lie in one of the boxes."""
    runs, at = [], 0
    for value, run in itertools.groupby(inside(points, boxes)):
        length = len(list(run))
        runs += [(at, at + length)] if value else []
        at += length
    return runs


class DeviceHaloBuffer:
    """Halo buffer of boxes of arrays, which kernels gather and scatter on the device by lists built once."""

    def __init__(self, runner: DeviceStencilRunner, listed: Sequence[tuple[str, Box]]):
        self.runner, self.parts = runner, list[tuple[str, Any, int, int]]()
        at = 0
        for name, box in listed:
            grid = np.meshgrid(*(np.arange(a, b) for a, b in zip(box.lo, box.hi, strict=True)), indexing="ij")
            points = np.stack(grid, -1).reshape(-1, 3)
            s = runner.arrays.strides[name]
            where = points @ np.array([s.plane, s.row, 1]) + runner.arrays.origin[name]
            self.parts.append((runner.arrays.group[name], runner.upload(where.astype(np.int64)), len(points), at))
            at += len(points)
        self.size = at
        self.numbers = runner.upload(np.arange(max([p[2] for p in self.parts], default=1), dtype=np.int32))

    def message_source(self, gpu_aware: bool, rounding: str) -> DeviceSource:
        """Return a message that sends the boxes."""
        r, shape = self.runner, (self.size, 1)
        return DeviceSource(r.device, r.rounding, shape, gpu_aware, rounding, lambda parity, into: self.gather(into))

    def message_target(self, gpu_aware: bool, rounding: str) -> DeviceTarget:
        """Return a message that is received into the boxes."""
        r, shape = self.runner, (self.size, 1)
        return DeviceTarget(r.device, r.rounding, shape, gpu_aware, rounding, self.scatter)

    def gather(self, into: Memory) -> None:
        """Launch kernels that copy all numbers of the boxes contiguously to device memory ``into``."""
        device, functions = self.runner.device, self.runner.points
        for group, where, count, at in self.parts:
            self.runner.send(group)
            numbers = [np.int32(0), np.int32(count), np.int64(at)]
            arguments = [self.runner.memory[group], where, self.numbers, into, *numbers]
            device.launch(functions["record"], -(-count // THREADS), THREADS, arguments)

    def scatter(self, values: Memory) -> None:
        """Launch kernels that copy contiguous ``values`` of the device to the boxes."""
        device, functions = self.runner.device, self.runner.points
        for group, where, count, at in self.parts:
            self.runner.send(group)
            arguments = [self.runner.memory[group], where, values, np.int32(count), np.int32(at)]
            device.launch(functions["place"], -(-count // THREADS), THREADS, arguments)
            self.runner.newer[group] = "device"
