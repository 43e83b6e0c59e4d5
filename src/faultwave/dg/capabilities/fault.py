"""Snapshots of output quantities on the fault.

Values refer to the end of the step that contains the output time and to the friction point nearest to the centre of each sub-triangle.
For cells of high degree, values of friction points are projected on the face's polynomials.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from faultwave.dg.fault.probe import FaultProbe
from faultwave.dg.mesh.placement import Planning
from faultwave.dg.sampling import by_cluster
from faultwave.dg.snapshots import Snapshots, written_as
from faultwave.dg.solver import Solver
from faultwave.engine.capability import Callback, Capability, CapabilityPlan, Files, Requirements
from faultwave.observe.snapshots.fields import check_snapshots, known_fields, snapshot_bytes, snapshot_row
from faultwave.observe.snapshots.pieces import triangle_pieces
from faultwave.physics.friction.outputs import readable

name = "fault"
AFTER = ("rupture",)

PIECE = 4096
"""Number of faces of a cluster that are read at once, because temporary arrays are larger than the results."""


@dataclass(frozen=True)
class FaultSnapshots(CapabilityPlan):
    """Plan of snapshots of the fault."""

    setting: Any
    fields: tuple[str, ...]
    faces: int
    disk: int
    name: str = name

    @property
    def requirements(self) -> Requirements:
        return Requirements(disk=self.disk)

    def attach(self, solver: Solver) -> AttachedSnapshots:
        return AttachedSnapshots(self, solver)

    def report(self, plan: Any) -> dict[str, list[tuple[str, ...]]]:
        values = self.faces * len(triangle_pieces(self.setting).points)
        return {"output": [snapshot_row(name, self.setting, plan.case, values, len(self.fields), 3)]}


def plan(planning: Planning) -> FaultSnapshots | None:
    """Return the plan of fault snapshots, None if the case has none."""
    setting, rupture = planning.case.output.fault, planning.parts.get("rupture")
    if setting is None:
        return None
    problems = planning.problems
    check_snapshots("output.fault", setting, planning.case.output.xdmf, problems)
    if planning.case.fault is None:
        problems.error(
            "output.fault",
            "the case has no fault with friction",
            advice="Give a fault group, or leave output.fault out.",
        )
        return None
    known = readable(planning.case.fault)
    fields = known_fields(setting.fields, known.names, known.default, "output.fault.fields")
    faces = 0 if rupture is None else len(rupture.faces.area)  # type: ignore[attr-defined]
    disk = snapshot_bytes(setting, planning.case, faces * len(triangle_pieces(setting).points), len(fields), 3)
    return FaultSnapshots(setting, tuple(fields), faces, disk)


class AttachedSnapshots(Capability):
    """Snapshots of the fault, attached to a solver."""

    def __init__(self, part: FaultSnapshots, solver: Solver):
        self.part, self.solver, self.interval = part, solver, part.setting.interval
        self.shots: Snapshots | None = None

    @property
    def samples_complete(self) -> bool:
        return self.shots is None or self.shots.samples_complete

    def open(self, files: Files) -> None:
        setting, solver, rupture = self.part.setting, self.solver, self.solver.parts.get("rupture")
        fault = rupture.fault if rupture is not None else None
        pieces = triangle_pieces(setting)
        rows = 1 if fault is None else len(pieces.points)
        if fault is None:  # it belongs to other processes
            points, tags, numbers = np.zeros((0, 3)), np.zeros(0, np.int64), np.zeros(0, np.int64)
            seen = [numbers] * solver.layout.clusters
        else:
            owned = fault.faces.owned
            points = fault.faces.positions(pieces.nodes.reshape(-1, 2))[:owned].reshape(-1, 3)
            tags, numbers = (np.repeat(x[:owned], len(pieces.nodes)) for x in (fault.faces.tags, fault.faces.number))
            seen = by_cluster(solver.plan.clustering.cluster[fault.faces.inside], solver.layout.clusters)
        static = {"fault-tag": tags, "global-id": numbers}
        cells, fields = np.arange(len(points)).reshape(-1, pieces.nodes.shape[1]), list(self.part.fields)
        writers = files.cells(name, points, cells, static, fields, setting.interval, pieces.kind)
        members = [items if fault is None else items[items < fault.faces.owned] for items in seen]
        case, now = solver.plan.case, solver.march.time
        self.shots = Snapshots(setting.interval, members, fields, rows, writers, now, written_as(case))
        if fault is not None:
            self._watch(fault, seen, pieces.points, members)
        files.follow(name, self.shots)

    def _watch(self, fault: Any, seen: list[np.ndarray], points: np.ndarray, members: list[np.ndarray]) -> None:
        setting, shots, solver = self.part.setting, self.shots, self.solver
        assert shots is not None
        of_case = solver.plan.case.fault
        from_velocity = of_case is not None and of_case.slip_rate_output == "velocity"
        as_seissol = solver.plan.case.output.seissol_layout
        # polynomials are written as such; a single value is taken at a point, where every output obeys friction
        exact = (as_seissol or setting.degree is not None) and of_case is not None and of_case.points == "symmetric"
        clusters, late = solver.layout.clusters, 1e-9 * setting.interval
        most = PIECE if solver.plan.share is None else max(1, len(fault.faces.inside))
        pieces = [[items[at : at + most] for at in range(0, len(items), most)] for items in seen]
        probes = [
            [
                FaultProbe(fault, some, points, exact, from_velocity, clusters + i, from_waves=as_seissol)
                for some in listed
            ]
            for i, listed in enumerate(pieces)
        ]
        shots.due_clusters |= {c for c, items in enumerate(seen) if len(items)}
        waits = not solver.backend.asynchronous

        def deliver(number: int, cluster: int) -> None:
            mine, whole = members[cluster], dict[int, np.ndarray]()

            def take(piece: int, found: np.ndarray) -> None:
                whole[piece] = found[:, 0]
                if len(whole) == len(probes[cluster]):
                    values = np.concatenate([whole[i] for i in sorted(whole)], 1)[:, : len(mine)]
                    shots.deliver(number, cluster, mine, dict(zip(self.part.fields, values, strict=True)))

            for i, probe in enumerate(probes[cluster]):
                probe.ask(self.part.fields, partial(take, i))
                if waits and len(probes[cluster]) > 1:
                    probe.finish_reads()

        def corrected(cluster: int, time: float, step: float) -> None:
            for number, moment in shots.due(cluster, time, (time + step) * (1 + 1e-9) + late):
                if moment > 0:
                    deliver(number, cluster)

        def needs_intermediate_state(cluster: int, end: float, step: float) -> bool:
            return shots.waiting(cluster, end * (1 + 1e-9) + late)

        for cluster in sorted(shots.due_clusters):
            for number, _ in shots.due(cluster, 0.0, 1e-6 * setting.interval):
                deliver(number, cluster)
        self.callbacks = (
            Callback(
                "after correct",
                corrected,
                lambda until: not shots.idle(until),
                needs_intermediate_state=needs_intermediate_state,
                next_due=shots.next_due,
            ),
        )

    def close(self) -> None:
        self.callbacks, self.shots = (), None
