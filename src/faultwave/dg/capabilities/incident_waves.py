"""Plane waves that enter through an absorbing boundary, or through a closed surface inside the mesh."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from faultwave.case.settings.model import Case
from faultwave.case.settings.sources import Incident
from faultwave.dg.mesh.location import across_period, surface_tag, volume_numbers
from faultwave.dg.mesh.placement import Cut, Planning
from faultwave.dg.operators.prescribed_faces import (
    Faces,
    PrescribedField,
    PrescribedPlaneWave,
    Shifted,
    pair,
    single_lossless_medium,
)
from faultwave.dg.solver import Solver
from faultwave.domain import tets
from faultwave.engine.capability import Capability, CapabilityPlan, Requirements
from faultwave.physics.sources.time_functions import time_function
from faultwave.physics.waves import Law

name = "incident_waves"


@dataclass(frozen=True)
class Wave:
    """Plane wave of state ``q`` (Q,) that travels along ``direction`` (3,) at ``speed`` [m/s].

    ``signs`` (nc, 4) is +1 on faces where the wave arrives, -1 on faces where it is subtracted from the neighbour's total field, and 0
    elsewhere.
    """

    signs: np.ndarray
    q: np.ndarray
    direction: np.ndarray
    speed: float
    reference: np.ndarray | None
    function: Shifted

    def partition(self, cut: Cut) -> Wave:
        return replace(self, signs=self.signs[cut.cells])

    def drive(
        self, law: Law, faces: Faces, points: np.ndarray, project: np.ndarray, largest: Callable[[float], float]
    ) -> PrescribedPlaneWave:
        """Return the wave on ``faces``.

        ``largest`` returns the maximum over all processes, which agree on the start of the wave.
        """
        sign = self.signs[faces.cells, faces.faces]
        items = np.flatnonzero(sign)
        along = faces.positions(points)[items] @ self.direction
        first = (
            -largest(-along.min(initial=np.inf)) if self.reference is None else float(self.reference @ self.direction)
        )
        state = np.broadcast_to(self.q, (len(items), len(self.q)))
        pairs = sign[items, None] * pair(law, faces.frames[items], state)
        return PrescribedPlaneWave(items, pairs, (along - first) / self.speed, project, self.function)


@dataclass(frozen=True)
class IncidentWaves(CapabilityPlan):
    """Plan of plane waves that enter through a closed surface."""

    waves: tuple[Wave, ...]
    across: np.ndarray  # (nc, 4) True for faces with a cell beyond
    name: str = name

    @property
    def requirements(self) -> Requirements:
        faces = np.argwhere(np.any([w.signs != 0 for w in self.waves], 0))
        lossless = tuple(("incident wave", np.nonzero((w.signs != 0) & self.across)[0]) for w in self.waves)
        return Requirements(faces=faces, lossless=lossless)

    def partition(self, cut: Cut) -> IncidentWaves:
        return replace(self, waves=tuple(w.partition(cut) for w in self.waves), across=self.across[cut.cells])

    def attach(self, solver: Solver) -> AttachedWaves:
        return AttachedWaves(self, solver)


class AttachedWaves(Capability):
    """Incident waves attached to a solver."""

    def __init__(self, part: IncidentWaves, solver: Solver):
        self.part, self.law, self.world = part, solver.plan.law, solver.plan.world

    def drives(self, faces: Faces, points: np.ndarray, project: np.ndarray) -> Sequence[PrescribedField]:
        def largest(value: float) -> float:
            return float(self.world.largest([value])[0])

        return [w.drive(self.law, faces, points, project, largest) for w in self.part.waves]


def needs_whole_mesh(case: Case) -> bool:
    """Return True if the case has incident waves, whose surface is located in the whole mesh."""
    return bool(case.incident)


def plan(planning: Planning) -> IncidentWaves | None:
    """Return the plan of incident waves, None if the case has none."""
    case, law, problems = planning.case, planning.law, planning.problems
    if not case.incident:
        return None
    if "current" not in law.point_sources:
        if not case.currents:  # which report the same
            problems.error("incident", f"do not exist in the {law.name} law", "law: maxwell")
        return None
    found = [_wave(planning, w, f"incident[{i}]") for i, w in enumerate(case.incident)]
    waves = tuple(w for w in found if w is not None)
    return IncidentWaves(waves, planning.across) if waves else None


def _wave(planning: Planning, setting: Incident, where: str) -> Wave | None:
    law: Any = planning.law
    signs = _signs(planning, setting, where)
    if signs is None:
        return None
    single = single_lossless_medium(planning.material, np.flatnonzero((signs != 0).any(1)))
    if isinstance(single, str):
        what = f"the medium where the wave enters {single}"
        planning.problems.error(where, what, "one lossless medium all around")
        return None
    direction = np.array(setting.direction, float) / np.linalg.norm(setting.direction)
    periods = across_period(planning.mesh, planning.topology)[1]
    if (np.abs(periods @ direction) > 1e-6 * np.linalg.norm(periods, axis=1)).any():
        what = (
            f"{list(setting.direction)} has a component along a periodic axis, so that the wave cannot match "
            "itself on the opposite side"
        )
        planning.problems.error(f"{where}.direction", what, "a direction across all periods (normal incidence)")
        return None
    function = Shifted(time_function(setting.time_function, f"{where}.time_function"), setting.onset)
    reference = None if setting.reference is None else np.array(setting.reference, float)
    values = {name: np.asarray(v) for name, v in single.items()}
    q = law.plane_wave(direction, np.array(setting.amplitude, float), values)
    return Wave(signs, q, direction, float(law.speed(values)), reference, function)


def _signs(planning: Planning, setting: Incident, where: str) -> np.ndarray | None:
    """Return the signs (nc, 4) of ``Wave``."""
    mesh, topology, problems, near = planning.mesh, planning.topology, planning.problems, planning.topology.neighbours
    signs = np.zeros(topology.kinds.shape)
    if setting.surface is not None:
        tag = surface_tag(setting.surface, mesh, topology, f"{where}.surface", problems)
        if tag is None:
            return None
        signs[(topology.tags == tag) & (topology.kinds == tets.BoundaryKind.ABSORBING)] = 1.0
        if not signs.any():
            problems.error(f"{where}.surface", f"'{setting.surface}' does not absorb", "a boundary of kind absorbing")
            return None
        return signs
    inside = np.isin(mesh.groups, volume_numbers(setting.volumes, mesh, f"{where}.volumes", problems))
    across = (near >= 0) & (inside[:, None] != inside[np.maximum(near, 0)])
    signs[across] = np.where(inside[:, None], 1.0, -1.0).repeat(4, 1)[across]
    if not signs.any():
        problems.error(f"{where}.volumes", "these volumes share no face with the rest of the mesh")
        return None
    return signs
