"""What drives faces and cells of a case from outside: incident waves, sheets and volumes of current."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.base.errors import Problems, suggest
from faultwave.case.model import Case
from faultwave.dg.driven import Drive, Driven, Faces, Pattern, Travelling, faces_of, pair, projection
from faultwave.dg.forms import onto_face
from faultwave.dg.medium import single_medium
from faultwave.dg.periodic import across_period
from faultwave.domain import tets
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.time_functions import time_function
from faultwave.physics.waves import Law

if TYPE_CHECKING:
    from faultwave.dg.solver import Engine


@dataclass(frozen=True)
class Shifted:
    """A function of time that starts later."""

    function: Any
    onset: float

    def value(self, t: Any) -> np.ndarray:
        return np.asarray(self.function.value(np.asarray(t, float) - self.onset))

    def integral(self, t: Any) -> np.ndarray:
        return np.asarray(self.function.integral(np.asarray(t, float) - self.onset))


@dataclass(frozen=True)
class Sheet:
    """A jump ``density`` (3,) of the flow across faces marked in ``faces`` (nc, 4), times a function of time."""

    faces: np.ndarray
    density: np.ndarray
    function: Shifted


@dataclass(frozen=True)
class Wave:
    """A plane wave of state ``q`` (Q,) that travels along ``direction`` (3,) at ``speed``; ``signs`` (nc, 4): +1 on faces that see it
    arrive, -1 on faces from whose neighbour's total field it is taken away, 0 elsewhere."""

    signs: np.ndarray
    q: np.ndarray
    direction: np.ndarray
    speed: float
    reference: np.ndarray | None
    function: Shifted


@dataclass(frozen=True)
class Body:
    """``rate`` (cells, Q) of change, uniform in each of ``cells``, times a function of time."""

    cells: np.ndarray
    rate: np.ndarray
    function: Shifted


@dataclass(frozen=True)
class DrivePlan:
    """All of them, and the faces (nc, 4) that need slots of their own."""

    driven: np.ndarray
    sheets: tuple[Sheet, ...] = ()
    waves: tuple[Wave, ...] = ()
    bodies: tuple[Body, ...] = ()
    points: tuple[PointSource, ...] = ()
    ports: tuple[Any, ...] = field(default_factory=tuple)


def surface_tag(key: str | int, mesh: tets.Mesh, topology: tets.Topology, where: str, problems: Problems) -> int | None:
    """Tag of a surface by name or number; a problem where the mesh has none of it."""
    names = mesh.named(2)
    tag = names.get(str(key), int(key) if str(key).isdigit() else None)
    if tag is None or not (topology.tags == tag).any():
        allowed = ", ".join(names) or ", ".join(map(str, np.unique(topology.tags[topology.tags > 0])))
        problems.error(where, f"the mesh has no surface '{key}'", allowed, suggest(str(key), names))
        return None
    return tag


def volume_numbers(keys: Any, mesh: tets.Mesh, where: str, problems: Problems) -> list[int]:
    """Groups of volumes by name or number."""
    names, found = mesh.named(3), []
    for key in keys:
        group = names.get(str(key), int(key) if str(key).isdigit() else None)
        if group is None or not (mesh.groups == group).any():
            allowed = ", ".join(names) or ", ".join(map(str, np.unique(mesh.groups)))
            problems.error(where, f"the mesh has no volume '{key}'", allowed, suggest(str(key), names))
        else:
            found.append(group)
    return found


def plan_drives(
    case: Case, law: Law, mesh: tets.Mesh, topology: tets.Topology, material: dict[str, np.ndarray], problems: Problems
) -> DrivePlan:
    """Find and check everything the case's currents and incident waves name."""
    driven = np.zeros(topology.kinds.shape, bool)
    sheets, waves, bodies, points = [], [], [], []
    if (case.currents or case.incident) and "current" not in law.point_sources:
        problems.error(
            "currents" if case.currents else "incident", f"do not exist in the {law.name} law", "law: maxwell"
        )
        return DrivePlan(driven)
    inner = topology.neighbours >= 0
    for i, c in enumerate(case.currents):
        where = f"currents[{i}]"
        function = Shifted(time_function(c.time_function, f"{where}.time_function"), c.onset)
        if c.kind == "point":
            points.append(
                PointSource(
                    np.array(c.location, float), function.function, force=np.array(c.moment, float), onset=c.onset, name=where
                )
            )  # fmt: skip
        elif c.kind == "volume":
            cells = np.flatnonzero(np.isin(mesh.groups, volume_numbers(c.volumes, mesh, f"{where}.volumes", problems)))
            rate = [
                law.source(np.zeros(6), np.array(c.density), {k: float(v[n]) for k, v in material.items()})
                for n in cells
            ]
            bodies.append(Body(cells, np.array(rate).reshape(-1, len(law.quantities)), function))
        else:
            assert c.surface is not None
            tag = surface_tag(c.surface, mesh, topology, f"{where}.surface", problems)
            faces = (topology.tags == tag) & inner if tag is not None else np.zeros_like(driven)
            if tag is not None and not faces.any():
                problems.error(f"{where}.surface", f"'{c.surface}' is an outer wall", "a surface between two volumes")
            driven |= faces
            sheets.append(Sheet(faces, np.array(c.density, float), function))
    for i, w in enumerate(case.incident):
        wave = _incident(w, f"incident[{i}]", law, mesh, topology, material, problems)
        if wave is not None:
            driven |= wave.signs != 0
            waves.append(wave)
    return DrivePlan(driven, tuple(sheets), tuple(waves), tuple(bodies), tuple(points))


