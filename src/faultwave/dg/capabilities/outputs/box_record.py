"""Record of the wave field around a box (``output.box``), for coupled grids and for structural engineering."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from faultwave.base.types import Setting
from faultwave.comm.messages import gather_rows
from faultwave.dg.capabilities.outputs.receivers import PointSeries
from faultwave.dg.mesh.location import Points
from faultwave.dg.mesh.placement import Cut, Planning
from faultwave.dg.solver import Solver
from faultwave.domain import tets
from faultwave.domain.tets.mesh import SORTED_FACES
from faultwave.engine.box_sources import RecordedFaces, SideCounts, side_of_sources, source_places
from faultwave.engine.capability import CapabilityPlan, Requirements
from faultwave.observe.boxes import KIND, MATERIAL, RECORDED, Recorder, Shell, SourceSide, shell_of
from faultwave.observe.dataset import Result

name = "box"


@dataclass(frozen=True)
class BoxRecord(CapabilityPlan):
    """Plan of the record around a box.

    Attributes
    ----------
    points : Points
        Points in cells of this process.
    items : (n,) int
        Their indices in ``listed``.
    listed : Points
        Points of all processes.
    material : mapping of (n,) arrays
        Material at ``points`` by name.
    """

    setting: Setting
    shell: Shell
    points: Points
    items: np.ndarray
    listed: Points
    material: Mapping[str, np.ndarray]
    samples: int
    side: SourceSide = SourceSide.UNKNOWN
    name: str = name

    @property
    def requirements(self) -> Requirements:
        return Requirements(
            derivatives=self.points.cells, disk=8 * len(RECORDED) * len(self.listed.cells) * self.samples
        )

    def partition(self, cut: Cut) -> BoxRecord:
        items = cut.mine(self.listed.cells)
        retained = {key: values[np.searchsorted(self.items, items)] for key, values in self.material.items()}
        return replace(self, points=self.listed.of(items, cut.here), items=items, material=retained)

    def identity(self) -> Mapping[str, tuple[np.ndarray, np.ndarray]]:
        interval = np.full((len(self.items), 1), self.setting.interval)
        return {"places and samples of output.box": (np.hstack([self.points.located, interval]), self.items)}

    def attach(self, solver: Solver) -> AttachedRecord:
        return AttachedRecord(self, solver)

    def report(self, plan: Any) -> dict[str, list[tuple[str, ...]]]:
        return {"output": [("record of a box", f"{len(self.listed.cells):,} points with {self.samples:,} samples")]}


def plan(planning: Planning) -> BoxRecord | None:
    """Return the plan of a record on the faces of a box, None if the case has none."""
    case, law, problems = planning.case, planning.law, planning.problems
    setting = case.output.box
    if setting is None:
        return None
    if not set(RECORDED) <= set(law.quantities):
        problems.error(
            "output.box", f"the {law.name} law lacks stresses and velocities of solids", "law: elastic or viscoelastic"
        )
        return None
    if setting.spacing is None:
        problems.error(
            "output.box.spacing",
            "is required on tetrahedra, with an interval",
            advice="Use the spacing of the grid into which the waves are injected.",
        )
        return None
    if case.initial.kind != "zero":
        problems.error(
            "output.box", "a record must start at rest, but the case has an initial state", "initial.kind: zero"
        )
    shell = shell_of(setting, _surface(planning, setting), problems)
    if shell is None:
        return None
    found = planning.whole.locate(shell.places, planning.topology, planning.geometry, planning.mesh)
    out = np.flatnonzero(found.cells == -1)
    if len(out):
        x, y, z = shell.places[out[0]]
        where = f"the points around the box, {shell.text}, are partly outside of the mesh"
        what = f"{len(out):,} of {len(shell.places):,} {where}, such as ({x:g}, {y:g}, {z:g})"
        problems.error("output.box", what, "a box three points or more inside")
        return None
    listed, items = Points(shell.places, shell.places, found.cells, found.xi), np.flatnonzero(found.cells >= 0)
    moduli = {**planning.material, **planning.law.moduli(planning.material)}
    material = {key: np.asarray(moduli[key])[found.cells[items]] for key in MATERIAL}
    samples = int(case.end_time / setting.interval) + 1
    side = _side_of_sources(planning, shell)
    return BoxRecord(setting, shell, listed.of(items), items, listed, material, samples, side)


def _side_of_sources(planning: Planning, shell: Shell) -> SourceSide:
    """Return the side of the faces with the sources of the case; report faults and sources at the faces."""
    faces, margin = RecordedFaces(shell.lower, shell.upper, shell.open_top), shell.deep * shell.spacing
    places = source_places(planning.case)
    cells, sides = np.nonzero(planning.frictional)
    order = np.take_along_axis(planning.topology.cells[cells], SORTED_FACES[sides], axis=1)
    corners = planning.mesh.vertices[order]
    faults = SideCounts.of(planning.whole.total(faces.count(corners.min(1), corners.max(1), margin)), margin)
    points = SideCounts.of(faces.count(places, places, margin), margin)
    return side_of_sources(planning.case, points, faults, planning.problems)


def _surface(planning: Planning, setting: Setting) -> float | None:
    """Height of the free surface [m], if the upper face of the box lies on a flat one."""
    topology, level = planning.topology, float(setting.upper[2])
    cells, _ = np.nonzero(topology.kinds == tets.BoundaryKind.FREE_SURFACE)
    if not len(cells):
        return None
    corners = planning.mesh.vertices[planning.mesh.cells[cells]]
    highest = corners[..., 2].max(1)
    near = np.abs(highest - level) < 1e-6 * setting.spacing
    return level if near.any() else None


class AttachedRecord(PointSeries):
    """Record of a run, sampled like receivers."""

    def __init__(self, part: BoxRecord, solver: Solver):
        super().__init__(solver, part.points, part.items, part.setting.interval)
        self.part = part

    def results(self) -> Iterable[Result]:
        part, plan, count = self.part, self.solver.plan, len(self.part.listed.cells)
        values = self.gathered(count)
        found = gather_rows(plan.world, part.items, [part.material[key] for key in MATERIAL], count)
        if values is None or found is None:
            return
        series = {key: values[:, :, 0, plan.law.quantities.index(key)] for key in RECORDED}
        made_by = Recorder("dg", plan.case.numerics.order, sources=part.side)
        data = part.shell.dataset(series, dict(zip(MATERIAL, found, strict=True)), part.setting.interval, made_by)
        yield Result(KIND, data, settings={"formats": part.setting.formats, "layers": part.setting.layers})
