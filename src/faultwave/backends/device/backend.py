"""Backend on a device: buffers in its memory, kernels lowered for it, launches in its queue and their recordings."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

import numpy as np
import numpy.typing as npt

from faultwave.backends.base import Bound, Buffer, Capabilities, Launch, Part, Points, Store
from faultwave.backends.device.calls import Arguments, Call, Function, Memory, Numbers, concurrent_groups
from faultwave.backends.device.interface import Device
from faultwave.backends.device.lower import lower
from faultwave.backends.device.memory import PIECE, Access, DeviceBuffer, Host, ScratchMemory
from faultwave.backends.device.messages import Crossing
from faultwave.backends.device.point_kernels import Injector, Readings
from faultwave.backends.device.schedule import Plan
from faultwave.backends.device.target import LINE
from faultwave.base.errors import BackendError
from faultwave.kernels.expr import Scalars, Table
from faultwave.kernels.language import Array, Kernel

ALIGNED = 16  # alignment of tables of changing scalars, in numbers of 8 bytes


class Recording:
    """Sequence of launches that can be replayed.

    ``alone`` is True if the host read or wrote no buffer during the recording, so that the launches can be replayed without it.
    """

    def __init__(self, device: Device, host: Host, allocate: Callable[[int], Memory]):
        self.device, self.host, self.allocate, self.alone = device, host, allocate, True
        self.calls: list[Call] = []
        self.play: Callable[[], None] | None = None

    def add(self, call: Call) -> None:
        self.calls.append(call)

    @property
    def launches(self) -> int:
        return len(self.calls)

    @property
    def stages(self) -> int:
        return len(concurrent_groups(self.calls))

    def finished(self) -> Recording | None:
        """Place the scalars of all calls in one table and build the graph; return None if memory does not suffice for the table."""
        offset, places = 0, []
        for call in self.calls:
            places.append(offset)
            if call.changing is not None:
                size = ALIGNED * 8
                offset += -(-call.changing.nbytes // size) * size
        try:
            self.table = self.allocate(offset) if offset else None
        except BackendError:
            return None
        self.numbers = np.zeros(offset, np.uint8)
        placed = []
        for call, at in zip(self.calls, places, strict=True):
            if call.changing is not None:
                call = replace(call, table=self.table, at=at // call.changing.itemsize)
            placed.append(call)
        self.calls = placed
        self.places = [(c.changing, at) for c, at in zip(self.calls, places, strict=True) if c.changing is not None]
        self.play = self.device.graph(self.calls)
        return self

    def replay(self, tables: Sequence[Scalars] = ()) -> None:
        """Execute all launches again; ``tables`` lists the changing scalars of each launch that has any, in order."""
        for (changing, at), scalars in zip(self.places, tables, strict=True):
            self.numbers[at : at + changing.nbytes] = changing.filled(scalars).view(np.uint8)
        if self.table is not None:
            self.host.send(self.table, self.numbers)
        assert self.play is not None
        self.play()


SPARE = 0.03
"""Fraction of a device's memory that buffers leave free for copies of results to the host."""


def readable_bytes(size: float) -> str:
    """Return a number of bytes as text in GiB or MiB."""
    return f"{size / 2**30:,.2f} GiB" if size >= 1 << 28 else f"{size / 2**20:,.2f} MiB"


def piece_of(available: int) -> int:
    """Return the size of one transfer [bytes]: a power of two, such that all transfer buffers fit into the free memory."""
    return min(PIECE, max(1 << 16, 1 << int(SPARE * available / 8).bit_length() - 1))