def _incident(
    w: Any, where: str, law: Any, mesh: tets.Mesh, topology: tets.Topology, material: dict[str, np.ndarray], problems: Problems
) -> Wave | None:  # fmt: skip
    signs, near = np.zeros(topology.kinds.shape), topology.neighbours
    if w.surface is not None:
        tag = surface_tag(w.surface, mesh, topology, f"{where}.surface", problems)
        if tag is None:
            return None
        signs[(topology.tags == tag) & (topology.kinds == tets.BoundaryKind.ABSORBING)] = 1.0
        if not signs.any():
            problems.error(f"{where}.surface", f"'{w.surface}' does not absorb", "a boundary of kind absorbing")
            return None
    else:
        inside = np.isin(mesh.groups, volume_numbers(w.volumes, mesh, f"{where}.volumes", problems))
        across = (near >= 0) & (inside[:, None] != inside[np.maximum(near, 0)])
        signs[across] = np.where(inside[:, None], 1.0, -1.0).repeat(4, 1)[across]
        if not signs.any():
            problems.error(f"{where}.volumes", "these volumes have no face to the rest of the mesh")
            return None
    single = single_medium(material, np.flatnonzero((signs != 0).any(1)))
    if isinstance(single, str):
        problems.error(where, f"the medium where the wave comes in {single}", "one lossless medium all around")
        return None
    direction = np.array(w.direction, float) / np.linalg.norm(w.direction)
    periods = across_period(mesh, topology)[1]
    if (np.abs(periods @ direction) > 1e-6 * np.linalg.norm(periods, axis=1)).any():
        what = f"{list(w.direction)} runs along a period of the mesh, so that the wave would have to be ahead of itself on its far side"
        problems.error(f"{where}.direction", what, "a direction across all periods (normal incidence)")
        return None
    function = Shifted(time_function(w.time_function, f"{where}.time_function"), w.onset)
    reference = None if w.reference is None else np.array(w.reference, float)
    values = {name: np.asarray(v) for name, v in single.items()}
    q = law.plane_wave(direction, np.array(w.amplitude, float), values)
    return Wave(signs, q, direction, float(law.speed(values)), reference, function)


def attach(engine: Engine) -> Driven | None:
    """Drives of the plan's faces, and hooks for its bodies."""
    plan, op = engine.plan, engine.operator
    engine.impulses = [Impulses(engine, body) for body in plan.drives.bodies]
    engine.corrected += [impulse.act for impulse in engine.impulses]
    cells, faces = np.nonzero(plan.drives.driven)
    if not len(cells) and not plan.drives.waves:  # where waves begin is agreed upon
        return None
    listed = faces_of(op, cells, faces, plan.geometry.origin)
    points, project = projection(op.order)
    drives: list[Drive] = []
    for sheet in plan.drives.sheets:
        items = np.flatnonzero(sheet.faces[cells, faces])
        drives.append(_sheet(op.law, listed, items, sheet, project))
    for wave in plan.drives.waves:
        drives.append(_wave(op.law, listed, wave, points, project, lambda x: plan.world.largest([x])[0]))
    for port in plan.drives.ports:
        drives += port.drives(op.law, listed, points, project)
    return Driven(op, listed, drives, plan.clustering.cluster) if len(cells) else None


def _sheet(law: Law, listed: Faces, items: np.ndarray, sheet: Sheet, project: np.ndarray) -> Pattern:
    frames = listed.frames[items]
    density = onto_face(
        law, [frames[:, i] for i in range(frames.shape[1])], [np.full(len(items), -d) for d in sheet.density]
    )
    pairs = np.zeros((len(items), len(project), 2 * law.face_channels))
    pairs[:, :, law.face_channels :] = project.sum(1)[None, :, None] * np.stack(density, -1)[:, None]
    return Pattern(items, pairs, sheet.function)


def _wave(
    law: Law, listed: Faces, wave: Wave, points: np.ndarray, project: np.ndarray, largest: Callable[[float], float]
) -> Travelling:
    sign = wave.signs[listed.cells, listed.faces]
    items = np.flatnonzero(sign)
    x = listed.positions(points)[items]
    along = x @ wave.direction
    first = -largest(-along.min(initial=np.inf)) if wave.reference is None else float(wave.reference @ wave.direction)
    pairs = sign[items, None] * pair(law, listed.frames[items], np.broadcast_to(wave.q, (len(items), len(wave.q))))
    return Travelling(items, pairs, (along - first) / wave.speed, project, wave.function)


class Impulses:
    """A body's impulses to the dofs once a step, the windows centred as those of point sources; ``done`` (cells,): the time
    up to which each cell has had them."""

    def __init__(self, engine: Engine, body: Body):
        self.operator, self.body, self.done = engine.operator, body, np.zeros(len(body.cells))
        cluster = engine.plan.clustering.cluster[body.cells]
        self.members = [np.flatnonzero(cluster == c) for c in range(engine.layout.clusters)]

    def act(self, cluster: int, time: float, step: float) -> None:
        """After the step from ``time`` of a cluster."""
        mine, function = self.members[cluster], self.body.function
        if not len(mine):
            return
        end = time + 1.5 * step
        impulse = function.integral(end) - function.integral(self.done[mine])
        self.done[mine] = end
        if impulse.any():
            change = np.zeros((len(mine), self.operator.b3, self.body.rate.shape[1]))
            change[:, 0] = impulse[:, None] * self.body.rate[mine] / 6.0**0.5  # mode 0 is the constant sqrt(6)
            self.operator.add_dofs(change, self.body.cells[mine])


__all__ = [
    "Body",
    "DrivePlan",
    "Impulses",
    "Sheet",
    "Shifted",
    "Wave",
    "attach",
    "plan_drives",
    "surface_tag",
    "volume_numbers",
]
