"""Samples of the wave field at points in cells and on surfaces, collected on the backend and copied to the host in one piece."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.backends import Awaited
from faultwave.dg.mesh.placement import Cut
from faultwave.dg.method.basis import face_points, tet_basis, triangle_quadrature
from faultwave.dg.operators import kernels
from faultwave.dg.operators.operator import Operator, transform
from faultwave.dg.operators.prescribed_faces import Faces, faces_of
from faultwave.dg.solver import Solver
from faultwave.engine.capability import Callback, RestoredFrom, State
from faultwave.engine.energies import TimeTable
from faultwave.engine.receivers import ReceiverRecorder
from faultwave.engine.surface_sums import Reduce, SurfaceRecorder
from faultwave.kernels.expr import Scalars

KEPT = 16 << 20
"""Largest size of the samples of one cluster that are collected before they are copied [bytes]."""

MOST = 256  # largest number of samples that are collected


class ScheduledTable(TimeTable):
    """Table whose rows fall on ends of largest steps; ``record`` sets ``due``, the time [s] of the next row."""

    due = 0.0

    def schedule(self) -> None:
        """Add the callback that records."""
        self.callbacks = (Callback("end of largest step", self._met, next=lambda: self.due),)

    def _met(self, cluster: int, time: float, step: float) -> None:
        if time >= self.due * (1 - 1e-9):
            self.record()

    def state(self) -> Mapping[str, State]:
        def write(values: np.ndarray, origin: RestoredFrom) -> None:
            self.due = float(values)

        return {"due": State(None, lambda: np.array(self.due), write)}


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
        rows = np.stack([op.layout.history.slots[op.layout.position[cells]], number], 1)
        rows = np.concatenate([rows, np.repeat(rows[:1], self.padded - len(rows), 0)])
        self.slots = b.index(np.tile(rows, (self.length, 1)))
        self.values = b.batch(self.length * self.padded, samples.count, op.form.Q)
        arrays = {"slots": self.slots, "history": op.history, "weights": samples.weights, "values": self.values}
        self.launch = kernel(arrays)  # type: ignore[operator]
        self.samples, self.operator, self.to_physical = samples, op, op.form.to_physical(op.cells, cells)
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
            self.got = transform(raw, self.buffer.to_physical).astype(float)
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


def sampling_callback(recorder: ReceiverRecorder, samples: Samples) -> Callback:
    """Return the callback of a recorder that takes ``samples``."""

    def due(until: float) -> bool:
        return not recorder.idle(until)

    where = frozenset(c for c, items in enumerate(recorder.clusters) if len(items))
    device = SamplesOnDevice(recorder, samples)
    return Callback("after predict", recorder.record, due, device, clusters=where, next_due=recorder.next_due)


def by_cluster(cluster: np.ndarray, clusters: int) -> list[np.ndarray]:
    """Return the items of every cluster, from the ``cluster`` (n,) of each item."""
    return [np.flatnonzero(cluster == c) for c in range(clusters)]


@dataclass(frozen=True)
class Surface:
    """Faces (n,) seen from the cells that the flow leaves: name, cells and local faces."""

    name: str
    cells: np.ndarray
    faces: np.ndarray

    def partition(self, cut: Cut) -> Surface:
        """Return the faces whose cells are on this process."""
        mine = cut.mine(self.cells)
        return Surface(self.name, cut.here[self.cells[mine]], self.faces[mine])


def face_functionals(order: int, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the quadrature points (p, 2) and weights (p,) of a face and the basis there (n, p, B3), on local ``faces`` (n,)."""
    points, weights = triangle_quadrature(order + 1)
    basis = np.stack([tet_basis(face_points(f, points), order - 1) for f in range(4)])
    return points, weights, basis[faces]


class SurfaceSum:
    """Sums over a surface at sample times; the first process stores the sums from before a checkpoint."""

    def __init__(
        self,
        solver: Solver,
        surface: Surface,
        interval: float,
        reduce: Callable[[Faces, np.ndarray, np.ndarray], Reduce],
    ):
        op, plan = solver.operator, solver.plan
        self.solver, self.surface = solver, surface
        points, weights, functionals = face_functionals(op.order, surface.faces)
        members = by_cluster(plan.clustering.cluster[surface.cells], solver.layout.clusters)
        taken = Samples(op, surface.cells, members, functionals)
        faces = faces_of(op, surface.cells, surface.faces, plan.geometry.origin(surface.cells))
        self.recorder = SurfaceRecorder(interval, members, functionals, taken.take, reduce(faces, points, weights))
        self.call: Callback = sampling_callback(self.recorder, taken)
        self.before: np.ndarray | None = None

    def sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Return times (nt,) [s] and sums (nt, columns) over all processes, on each of them (collective)."""
        world, (_, values) = self.solver.plan.world, self.recorder.sums()
        pieces = world.gather(values if self.recorder.active else None)
        if pieces is not None:
            found = [p for p in pieces if p is not None]
            values = sum(p[: min(map(len, found))] for p in found)
            if self.before is not None:
                values[: len(self.before)] += self.before
        values = world.broadcast(values)
        return np.arange(len(values)) * self.recorder.interval, values

    def finish(self, time: float) -> None:
        """Take the sample at the very end, if one is due."""
        self.recorder.finish(time, self.solver.dofs_of(self.recorder, self.surface.cells))

    def state(self, name: str) -> Mapping[str, State]:
        """Return the state of the sums for checkpoints, under ``name``."""

        def write(values: np.ndarray, origin: RestoredFrom) -> None:
            self.recorder.restore(values)
            if self.solver.plan.world.first:
                self.before = values

        return {name: State(None, lambda: self.sums()[1], write)}
