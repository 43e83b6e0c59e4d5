"""Integrals over surfaces at sample times: energy flux, and projections on modes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from faultwave.observe.receivers import PendingSample, ReceiverRecorder

Reduce = Callable[[np.ndarray, np.ndarray], np.ndarray]


class SurfaceRecorder(ReceiverRecorder):
    """Recorder of sums over faces of ``reduce(items (n,), values (n, points, Q)) -> (columns,)``, sampled like receivers.

    A face is a receiver with one functional per quadrature point; only the sums are stored.
    """

    def __init__(
        self,
        interval: float,
        clusters: Sequence[np.ndarray],
        points: np.ndarray,
        take: Callable[[int, float], PendingSample],
        reduce: Reduce,
    ):
        super().__init__(interval, clusters, points, take)
        self.reduce = reduce

    def _store(self, number: int, items: np.ndarray, values: np.ndarray) -> None:
        part = self.reduce(items, values)
        self.samples[number] = self.samples[number] + part if number in self.samples else part

    def restore(self, values: np.ndarray) -> None:
        """Continue after the samples of ``values`` (nt, columns), which are stored elsewhere."""
        self.coming.clear()
        self.samples = dict(enumerate(np.zeros_like(values)))
        self.next = [len(values)] * len(self.clusters)

    def sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the times (nt,) [s] and sums (nt, columns) to which every face has contributed."""
        self.complete()
        active = [n for n, items in zip(self.next, self.clusters, strict=True) if len(items)]
        count = min(active, default=0)
        values = np.stack([self.samples[i] for i in range(count)]) if count else np.zeros((0, 0))
        return np.arange(count) * self.interval, values


__all__ = ["Reduce", "SurfaceRecorder"]
