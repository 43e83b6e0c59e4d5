"""Displacement and peak horizontal velocity on free surface, sea surface and sea floor, with snapshots of motion.

A kernel updates both in every step. At the sea surface the displacement along the normal is the height of the water.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from faultwave.dg.mesh.placement import Cut, Planning
from faultwave.dg.method.basis import face_points, inner, tet_basis, triangle_basis
from faultwave.dg.operators import kernels
from faultwave.dg.operators.layout import sort_and_pad
from faultwave.dg.sampling import by_cluster
from faultwave.dg.snapshots import MeshSnapshotPlan, MeshSnapshots
from faultwave.dg.solver import Solver
from faultwave.domain import tets
from faultwave.engine.capability import Callback, Files, Requirements, RestoredFrom, State
from faultwave.engine.snapshots import SnapshotBuffer
from faultwave.observe.snapshots.fields import (
    LOCATIONS,
    SURFACE_FIELDS,
    check_snapshots,
    surface_fields,
)
from faultwave.observe.snapshots.pieces import Pieces, triangle_pieces
from faultwave.physics.waves.law import role

name = "surface"
AFTER = ("gravity",)


@dataclass(frozen=True)
class Surface(MeshSnapshotPlan):
    """Plan of surface output: cells, local faces and ``LOCATIONS`` of n faces."""

    cells: np.ndarray
    faces: np.ndarray
    flags: np.ndarray
    name: str = name
    corners = 3

    @property
    def items(self) -> int:
        return len(self.cells)

    @property
    def pieces(self) -> Pieces:
        return triangle_pieces(self.setting)

    @property
    def requirements(self) -> Requirements:
        return Requirements(derivatives=self.cells, disk=self.disk)

    def partition(self, cut: Cut) -> Surface:
        mine = cut.mine(self.cells)
        return replace(self, cells=cut.here[self.cells[mine]], faces=self.faces[mine], flags=self.flags[mine])

    def attach(self, solver: Solver) -> AttachedSurface:
        return AttachedSurface(self, solver)


def plan(planning: Planning) -> Surface | None:
    """Return the plan of surface snapshots, None if the case has none."""
    setting, law, problems = planning.case.output.surface, planning.law, planning.problems
    if setting is None:
        return None
    check_snapshots("output.surface", setting, planning.case.output.xdmf, problems)
    fields = surface_fields(setting)
    located = _locations(planning, setting.sea_floor or planning.case.output.seissol_layout)
    if setting.sea_floor and not planning.whole.any(
        bool((located == LOCATIONS["rock"]).any() or (located == LOCATIONS["water"]).any())
    ):
        problems.warn("output.surface.sea_floor", "has no effect: no rock is below water (mu = 0) in the mesh")
    cells, faces = np.nonzero(located >= 0)
    if "velocity" not in law.roles:
        what = f"the {law.name} law has no particle velocity"
        problems.error("output.surface", what, advice="Ask for output.volume.")
    elif not planning.whole.any(len(cells) > 0):
        what = "the mesh has no free surface, so no output is possible"
        planning.refuse("output.surface", what, advice="Free surfaces carry tag 1, sea surfaces 2.")
        return None
    return Surface(setting, tuple(fields), 0, cells, faces, located[cells, faces]).sized(planning.case)


def _locations(planning: Planning, sea_floor: bool) -> np.ndarray:
    """Return the location (nc, 4) of each face (``LOCATIONS``), -1 where it is not requested."""
    kinds, solid = planning.topology.kinds, ~planning.fluid
    found = np.full(kinds.shape, -1)
    free = kinds == tets.BoundaryKind.FREE_SURFACE
    found[free] = np.where(solid[:, None], LOCATIONS["free surface"], LOCATIONS["free water"]).repeat(4, 1)[free]
    found[kinds == tets.BoundaryKind.GRAVITY] = LOCATIONS["sea surface"]
    if sea_floor:
        beyond = planning.whole.beyond(solid.astype(float), planning.topology.neighbours) > 0
        floor = planning.across & (solid[:, None] != beyond)
        found[floor] = np.where(solid[:, None], LOCATIONS["rock"], LOCATIONS["water"]).repeat(4, 1)[floor]
    return found


class AttachedSurface(MeshSnapshots):
    """Surface output of a run: ``points`` (n, 2) of the sub-triangles (``pieces``) of each face, ``members`` by cluster."""

    part: Surface

    def __init__(self, part: Surface, solver: Solver):
        super().__init__(part, solver)
        self.cell, self.face = part.cells, part.faces
        plan, op = solver.plan, solver.operator
        self.points = self.pieces.points
        self.values = [tet_basis(face_points(f, self.points), op.order - 1) for f in range(4)]
        cluster = plan.clustering.cluster[self.cell]
        self.members = by_cluster(cluster, solver.layout.clusters)
        self.slots = op.layout.history.slots[op.layout.position[self.cell]]
        self.sea = Heights(solver, self.cell, self.face, self.points)
        self._launch(cluster)
        self.callbacks = (Callback("after predict", self._predicted, self._due),)

    def _launch(self, cluster: np.ndarray) -> None:
        """Create the kernels and their buffers for each of the four local faces."""
        op = self.solver.operator
        self._where = np.empty(len(self.cell), np.int64)
        self._launches, self._motions = [], []
        compiled = op.backend.compile([kernels.surface(op.form, f, self.values[f]) for f in range(4)])
        for f in range(4):
            items = np.flatnonzero(self.face == f)
            listed = sort_and_pad(
                self.slots[items][:, None], cluster[items], len(self.members), op.backend.lanes, np.array([0])
            )
            motion = op.backend.batch(len(listed.rows), len(self.points), 4)
            real = listed.source >= 0
            self._where[items[listed.source[real]]] = np.flatnonzero(real)
            self._motions.append(motion)
            arrays = {"slots": op.backend.index(listed.rows), "history": op.history, "motion": motion}
            launch = compiled[f"surface_{f}"](arrays | {"rotation": _rotation(op, self.cell[items], listed)})
            self._launches.append((launch, listed.ranges))

    def _due(self, until: float) -> bool:
        """Return False if only sums are needed, which take no work on the host."""
        return self.shots is not None and not self.shots.idle(until)

    def _predicted(self, cluster: int, time: float, step: float) -> None:
        if self.shots is not None:
            for number, moment in self.shots.due(cluster, time, time + step):
                self._deliver(self.shots, number, cluster, moment - time, False)
        own = self.solver.operator.predictor
        advance, integral = own.at(step, step), own.integral(0.0, step, step)
        for launch, ranges in self._launches:
            begin, end = ranges[cluster]
            if end > begin:
                launch(begin, end, integral=integral, advance=advance)

    def open(self, files: Files) -> None:
        plan, cell, face, pieces = self.solver.plan, self.cell, self.face, self.pieces
        vertices = plan.mesh.vertices[np.take_along_axis(plan.topology.cells[cell], tets.SORTED_FACES[face], 1)]
        a, b, c = (vertices[:, None, None, i] for i in range(3))
        points = a + pieces.nodes[None, ..., :1] * (b - a) + pieces.nodes[None, ..., 1:] * (c - a)
        static = {"global-id": np.repeat(plan.numbers[cell], len(pieces.nodes))}
        static["locationFlag"] = np.repeat(self.part.flags, len(pieces.nodes))
        self.open_series(files, points.reshape(-1, 3), static, self.members)

    def _deliver(self, shots: SnapshotBuffer, number: int, cluster: int, tau: float, now: bool) -> None:
        values = self.motion(cluster, tau, now)
        named = {f: values[:, :, SURFACE_FIELDS.index(f)] for f in self.part.fields}
        shots.deliver(number, cluster, named)

    def finish(self, time: float) -> None:
        if self.shots is not None:
            for number, cluster in self.shots.last(time):
                self._deliver(self.shots, number, cluster, 0.0, True)

    def state(self) -> Mapping[str, State]:
        rows = 4 * self.solver.plan.numbers[self.cell] + self.face

        def write(values: np.ndarray, origin: RestoredFrom) -> None:
            if len(self.cell):
                self._set_moved(values)

        return {"moved": State(rows, self.moved, write)}

    def moved(self) -> np.ndarray:
        """Return displacement [m] and peak horizontal velocity [m/s] so far, (n, points, 4)."""
        result: np.ndarray = np.zeros((len(self.cell), len(self.points), 4), self.solver.backend.dtype)
        for f, motion in enumerate(self._motions):
            mine = self.face == f
            result[mine] = motion.get(self._where[mine])
        return result

    def _set_moved(self, values: np.ndarray) -> None:
        """Restore the values that ``moved`` returned."""
        for f, motion in enumerate(self._motions):
            mine = self.face == f
            motion.put(values[mine], self._where[mine])

    def motion(self, cluster: int, tau: float, now: bool) -> np.ndarray:
        """Return ``SURFACE_FIELDS`` (members, points, 7) of a cluster, ``tau`` [s] into its step or ``now`` between two."""
        op, items = self.solver.operator, self.members[cluster]
        result = np.zeros((len(items), len(self.points), len(SURFACE_FIELDS)))
        step, rows, velocity = op.steps[cluster], op.predictor.rows, role(op.law, "velocity")
        advance, integral = op.predictor.at(tau, step), op.predictor.integral(0.0, tau, step)
        for f in range(4):
            mine = self.face[items] == f
            chosen = items[mine]
            result[mine, :, 3:] = self._motions[f].get(self._where[chosen])
            if now:
                v = op.dofs(self.cell[chosen])[:, :, velocity]
            else:
                series = op.series(self.cell[chosen])[:, :, velocity]
                v, u = np.zeros((2, len(chosen), rows[0], 3))
                at = 0
                for k, count in enumerate(rows):
                    v[:, :count] += advance[k] * series[:, at : at + count]
                    u[:, :count] += integral[k] * series[:, at : at + count]
                    at += count
                result[mine, :, 3:6] += inner(self.values[f][:, None], u.transpose(0, 2, 1)[:, None])
            result[mine, :, :3] = inner(self.values[f][:, None], v.transpose(0, 2, 1)[:, None])
        self.sea.put(result, items, 0.0 if now else tau, step)
        return result


class Heights:
    """Height of the sea at ``points`` (n, 2) of its faces, among all faces of a surface."""

    def __init__(self, solver: Solver, cells: np.ndarray, faces: np.ndarray, points: np.ndarray):
        gravity = solver.parts.get("gravity")
        self.surface = gravity.surface if gravity is not None else None
        self.item = np.full(len(cells), -1)
        if gravity is None or self.surface is None:
            return
        known = {
            (int(c), int(f)): i for i, (c, f) in enumerate(zip(gravity.part.cells, gravity.part.faces, strict=True))
        }
        self.item = np.array([known.get((int(c), int(f)), -1) for c, f in zip(cells, faces, strict=True)], np.int64)
        self.normals = solver.operator.cells.normals[cells, faces]
        self.basis = triangle_basis(points, solver.operator.order - 1)

    def put(self, motion: np.ndarray, items: np.ndarray, tau: float, step: float) -> None:
        """Write the height of the sea surface into ``motion`` (items, points, 7) as displacement along the normal.

        The time is ``tau`` [s] into the step of length ``step`` [s] that the cells of the faces ``items`` have predicted.
        """
        mine = np.flatnonzero(self.item[items] >= 0)
        if self.surface is None or not len(mine):
            return
        listed, n = self.item[items[mine]], self.normals[items[mine], None]
        modes = self.surface.now(listed) if tau == 0.0 else self.surface.later(listed, tau, step)
        height = inner(self.basis[None], modes[:, None])
        moved = motion[mine, :, 3:6]
        motion[mine, :, 3:6] = moved + (height - (moved * n).sum(2))[..., None] * n


def _rotation(op: Any, cells: np.ndarray, listed: Any) -> Any:
    """Return a batch of matrices from the form's velocity to the law's in the listed cells."""
    whole, velocity = op.form.to_physical(op.cells, cells), role(op.law, "velocity")
    flat = np.broadcast_to(np.eye(3), (len(cells), 3, 3)) if whole is None else whole[:, velocity, velocity]
    batch, real = op.backend.batch(len(listed.rows), 1, 9), listed.source >= 0
    batch.put(flat.reshape(-1, 1, 9)[listed.source[real]], real)
    return batch
