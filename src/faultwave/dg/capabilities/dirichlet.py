"""Faces of kind dirichlet: velocity, traction or SeisSol ghost state (docs/theory/sea.md, "Prescribed velocity or traction").

M and c are given in the face's frame for the nine quantities (s_nn, s_ss, s_tt, s_ns, s_st, s_nt, v_n, v_s, v_t), which boundary
files call Tn Ts Td unused1 unused2 unused3 u v w; a map that is not given is the identity, a constant zero. Only s_nn, s_ns, s_nt
and the velocity cross a face. With a factor a of the traction and b of the velocity, the wave from beyond is
T' + Z v' = a T + b Z v + c. It contains the arriving wave with the share p = (a + b)/2 and the outgoing wave with the share
r = (a - b)/2. The condition is the fixed point w' = (r w + c)/(1 - p), and with p = 1 there is no condition. For a rigid
wall (a = 1, b = -1) both agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from faultwave.base.errors import Problem, Problems
from faultwave.case.settings.sources import Dirichlet as DirichletSettings
from faultwave.dg.mesh.location import surface_tag
from faultwave.dg.mesh.placement import Cut, Planning, check_moves
from faultwave.dg.method.basis import inner
from faultwave.dg.operators.prescribed_faces import Faces, Function, PrescribedField, SeparableField, Shifted, projected
from faultwave.dg.solver import Solver
from faultwave.domain import tets
from faultwave.engine.capability import Capability, CapabilityPlan, Requirements
from faultwave.media import Field, load_field
from faultwave.media.field import Constant, check_used
from faultwave.physics.sources.acting import check_time
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.time_functions import time_function
from faultwave.physics.waves import Law

NAMES = ("Tn", "Ts", "Td", "unused1", "unused2", "unused3", "u", "v", "w")
TANGENTIAL_STRESSES = {"Ts": "s_ss", "Td": "s_tt", "unused2": "s_st"}
"""Names in boundary files for stresses that do not cross a face, and their meanings."""


@dataclass(frozen=True)
class GhostStates:
    """Ghost states of faces as reflection coefficients.

    Attributes
    ----------
    echo : (nc, 4, 2) float
        Coefficients a and b of the returning wave, a w + b n (n.w).
    share : (nc, 4, 2) float
        Factors 1/(1 - p) of the given constants along the normal and tangential.
    given : bool
        True if there may be constants.
    """

    echo: np.ndarray
    share: np.ndarray
    given: bool

    def of(self, cells: np.ndarray) -> GhostStates:
        """Return the ghost states of the listed cells only."""
        return replace(self, echo=self.echo[cells], share=self.share[cells])

    def constants(
        self, values: Callable[[Sequence[str]], np.ndarray], cells: np.ndarray, faces: np.ndarray, normals: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the prescribed traction and velocity (k, points, 3) beyond faces."""
        found = values(("const_Tn", "const_u")) * self.share[cells, faces, :1, None]
        traction, velocity = (found[..., i, None] * normals[:, None] for i in range(2))
        return traction, velocity


