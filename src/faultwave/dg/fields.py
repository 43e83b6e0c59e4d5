"""Snapshots of the wave field, the free surface and the fault at multiples of an interval.

No snapshot shortens a step: each cluster's part is evaluated from the predictor of the step that contains the time;
fault values are those at the end of that step. A snapshot is written when every cluster has delivered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike

from faultwave.case.model import Case
from faultwave.dg.asked import fault_fields, volume_cells
from faultwave.dg.basis import tet_basis
from faultwave.dg.fault_probe import FaultProbe
from faultwave.dg.motion import SurfaceMotion
from faultwave.dg.operator import Sampler
from faultwave.dg.solver import Engine
from faultwave.domain import tets
from faultwave.observe.fields import SURFACE_FIELDS, surface_fields, volume_fields
from faultwave.observe.refine import refine_tet, refine_triangle


class Writer(Protocol):
    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None: ...


class Snapshots:
    """Collects parts of snapshots from ``start`` on by cluster and hands complete ones to the writers."""

    def __init__(
        self,
        interval: float,
        clusters: Sequence[np.ndarray],
        fields: Sequence[str],
        rows: int,
        writers: Sequence[Writer],
        start: float,
        dtype: DTypeLike = np.float64,
    ):
        self.dtype = dtype  # in which they wait to be written
        self.interval, self.clusters, self.fields, self.rows, self.writers = (
            interval,
            clusters,
            tuple(fields),
            rows,
            writers,
        )
        self.active = {c for c, items in enumerate(clusters) if len(items)}
        self.watched = set(self.active)  # those whose snapshots are due; of some only others have items
        self.next = [math.ceil(start / interval - 1e-9)] * len(clusters)
        self.pending: dict[int, tuple[set[int], dict[str, np.ndarray]]] = {}

    @property
    def settled(self) -> bool:
        """Whether every cluster has delivered the same snapshots."""
        return not self.pending and len({self.next[c] for c in self.watched}) <= 1

    def go_on(self, number: int) -> None:
        """Snapshots before ``number`` are there already."""
        self.next = [number] * len(self.clusters)

    def due(self, cluster: int, start: float, end: float) -> list[tuple[int, float]]:
        """(number, time) of the snapshots with start <= time < end this cluster has not delivered."""
        if cluster not in self.watched:
            return []
        last = math.ceil(end / self.interval - 1e-9)
        numbers = range(self.next[cluster], max(last, self.next[cluster]))
        self.next[cluster] = numbers.stop
        return [(n, n * self.interval) for n in numbers]

    def waiting(self, cluster: int, end: float) -> bool:
        """Whether a snapshot before ``end`` is due, without taking it."""
        return cluster in self.watched and math.ceil(end / self.interval - 1e-9) > self.next[cluster]

    def idle(self, until: float) -> bool:
        """Whether no snapshot is due in steps that end before a time."""
        return not any(self.waiting(c, until * (1 + 1e-9) + 1e-9 * self.interval) for c in self.watched)

    def deliver(self, number: int, cluster: int, items: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """``values`` (items, rows) of one cluster; writes the snapshot if it is the last."""
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


def _by_cluster(cluster: np.ndarray, clusters: int) -> list[np.ndarray]:
    return [np.flatnonzero(cluster == c) for c in range(clusters)]


Hooked = tuple[Snapshots, Callable[[float], None]]
"""The snapshots, and what takes the one at the final time."""


def volume(engine: Engine, setting: Any, open_writers: Callable[..., list[Writer]]) -> Hooked:
    """Hook volume snapshots in."""
    plan = engine.plan
    fields = volume_fields(setting, plan.law)
    corners, centres = refine_tet(setting.refinement)
    cells = volume_cells(setting, plan.geometry.centroids, plan.mesh.groups)
    geo = plan.geometry
    points = geo.origin[cells, None, None] + np.einsum("cij,snj->csni", geo.jacobian[cells], corners)
    flip = np.linalg.det(geo.jacobian[cells]) < 0  # sorted cells may be mirrored; written ones are positive
    points[flip] = points[flip][:, :, [0, 2, 1, 3]]
    writers = open_writers("volume", points.reshape(-1, 3), np.arange(len(cells) * len(corners) * 4).reshape(-1, 4), {
        "group": np.repeat(plan.mesh.groups[cells], len(corners)), "cluster": np.repeat(plan.clustering.cluster[cells], len(corners)),
        "global-id": np.repeat(plan.numbers[cells], len(corners)),
    }, fields)  # fmt: skip
    members = _by_cluster(plan.clustering.cluster[cells], engine.layout.clusters)
    shots = Snapshots(
        setting.interval, members, fields, len(centres), writers, engine.march.time, written_as(plan.case)
    )
    sample = volume_sampler(engine, setting)

    def deliver(number: int, cluster: int, tau: float) -> None:
        items = members[cluster]
        sample(cluster, tau)
        values = sample.get(cells[items])
        shots.deliver(number, cluster, items, {f: values[:, :, i] for i, f in enumerate(fields)})

    def before(cluster: int, time: float, step: float) -> None:
        for number, moment in shots.due(cluster, time, time + step):
            deliver(number, cluster, moment - time)

    def finish(time: float) -> None:
        for cluster in sorted(shots.active):
            for number, _ in shots.due(cluster, time, time * (1 + 1e-9) + 1e-9 * setting.interval * 2):
                deliver(number, cluster, 0.0)

    engine.before.append(before)
    engine.idle[before] = shots.idle
    engine.watched.append(lambda cluster, time, step: shots.waiting(cluster, time + step))
    return shots, finish


def written_as(case: Case) -> DTypeLike:
    """The numbers of field files."""
    return np.float32 if case.output.precision == "single" else np.float64


def volume_sampler(engine: Engine, setting: Any) -> Sampler:
    """For the volume's snapshots: its cells, sub-cells and quantities."""
    plan, names = engine.plan, list(engine.plan.law.quantities)
    _, centres = refine_tet(setting.refinement)
    psi = tet_basis(centres, plan.case.numerics.order - 1)
    cells = volume_cells(setting, plan.geometry.centroids, plan.mesh.groups)
    return engine.operator.sampler(psi, cells, [names.index(f) for f in volume_fields(setting, plan.law)])


