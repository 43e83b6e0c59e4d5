"""Error norms of the final field against the exact solution from which the run started."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from faultwave.dg.capabilities.initial import Initial
from faultwave.dg.mesh.placement import Planning
from faultwave.dg.operators.wave_field import error_norms
from faultwave.dg.solver import Solver
from faultwave.engine.capability import Capability, CapabilityPlan
from faultwave.observe.dataset import Dataset, Result, Variable
from faultwave.physics.waves.plane_waves import Solution

name = "error_norms"
AFTER = ("initial",)

NORMS = {
    "L1": "integral of the error's size", "L2": "root of the integral of its square", "LInf": "largest error",
    "L1_rel": "L1 of the error over that of the solution, NaN where that is zero", "L2_rel": "L2 of the error over that of the solution",
    "LInf_rel": "largest error over the largest value of the solution",
}  # fmt: skip


@dataclass(frozen=True)
class ErrorNorms(CapabilityPlan):
    """Plan of the error norms against an exact solution."""

    solution: Solution
    name: str = name

    def attach(self, solver: Solver) -> AttachedErrorNorms:
        return AttachedErrorNorms(self, solver)


def plan(planning: Planning) -> ErrorNorms | None:
    """Return the plan of the error norms, None if the case has none."""
    case, initial = planning.case, planning.parts.get("initial")
    if not case.output.error_norms:
        return None
    if case.initial.kind == "zero":
        what = "the case has no exact solution to compare with"
        planning.problems.error(
            "output.error_norms", what, "an initial state, as kind plane-wave, ocean, scholte, snell, easi"
        )
    return ErrorNorms(initial.solution) if isinstance(initial, Initial) else None


class AttachedErrorNorms(Capability):
    """Error norms against an exact solution at the end of a run."""

    def __init__(self, part: ErrorNorms, solver: Solver):
        self.part, self.solver = part, solver

    def results(self) -> Iterable[Result]:
        """Compute the error norms; the call is collective and the first process has the result."""
        plan, op = self.solver.plan, self.solver.operator
        found, law = error_norms(op, plan.geometry, plan.world, self.solver.time, self.part.solution), plan.law
        if not self.solver.world.first:
            return
        number = Variable(np.arange(law.visible), ("quantity",), "", "number of the quantity")
        variables = {n: Variable(found[n][: law.visible], ("quantity",), "", text) for n, text in NORMS.items()}
        attributes = {"quantities": list(law.quantities[: law.visible]), "time": self.solver.time}
        yield Result(name, Dataset(name, {"number": number, **variables}, attributes))
