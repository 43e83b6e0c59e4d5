"""Initial state of the wave field from exact solutions or fields of position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.case.settings.model import Case, FieldSetting
from faultwave.dg.mesh.placement import Planning
from faultwave.dg.solver import Solver
from faultwave.domain import tets
from faultwave.domain.tets.mesh import SORTED_FACES
from faultwave.engine.capability import Capability, CapabilityPlan
from faultwave.media import load_field
from faultwave.media.field import check_used
from faultwave.physics.initial import Given, Region, Sides, condition
from faultwave.physics.waves import Law
from faultwave.physics.waves.law import role
from faultwave.physics.waves.plane_waves import Solution


def solution_of(case: Case, law: Law, material: Mapping[str, np.ndarray]) -> Solution | None:
    """Return the initial state as a function of points (n, 3) and time with values (n, Q), or None for a case at rest.

    Raises
    ------
    InputError
        If the solution does not exist in the material.
    """
    setting = case.initial
    if setting.kind == "zero":
        return None
    if setting.field is not None:
        return _field(setting.field, law)
    return condition(setting.kind).solution(setting, given_by(case, law, material))


def given_by(case: Case, law: Law, material: Mapping[str, np.ndarray]) -> Given:
    """Return the properties of a case from which exact solutions are made."""
    return Given(law, material, case.sea_gravity)


def _field(setting: FieldSetting, law: Law) -> Solution:
    field = load_field(setting, "initial.field")
    given = [n for n in law.quantities if n in field.parameters]
    if not given:
        raise InputError(Problem("initial.field", "defines none of the quantities", ", ".join(law.quantities)))
    problems = Problems()
    check_used(field, law.quantities, "the initial state", problems)
    problems.raise_errors()

    def state(points: np.ndarray, t: float) -> np.ndarray:
        values = field.evaluate(points, np.ones(len(points), int), given, t)
        return np.stack([values[n] if n in values else np.zeros(len(points)) for n in law.quantities], 1)

    return state


name = "initial"

SMALL = 1e-6
"""Relative stress below which shear stress is rounding."""


@dataclass(frozen=True)
class Initial(CapabilityPlan):
    """Plan of the initial state; with ``at_rest`` the solution only enters through boundaries."""

    solution: Solution
    at_rest: bool
    name: str = name

    def attach(self, solver: Solver) -> Capability:
        """Project the initial state on the mesh; nothing remains to be done during the run."""
        if not self.at_rest:
            solver.set_initial(self.solution)
        return Capability()


def needs_whole_mesh(case: Case) -> bool:
    """Return True for exact solutions, which depend on the media of the whole mesh."""
    return case.initial.kind not in ("zero", "easi")


def plan(planning: Planning) -> Any:
    """Plan the initial state.

    Raises
    ------
    InputError
        If the state does not exist or is not finite at the centre of a cell.
    """
    solution = solution_of(planning.case, planning.law, planning.material)
    if solution is None:
        return None
    points = planning.geometry.centroids
    wrong = np.flatnonzero(~np.isfinite(solution(points, 0.0)).all(1))
    if len(wrong):
        x = ", ".join(f"{v:g}" for v in points[wrong[0]])
        raise InputError(
            Problem(
                "initial",
                f"the values are not finite at ({x}) and in {len(wrong) - 1} other cells",
                "finite numbers everywhere",
            )
        )
    if planning.case.initial.field is not None:
        _check_shear(planning, solution)
    else:
        _check_media(planning)
    return Initial(solution, planning.case.initial.boundaries_only)


def _region(planning: Planning) -> Region:
    topology, mesh = planning.topology, planning.mesh
    cells, faces = np.nonzero((topology.neighbours < 0) & (topology.kinds != tets.BoundaryKind.ANALYTIC))
    corners = mesh.vertices[topology.cells[cells[:, None], SORTED_FACES[faces]]]
    sea = topology.kinds[cells, faces] == tets.BoundaryKind.GRAVITY
    return Region(mesh.vertices[mesh.cells], Sides(corners, planning.geometry.normals[cells, faces, 2], sea))


def _check_media(planning: Planning) -> None:
    """Report an exact solution that does not hold in the media of the mesh."""
    setting = planning.case.initial
    for found in condition(setting.kind).misfits(
        setting, given_by(planning.case, planning.law, planning.material), _region(planning)
    ):
        tell = planning.refuse if found.severity == "error" else planning.problems.warn
        tell(found.where, found.what, found.allowed, found.advice)


def _check_shear(planning: Planning, solution: Solution) -> None:
    """Report shear stress in a fluid, where it never relaxes and would act for ever."""
    law, cells = planning.law, np.flatnonzero(planning.fluid)
    if "stress" not in law.roles or not len(cells):
        return
    inside = _region(planning).inside[cells]
    stress = solution(inside.reshape(-1, 3), 0.0)[:, role(law, "stress")]
    shear = np.maximum(np.abs(stress[:, 3:]).max(1), np.ptp(stress[:, :3], axis=1))
    wrong = np.flatnonzero(shear > SMALL * np.abs(stress).max(initial=0.0))
    if len(wrong):
        worst = int(np.argmax(shear))
        x = ", ".join(f"{v:g}" for v in inside.reshape(-1, 3)[worst])
        count, most = len(np.unique(wrong // inside.shape[1])), f"{shear[worst]:.3g} Pa at ({x})"
        what = f"has shear stress in {count} cells of fluid, most {most}: a fluid cannot balance it"
        planning.refuse("initial.field", what, "s_xx = s_yy = s_zz and no s_xy, s_yz, s_xz where mu = 0")
