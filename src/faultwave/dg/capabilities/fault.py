"""Snapshots of output quantities on the fault.

Values refer to the end of the step that contains the output time and to the friction point nearest to the centre of each sub-triangle.
For cells of high degree, values of friction points are projected on the face's polynomials.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from faultwave.dg.fault.faces import Fault
from faultwave.dg.fault.probe import FaultProbe
from faultwave.dg.fault.values import ReadingMode
from faultwave.dg.mesh.placement import Planning
from faultwave.dg.sampling import by_cluster
from faultwave.dg.snapshots import MeshSnapshotPlan, MeshSnapshots
from faultwave.dg.solver import Solver
from faultwave.engine.capability import Files
from faultwave.engine.snapshots import SnapshotBuffer
from faultwave.observe.snapshots.fields import check_snapshots, known_fields
from faultwave.observe.snapshots.pieces import Pieces, triangle_pieces
from faultwave.physics.friction.outputs import readable

name = "fault"
AFTER = ("rupture",)

PIECE = 4096
"""Number of faces of a cluster that are read at once, because temporary arrays are larger than the results."""


@dataclass(frozen=True)
class FaultSnapshots(MeshSnapshotPlan):
    """Plan of snapshots of the fault, which has ``faces``."""

    faces: int
    name: str = name
    corners = 3

    @property
    def items(self) -> int:
        return self.faces

    @property
    def pieces(self) -> Pieces:
        return triangle_pieces(self.setting)

    def attach(self, solver: Solver) -> AttachedSnapshots:
        return AttachedSnapshots(self, solver)


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
            advice="Add a fault group, or remove output.fault.",
        )
        return None
    known = readable(planning.case.fault)
    fields = known_fields(setting.fields, known.names, known.default, "output.fault.fields")
    faces = 0 if rupture is None else len(rupture.faces.area)  # type: ignore[attr-defined]
    return FaultSnapshots(setting, tuple(fields), 0, faces).sized(planning.case)


class AttachedSnapshots(MeshSnapshots):
    """Snapshots of the fault, attached to a solver."""

    part: FaultSnapshots

    def open(self, files: Files) -> None:
        solver, rupture, pieces = self.solver, self.solver.parts.get("rupture"), self.pieces
        fault = rupture.fault if rupture is not None else None
        if fault is None:  # it belongs to other processes
            points, tags, numbers = np.zeros((0, 3)), np.zeros(0, np.int64), np.zeros(0, np.int64)
            seen = [numbers] * solver.layout.clusters
        else:
            owned = fault.faces.owned
            points = fault.faces.positions(pieces.nodes.reshape(-1, 2))[:owned].reshape(-1, 3)
            tags, numbers = (np.repeat(x[:owned], len(pieces.nodes)) for x in (fault.faces.tags, fault.faces.number))
            seen = by_cluster(solver.plan.clustering.cluster[fault.faces.inside], solver.layout.clusters)
        static = {"fault-tag": tags, "global-id": numbers}
        members = [items if fault is None else items[items < fault.faces.owned] for items in seen]
        shots = self.open_series(files, points, static, members, 1 if fault is None else None)
        if fault is not None:
            self._watch(fault, shots, seen)

    def _watch(self, fault: Fault, shots: SnapshotBuffer, seen: list[np.ndarray]) -> None:
        """Sample the faces that this process solves, ``seen`` by cluster."""
        setting, solver, points = self.part.setting, self.solver, self.pieces.points
        of_case = solver.plan.case.fault
        from_velocity = of_case is not None and of_case.slip_rate_output == "velocity"
        as_seissol = solver.plan.case.output.seissol_layout
        # polynomials are written as such; a single value is taken at a point, where every output obeys friction
        exact = (as_seissol or setting.degree is not None) and of_case is not None and of_case.points == "symmetric"
        mode = ReadingMode(exact, from_velocity, as_seissol)
        clusters, late = solver.layout.clusters, 1e-9 * setting.interval
        most = PIECE if solver.plan.partition is None else max(1, len(fault.faces.inside))
        pieces = [[items[at : at + most] for at in range(0, len(items), most)] for items in seen]
        probes = [
            [FaultProbe(fault, some, points, mode, clusters + i) for some in listed] for i, listed in enumerate(pieces)
        ]
        shots.due_groups |= {c for c, items in enumerate(seen) if len(items)}
        waits = not solver.backend.capabilities.asynchronous

        def deliver(number: int, cluster: int) -> None:
            count, whole = len(shots.groups[cluster]), dict[int, np.ndarray]()

            def take(piece: int, found: np.ndarray) -> None:
                whole[piece] = found[:, 0]
                if len(whole) == len(probes[cluster]):
                    values = np.concatenate([whole[i] for i in sorted(whole)], 1)[:, :count]
                    shots.deliver(number, cluster, dict(zip(self.part.fields, values, strict=True)))

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

        for cluster in sorted(shots.due_groups):
            for number, _ in shots.due(cluster, 0.0, 1e-6 * setting.interval):
                deliver(number, cluster)
        self.callbacks = (self.callback("after correct", corrected, needs_intermediate_state),)

    def close(self) -> None:
        super().close()
        self.callbacks = ()
