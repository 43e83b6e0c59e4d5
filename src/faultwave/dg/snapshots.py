"""Snapshots of the wave field, the free surface and the fault at multiples of an interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import DTypeLike

from faultwave.case.settings.model import Case
from faultwave.engine.capability import Writes

ROUNDING = 1e-6
"""Largest relative error of a time at which clusters take a snapshot."""


class Snapshots:
    """Collection of the parts of snapshots by cluster, from ``start`` [s] on; complete ones are passed to the writers."""

    def __init__(
        self,
        interval: float,
        clusters: Sequence[np.ndarray],
        fields: Sequence[str],
        rows: int,
        writers: Sequence[Writes],
        start: float,
        dtype: DTypeLike = np.float64,
    ):
        self.dtype = dtype  # number type of pending snapshots
        self.interval, self.clusters, self.fields, self.rows, self.writers = (
            interval,
            clusters,
            tuple(fields),
            rows,
            writers,
        )
        self.active = {c for c, items in enumerate(clusters) if len(items)}
        self.due_clusters = set(self.active)  # may include clusters with items on other processes only
        self.next = [math.ceil(start / interval - 1e-9)] * len(clusters)
        self.pending: dict[int, tuple[set[int], dict[str, np.ndarray]]] = {}

    @property
    def next_number(self) -> int:
        """Number of the first incomplete snapshot."""
        return self.next[min(self.active, default=0)]

    @property
    def samples_complete(self) -> bool:
        """True if every cluster has delivered the same snapshots."""
        return not self.pending and len({self.next[c] for c in self.due_clusters}) <= 1

    def go_on(self, number: int) -> None:
        """Continue at snapshot ``number``; earlier ones exist already."""
        self.next = [number] * len(self.clusters)

    def due(self, cluster: int, start: float, end: float) -> list[tuple[int, float]]:
        """Return (number, time) of the snapshots with start <= time < end that this cluster has not delivered."""
        if not self.waiting(cluster, end):
            return []
        numbers = range(self.next[cluster], math.ceil(end / self.interval - 1e-9))
        self.next[cluster] = numbers.stop
        return [(n, n * self.interval) for n in numbers]

    def last(self, time: float) -> list[tuple[int, int]]:
        """Return (number, cluster) of the snapshots at the very end of a run."""
        end = time * (1 + 1e-9) + 1e-9 * self.interval * 2
        return [(number, c) for c in sorted(self.active) for number, _ in self.due(c, time, end)]

    def waiting(self, cluster: int, end: float) -> bool:
        """Return True if a snapshot before ``end`` is due, without taking it."""
        return cluster in self.due_clusters and math.ceil(end / self.interval - 1e-9) > self.next[cluster]

    def next_due(self, cluster: int) -> float:
        """Return the time such that steps of a cluster that end before it contain no snapshot."""
        return self.next[cluster] * self.interval * (1.0 - ROUNDING) if cluster in self.due_clusters else math.inf

    def idle(self, until: float) -> bool:
        """Return True if no snapshot is due in steps that end before a time."""
        return not any(self.waiting(c, until * (1 + 1e-9) + 1e-9 * self.interval) for c in self.due_clusters)

    def deliver(self, number: int, cluster: int, items: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """Store the ``values`` (items, rows) of one cluster, and write the snapshot if it is complete."""
        total = sum(len(c) for c in self.clusters)
        if number not in self.pending:
            self.pending[number] = (set(), {f: np.zeros((total, self.rows), self.dtype) for f in self.fields})
        done, data = self.pending[number]
        for f in self.fields:
            data[f][items] = values[f]
        done.add(cluster)
        if done == self.active:
            del self.pending[number]
            for writer in self.writers:
                writer.append(number * self.interval, {f: v.reshape(-1) for f, v in data.items()})


def written_as(case: Case) -> DTypeLike:
    """Return the number type of field files."""
    return np.float32 if case.output.precision == "single" else np.float64
