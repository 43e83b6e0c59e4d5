"""Histories at points on the fault, sampled after the steps of the point's own cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np


class FaultRecorder:
    """Every ``every``-th step of each cluster; ``read(cluster)`` gives values (n, quantities) of its receivers.

    With a ``leader`` all points are sampled after the steps of that cluster, slower ones as they stand then: the common time axis of
    SeisSol's files."""

    def __init__(
        self, clusters: Sequence[np.ndarray], every: int, read: Callable[[int], np.ndarray], leader: int | None = None
    ):
        self.leader = leader
        self.clusters, self.every, self.read = clusters, every, read
        self.count = [0] * len(clusters)
        total = sum(len(c) for c in clusters)
        self.times: list[list[float]] = [[] for _ in range(total)]
        self.values: list[list[np.ndarray]] = [[] for _ in range(total)]

    def record(self, cluster: int, time: float, step: float) -> None:
        """After the step from ``time`` of a cluster."""
        if self.leader is not None and cluster != self.leader:
            return
        self.count[cluster] += 1
        if self.count[cluster] % self.every == 0:
            for c in [cluster] if self.leader is None else range(len(self.clusters)):
                self.take(c, time + step)

    def take(self, cluster: int, time: float) -> None:
        if not len(self.clusters[cluster]):
            return
        for i, row in zip(self.clusters[cluster], self.read(cluster), strict=True):
            self.times[i].append(time)
            self.values[i].append(row)

    def arrays(self, quantities: int) -> tuple[np.ndarray, np.ndarray]:
        """time (nt, nr) and values (nt, nr, nq), padded with NaN."""
        length = max((len(t) for t in self.times), default=0)
        time = np.full((length, len(self.times)), np.nan)
        values = np.full((length, len(self.times), quantities), np.nan)
        for i, (t, v) in enumerate(zip(self.times, self.values, strict=True)):
            time[: len(t), i] = t
            values[: len(t), i] = np.array(v).reshape(len(t), quantities)
        return time, values
