"""The initial state of the wave field: exact solutions, or fields of place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.case.model import Case
from faultwave.dg.initial import solution_of
from faultwave.dg.planning import Planning
from faultwave.dg.solver import Solver
from faultwave.engine.part import Attached, Planned
from faultwave.physics.waves.medium import Solution

name = "initial"


@dataclass(frozen=True)
class Initial(Planned):
    """``at_rest``: the solution enters through boundaries only."""

    solution: Solution
    at_rest: bool
    name: str = name

    def attach(self, solver: Solver) -> Attached:
        """Projects the state: nothing of it is left to do later."""
        if not self.at_rest:
            solver.set_initial(self.solution)
        return Attached()


def needs_whole_mesh(case: Case) -> bool:
    """Exact solutions are those of the media in the mesh."""
    return case.initial.kind not in ("zero", "easi")


def plan(planning: Planning) -> Any:
    """Raises InputError where the state does not exist or is no number at the centre of a cell."""
    solution = solution_of(planning.case, planning.law, planning.material)
    if solution is None:
        return None
    points = planning.geometry.centroids
    wrong = np.flatnonzero(~np.isfinite(solution(points, 0.0)).all(1))
    if len(wrong):
        x = ", ".join(f"{v:g}" for v in points[wrong[0]])
        raise InputError(Problem("initial", f"no finite number at ({x}) and {len(wrong) - 1} other cells"))
    return Initial(solution, planning.case.initial.boundaries_only)
