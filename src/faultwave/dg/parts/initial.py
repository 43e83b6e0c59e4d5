"""The initial state of the wave field: plane waves, or fields of place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.case.model import Case
from faultwave.dg.initial import State, initial_state
from faultwave.dg.planning import Planning
from faultwave.dg.solver import Solver
from faultwave.engine.part import Attached, Planned

name = "initial"


@dataclass(frozen=True)
class Initial(Planned):
    state: State
    name: str = name

    def attach(self, solver: Solver) -> Attached:
        """Projects the state: nothing of it is left to do later."""
        solver.set_initial(lambda x, t: self.state(x))
        return Attached()


def needs_whole_mesh(case: Case) -> bool:
    """Plane waves are those of the medium in the mesh's first cell."""
    return case.initial.kind == "plane-wave"


def plan(planning: Planning) -> Any:
    """Raises InputError where the state does not exist or is no number at the centre of a cell."""
    state = initial_state(planning.case, planning.law, planning.material)
    if state is None:
        return None
    points = planning.geometry.centroids
    wrong = np.flatnonzero(~np.isfinite(state(points)).all(1))
    if len(wrong):
        x = ", ".join(f"{v:g}" for v in points[wrong[0]])
        raise InputError(Problem("initial", f"no finite number at ({x}) and {len(wrong) - 1} other cells"))
    return Initial(state)
