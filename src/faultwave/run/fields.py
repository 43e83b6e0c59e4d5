"""Snapshots of the wave field, the free surface and the fault at multiples of an interval.

No snapshot shortens a step: each cluster's part is evaluated from the predictor of the step that contains the time;
fault values are those at the end of that step. A snapshot is written when every cluster has delivered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from faultwave.domain import tets
from faultwave.engines.dg import kernels
from faultwave.engines.dg.basis import face_points, tet_basis
from faultwave.engines.dg.fault_probe import FaultProbe
from faultwave.engines.dg.layout import ranged
from faultwave.output.refine import refine_tet, refine_triangle
from faultwave.run.asked import SURFACE_FIELDS, fault_fields, surface_fields, volume_cells, volume_fields
from faultwave.run.engine import Engine


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
    ):
        self.interval, self.clusters, self.fields, self.rows, self.writers = (
            interval,
            clusters,
            tuple(fields),
            rows,
            writers,
        )
        self.active = {c for c, items in enumerate(clusters) if len(items)}
        self.next = [math.ceil(start / interval - 1e-9)] * len(clusters)
        self.pending: dict[int, tuple[set[int], dict[str, np.ndarray]]] = {}

    def due(self, cluster: int, start: float, end: float) -> list[tuple[int, float]]:
        """(number, time) of the snapshots with start <= time < end this cluster has not delivered."""
        if cluster not in self.active:
            return []
        last = math.ceil(end / self.interval - 1e-9)
        numbers = range(self.next[cluster], max(last, self.next[cluster]))
        self.next[cluster] = numbers.stop
        return [(n, n * self.interval) for n in numbers]

    def waiting(self, cluster: int, end: float) -> bool:
        """Whether a snapshot before ``end`` is due, without taking it."""
        return cluster in self.active and math.ceil(end / self.interval - 1e-9) > self.next[cluster]

    def deliver(self, number: int, cluster: int, items: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """``values`` (items, rows) of one cluster; writes the snapshot if it is the last."""
        total = sum(len(c) for c in self.clusters)
        if number not in self.pending:
            self.pending[number] = (set(), {f: np.zeros((total, self.rows)) for f in self.fields})
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


def volume(engine: Engine, setting: Any, open_writers: Callable[..., list[Writer]]) -> Callable[[float], None]:
    """Hook volume snapshots in; returns what takes the one at the final time."""
    plan, op = engine.plan, engine.operator
    names = list(plan.law.quantities)
    fields = volume_fields(setting, plan.law)
    corners, centres = refine_tet(setting.refinement)
    cells = volume_cells(setting, plan.geometry.centroids, plan.mesh.groups)
    geo = plan.geometry
    points = geo.origin[cells, None, None] + np.einsum("cij,snj->csni", geo.jacobian[cells], corners)
    flip = np.linalg.det(geo.jacobian[cells]) < 0  # sorted cells may be mirrored; written ones are positive
    points[flip] = points[flip][:, :, [0, 2, 1, 3]]
    writers = open_writers("volume", points.reshape(-1, 3), np.arange(len(cells) * len(corners) * 4).reshape(-1, 4), {
        "group": np.repeat(plan.mesh.groups[cells], len(corners)), "cluster": np.repeat(plan.clustering.cluster[cells], len(corners)),
        "global-id": np.repeat(cells, len(corners)),
    }, fields)  # fmt: skip
    psi = tet_basis(centres, plan.case.numerics.order - 1)
    columns = [names.index(f) for f in fields]
    members = _by_cluster(plan.clustering.cluster[cells], engine.layout.clusters)
    shots = Snapshots(setting.interval, members, fields, len(centres), writers, engine.march.time)
    evaluate = op.evaluator()

    def deliver(number: int, cluster: int, tau: float) -> None:
        items = members[cluster]
        evaluate(cluster, tau)
        for part in np.array_split(items, max(1, len(items) // 20000)):
            values[part] = np.einsum("sb,cbf->csf", psi, evaluate.dofs(cells[part])[:, :, columns])
        shots.deliver(number, cluster, items, {f: values[items, :, i] for i, f in enumerate(fields)})

    values: np.ndarray = np.zeros((len(cells), len(centres), len(fields)), op.backend.dtype)

    def before(cluster: int, time: float, step: float) -> None:
        for number, moment in shots.due(cluster, time, time + step):
            deliver(number, cluster, moment - time)

    def finish(time: float) -> None:
        for cluster in sorted(shots.active):
            for number, _ in shots.due(cluster, time, time * (1 + 1e-9) + 1e-9 * setting.interval * 2):
                deliver(number, cluster, 0.0)

    engine.before.append(before)
    engine.watched.append(lambda cluster, time, step: shots.waiting(cluster, time + step))
    return finish


def _turn(op: Any, cells: np.ndarray, listed: Any) -> Any:
    """What makes the law's velocity of the form's in the listed cells, as a batch."""
    turn = op.form.to_physical(op.cells, cells)
    flat = np.broadcast_to(np.eye(3), (len(cells), 3, 3)) if turn is None else turn[:, -3:, -3:]
    batch, real = op.backend.batch(len(listed.rows), 1, 9), listed.source >= 0
    batch.put(flat.reshape(-1, 1, 9)[listed.source[real]], real)
    return batch


def surface(engine: Engine, setting: Any, open_writers: Callable[..., list[Writer]]) -> Callable[[float], None]:
    """Velocity, displacement and peak horizontal velocity on the free surface."""
    plan, op, order = engine.plan, engine.operator, engine.plan.case.numerics.order
    fields = surface_fields(setting)
    cell, face = np.nonzero(plan.topology.kinds == tets.BoundaryKind.FREE_SURFACE)
    corners, centres = refine_triangle(setting.refinement)
    vertices = plan.mesh.vertices[np.take_along_axis(plan.topology.cells[cell], tets.SORTED_FACES[face], 1)]
    a, b, c = (vertices[:, None, None, i] for i in range(3))
    points = a + corners[None, ..., :1] * (b - a) + corners[None, ..., 1:] * (c - a)
    writers = open_writers("surface", points.reshape(-1, 3), np.arange(points.size // 3).reshape(-1, 3), {
        "global-id": np.repeat(cell, len(centres)), "locationFlag": np.full(len(cell) * len(centres), 2),
    }, fields)  # fmt: skip
    values = [tet_basis(face_points(f, centres), order - 1) for f in range(4)]
    clusters = engine.layout.clusters
    members = _by_cluster(plan.clustering.cluster[cell], clusters)
    shots = Snapshots(setting.interval, members, fields, len(centres), writers, engine.march.time)
    compiled = op.backend.compile([kernels.surface(op.form, f, values[f]) for f in range(4)])
    launches, motions, where = [], [], np.empty(len(cell), np.int64)
    trash = op.layout.histories - 1
    slots = op.layout.history[op.layout.position[cell]]
    for f in range(4):
        items = np.flatnonzero(face == f)
        listed = ranged(
            slots[items][:, None], plan.clustering.cluster[cell[items]], clusters, op.backend.lanes, np.array([trash])
        )
        motion = op.backend.batch(len(listed.rows), len(centres), 4)
        real = listed.source >= 0
        where[items[listed.source[real]]] = np.flatnonzero(real)
        motions.append(motion)
        launch = compiled[f"surface_{f}"](
            {
                "slots": op.backend.index(listed.rows),
                "history": op.history,
                "motion": motion,
                "turn": _turn(op, cell[items], listed),
            }
        )
        launches.append((launch, listed.ranges))
    rows = op.form.rows

    def state(cluster: int, tau: float, now: bool) -> dict[str, np.ndarray]:
        items = members[cluster]
        result = np.zeros((len(items), len(centres), 7))
        advance, integral = op.powers(tau)
        for f in range(4):
            mine = face[items] == f
            chosen = items[mine]
            moved = motions[f].get(where[chosen])
            result[mine, :, 3:] = moved
            if now:
                v = op.dofs(cell[chosen])[:, :, -3:]
            else:
                series = op.series(cell[chosen])[:, :, -3:]
                v, u = np.zeros((2, len(chosen), rows[0], 3))
                at = 0
                for k, count in enumerate(rows):
                    v[:, :count] += advance[k] * series[:, at : at + count]
                    u[:, :count] += integral[k] * series[:, at : at + count]
                    at += count
                result[mine, :, 3:6] += np.einsum("sb,nbq->nsq", values[f], u)
            result[mine, :, :3] = np.einsum("sb,nbq->nsq", values[f], v)
        return {name: result[:, :, SURFACE_FIELDS.index(name)] for name in fields}

    def predicted(cluster: int, time: float, step: float) -> None:
        for number, moment in shots.due(cluster, time, time + step):
            shots.deliver(number, cluster, members[cluster], state(cluster, moment - time, False))
        advance, integral = op.powers(step)
        for launch, ranges in launches:
            begin, end = ranges[cluster]
            if end > begin:
                launch(begin, end, integral=integral, advance=advance)

    def finish(time: float) -> None:
        for cluster in sorted(shots.active):
            for number, _ in shots.due(cluster, time, time * (1 + 1e-9) + 1e-9 * setting.interval * 2):
                shots.deliver(number, cluster, members[cluster], state(cluster, 0.0, True))

    engine.predicted.append(predicted)
    return finish


def fault(engine: Engine, setting: Any, open_writers: Callable[..., list[Writer]]) -> Callable[[float], None]:
    """Fault snapshots at the centre of each sub-triangle. Values of friction points are projected on the face's polynomials, which are
    all that the waves see of them; decks take the nearest point."""
    plan, f = engine.plan, engine.fault
    assert f is not None  # checked with the plan
    fields = fault_fields(setting)
    corners, centres = refine_triangle(setting.refinement)
    points = f.faces.positions(corners.reshape(-1, 2))
    writers = open_writers("fault", points.reshape(-1, 3), np.arange(points.size // 3).reshape(-1, 3), {
        "fault-tag": np.repeat(f.faces.tags, len(centres)), "global-id": np.repeat(np.arange(len(f.faces.area)), len(centres)),
    }, fields)  # fmt: skip
    setting_fault = plan.case.fault
    from_velocity = setting_fault is not None and setting_fault.slip_rate_output == "velocity"
    members = _by_cluster(plan.clustering.cluster[f.faces.cells[:, 0]], engine.layout.clusters)
    exact = setting_fault is not None and setting_fault.points == "symmetric"
    probes = [FaultProbe(f, items, centres, exact, from_velocity) for items in members]
    shots = Snapshots(setting.interval, members, fields, len(centres), writers, engine.march.time)

    def deliver(number: int, cluster: int) -> None:
        shots.deliver(number, cluster, members[cluster], probes[cluster].read(fields))

    def corrected(cluster: int, time: float, step: float) -> None:
        for number, moment in shots.due(cluster, time, (time + step) * (1 + 1e-9) + 1e-9 * setting.interval):
            if moment > 0:
                deliver(number, cluster)

    for cluster in sorted(shots.active):
        for number, _ in shots.due(cluster, 0.0, 1e-6 * setting.interval):
            deliver(number, cluster)
    engine.corrected.append(corrected)
    return lambda time: None