class DeviceBackend:
    """Backend of one device: kernels, buffers and launches.

    Parameters
    ----------
    name : str
        Name of the backend.
    device : Device
        Device.
    precision : {"double", "single"}
        Precision of the run.

    Attributes
    ----------
    capacity, held : int
        Memory [bytes] that was free at the start, and that has been allocated since.
    recording : Recording or None
        Recording of the work in progress.
    """

    capabilities = Capabilities(asynchronous=True, graphs=True, stencils=True)
    queue = None

    def __init__(self, name: str, device: Device, precision: str = "double"):
        self.name, self.device, self.threads = name, device, 1
        self.dtype = {"double": np.float64, "single": np.float32}[precision]
        self.fixed_lanes = LINE // 8
        self.lanes = LINE // np.dtype(self.dtype).itemsize
        self._access: dict[object, Access] = {}
        self._made: dict[str, Function] = {}
        self._block: Hashable = None  # block of the launches that are recorded now
        self._blocks = itertools.count()
        self.failures = device.failures
        self.capacity, self.held = device.free_memory(), 0  # [bytes] free at the start, and allocated since
        piece = piece_of(self.capacity)
        self.host = Host(device, piece)
        self.scratch = ScratchMemory(device, functools.partial(self._take, spare=0.0), piece)
        self.recording: Recording | None = None  # recording of the work in progress

    def _kind(self, dtype: npt.DTypeLike) -> Access:
        if dtype not in self._access:
            self._access[dtype] = Access(self.device, dtype, self.host, self.scratch, self._touched)
        return self._access[dtype]

    @property
    def described(self) -> str:
        return f"{self.name} on {self.device.name}"

    def first_touch(self, buffers: Sequence[Buffer | Store], ranges: Iterable[tuple[int, int]]) -> None:
        """Do nothing: a device has one memory."""

    def take_memory(self, buffers: Sequence[Buffer | Store]) -> None:
        """Do nothing: the memory was allocated with the buffers."""

    def finish(self) -> None:
        self.device.finish()

    def _take(self, size: int, spare: float = SPARE) -> None:
        """Account for ``size`` more bytes; raise BackendError if less than the fraction ``spare`` would stay free.

        Some drivers report too late that memory is exhausted.
        """
        if self.held + size > (1.0 - spare) * self.capacity:
            retained = f" (of which {100 * spare:.0f} % reserved for results)" if spare else ""
            available, held, more = (readable_bytes(n) for n in (self.capacity, self.held, size))
            raise BackendError(
                f"{self.device.name} has {available} free{retained}; {held} are in use and {more} more are "
                "needed. Use a lower order, single precision, a smaller mesh or more processes with a device "
                "each"
            )
        self.held += size

    def _touched(self) -> None:
        """Note that the host reads or writes a buffer."""
        if self.recording is not None:
            self.recording.alone = False

    def _launched(
        self, function: Function, groups: int, threads: int, memory: list[Memory], rest: Arguments, changing: Numbers | None = None
    ) -> None:  # fmt: skip
        """Record a launch that is not a kernel of the engine."""
        if self.recording is not None:
            self.recording.add(Call(function, groups, threads, memory, rest, changing, block=self._block))

    @contextmanager
    def independent(self, readings: bool = False) -> Iterator[None]:
        before, self._block = self._block, "readings" if readings else next(self._blocks)
        try:
            yield
        finally:
            self._block = before

    def copier(self, parts: Sequence[Part]) -> Readings:
        return Readings(self.device, self._moving, parts, self._launched)

    def injector(self, points: Points) -> Injector:
        return Injector(self.device, self.host, self.scratch, self._moving, points, self._launched)

    def _moving(self, text: str, name: str) -> Function:
        """Return a kernel of ``copier`` or ``injector``; a text is compiled once."""
        if text not in self._made:
            self._made[text] = self.device.build(text, [name], None)[name]
        return self._made[text]

    def mark(self) -> Crossing:
        return self.device.mark()

    def record(self, work: Callable[[], None]) -> Recording | None:
        self.recording = made = Recording(self.device, self.host, self.scratch.allocate)
        try:
            work()
        finally:
            self.recording = None
        return made.finished() if made.alone else None

    def batch(self, items: int, rows: int, cols: int, fixed: bool = False, narrow: bool = False) -> DeviceBuffer:
        dtype, lanes = (np.float64, self.fixed_lanes) if fixed else (self.dtype, self.lanes)
        dtype = np.float32 if narrow else dtype
        self._take(items * rows * cols * np.dtype(dtype).itemsize)
        return DeviceBuffer(self._kind(dtype), items, (rows, cols), lanes)

    def store(self, slots: int, size: int, fixed: bool = False, narrow: bool = False) -> DeviceBuffer:
        dtype = np.float32 if narrow else np.float64 if fixed else self.dtype
        self._take(slots * size * np.dtype(dtype).itemsize)
        return DeviceBuffer(self._kind(dtype), slots, (size,), 1)

    def index(self, values: np.ndarray, fixed: bool = False) -> IndexBuffer:
        self._take(4 * np.asarray(values).size)
        return IndexBuffer(self.device, np.asarray(values), self.fixed_lanes if fixed else self.lanes)

    def matrix(self, values: np.ndarray, fixed: bool = False) -> DeviceBuffer:
        values, dtype = np.asarray(values, float).reshape(-1, np.shape(values)[-1]), np.float64 if fixed else self.dtype
        self._take(values.size * np.dtype(dtype).itemsize)
        buffer = DeviceBuffer(self._kind(dtype), len(values), values.shape[1:], 1)
        buffer.put(values)
        return buffer

    def lowered(self, kernel: Kernel) -> tuple[str, Plan]:
        """Return the source text of a kernel and its launch plan."""
        return lower(kernel, self.device.target, self.dtype == np.float32)

    def source(self, kernel: Kernel) -> str:
        return self.lowered(kernel)[0]

    def compile(self, kernels: Iterable[Kernel]) -> Mapping[str, Callable[[Mapping[str, Bound]], Launch]]:
        return {k.name: _Compiled(k, self) for k in kernels}


