"""Integrals over surfaces at sample times: the energy that flows through, projections on patterns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from faultwave.observe.receivers import ReceiverRecorder, Taken

Reduce = Callable[[np.ndarray, np.ndarray], np.ndarray]


class SurfaceRecorder(ReceiverRecorder):
    """Sums over faces of ``reduce(items (n,), values (n, points, Q)) -> (columns,)``, sampled as receivers are.

    A face is a receiver with one functional a quadrature point; only the sums are kept.
    """

    def __init__(
        self, interval: float, clusters: Sequence[np.ndarray], points: np.ndarray, take: Callable[[int, float], Taken], reduce: Reduce
    ):  # fmt: skip
        super().__init__(interval, clusters, points, take)
        self.reduce = reduce

    def _store(self, number: int, items: np.ndarray, values: np.ndarray) -> None:
        part = self.reduce(items, values)
        self.samples[number] = self.samples[number] + part if number in self.samples else part

    def restore(self, values: np.ndarray) -> None:
        """Go on after as many samples as ``values`` (nt, columns), which are kept elsewhere."""
        self.coming.clear()
        self.samples = dict(enumerate(np.zeros_like(values)))
        self.next = [len(values)] * len(self.clusters)

    def sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Times (nt,) and sums (nt, columns) of which every face has given its part."""
        self.complete()
        active = [n for n, items in zip(self.next, self.clusters, strict=True) if len(items)]
        count = min(active, default=0)
        values = np.stack([self.samples[i] for i in range(count)]) if count else np.zeros((0, 0))
        return np.arange(count) * self.interval, values


__all__ = ["Reduce", "SurfaceRecorder"]
