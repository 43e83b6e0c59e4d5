"""Roofs of a device, measured by kernels that its backend generates: memory copy and multiply-adds in registers and from fast memory."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.bench.rooflines.roofs import Roof
from faultwave.kernels.language import Kernel

if TYPE_CHECKING:
    from faultwave.backends.base import Backend

ROWS, CHAINS, ADDS = 16, 8, 64
SIZE, COLUMNS, ROUNDS = 24, 16, 32
COPY_BYTES = 2**28
SECONDS = 0.05


def copying() -> Kernel:
    """Return a kernel that reads and writes every number once."""
    k = Kernel("roof_copy")
    source, target = k.batch("source", ROWS, 8), k.batch("target", ROWS, 8, "out")
    k.pointwise(lambda x: [list(x)], [source], [target])
    return k


def adding() -> Kernel:
    """Return a kernel of independent chains of multiply-adds in registers."""
    k = Kernel("roof_fma")
    given, made = k.batch("given", ROWS, 2), k.batch("made", ROWS, 1, "out")

    def chains(x: Any) -> Any:
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
    data, one, two = k.batch("data", SIZE, COLUMNS, "inout"), k.temp("one", SIZE, COLUMNS), k.temp("two", SIZE, COLUMNS)
    matrix = np.random.default_rng(0).uniform(0.5, 1.0, (SIZE, SIZE))
    matrix /= matrix.sum(1, keepdims=True)  # numbers neither grow nor vanish
    k.pointwise(lambda x: [list(x)], [data], [one])

    def there_and_back(i: object) -> None:
        k.contract(two, matrix, one)
        k.contract(one, matrix, two)

    k.repeat("round", ROUNDS // 2, there_and_back)
    k.pointwise(lambda x: [list(x)], [one], [data])
    return k


FLOPS = {  # an item
    "fma": 2.0 * ROWS * CHAINS * ADDS,
    "fma_memory": 2.0 * SIZE * SIZE * COLUMNS * ROUNDS,
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
            "copy": max(1, (sweep or COPY_BYTES) // (ROWS * 8 * self.number * few)) * few,
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
            amount = 2.0 * ROWS * 8 * self.number if name == "copy" else FLOPS[name]
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


__all__ = ["FLOPS", "DeviceRoofs"]
