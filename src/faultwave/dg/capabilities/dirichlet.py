"""Faces of kind dirichlet: velocity, traction or SeisSol ghost state (docs/theory/sea.md, "Given velocity or traction")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from faultwave.base.errors import Problem
from faultwave.dg.boundaries.ghosts import GhostStates, ghosts
from faultwave.dg.boundaries.prescribed_faces import (
    Faces,
    Function,
    PrescribedField,
    SeparableField,
    Shifted,
    projected,
)
from faultwave.dg.mesh.named_parts import surface_tag
from faultwave.dg.mesh.placement import Cut, Planning, check_moves
from faultwave.dg.method.basis import inner
from faultwave.dg.solver import Solver
from faultwave.domain import tets
from faultwave.engine.capability import Capability, CapabilityPlan, Requirements
from faultwave.media import Field, load_field
from faultwave.media.field import Constant, check_used
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.released import check_time
from faultwave.physics.sources.time_functions import time_function
from faultwave.physics.waves import Law

name = "dirichlet"

VELOCITY, TRACTION = ("v1", "v2", "v3"), ("T1", "T2", "T3", "pressure")


@dataclass(frozen=True)
class ConstantTime:
    """Time function that is always 1."""

    def value(self, t: Any) -> np.ndarray:
        return np.ones_like(np.asarray(t, float))

    def integral(self, t: Any) -> np.ndarray:
        return np.asarray(t, float)


@dataclass(frozen=True)
class GivenState:
    """Boundary values of one setting on faces.

    Attributes
    ----------
    kind : {"velocity", "traction", "ghost"}
        Quantity that ``field`` gives.
    field : Field
        Values by position.
    faces : (nc, 4) bool
        Faces of the setting.
    tags : (nc, 4) int
        Tags of all faces.
    function : Function
        Time function.
    beyond : GhostStates, optional
        Ghost states.
    """

    kind: str
    field: Field
    faces: np.ndarray
    tags: np.ndarray
    function: Function
    beyond: GhostStates | None = None

    @property
    def moves(self) -> bool:
        """True if the faces do more than reflect; a boundary at rest needs no work on the host."""
        if self.beyond is not None:
            return self.beyond.given
        return not isinstance(self.field, Constant) or any(self.field.values.values())

    @property
    def reflection_coefficients(self) -> np.ndarray:
        """Reflection coefficients a and b (k, 2) of the faces, in the order of ``np.argwhere(faces)``."""
        if self.beyond is not None:
            return self.beyond.echo[self.faces]
        return np.tile([1.0 if self.kind == "velocity" else -1.0, 0.0], (int(self.faces.sum()), 1))

    def partition(self, cut: Cut) -> GivenState:
        beyond = None if self.beyond is None else self.beyond.of(cut.cells)
        return replace(self, faces=self.faces[cut.cells], tags=self.tags[cut.cells], beyond=beyond)

    def drive(self, law: Law, listed: Faces, points: np.ndarray, project: np.ndarray) -> SeparableField:
        """Return the waves on the ``listed`` faces that give the star state the prescribed velocity or traction."""
        items = np.flatnonzero(self.faces[listed.cells, listed.faces])
        cells, faces, normals = listed.cells[items], listed.faces[items], listed.frames[items, :3]
        x = listed.positions(points)[items]
        tags = np.repeat(self.tags[cells, faces], x.shape[1])
        f, m = law.face_channels, law.channels

        def values(names: Sequence[str]) -> np.ndarray:
            """Evaluate the named fields at points, (k, p, names), zero for names that are not given."""
            requested = [n for n in names if n in self.field.parameters]
            found = self.field.evaluate(x.reshape(-1, 3), tags, requested, 0.0) if len(items) and requested else {}
            zero = np.zeros(len(tags))
            return np.stack([found.get(n, zero) for n in names], -1).reshape(len(items), -1, len(names))

        velocity = traction = None
        if self.beyond is not None:
            traction, velocity = self.beyond.constants(values, cells, faces, normals)
        elif self.kind == "velocity":
            velocity = 2.0 * values(VELOCITY)
        else:
            given = values(TRACTION)
            traction = 2.0 * (given[..., :3] - given[..., 3:] * normals[:, None])
        pairs = np.zeros((*x.shape[:2], 2 * f))
        for column, vector in ((0, traction), (f, velocity)):
            if vector is not None:
                along = inner(vector, normals[:, None])[..., None]
                pairs[..., column : column + f] = along if m == 1 else vector
        return SeparableField(items, projected(project, pairs), self.function)


@dataclass(frozen=True)
class DirichletFaces(CapabilityPlan):
    given: tuple[GivenState, ...]
    name: str = name

    @property
    def requirements(self) -> Requirements:
        listed = [np.argwhere(g.faces) for g in self.given]
        moving = [faces for faces, g in zip(listed, self.given, strict=True) if g.moves]
        return Requirements(
            faces=np.concatenate([np.zeros((0, 2), np.int64), *moving]),
            boundary_faces=np.concatenate(listed),
            reflection_coefficients=np.concatenate([g.reflection_coefficients for g in self.given]),
        )

    def partition(self, cut: Cut) -> DirichletFaces:
        return replace(self, given=tuple(g.partition(cut) for g in self.given))

    def attach(self, solver: Solver) -> AttachedDirichlet:
        return AttachedDirichlet(self, solver)


def plan(planning: Planning) -> DirichletFaces | None:
    case, problems, topology = planning.case, planning.problems, planning.topology
    open_ = topology.kinds == tets.BoundaryKind.DIRICHLET
    there = planning.whole.any(bool(open_.any()))
    if not there:
        if case.dirichlet:
            problems.warn(
                "dirichlet", "does nothing: the mesh has no face of kind dirichlet", advice="See mesh.boundaries."
            )
        return None
    if not check_moves(planning, name):
        return None
    found, left = [], open_.copy()
    for i, setting in enumerate(case.dirichlet):
        where = f"dirichlet[{i}]"
        mine = left.copy() if not setting.surfaces else np.zeros_like(left)
        for key in setting.surfaces:
            tag = surface_tag(key, planning.mesh, topology, f"{where}.surfaces", problems)
            mine |= open_ & (topology.tags == tag)
        if (mine & ~left).any():
            problems.error(f"{where}.surfaces", "a face is given twice", "each surface in one entry")
        if not planning.whole.any(bool(mine.any())):
            problems.error(f"{where}.surfaces", "there are no such faces of kind dirichlet that are not given yet")
        left &= ~mine
        found.append(_given(planning, setting, where, mine))
    if left.any():
        tags = ", ".join(map(str, np.unique(topology.tags[left])))
        what = f"nothing is said about {int(left.sum())} faces of kind dirichlet with tag {tags}"
        problems.error("dirichlet", what, "velocity, traction or ghost", "In decks: BoundaryFileName.")
    made = tuple(g for g in found if g is not None)
    return DirichletFaces(made) if made else None


def _given(planning: Planning, setting: Any, where: str, faces: np.ndarray) -> GivenState | None:
    problems = planning.problems
    kind = next(n for n in ("velocity", "traction", "ghost") if getattr(setting, n) is not None)
    field = load_field(getattr(setting, kind), f"{where}.{kind}")
    function: Function = ConstantTime()
    if setting.time_function is not None:
        made = time_function(setting.time_function, f"{where}.time_function")
        check_time(
            [PointSource(np.zeros(3), made, onset=setting.onset, name=where)], planning.case.end_time, problems, where
        )
        function = Shifted(made, setting.onset)
    if kind == "ghost":
        beyond = ghosts(planning, field, f"{where}.ghost", faces)
        return None if beyond is None else GivenState(kind, field, faces, planning.topology.tags, function, beyond)
    names = VELOCITY if kind == "velocity" else TRACTION
    check_used(field, names, f"a given {kind}", problems)
    given = set(names) & field.parameters
    if not given:
        problems.items.append(Problem(f"{where}.{kind}", "gives none of its components", ", ".join(names)))
    if "pressure" in given and len(given) > 1:
        problems.error(f"{where}.{kind}", "gives both a pressure and a traction", "one of them")
    if planning.law.channels == 1 and given & {"T1", "T2", "T3"}:
        problems.error(f"{where}.{kind}", f"the {planning.law.name} law feels pressure only", "pressure")
    if kind == "velocity" and given:
        _check_slides(planning, field, where, faces)
    state = GivenState(kind, field, faces, planning.topology.tags, function)
    if setting.time_function is not None and not state.moves:
        problems.warn(f"{where}.time_function", f"does nothing: the given {kind} is zero", f"a {kind} that is not")
    return state


def _check_slides(planning: Planning, field: Field, where: str, marked: np.ndarray) -> None:
    """Warn if a prescribed velocity is tangential to all faces of water, which slides there."""
    cells, faces = np.nonzero(marked & planning.fluid[:, None])
    corners = planning.mesh.vertices[np.take_along_axis(planning.topology.cells[cells], tets.SORTED_FACES[faces], 1)]
    points = np.concatenate([corners, corners.mean(1, keepdims=True)], 1)
    names = [n for n in VELOCITY if n in field.parameters]
    tags = np.repeat(planning.topology.tags[cells, faces].astype(np.int64), 4)
    found = field.evaluate(points.reshape(-1, 3), tags, names, 0.0) if len(tags) else dict.fromkeys(names, np.zeros(0))
    normals = np.repeat(planning.geometry.normals[cells, faces], 4, 0)
    across = sum(found[n] * normals[:, VELOCITY.index(n)] for n in names)
    largest = max(float(np.abs(found[n]).max(initial=0.0)) for n in names)
    whole = planning.whole
    if whole.any(largest > 0) and not whole.any(bool((np.abs(across) > 1e-9 * largest).any())):
        what = f"is along all its {len(cells)} faces of water, which slides: it does nothing there"
        planning.problems.warn(f"{where}.velocity", what, "a part along the normal of the faces")


class AttachedDirichlet(Capability):
    def __init__(self, part: DirichletFaces, solver: Solver):
        self.part, self.law = part, solver.plan.law

    def drives(self, faces: Faces, points: np.ndarray, project: np.ndarray) -> Sequence[PrescribedField]:
        return [given.drive(self.law, faces, points, project) for given in self.part.given if given.moves]


__all__ = ["DirichletFaces", "plan"]