def surface(motion: SurfaceMotion, setting: Any, open_writers: Callable[..., list[Writer]]) -> Hooked:
    """Velocity, displacement and peak horizontal velocity on the free surface; as ``volume``."""
    plan = motion.engine.plan
    fields = surface_fields(setting)
    cell, face, corners, centres = motion.cell, motion.face, motion.corners, motion.centres
    vertices = plan.mesh.vertices[np.take_along_axis(plan.topology.cells[cell], tets.SORTED_FACES[face], 1)]
    a, b, c = (vertices[:, None, None, i] for i in range(3))
    points = a + corners[None, ..., :1] * (b - a) + corners[None, ..., 1:] * (c - a)
    writers = open_writers("surface", points.reshape(-1, 3), np.arange(points.size // 3).reshape(-1, 3), {
        "global-id": np.repeat(plan.numbers[cell], len(centres)), "locationFlag": np.full(len(cell) * len(centres), 2),
    }, fields)  # fmt: skip
    shots = Snapshots(
        setting.interval, motion.members, fields, len(centres), writers, motion.engine.march.time, written_as(plan.case)
    )

    def deliver(number: int, cluster: int, tau: float, now: bool) -> None:
        values = motion.state(cluster, tau, now)
        named = {name: values[:, :, SURFACE_FIELDS.index(name)] for name in fields}
        shots.deliver(number, cluster, motion.members[cluster], named)

    def predicted(cluster: int, time: float, step: float) -> None:
        for number, moment in shots.due(cluster, time, time + step):
            deliver(number, cluster, moment - time, False)

    def finish(time: float) -> None:
        for cluster in sorted(shots.active):
            for number, _ in shots.due(cluster, time, time * (1 + 1e-9) + 1e-9 * setting.interval * 2):
                deliver(number, cluster, 0.0, True)

    motion.before.append(predicted)
    motion.waits.append(shots.idle)
    return shots, finish


def fault(engine: Engine, setting: Any, open_writers: Callable[..., list[Writer]]) -> Hooked:
    """Fault snapshots at the centre of each sub-triangle. Values of friction points are projected on the face's polynomials, which are
    all that the waves see of them; decks take the nearest point."""
    plan, f = engine.plan, engine.fault
    fields = fault_fields(setting)
    corners, centres = refine_triangle(setting.refinement)
    if f is None:  # the fault lies with other processes
        none = np.zeros(0, np.int64)
        writers = open_writers(
            "fault", np.zeros((0, 3)), np.zeros((0, 3), int), {"fault-tag": none, "global-id": none}, fields
        )
        members = [none] * engine.layout.clusters
        return Snapshots(setting.interval, members, fields, 1, writers, engine.march.time), lambda time: None
    points = f.faces.positions(corners.reshape(-1, 2))[: f.faces.owned]
    writers = open_writers("fault", points.reshape(-1, 3), np.arange(points.size // 3).reshape(-1, 3), {
        "fault-tag": np.repeat(f.faces.tags[: f.faces.owned], len(centres)), "global-id": np.repeat(plan.fault_numbers, len(centres)),
    }, fields)  # fmt: skip
    setting_fault = plan.case.fault
    from_velocity = setting_fault is not None and setting_fault.slip_rate_output == "velocity"
    seen, clusters = (
        _by_cluster(plan.clustering.cluster[f.faces.inside], engine.layout.clusters),
        engine.layout.clusters,
    )
    members = [items[items < f.faces.owned] for items in seen]
    exact = setting_fault is not None and setting_fault.points == "symmetric"
    probes = [FaultProbe(f, items, centres, exact, from_velocity, clusters + i) for i, items in enumerate(seen)]
    shots = Snapshots(
        setting.interval, members, fields, len(centres), writers, engine.march.time, written_as(plan.case)
    )
    shots.watched |= {c for c, items in enumerate(seen) if len(items)}

    def deliver(number: int, cluster: int) -> None:
        def take(found: dict[str, np.ndarray]) -> None:
            shots.deliver(number, cluster, members[cluster], {n: v[: len(members[cluster])] for n, v in found.items()})

        probes[cluster].ask(fields, take)

    def corrected(cluster: int, time: float, step: float) -> None:
        for number, moment in shots.due(cluster, time, (time + step) * (1 + 1e-9) + 1e-9 * setting.interval):
            if moment > 0:
                deliver(number, cluster)

    for cluster in sorted(shots.watched):
        for number, _ in shots.due(cluster, 0.0, 1e-6 * setting.interval):
            deliver(number, cluster)
    engine.corrected.append(corrected)
    engine.idle[corrected] = shots.idle
    engine.watched.append(lambda cluster, end, step: shots.waiting(cluster, end * (1 + 1e-9) + 1e-9 * setting.interval))
    return shots, lambda time: None
