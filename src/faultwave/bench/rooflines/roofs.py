"""Roofs of the machine and of its devices: peak rates and memory bandwidths, measured by generated kernels.

Peaks of multiply-adds (Williams et al. 2009): with registers only, and with the operands of the inner loop of a contraction (a broadcast
number and vectors in the first cache). Bandwidths out of cache: copy and triad, counted as in STREAM (McCalpin 1995), with ordinary stores,
which read the cache line before they write it, and with streaming stores, which do not.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultwave.backends.cpu.compile import build, vector_bytes
from faultwave.backends.cpu.runtime import CpuBackend
from faultwave.bench.results import Measured
from faultwave.kernels.expr import Expr
from faultwave.kernels.language import Kernel

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from faultwave.backends.base import Backend


COLUMNS = 6  # of a contraction: elastic unknowns differentiate six
SAMPLE_SECONDS = 0.02
TITLES = {
    "fma": "multiply-add, registers [GFLOP/s]",
    "fma_memory": "multiply-add, operands in cache [GFLOP/s]",
    "copy": "copy [GB/s]",
    "triad": "triad [GB/s]",
    "copy_streaming": "copy, streaming stores [GB/s]",
    "triad_streaming": "triad, streaming stores [GB/s]",
}
"""Titles of the roofs of one precision and number of threads; values in the code are in flop/s and bytes/s."""


def last_cache_bytes() -> int:
    """Return the size [bytes] of the largest cache; 32 MiB if the system does not report it."""
    sizes = [0]
    for level in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = level.read_text().strip()
        if text[:-1].isdigit():
            sizes.append(int(text[:-1]) * {"K": 2**10, "M": 2**20}.get(text[-1], 1))
    return max(sizes) or 32 * 2**20


def sweep_bytes() -> int:
    """Return the bytes of each of the three arrays of a bandwidth test: four last-level caches, within 64 to 512 MiB.

    They are also limited to a sixteenth of the memory.
    """
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        memory = 8 * 2**30
    return int(min(max(4 * last_cache_bytes(), 2**26), 2**29, memory // 16))


@dataclass(frozen=True)
class Roof:
    """Median [flop/s or bytes/s] of the samples of one roof, and their relative spread (max - min) / median."""

    value: float
    spread: float
    samples: tuple[float, ...]


class Roofs:
    """Measurement of the roofs of one precision.

    Parameters
    ----------
    precision : {'single', 'double'}
    threads : int
        Number of OpenMP threads.
    sweep : int, optional
        Bytes of each array of the bandwidth tests.
    """

    def __init__(self, precision: str, threads: int, sweep: int | None = None):
        real, self.dtype = {"double": ("double", np.float64), "single": ("float", np.float32)}[precision]
        self.precision, self.threads = precision, threads
        self.lanes = vector_bytes() // np.dtype(self.dtype).itemsize
        self.chains = 24 if vector_bytes() == 64 else 12  # registers: 32 with AVX-512 and NEON, 16 before
        head = (
            f"#define R {real}\n#define LANES {self.lanes}\n#define CHAINS {self.chains}\n#define COLUMNS {COLUMNS}\n"
        )
        source = head + resources.files(__package__).joinpath("roofs.c").read_text()
        self.library = ctypes.CDLL(str(build([(f"roofs_{precision}", source)])[f"roofs_{precision}"]))
        self._sweep, self._rounds = sweep or sweep_bytes(), {"fma": 1000, "fma_memory": 1000}
        self._arrays: list[np.ndarray] = []
        self._table = _aligned(64, self.dtype)
        self._vectors = _aligned(64 * COLUMNS * self.lanes, self.dtype)
        self._table[:], self._vectors[:] = 1e-3, 1.0
        self.samples: dict[str, list[float]] = {}

    def names(self) -> list[str]:
        """Return the roofs that can be measured here; streaming stores need compiler support."""
        return [name for name in TITLES if "streaming" not in name or self.library.streams()]

    def sample(self, names: Iterable[str] | None = None) -> dict[str, float]:
        """Return one measurement of each roof [flop/s or bytes/s]; it is also appended to ``samples``."""
        self.library.omp_set_num_threads(self.threads)
        found = {}
        for name in self.names() if names is None else names:
            found[name] = self._compute(name) if name.startswith("fma") else self._bandwidth(name)
            self.samples.setdefault(name, []).append(found[name])
        return found

    def roof(self, name: str) -> Roof:
        """Return the median and spread of the samples taken so far."""
        values = self.samples[name]
        middle = float(np.median(values))
        return Roof(middle, (max(values) - min(values)) / middle, tuple(values))

    def _compute(self, name: str) -> float:
        out = ctypes.c_double(0.0)
        if name == "fma":
            flops = 2.0 * self.chains * self.lanes * self.threads

            def run(rounds: int) -> None:
                self.library.fma_registers(ctypes.c_long(rounds), ctypes.byref(out))
        else:
            nonzeros = 48  # the vectors stay in the first cache
            flops = 2.0 * nonzeros * COLUMNS * self.lanes * self.threads

            def run(rounds: int) -> None:
                self.library.fma_memory(
                    ctypes.c_long(rounds), ctypes.c_long(nonzeros), _pointer(self._table), _pointer(self._vectors),
                    ctypes.byref(out),
                )  # fmt: skip

        while (seconds := _timed(lambda: run(self._rounds[name]))) < SAMPLE_SECONDS:
            self._rounds[name] = int(self._rounds[name] * max(2.0, 1.2 * SAMPLE_SECONDS / max(seconds, 1e-6)))
        return flops * self._rounds[name] / seconds

    def _bandwidth(self, name: str) -> float:
        kind, _, streaming = name.partition("_")
        function = getattr(self.library, f"stream_{kind}" if streaming else kind)
        arrays = self._memory()
        n = ctypes.c_long(arrays[0].size // self.lanes)
        seconds = _timed(lambda: function(n, *map(_pointer, arrays)))
        return (2 if kind == "copy" else 3) * arrays[0].nbytes / seconds

    def _memory(self) -> list[np.ndarray]:
        """Return arrays whose pages were first touched by the threads that use them (NUMA placement)."""
        if not self._arrays:
            size = self._sweep // np.dtype(self.dtype).itemsize // self.lanes * self.lanes
            self._arrays = [_aligned(size, self.dtype) for _ in range(3)]
            self.library.fill(ctypes.c_long(size // self.lanes), *map(_pointer, self._arrays))
        return self._arrays

    def release(self) -> None:
        """Release the arrays of the bandwidth tests."""
        self._arrays = []


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _aligned(size: int, dtype: DTypeLike) -> np.ndarray:
    """Return an uninitialised array aligned to a cache line."""
    width = size * np.dtype(dtype).itemsize
    raw = np.empty(width + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + width].view(dtype)


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def thread_counts(most: int) -> list[int]:
    """Return the thread counts 1, 2, 4, ... and ``most``."""
    return sorted({min(2**k, most) for k in range(most.bit_length() + 1)})


def measure(threads: int | None, repeats: int = 5, sweep: int | None = None) -> list[Measured]:
    """Measure every roof for 1, 2, 4 ... ``threads`` threads (None: as many as a run uses), compute roofs in both precisions.

    Returns
    -------
    list of dict
        Rows with roof, precision, threads, value, spread and samples; the first sample of each roof is a warm-up and left out.
    """
    rows = []
    for count in thread_counts(CpuBackend(threads=threads).threads):
        for precision in ("double", "single"):
            roofs = Roofs(precision, count, sweep)
            names = [n for n in roofs.names() if precision == "double" or n.startswith("fma")]
            for _ in range(repeats + 1):
                roofs.sample(names)
            for name in names:
                roofs.samples[name] = roofs.samples[name][1:]  # the first one warms up
                roof = roofs.roof(name)
                rows.append({"roof": name, "precision": precision, "threads": count, "value": roof.value,
                             "spread": roof.spread, "samples": list(roof.samples)})  # fmt: skip
    return rows


MATRIX_ROWS, CHAINS, ADDS = 16, 8, 64
MATRIX_SIZE, MATRIX_COLUMNS, ROUNDS = 24, 16, 32
COPY_BYTES = 2**28
SECONDS = 0.05


def copying() -> Kernel:
    """Return a kernel that reads and writes every number once."""
    k = Kernel("roof_copy")
    source, target = k.batch("source", MATRIX_ROWS, 8), k.batch("target", MATRIX_ROWS, 8, "out")
    k.pointwise(lambda x: [list(x)], [source], [target])
    return k


def adding() -> Kernel:
    """Return a kernel of independent chains of multiply-adds in registers."""
    k = Kernel("roof_fma")
    given, made = k.batch("given", MATRIX_ROWS, 2), k.batch("made", MATRIX_ROWS, 1, "out")

    def chains(x: Sequence[Expr]) -> list[list[Expr]]:
        sums = [x[0] + float(c) for c in range(CHAINS)]
        for _ in range(ADDS):
            sums = [x[1] * s + x[0] for s in sums]
        total = sums[0]
        for s in sums[1:]:
            total = total + s
        return [[total]]

    k.pointwise(chains, [given], [made])
    return k


def multiplying() -> Kernel:
    """Return a kernel of products with a dense constant matrix, alternating between two temporaries."""
    k = Kernel("roof_fma_memory")
    data, one, two = (
        k.batch("data", MATRIX_SIZE, MATRIX_COLUMNS, "inout"),
        k.temp("one", MATRIX_SIZE, MATRIX_COLUMNS),
        k.temp("two", MATRIX_SIZE, MATRIX_COLUMNS),
    )
    matrix = np.random.default_rng(0).uniform(0.5, 1.0, (MATRIX_SIZE, MATRIX_SIZE))
    matrix /= matrix.sum(1, keepdims=True)  # numbers neither grow nor vanish
    k.pointwise(lambda x: [list(x)], [data], [one])

    def there_and_back(i: object) -> None:
        k.contract(two, matrix, one)
        k.contract(one, matrix, two)

    k.repeat("round", ROUNDS // 2, there_and_back)
    k.pointwise(lambda x: [list(x)], [one], [data])
    return k


FLOPS = {  # an item
    "fma": 2.0 * MATRIX_ROWS * CHAINS * ADDS,
    "fma_memory": 2.0 * MATRIX_SIZE * MATRIX_SIZE * MATRIX_COLUMNS * ROUNDS,
}


class DeviceRoofs:
    """Measurement of the roofs of the device behind a backend, with the interface of ``roofs.Roofs``.

    Parameters
    ----------
    backend : Backend
    sweep : int, optional
        Bytes of the array that is copied; 256 MiB by default.
    """

    def __init__(self, backend: Backend, sweep: int | None = None):
        self.backend, self.samples = backend, dict[str, list[float]]()
        self.number = np.dtype(backend.dtype).itemsize
        kernels = {"copy": copying(), "fma": adding(), "fma_memory": multiplying()}
        compiled = backend.compile(kernels.values())
        few = 64 * backend.lanes
        items = {
            "copy": max(1, (sweep or COPY_BYTES) // (MATRIX_ROWS * 8 * self.number * few)) * few,
            "fma": few,
            "fma_memory": few,
        }
        self.launches = {}
        for name, kernel in kernels.items():
            buffers = {a.name: backend.batch(items[name], a.rows, a.cols) for a in kernel.arguments}
            for buffer in buffers.values():
                buffer.put(0.5)
            self.launches[name] = compiled[kernel.name](buffers)
        self.items, self.rounds = items, dict.fromkeys(kernels, 1)

    def sample(self, names: Iterable[str] | None = None) -> dict[str, float]:
        """Return one measurement of each roof [flop/s or bytes/s]; it is also appended to ``samples``."""
        found = {}
        for name in self.launches if names is None else names:
            while (seconds := self._timed(name)) < SECONDS:
                self.rounds[name] = int(self.rounds[name] * max(2.0, 1.2 * SECONDS / max(seconds, 1e-6)))
            amount = 2.0 * MATRIX_ROWS * 8 * self.number if name == "copy" else FLOPS[name]
            found[name] = amount * self.items[name] * self.rounds[name] / seconds
            self.samples.setdefault(name, []).append(found[name])
        return found

    def _timed(self, name: str) -> float:
        launch, items = self.launches[name], self.items[name]
        launch(0, items)
        self.backend.finish()
        start = time.perf_counter()
        for _ in range(self.rounds[name]):
            launch(0, items)
        self.backend.finish()
        return time.perf_counter() - start

    def roof(self, name: str) -> Roof:
        """Return the median and spread of the samples taken so far."""
        values = self.samples[name]
        middle = float(np.median(values))
        return Roof(middle, (max(values) - min(values)) / middle, tuple(values))
