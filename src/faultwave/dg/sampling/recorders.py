"""Recorders that sample cells after predictions, as callbacks that can be replayed on a device."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.dg.sampling.samples import Samples
from faultwave.engine.capability import Callback
from faultwave.kernels.types import Scalars
from faultwave.observe.receivers import ReceiverRecorder


@dataclass(frozen=True)
class SamplesOnDevice:
    """Replay of the samples of a recorder.

    If any sample is due, every step takes the largest number of samples that a step can contain, so that all steps are
    alike.
    """

    recorder: ReceiverRecorder
    samples: Samples

    def key(self, steps: Sequence[int]) -> Hashable:
        return ()

    def table_bytes(self, steps: Sequence[int]) -> int:
        return 0

    def begin(self, due: bool) -> None:
        self.samples.rewind()
        self.recorder.fixed_count = due

    def tables(self, cluster: int, time: float, step: float) -> Sequence[Scalars]:
        self.samples.replayed = True
        self.recorder.record(cluster, time, step)
        self.samples.replayed = False
        taken, self.samples.moments = self.samples.moments, []
        return taken

    def end(self) -> None:
        self.recorder.fixed_count = False


def sampling(recorder: ReceiverRecorder, samples: Samples) -> Callback:
    """Return the callback of a recorder that takes ``samples``."""

    def due(until: float) -> bool:
        return not recorder.idle(until)

    where = frozenset(c for c, items in enumerate(recorder.clusters) if len(items))
    device = SamplesOnDevice(recorder, samples)
    return Callback("after predict", recorder.record, due, device, clusters=where, next_due=recorder.next_due)


def by_cluster(cluster: np.ndarray, clusters: int) -> list[np.ndarray]:
    """Return the items of every cluster, from the ``cluster`` (n,) of each item."""
    return [np.flatnonzero(cluster == c) for c in range(clusters)]


__all__ = ["SamplesOnDevice", "by_cluster", "sampling"]
