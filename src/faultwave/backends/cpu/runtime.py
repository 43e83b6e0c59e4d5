"""Aligned buffers with lanes innermost, and launches through ctypes with pre-filled arguments.

The system clears and maps a page at the first write, and in a virtual machine its host may do so again. The first steps of
a run would wait for that page by page. Populating pages changes none of their contents, so that it can run concurrently
with writes to some of them.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from faultwave.backends.base import Bound, Buffer, Capabilities, Here, Immediate, Launch, Part, Store
from faultwave.backends.cpu.compile import (
    SHORT_SPIN,
    assembles,
    begin_building,
    build,
    known,
    load,
    remember,
    vector_bytes,
    vector_registers,
)
from faultwave.backends.cpu.lower import lower
from faultwave.backends.cpu.queue import Launchable, Queue, address, copies, packed
from faultwave.base.errors import BackendError
from faultwave.base.processes import host
from faultwave.base.processes.pieces import in_pieces
from faultwave.kernels.expr import Scalars, Table
from faultwave.kernels.fingerprint import fingerprint
from faultwave.kernels.language import Kernel

POPULATE = 23
"""Value of MADV_POPULATE_WRITE for ``madvise`` (Linux 5.14 and later); older systems refuse it and map pages as usual."""

PAGE, PIECE = 4096, 16 << 20
"""Size of a page, and of one request [bytes]; other threads that map memory wait for the length of a request."""


def populate(arrays: Sequence[np.ndarray]) -> threading.Thread | None:
    """Start a thread that commits the memory of arrays, which may be written meanwhile; None if unsupported."""
    if sys.platform != "linux":
        return None
    thread = threading.Thread(target=_populate, args=(list(arrays),), name="memory", daemon=True)
    thread.start()
    return thread


def _populate(arrays: list[np.ndarray]) -> None:
    library = ctypes.CDLL(None)
    for array in arrays:
        begin = -(-array.ctypes.data // PAGE) * PAGE  # only pages that contain nothing but the array
        end = (array.ctypes.data + array.nbytes) // PAGE * PAGE
        for at in range(begin, end, PIECE):
            if library.madvise(ctypes.c_void_p(at), ctypes.c_size_t(min(PIECE, end - at)), POPULATE):
                return


_HUGE = 2 << 20
MANY, SPREAD = 256, 2
"""Limits for reading batch by batch: number of items, and ratio of their range to their number."""

LOOKED_AT = 1 << 24
"""Numbers that a thread checks at a time."""


def _aligned(shape: tuple[int, ...], dtype: npt.DTypeLike) -> np.ndarray:
    """Return zeros aligned to a cache line, large arrays in huge pages if available; pages are touched when written."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if size < 2 * _HUGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        raw = np.zeros(size + 64, np.uint8)
        start = -raw.ctypes.data % 64
    else:
        memory = mmap.mmap(
            -1, size + _HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        )  # freed with the last array that refers to it
        memory.madvise(mmap.MADV_HUGEPAGE)
        raw = np.frombuffer(memory, np.uint8)
        start = -raw.ctypes.data % _HUGE
    return raw[start : start + size].view(dtype).reshape(shape)


def _finite(storage: np.ndarray) -> bool:
    """Return True if all numbers are finite, according to their sums."""
    flat = storage.reshape(-1)
    found = []

    def add(piece: slice) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            found.append(bool(np.isfinite(flat[piece].sum(dtype=np.float64))))

    in_pieces(add, len(flat), LOOKED_AT)
    return all(found)


