"""The fault of a case: its faces and points, friction parameters, initial stress and nucleation, checked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.case.model import Case
from faultwave.dg.fault import Episode, FaultFaces, fault_faces
from faultwave.dg.fault_points import PointRule, point_rule
from faultwave.domain import tets
from faultwave.media import Field, load_field
from faultwave.physics.friction import frame
from faultwave.physics.friction import law as friction_law
from faultwave.physics.friction.initial import choose_stress, initial_traction, prefix_of
from faultwave.physics.friction.law import FrictionLaw


@dataclass(frozen=True)
class FaultPlan:
    """Arrays (n faces, p points, ...) ready for the engine."""

    faces: FaultFaces
    material: dict[str, np.ndarray]  # (n, 2) of the plus and the minus cell
    rule: PointRule
    law: FrictionLaw
    constants: dict[str, float]
    parameters: dict[str, np.ndarray]
    state: dict[str, np.ndarray]
    stress: np.ndarray
    episodes: tuple[Episode, ...]
    positions: np.ndarray  # (n, p, 3)
    topology: tets.Topology
    geometry: tets.Geometry
    vertices: np.ndarray


def plan_fault(
    case: Case, mesh: tets.Mesh, topology: tets.Topology, shape: tets.Geometry, material: dict[str, np.ndarray],
    frictional: np.ndarray,
) -> FaultPlan | None:  # fmt: skip
    """None where the mesh has no fault face; raises InputError with everything wrong on the fault."""
    setting = case.fault
    assert setting is not None
    law = friction_law(setting.friction)
    own = {"forced_rupture_ramp": setting.forced_rupture_ramp, "healing_threshold": setting.healing_threshold}
    declared = {c.name for c in law.constants}
    constants = law.settings({k: v for k, v in own.items() if k in declared} | setting.constants)
    if not frictional.any():
        raise InputError(
            Problem("fault", "the mesh has no fault faces", advice="Tag them 3 or from 65 on, or see mesh.boundaries.")
        )
    rule = point_rule(setting.points, case.numerics.order - 1)
    faces = fault_faces(mesh, topology, shape, frictional, setting.reference, setting.reference_method, len(rule.phi))
    problems = Problems()
    fluid = (material["mu"][faces.cells] <= 0).any(1)
    if fluid.any():
        x = faces.corners[np.flatnonzero(fluid)[0]].mean(0)
        problems.error(
            f"fault face at ({x[0]:g}, {x[1]:g}, {x[2]:g})", f"touches a fluid (and {fluid.sum() - 1} more)", "mu > 0"
        )
    positions = faces.positions(rule.points[faces.group])
    points, tags = positions.reshape(-1, 3), np.repeat(faces.tags, positions.shape[1])
    field = load_field(setting.parameters)
    wanted = [n for q in law.parameters for n in (q.name, *q.aliases) if n in field.parameters]
    values = law.given(field.evaluate(points, tags, wanted), len(points))
    stress = np.zeros((len(points), 3))
    if law.needs_stress:
        stress = _traction(field, 0, "fault.parameters", points, tags, faces)
    vectors = (faces.tangent1, faces.tangent2, faces.strike, faces.dip)
    prepared = law.prepare(values, constants, frame.directions(*[np.repeat(v, positions.shape[1], 0) for v in vectors]))
    tau = np.hypot(stress[:, 1], stress[:, 2])
    problems.extend(law.check(values, constants, tau, stress[:, 0], points).items)
    problems.raise_errors()
    state = law.initial(prepared, constants, tau, stress[:, 0])
    if "slip_rate" in state:  # the rate along the initial traction, so that the first sub-step starts from it
        scale = state["slip_rate"] / np.where(tau > 0, tau, 1.0)
        state = state | {"slip_rate1": scale * stress[:, 1], "slip_rate2": scale * stress[:, 2]}
    episodes = []
    for i, e in enumerate(setting.nucleation):
        where = f"fault.nucleation[{i}].stress"
        traction = _traction(load_field(e.stress), e.number, where, points, tags, faces)
        episodes.append(Episode(e.start, e.duration, traction.reshape(positions.shape)))
    moving = tuple(e for e in episodes if np.any(e.traction))
    sides = {k: v[faces.cells] for k, v in material.items()}
    return FaultPlan(
        faces, sides, rule, law, constants, _shaped(prepared, positions), _shaped(state, positions), stress.reshape(positions.shape),
        moving, positions, topology, shape, mesh.vertices,
    )  # fmt: skip


def _shaped(values: dict[str, np.ndarray], positions: np.ndarray) -> dict[str, np.ndarray]:
    return {name: np.asarray(v, float).reshape(positions.shape[:2]) for name, v in values.items()}


def _traction(
    field: Field, episode: int, where: str, points: np.ndarray, tags: np.ndarray, faces: FaultFaces
) -> np.ndarray:
    """(points, 3) along n, s1, s2 from Cartesian stress or tractions, whichever the field supplies.

    ``episode`` 0 is the initial stress, else which set of nucleation names; ``where`` the setting, for messages.
    """
    prefix = prefix_of(episode)
    values = field.evaluate(points, tags, choose_stress(field.parameters, prefix, where))
    each = len(points) // len(faces.area)
    n, s1, s2 = (np.repeat(v, each, 0) for v in (faces.normal, faces.tangent1, faces.tangent2))
    strike, dip = np.repeat(faces.strike, each, 0), np.repeat(faces.dip, each, 0)
    return initial_traction(values, n, s1, s2, strike, dip, prefix)
