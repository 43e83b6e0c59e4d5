"""Impressed currents as sheets on surfaces and densities in volumes; currents at points belong to the point sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from faultwave.case.settings.model import Case
from faultwave.dg.mesh.location import surface_tag, volume_numbers
from faultwave.dg.mesh.placement import Cut, Planning
from faultwave.dg.method.forms import onto_face
from faultwave.dg.operators.prescribed_faces import Faces, PrescribedField, SeparableField, Shifted
from faultwave.dg.sampling import by_cluster
from faultwave.dg.solver import Solver
from faultwave.engine.capability import Callback, Capability, CapabilityPlan, Requirements, RestoredFrom, State
from faultwave.physics.sources.time_functions import time_function
from faultwave.physics.waves import Law

name = "currents"
AFTER = ("point_sources",)


@dataclass(frozen=True)
class Sheet:
    """Current sheet: jump ``density`` (3,) of the flow across faces marked in ``faces`` (nc, 4), times a function of time."""

    faces: np.ndarray
    density: np.ndarray
    function: Shifted

    def drive(self, law: Law, listed: Faces, project: np.ndarray) -> SeparableField:
        """Return the field that the sheet prescribes on the ``listed`` faces."""
        items = np.flatnonzero(self.faces[listed.cells, listed.faces])
        frames = listed.frames[items]
        frame = [frames[:, i] for i in range(frames.shape[1])]
        density = onto_face(law, frame, [np.full(len(items), -d) for d in self.density])
        pairs = np.zeros((len(items), len(project), 2 * law.face_channels))
        pairs[:, :, law.face_channels :] = project.sum(1)[None, :, None] * np.stack(density, -1)[:, None]
        return SeparableField(items, pairs, self.function)


@dataclass(frozen=True)
class Body:
    """Current density in a volume: ``rate`` (cells, Q) of change, uniform in each of ``cells``, times a function of time."""

    cells: np.ndarray
    rate: np.ndarray
    function: Shifted

    def partition(self, cut: Cut) -> Body:
        mine = cut.mine(self.cells)
        return replace(self, cells=cut.here[self.cells[mine]], rate=self.rate[mine])


@dataclass(frozen=True)
class Currents(CapabilityPlan):
    """Plan of impressed currents in sheets and bodies."""

    sheets: tuple[Sheet, ...]
    bodies: tuple[Body, ...]
    name: str = name

    @property
    def requirements(self) -> Requirements:
        none = np.zeros(0, np.int64)
        cells = np.concatenate([none, *(b.cells for b in self.bodies)])
        faces = np.concatenate([np.zeros((0, 2), np.int64), *(np.argwhere(s.faces) for s in self.sheets)])
        lossless = [(f"current in {len(b.cells)} cells", b.cells) for b in self.bodies]
        lossless += [("current sheet", np.nonzero(s.faces)[0]) for s in self.sheets]
        return Requirements(between=cells, faces=faces, lossless=tuple(lossless))

    def partition(self, cut: Cut) -> Currents:
        sheets = tuple(replace(s, faces=s.faces[cut.cells]) for s in self.sheets)
        return replace(self, sheets=sheets, bodies=tuple(b.partition(cut) for b in self.bodies))

    def attach(self, solver: Solver) -> AttachedCurrents:
        return AttachedCurrents(self, solver)


def needs_whole_mesh(case: Case) -> bool:
    """Return True if the case has currents, whose sheets and bodies are located in the whole mesh."""
    return bool(case.currents)


def plan(planning: Planning) -> Currents | None:
    """Return the plan of impressed currents, None if the case has none."""
    case, law, problems = planning.case, planning.law, planning.problems
    if not case.currents:
        return None
    if "current" not in law.point_sources:
        problems.error("currents", f"do not exist in the {law.name} law", "law: maxwell")
        return None
    sheets, bodies = [], []
    for i, setting in enumerate(case.currents):
        where = f"currents[{i}]"
        function = Shifted(time_function(setting.time_function, f"{where}.time_function"), setting.onset)
        if setting.kind == "volume":
            bodies.append(_body(planning, setting, where, function))
        elif setting.kind != "point":
            sheets.append(_sheet(planning, setting, where, function))
    return Currents(tuple(sheets), tuple(bodies)) if sheets or bodies else None


def _body(planning: Planning, setting: Any, where: str, function: Shifted) -> Body:
    law, mesh = planning.law, planning.mesh
    numbers = volume_numbers(setting.volumes, mesh, f"{where}.volumes", planning.problems)
    cells, none = np.flatnonzero(np.isin(mesh.groups, numbers)), np.zeros(6)
    rate = [
        law.source(none, np.array(setting.density), {k: float(v[n]) for k, v in planning.material.items()})
        for n in cells
    ]
    return Body(cells, np.array(rate).reshape(-1, len(law.quantities)), function)


def _sheet(planning: Planning, setting: Any, where: str, function: Shifted) -> Sheet:
    topology, problems = planning.topology, planning.problems
    inner = topology.neighbours >= 0
    tag = surface_tag(setting.surface, planning.mesh, topology, f"{where}.surface", problems)
    faces = (topology.tags == tag) & inner if tag is not None else np.zeros(topology.kinds.shape, bool)
    if tag is not None and not faces.any():
        problems.error(f"{where}.surface", f"'{setting.surface}' is an outer wall", "a surface between two volumes")
    return Sheet(faces, np.array(setting.density, float), function)


class AttachedCurrents(Capability):
    """Impressed currents attached to a solver."""

    def __init__(self, part: Currents, solver: Solver):
        self.part, self.law = part, solver.plan.law
        self.impulses = [Impulses(solver, body) for body in part.bodies]
        self.callbacks = tuple(Callback("inject", impulse.act) for impulse in self.impulses)

    def drives(self, faces: Faces, points: np.ndarray, project: np.ndarray) -> Sequence[PrescribedField]:
        return [sheet.drive(self.law, faces, project) for sheet in self.part.sheets]

    def state(self) -> Mapping[str, State]:
        return {f"body {i}": impulse.state() for i, impulse in enumerate(self.impulses)}


class Impulses:
    """Writer of a volume current's impulses to the degrees of freedom, once a step.

    Windows are centred as in point sources; ``done`` (cells,) is the time [s] up to which each cell has received impulses.
    """

    def __init__(self, solver: Solver, body: Body):
        self.operator, self.body, self.done = solver.operator, body, np.zeros(len(body.cells))
        self.members = by_cluster(solver.plan.clustering.cluster[body.cells], solver.layout.clusters)
        self.rows = solver.plan.numbers[body.cells]

    def act(self, cluster: int, time: float, step: float) -> bool:
        """Add the impulses after the step of a cluster from ``time`` [s]."""
        mine, function = self.members[cluster], self.body.function
        if not len(mine):
            return False
        end = time + 1.5 * step
        impulse = function.integral(end) - function.integral(self.done[mine])
        self.done[mine] = end
        if impulse.any():
            change = np.zeros((len(mine), self.operator.b3, self.body.rate.shape[1]))
            change[:, 0] = impulse[:, None] * self.body.rate[mine] / 6.0**0.5  # mode 0 is the constant sqrt(6)
            self.operator.add_dofs(change, self.body.cells[mine])
        return True

    def state(self) -> State:
        def write(values: np.ndarray, origin: RestoredFrom) -> None:
            self.done[:] = values

        return State(self.rows, self.done.copy, write)