def ghosts(planning: Planning, field: Field, where: str, faces: np.ndarray) -> GhostStates | None:
    """Return the ghost states of the faces marked (nc, 4), or None after reporting a problem."""
    problems, topology = planning.problems, planning.topology
    if not planning.law.principal:
        problems.error(where, f"is not supported for the {planning.law.name} law", "velocity, traction")
        return None
    before = len(problems.errors)
    cells, local = np.nonzero(faces)
    x = _middles(planning, cells, local)
    known = {f"const_{n}" for n in NAMES} | {f"map_{a}_{b}" for a in NAMES for b in NAMES}
    given = sorted(field.parameters & known)
    if not given:
        problems.error(where, "defines no constant and no map", "const_u, map_u_u and so on")
        return None
    values = field.evaluate(x, topology.tags[cells, local].astype(np.int64), given) if len(cells) else {}
    _check_ghost_states(values, where, problems)
    one = np.ones(len(cells))

    def factor(name: str) -> np.ndarray:
        return values.get(f"map_{name}_{name}", one)

    fluid = _fluid(planning)[cells]
    if (_differ(factor("v"), factor("w")) | _differ(factor("unused1"), factor("unused3"))).any():
        what = "treats the two tangents of a face differently, but their directions are undefined"
        problems.error(where, what, "map_v_v as map_w_w, and map_unused1_unused1 as map_unused3_unused3")
    normal = _shares(factor("Tn"), factor("u"))
    across = [np.where(fluid, a, b) for a, b in zip(normal, _shares(factor("unused1"), factor("v")), strict=True)]
    for (r, p), what, names in (
        (normal, "along the normal", "map_Tn_Tn, map_u_u"),
        (across, "along the faces", "map_v_v, map_w_w"),
    ):
        if (p >= 1).any():
            text = (
                f"does not constrain motion {what}: a missing map is the identity, for which every wave is a solution"
            )
            problems.error(where, text, advice=f"Define {names}: -1 for the velocity is a rigid wall.")
        elif (np.abs(r) > np.abs(1 - p) * (1 + 1e-12)).any():
            problems.error(where, f"adds energy {what}: the reflection exceeds the outgoing wave", "maps from -1 to 1")
    if len(problems.errors) > before:
        return None
    echo, share = np.zeros((*faces.shape, 2)), np.ones((*faces.shape, 2))
    back = [r / (1 - p) for r, p in (normal, across)]
    echo[cells, local] = np.stack([back[1], back[0] - back[1]], 1)
    share[cells, local] = np.stack([1 / (1 - normal[1]), 1 / (1 - across[1])], 1)
    return GhostStates(echo, share, any(name.startswith("const_") for name in given))


def _differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.abs(a - b) > 1e-12


def _shares(traction: np.ndarray, velocity: np.ndarray) -> list[np.ndarray]:
    """Return r and p as defined in the module text."""
    return [0.5 * (traction - velocity), 0.5 * (traction + velocity)]


def _check_ghost_states(values: dict[str, np.ndarray], where: str, problems: Problems) -> None:
    """Report settings that have no effect or are not implemented."""
    for name, v in values.items():
        kind, *parts = name.split("_")
        identity = kind == "map" and parts[0] == parts[1]
        if not np.any(v != float(identity)):
            continue
        lost = [TANGENTIAL_STRESSES[n] for n in parts if n in TANGENTIAL_STRESSES]
        if lost:
            what = f"{name} acts on {lost[0]}, which does not act on faces; it has no effect in SeisSol either"
            problems.error(where, what, "Tn, u, v, w", "SeisSol's names cannot express shear tractions.")
        elif kind == "const" and parts[0] not in ("Tn", "u"):
            what = f"{name} acts along a tangent of a face, whose direction is undefined"
            problems.error(
                where, what, "const_Tn, const_u", "In a native case: dirichlet with velocity or traction along x, y, z."
            )
        elif kind == "map" and not identity:
            problems.error(
                where, f"{name} maps one quantity to another, which is not supported", "maps of a quantity to itself"
            )