class LaneBuffer:
    """Buffer (items, rows, cols), viewed item-major and stored [batch][row][col][lane]."""

    def __init__(self, items: int, rows: int, cols: int, lanes: int, dtype: npt.DTypeLike, queue: Queue):
        if items % lanes:
            raise ValueError(f"{items} items are not a multiple of {lanes} lanes")
        self.items, self.lanes, self.queue = items, lanes, queue
        self._numbers = _aligned((items // lanes, rows, cols, lanes), dtype)
        self._shape = (rows, cols)

    @property
    def storage(self) -> np.ndarray:
        """Memory of the buffer, after all queued launches."""
        self.queue.flush()
        return self._numbers

    def _select(self, items: np.ndarray | slice | None) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(items, np.ndarray) and items.dtype != bool:
            return items // self.lanes, items % self.lanes
        index = np.arange(self.items)[slice(None) if items is None else items]
        return index // self.lanes, index % self.lanes

    def places(self, items: np.ndarray, rows: slice) -> np.ndarray:
        """Return the indices into the storage of the numbers that ``get`` returns, in its order."""
        batch, lane = self._select(items)
        count, cols = self._shape
        of_rows = np.arange(count)[rows, None] * cols + np.arange(cols)
        return np.asarray(((batch * count * cols)[:, None, None] + of_rows) * self.lanes + lane[:, None, None])

    def _batches(self, items: np.ndarray | slice | None) -> slice | None:
        """Return the batches that contain exactly these items, or None."""
        if isinstance(items, np.ndarray):
            return None
        first, last, step = (slice(None) if items is None else items).indices(self.items)
        whole = step == 1 and first % self.lanes == 0 == last % self.lanes
        return slice(first // self.lanes, last // self.lanes) if whole else None

    def get(self, items: np.ndarray | slice | None = None, rows: slice = slice(None)) -> np.ndarray:
        batches = self._batches(items)
        if batches is not None:
            found = self.storage[batches, rows].transpose(0, 3, 1, 2)
            return np.array(found, order="C").reshape(len(found) * self.lanes, *found.shape[2:])
        if isinstance(items, np.ndarray) and len(items) >= MANY and items.dtype != bool:
            low, high = int(items.min()) // self.lanes * self.lanes, -(-int(items.max() + 1) // self.lanes) * self.lanes
            # read whole batches, then select; not for negative items, whose batches are unknown
            if low >= 0 and high - low <= SPREAD * len(items):
                return np.asarray(self.get(slice(low, high), rows)[items - low])
        batch, lane = self._select(items)
        return np.asarray(self.storage[:, rows][batch, :, :, lane])  # a copy already

    def fetch(self, items: np.ndarray | slice | None = None, rows: slice = slice(None)) -> Here:
        return Here(self.get(items, rows))

    def total(self) -> np.ndarray:
        return np.asarray(self.storage.sum((0, 3), np.float64))

    def finite(self) -> bool:
        return _finite(self.storage)

    def put(self, values: np.ndarray | float, items: np.ndarray | slice | None = None) -> None:
        batches, shape = self._batches(items), np.shape(values)
        if batches is not None and shape == (self.lanes * (batches.stop - batches.start), *self._shape):
            here = self.storage[batches]
            put = np.reshape(values, (len(here), self.lanes, *self._shape)).transpose(0, 2, 3, 1)

            def copy(piece: slice) -> None:
                here[piece] = put[piece]

            in_pieces(copy, len(here))
            return
        batch, lane = self._select(items)
        self.storage[batch, :, :, lane] = values

    def add(self, values: np.ndarray, items: np.ndarray) -> None:
        batch, lane = self._select(items)
        place = (batch, slice(None), slice(None), lane)
        if len(np.unique(items)) < len(items):
            np.add.at(self.storage, place, values)  # type: ignore[arg-type]
        else:  # equal results in a fifth of the time
            self.storage[place] += values

    @property
    def nbytes(self) -> int:
        return self.storage.nbytes


class SlotBuffer:
    """Buffer (slots, size), contiguous per slot."""

    def __init__(self, slots: int, size: int, dtype: npt.DTypeLike, queue: Queue):
        self.items, self.queue = slots, queue
        self._numbers = _aligned((slots, size), dtype)

    @property
    def storage(self) -> np.ndarray:
        """Memory of the buffer, after all queued launches."""
        self.queue.flush()
        return self._numbers

    @property
    def memory(self) -> np.ndarray:
        """Memory (slots, size) from which messages are sent and into which they are received."""
        return self.storage

    def places(self, items: np.ndarray, rows: slice) -> np.ndarray:
        """Return indices as ``LaneBuffer.places`` does."""
        size = self.storage.shape[1]
        return np.asarray(items[:, None] * size + np.arange(size)[rows])

    def get(self, items: np.ndarray | slice | None = None, rows: slice = slice(None)) -> np.ndarray:
        return np.array((self.storage if items is None else self.storage[items])[:, rows])

    def fetch(self, items: np.ndarray | slice | None = None, rows: slice = slice(None)) -> Here:
        return Here(self.get(items, rows))

    def total(self) -> np.ndarray:
        return np.asarray(self.storage.sum(0, np.float64))

    def finite(self) -> bool:
        return _finite(self.storage)

    def put(self, values: np.ndarray | float, items: np.ndarray | slice | None = None) -> None:
        self.storage[slice(None) if items is None else items] = values

    def add(self, values: np.ndarray, items: np.ndarray) -> None:
        np.add.at(self.storage, items, values)

    @property
    def nbytes(self) -> int:
        return self.storage.nbytes


@contextlib.contextmanager
def _openmp(threads: int) -> Iterator[None]:
    """Set the environment that OpenMP reads when its library is loaded, and restore it for later processes.

    Waiting threads spin briefly. Threads are bound to cores if the run uses all cores it may; otherwise the system places
    them. Settings of the user are left unchanged.
    """
    wanted = dict(SHORT_SPIN)
    if threads > 1 and threads == len(host.allowed_cores()):
        wanted |= {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}
    mine = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(mine)
    try:
        yield
    finally:
        for name in mine:
            del os.environ[name]


_FIRST_TOUCH = """#include <string.h>
void first_touch(char *p, long share, long begin, long end) {
  #pragma omp parallel for schedule(static)
  for (long i = begin; i < end; ++i) memset(p + i * share, 0, share);
}
"""


def _numa_nodes() -> int:
    return len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or 1


class CpuBackend(Immediate):
    """Backend that compiles kernels as C and executes them on the processor."""

    name = "cpu"
    capabilities = Capabilities(on_host=True, stencils=True, planes=True, joint_steps=True)
    failures: tuple[type[Exception], ...] = ()

    def __init__(self, precision: str = "double", threads: int | None = None, place: int = 0):
        self.dtype = {"double": np.float64, "single": np.float32}[precision]
        self.fixed_lanes = vector_bytes() // 8
        self.lanes = vector_bytes() // np.dtype(self.dtype).itemsize
        self.threads = threads or host.thread_count()
        self.numa = _numa_nodes() > 1
        self._real = {np.float64: "double", np.float32: "float"}[self.dtype]
        self.compiling: list[_Compiled] = []
        self.queue: Queue = Queue()

    @property
    def described(self) -> str:
        return f"{self.name}, {self.threads} thread{'s' if self.threads > 1 else ''}"

    def first_touch(self, buffers: Sequence[Buffer | Store], ranges: Iterable[tuple[int, int]]) -> None:
        """Let each thread touch the memory of its items first, so that the pages lie on its NUMA node.

        Parameters
        ----------
        buffers : sequence of buffers
            New buffers, all zero. A store is divided into equal parts, one for each batch of items in turn.
        ranges : iterable of (int, int)
            Items [begin, end) of the launches.
        """
        if not self.numa:
            return
        library = load(str(build([("first_touch", _FIRST_TOUCH)])["first_touch"]))
        library.omp_set_num_threads(self.threads)
        for buffer in map(_own, buffers):
            batches = max(1, max((end for _, end in ranges), default=0) // self.lanes)
            share = buffer.storage.nbytes // batches
            for begin, end in ranges:
                start = ctypes.c_void_p(buffer.storage.ctypes.data)
                library.first_touch(start, *(ctypes.c_long(n) for n in (share, begin // self.lanes, end // self.lanes)))

    def take_memory(self, buffers: Sequence[Buffer | Store]) -> None:
        """Commit memory in a background thread on machines with one NUMA node; elsewhere ``first_touch`` has done so."""
        if not self.numa:
            populate([_own(buffer).storage for buffer in buffers])

    def batch(self, items: int, rows: int, cols: int, fixed: bool = False, narrow: bool = False) -> LaneBuffer:
        dtype, lanes = (np.float64, self.fixed_lanes) if fixed else (self.dtype, self.lanes)
        return LaneBuffer(items, rows, cols, lanes, np.float32 if narrow else dtype, self.queue)

    def store(self, slots: int, size: int, fixed: bool = False, narrow: bool = False) -> SlotBuffer:
        dtype = np.float32 if narrow else np.float64 if fixed else self.dtype
        return SlotBuffer(slots, size, dtype, self.queue)

    def index(self, values: np.ndarray, fixed: bool = False) -> LaneBuffer:
        values = np.asarray(values)
        if values.size and values.max() > np.iinfo(np.int32).max:
            raise BackendError(f"{values.max()} slots exceed 32-bit indices; run on more ranks")
        values = values.reshape(len(values), 1, values.size // max(1, len(values)))
        lanes = self.fixed_lanes if fixed else self.lanes
        buffer = LaneBuffer(len(values), 1, values.shape[2], lanes, np.int32, self.queue)
        buffer.put(values)
        return buffer

    def matrix(self, values: np.ndarray, fixed: bool = False) -> SlotBuffer:
        values = np.asarray(values, float).reshape(-1, np.shape(values)[-1])
        buffer = SlotBuffer(values.shape[0], values.shape[1], np.float64 if fixed else self.dtype, self.queue)
        buffer.put(values)
        return buffer

    def copier(self, parts: Sequence[Part]) -> Callable[[int], None]:
        listed = [
            (_own(p.buffer), p.chosen(_own(p.buffer).places(p.items, p.rows)).reshape(-1), _own(p.store))
            for p in parts
            if len(p.items)
        ]
        flat = [(buffer.storage.reshape(-1), at, store.storage.reshape(-1)) for buffer, at, store in listed]
        queue, waiting = self.queue, list[Launchable]()

        def copy(reading: int) -> None:
            if queue.defers:
                if not waiting:
                    waiting.append(copies(queue, flat))
                queue.put(packed(waiting[0], 0, reading, reading), waiting, 0)
                return
            for source, at, target in flat:
                into = target[reading * len(at) : (reading + 1) * len(at)]
                source.take(at, out=into, mode="clip")  # other modes create a temporary copy

        return copy

    def source(self, kernel: Kernel, assembly: bool = True) -> str:
        """Return the C text of one kernel.

        Parameters
        ----------
        kernel : Kernel
            The kernel.
        assembly : bool, optional
            Write contractions as assembly where the machine allows it, as compiled kernels have them; else as C with the same sums.
        """
        lanes = self.fixed_lanes if kernel.fixed else self.lanes
        return lower(kernel, self._real, lanes, vector_registers(), assembly and assembles())

    def compile(self, kernels: Iterable[Kernel]) -> Mapping[str, Callable[[Mapping[str, Bound]], Launch]]:
        """Compile kernels in the background; cached kernels are not even lowered."""
        kernels = list(kernels)
        contents = {
            k.name: f"{fingerprint(k)} {self._real} {self.fixed_lanes if k.fixed else self.lanes}" for k in kernels
        }
        libraries = {name: found for name, content in contents.items() if (found := known(name, content)) is not None}
        made = begin_building((k.name, self.source(k)) for k in kernels if k.name not in libraries)
        compiled = {
            k.name: _Compiled(k, libraries.get(k.name) or made[k.name], contents[k.name], self) for k in kernels
        }
        self.compiling += [compiled[name] for name in made]
        return compiled

    def finish(self) -> None:
        """Wait for launches and for the kernels that are being compiled; raise BackendError if one cannot be compiled."""
        self.queue.flush()
        while self.compiling:
            self.compiling.pop().load()


def _own(buffer: Bound) -> LaneBuffer | SlotBuffer:
    """Return a buffer of this backend as such."""
    return cast("LaneBuffer | SlotBuffer", buffer)


def _flat(value: Table) -> list[float]:
    """Return the numbers of a scalar or table, row-major, with shortcuts for one number and for lists."""
    if isinstance(value, float):
        return [value]
    if isinstance(value, list) and isinstance(value[0], float):
        return value
    return cast("list[float]", np.ravel(value).tolist())


class _Compiled:
    """Kernel with its library, or a future of it; calling it binds buffers and returns the launch."""

    def __init__(self, kernel: Kernel, library: Path | Future[Path], content: str, backend: CpuBackend):
        self.kernel, self.lanes = kernel, backend.fixed_lanes if kernel.fixed else backend.lanes
        self.library, self.content, self.backend = library, content, backend
        self.function: ctypes._FuncPointer | None = None
        if isinstance(library, Path):
            self.load()

    def load(self) -> ctypes._FuncPointer:
        """Return the library's function, after waiting for the compiler if necessary."""
        if self.function is None:
            library = self.library
            if isinstance(library, Future):
                library = library.result()
                remember(self.kernel.name, self.content, library)
            with _openmp(self.backend.threads):
                loaded = load(str(library))
                loaded.omp_set_num_threads(self.backend.threads)  # LLVM's library reads its environment here
            ctypes.c_int.in_dll(loaded, "placed").value = int(self.backend.numa)
            self.function = loaded.run
            self.function.restype = None
        assert self.function is not None
        return self.function

    def __call__(self, buffers: Mapping[str, Bound]) -> Launch:
        bound = [_own(buffers[a.name]) for a in self.kernel.arguments]  # keeps the memory alive with the launch
        names = [t.name for t in self.kernel.scalars]
        of = Launchable(0, [b.storage.ctypes.data for b in bound], bound)
        numbers = (ctypes.c_double * max(1, sum(t.rows * t.cols for t in self.kernel.scalars)))()
        lanes, queue = self.lanes, self.backend.queue

        def flattened(scalars: Scalars) -> list[float]:
            if not of.function:
                of.function = address(self.load())
            return [x for name in names for x in _flat(scalars[name])]

        def launch(begin: int, end: int, **scalars: Table) -> None:
            flat = flattened(scalars)
            if queue.defers:
                queue.add(of, flat, begin // lanes, end // lanes, end - begin)
                return
            numbers[: len(flat)] = cast("list[ctypes.c_double | float]", flat)
            self.load()(of.arguments, numbers, ctypes.c_long(begin // lanes), ctypes.c_long(end // lanes))

        return launch
