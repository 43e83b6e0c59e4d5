"""Boundary faces of kind analytic, through which the exact solution of the initial state enters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from faultwave.dg.capabilities.initial import Initial
from faultwave.dg.mesh.placement import Cut, Planning
from faultwave.dg.operators.prescribed_faces import Faces, PrescribedField, pair, projected
from faultwave.dg.solver import Solver
from faultwave.domain import tets
from faultwave.engine.capability import Capability, CapabilityPlan, Requirements
from faultwave.physics.waves import Law
from faultwave.physics.waves.plane_waves import Solution

name = "analytic"
AFTER = ("initial",)


@dataclass(frozen=True)
class Analytic(CapabilityPlan):
    """Analytic boundary faces: cells and local faces (n,) with the solution."""

    solution: Solution
    cells: np.ndarray
    faces: np.ndarray
    name: str = name

    @property
    def requirements(self) -> Requirements:
        return Requirements(faces=np.stack([self.cells, self.faces], 1))

    def partition(self, cut: Cut) -> Analytic:
        mine = cut.mine(self.cells)
        return replace(self, cells=cut.here[self.cells[mine]], faces=self.faces[mine])

    def attach(self, solver: Solver) -> AttachedAnalytic:
        return AttachedAnalytic(self, solver)


def plan(planning: Planning) -> Analytic | None:
    """Return the plan of faces that carry the exact solution, None if the mesh has none."""
    cells, faces = np.nonzero(planning.topology.kinds == tets.BoundaryKind.ANALYTIC)
    initial = planning.parts.get("initial")
    there = planning.whole.any(len(cells) > 0)
    if isinstance(initial, Initial) and initial.at_rest and not there:
        what = "the solution cannot enter: the mesh has no face of kind analytic"
        planning.problems.error("initial.boundaries_only", what, "false, or such faces: see mesh.boundaries")
    if not there:
        return None
    if not isinstance(initial, Initial):
        if planning.case.initial.kind == "zero":
            what = (
                f"{len(cells)} faces of kind analytic impose the exact solution of the initial state, but this "
                "case has none"
            )
            planning.problems.error("initial.kind", what, "plane-wave, ocean, scholte, snell, easi")
        return None
    return Analytic(initial.solution, cells, faces)


class AttachedAnalytic(Capability):
    """Boundary faces driven by an exact solution."""

    def __init__(self, part: Analytic, solver: Solver):
        self.part, self.operator = part, solver.operator

    def drives(self, faces: Faces, points: np.ndarray, project: np.ndarray) -> Sequence[PrescribedField]:
        part, shape = self.part, self.operator.cells.kinds.shape
        mine = np.zeros(shape, bool)
        mine[part.cells, part.faces] = True
        items = np.flatnonzero(mine[faces.cells, faces.faces])
        law, order = self.operator.law, self.operator.order
        return [
            Entering(items, law, part.solution, faces.positions(points)[items], faces.frames[items], project, order)
        ]


@dataclass(frozen=True)
class Entering:
    """Exact solution prescribed on faces ``items``.

    ``positions`` (k, p, 3) [m] are quadrature points of faces with ``frames``; ``project`` (B2, p) projects values there on face modes.
    """

    items: np.ndarray
    law: Law
    solution: Solution
    positions: np.ndarray
    frames: np.ndarray
    project: np.ndarray
    order: int

    def value(self, t: float) -> np.ndarray:
        shape = self.positions.shape[:2]
        state = self.solution(self.positions.reshape(-1, 3), t).reshape(*shape, len(self.law.quantities))
        return projected(self.project, pair(self.law, self.frames, state))

    def integral(self, a: float, b: float) -> np.ndarray:
        """Integrate with as many Gauss points as the order, which is more accurate than the scheme."""
        x, w = np.polynomial.legendre.leggauss(self.order)
        half = 0.5 * (b - a)
        return np.asarray(sum(half * v * self.value(0.5 * (a + b) + half * u) for u, v in zip(x, w, strict=True)))

    def part(self, chosen: np.ndarray) -> Entering:
        return replace(self, items=self.items[chosen], positions=self.positions[chosen], frames=self.frames[chosen])