class IndexBuffer:
    """Slot numbers on a device, in the layout [batch][column][lane]."""

    def __init__(self, device: Device, values: np.ndarray, lanes: int):
        if values.size and values.max() > np.iinfo(np.int32).max:
            raise BackendError(f"{values.max()} slots exceed 32-bit indices; run on more ranks")
        self.device, self.items, self.lanes = device, len(values), lanes
        self.columns = values.size // max(1, self.items)
        lined = values.reshape(self.items // lanes, lanes, self.columns).transpose(0, 2, 1)
        self.memory_on_device = device.allocate(max(4, 4 * values.size))
        self.nbytes = 4 * values.size
        if values.size:
            device.upload(self.memory_on_device, np.ascontiguousarray(lined, np.int32))

    def get(self) -> np.ndarray:
        """Return the slot numbers (items, columns)."""
        lined = np.empty((self.items // self.lanes, self.columns, self.lanes), np.int32)
        self.device.download(self.memory_on_device, lined)
        return lined.transpose(0, 2, 1).reshape(self.items, self.columns)


class _Compiled:
    """Compiled kernel; calling it binds buffers and returns the launch."""

    def __init__(self, kernel: Kernel, backend: DeviceBackend):
        text, self.plan = backend.lowered(kernel)
        self.kernel, self.backend = kernel, backend
        self.real = np.dtype(np.float64 if kernel.fixed else backend.dtype)
        self.function = backend.device.build(text, [kernel.name], self.plan.shared)[kernel.name]

    def __call__(self, buffers: Mapping[str, Bound]) -> Launch:
        bound = [cast("DeviceBuffer | IndexBuffer", buffers[a.name]) for a in self.kernel.arguments]
        memory = [b.memory_on_device for b in bound]
        tables = self.kernel.scalars
        still, moving = (_Numbers([t for t in tables if t.changing == c], self.real) for c in (False, True))
        share, threads, function, backend = self.plan.share, self.plan.threads, self.function, self.backend
        table = backend.scratch.allocate(moving.nbytes) if moving.tables else None
        # Items of a kernel are independent of each other, whatever constant matrices they see.
        kind = (
            id(function),
            *(id(b) for b, a in zip(bound, self.kernel.arguments, strict=True) if a.space != "matrix"),
        )

        def launch(begin: int, end: int, **scalars: Table) -> None:
            if end <= begin:
                return
            rest = [np.int32(begin), still.filled(scalars).tobytes()]
            groups = (end - begin) // share
            if table is not None:
                backend.host.send(table, moving.filled(scalars))
            where = [] if table is None else [table, np.int32(0)]
            backend.device.launch(function, groups, threads, [*memory, *where, *rest])
            if backend.recording is not None:
                backend.recording.add(
                    Call(
                        function,
                        groups,
                        threads,
                        memory,
                        rest,
                        moving if table is not None else None,
                        kind,
                        (begin, end),
                        backend._block,
                    )
                )

        launch.buffers = bound  # type: ignore[attr-defined]
        return launch


class _Numbers:
    """Concatenated tables of changing scalars."""

    def __init__(self, tables: list[Array], real: np.dtype):
        self.tables, self.sizes = tables, [t.rows * t.cols for t in tables]
        self.numbers = np.zeros(max(1, sum(self.sizes)), real)
        self.nbytes, self.itemsize = self.numbers.nbytes, self.numbers.itemsize

    def filled(self, scalars: Scalars) -> np.ndarray:
        """Return the concatenated tables as an array that the next call overwrites."""
        at = 0
        for table, size in zip(self.tables, self.sizes, strict=True):
            self.numbers[at : at + size] = np.ravel(scalars[table.name])
            at += size
        return self.numbers