def _middles(planning: Planning, cells: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Return the centroids (k, 3) of faces [m]."""
    corners = np.take_along_axis(planning.topology.cells[cells], tets.SORTED_FACES[faces], 1)
    return np.asarray(planning.mesh.vertices[corners].mean(1))


def _fluid(planning: Planning) -> np.ndarray:
    """Return a mask (nc,) of the cells without shear modulus."""
    mu = planning.material.get("mu")
    return np.ones(len(planning.mesh.cells), bool) if mu is None else np.asarray(mu <= 0)


name = "dirichlet"

VELOCITY, TRACTION = ("v1", "v2", "v3"), ("T1", "T2", "T3", "pressure")


@dataclass(frozen=True)
class ConstantTime:
    """Time function that is always 1."""

    def value(self, t: float | np.ndarray) -> np.ndarray:
        return np.ones_like(np.asarray(t, float))

    def integral(self, t: float | np.ndarray) -> np.ndarray:
        return np.asarray(t, float)


class PrescribedQuantity(StrEnum):
    """Quantity that is prescribed on faces, named as its setting."""

    VELOCITY = "velocity"
    TRACTION = "traction"
    GHOST = "ghost"


@dataclass(frozen=True)
class GivenState:
    """Boundary values of one setting on faces.

    Attributes
    ----------
    kind : PrescribedQuantity
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

    kind: PrescribedQuantity
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
        return np.tile([1.0 if self.kind is PrescribedQuantity.VELOCITY else -1.0, 0.0], (int(self.faces.sum()), 1))

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
        elif self.kind is PrescribedQuantity.VELOCITY:
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
    """Plan of faces with a prescribed state."""

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
    """Return the plan of faces with a prescribed state, None if the mesh has none."""
    case, problems, topology = planning.case, planning.problems, planning.topology
    open_ = topology.kinds == tets.BoundaryKind.DIRICHLET
    there = planning.whole.any(bool(open_.any()))
    if not there:
        if case.dirichlet:
            problems.warn(
                "dirichlet", "has no effect: the mesh has no face of kind dirichlet", advice="See mesh.boundaries."
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
            problems.error(f"{where}.surfaces", "a face is listed twice", "each surface in one entry")
        if not planning.whole.any(bool(mine.any())):
            problems.error(f"{where}.surfaces", "the mesh has no further faces of kind dirichlet there")
        left &= ~mine
        found.append(_given(planning, setting, where, mine))
    if left.any():
        tags = ", ".join(map(str, np.unique(topology.tags[left])))
        what = f"no values are set for {int(left.sum())} faces of kind dirichlet with tag {tags}"
        problems.error("dirichlet", what, "velocity, traction or ghost", "In decks: BoundaryFileName.")
    made = tuple(g for g in found if g is not None)
    return DirichletFaces(made) if made else None


def _given(planning: Planning, setting: DirichletSettings, where: str, faces: np.ndarray) -> GivenState | None:
    problems = planning.problems
    kind = next(n for n in PrescribedQuantity if getattr(setting, n) is not None)
    field = load_field(getattr(setting, kind), f"{where}.{kind}")
    function: Function = ConstantTime()
    if setting.time_function is not None:
        made = time_function(setting.time_function, f"{where}.time_function")
        check_time(
            [PointSource(np.zeros(3), made, onset=setting.onset, name=where)], planning.case.end_time, problems, where
        )
        function = Shifted(made, setting.onset)
    if kind is PrescribedQuantity.GHOST:
        beyond = ghosts(planning, field, f"{where}.ghost", faces)
        return None if beyond is None else GivenState(kind, field, faces, planning.topology.tags, function, beyond)
    names = VELOCITY if kind is PrescribedQuantity.VELOCITY else TRACTION
    check_used(field, names, f"a given {kind}", problems)
    given = set(names) & field.parameters
    if not given:
        problems.items.append(Problem(f"{where}.{kind}", "defines none of its components", ", ".join(names)))
    if "pressure" in given and len(given) > 1:
        problems.error(f"{where}.{kind}", "defines both a pressure and a traction", "one of them")
    if planning.law.channels == 1 and given & {"T1", "T2", "T3"}:
        problems.error(f"{where}.{kind}", f"the {planning.law.name} law supports pressure only", "pressure")
    if kind is PrescribedQuantity.VELOCITY and given:
        _check_slides(planning, field, where, faces)
    state = GivenState(kind, field, faces, planning.topology.tags, function)
    if setting.time_function is not None and not state.moves:
        problems.warn(f"{where}.time_function", f"has no effect: the {kind} is zero", f"a {kind} that is not zero")
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
        what = f"is tangential to all its {len(cells)} faces of water, where it has no effect"
        planning.problems.warn(f"{where}.velocity", what, "a part along the normal of the faces")


class AttachedDirichlet(Capability):
    """Faces with a prescribed state, attached to a solver."""

    def __init__(self, part: DirichletFaces, solver: Solver):
        self.part, self.law = part, solver.plan.law

    def drives(self, faces: Faces, points: np.ndarray, project: np.ndarray) -> Sequence[PrescribedField]:
        return [given.drive(self.law, faces, points, project) for given in self.part.given if given.moves]
