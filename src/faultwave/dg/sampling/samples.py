"""Samples of the field at points inside cells at times within a step, collected on the backend and copied to the host in one piece."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faultwave.backends import Awaited
from faultwave.dg.operators import kernels
from faultwave.dg.operators.operator import Operator
from faultwave.dg.operators.reader import turned

KEPT = 16 << 20
"""Largest size of the samples of one cluster that are collected before they are copied [bytes]."""

MOST = 256  # largest number of samples that are collected


class Samples:
    """Samples of linear functionals of the field in some cells.

    Parameters
    ----------
    operator : Operator
        Operator that holds the cells.
    cells : ndarray (n,)
        Cells, which store their derivatives.
    members : sequence of ndarray
        Indices in ``cells`` of the cells of each cluster.
    functionals : ndarray (n, C, B3)
        Weights of the modes in C functionals of each cell, such as basis values at a point.
    """

    def __init__(self, operator: Operator, cells: np.ndarray, members: Sequence[np.ndarray], functionals: np.ndarray):
        # A process may hold none of the cells, so that reshape could not infer the width.
        flat = functionals.reshape(len(functionals), functionals.shape[1] * functionals.shape[2])
        found, number = np.unique(flat, axis=0, return_inverse=True)
        self.operator, self.count = operator, functionals.shape[1]
        self.weights = operator.backend.store(max(1, len(found)), found.shape[1])
        if len(found):
            self.weights.put(found)
        self.replayed = False  # True while replayed steps have already taken the samples
        self.moments: list[dict[str, list[float]]] = []  # their times, as arguments of the recorded launches
        kernel = operator.backend.compile([kernels.samples(operator.form, self.count)])["samples"]
        self.sample_buffers = [
            _SampleBuffer(self, c, cells[m], number.reshape(-1)[m], kernel) if len(m) else None
            for c, m in enumerate(members)
        ]

    def take(self, cluster: int, tau: float) -> Taken:
        """Take a sample (n, C, Q) of the cluster's cells, ``tau`` [s] after the start of their last predicted step."""
        buffer = self.sample_buffers[cluster]
        assert buffer is not None, "no sample points in this cluster"
        return buffer.take(tau)

    def rewind(self) -> None:
        """Start the sample buffer of every cluster anew."""
        for buffer in self.sample_buffers:
            if buffer is not None and buffer.stretch.count:
                buffer.stretch.bring()

    def nbytes(self) -> int:
        """Return the memory of weights and sample buffers [bytes]."""
        return self.weights.nbytes + sum(t.values.nbytes + t.slots.nbytes for t in self.sample_buffers if t)


class _SampleBuffer:
    """Buffer for consecutive samples of a cluster, each in its own range of items."""

    def __init__(self, samples: Samples, cluster: int, cells: np.ndarray, number: np.ndarray, kernel: object):
        op, self.cluster = samples.operator, cluster
        b, self.cells = op.backend, cells
        self.padded = -(-len(cells) // b.lanes) * b.lanes
        size = samples.count * op.form.Q
        self.length = max(1, min(MOST, KEPT // (8 * self.padded * size)))
        # Padding repeats the first cell; its samples are never read.
        rows = np.stack([op.layout.history[op.layout.position[cells]], number], 1)
        rows = np.concatenate([rows, np.repeat(rows[:1], self.padded - len(rows), 0)])
        self.slots = b.index(np.tile(rows, (self.length, 1)))
        self.values = b.batch(self.length * self.padded, samples.count, op.form.Q)
        arrays = {"slots": self.slots, "history": op.history, "weights": samples.weights, "values": self.values}
        self.launch = kernel(arrays)  # type: ignore[operator]
        self.samples, self.operator, self.turn = samples, op, op.form.to_physical(op.cells, cells)
        self.stretch = Stretch(self)

    def take(self, tau: float) -> Taken:
        """Take a sample, ``tau`` [s] after the start of the last predicted step."""
        if self.stretch.count == self.length:
            self.stretch.bring()
        stretch, op = self.stretch, self.operator
        moment = {"advance": op.predictor.at(tau, op.steps[self.cluster])}
        begin = stretch.count * self.padded
        if self.samples.replayed:
            self.samples.moments.append(moment)
        else:
            with self.operator.backend.independent(readings=True):
                self.launch(begin, begin + self.padded, **moment)
        stretch.count += 1
        return Taken(stretch, stretch.count - 1)


class Stretch:
    """Samples that are copied to the host together."""

    def __init__(self, buffer: _SampleBuffer):
        self.buffer, self.count = buffer, 0
        self.awaited: Awaited | None = None
        self.got: np.ndarray | None = None

    def bring(self) -> Awaited:
        """Start to copy the samples; later samples belong to another stretch."""
        if self.awaited is None:
            self.awaited = self.buffer.values.fetch(slice(0, self.count * self.buffer.padded))
            self.buffer.stretch = Stretch(self.buffer)
        return self.awaited

    def values(self) -> np.ndarray:
        """Return the samples (samples, n, C, Q) in the law's quantities."""
        if self.got is None:
            raw = self.bring().values()
            raw = raw.reshape(self.count, self.buffer.padded, *raw.shape[1:])[:, : len(self.buffer.cells)]
            self.got = turned(raw, self.buffer.turn).astype(float)
        return self.got


class Taken:
    """Pending sample; see ``Awaited``."""

    def __init__(self, stretch: Stretch, number: int):
        self.stretch, self.number = stretch, number

    @property
    def here(self) -> bool:
        """True if the sample has arrived on the host."""
        return self.stretch.awaited is not None and self.stretch.awaited.here

    def values(self) -> np.ndarray:
        """Return the values (n, C, Q)."""
        return np.asarray(self.stretch.values()[self.number])


__all__ = ["Samples", "Taken"]
