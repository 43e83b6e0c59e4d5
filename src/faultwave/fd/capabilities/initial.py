"""Plane waves that fill the box at the start of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from faultwave.case.settings.model import Case
from faultwave.fd.capability import FdPlan, GridCapabilityPlan, Solution
from faultwave.fd.contexts import MaterialContext, Planning
from faultwave.fd.method.grid import SideKind
from faultwave.media.field import axes_of
from faultwave.physics.waves.plane_waves import plane_waves

UNEVEN = 1e-6
"""Relative variation of the material above which it is not uniform."""


def plan(planning: Planning) -> Initial | None:
    """Return the initial plane waves, None for a start from rest."""
    kind = planning.case.initial.kind
    if kind not in ("zero", "plane-wave"):
        planning.problems.error("initial.kind", f"'{kind}' cannot start a grid", "zero, plane-wave")
    if planning.case.initial.boundaries_only:
        planning.problems.error("initial.boundaries_only", "grids have no faces of kind analytic", "false")
    return Initial(planning.case) if kind == "plane-wave" else None


@dataclass(frozen=True)
class Initial(GridCapabilityPlan):
    """Initial plane waves of a case."""

    case: Case
    name = "initial"

    def check(self, checking: MaterialContext) -> Self:
        """Report an error if the medium is not uniform, a warning if sides are absorbing."""
        for name, column in checking.coarse.items() if axes_of(checking.field) else ():
            change = float(np.ptp(column) / max(np.abs(column).max(), 1e-300))
            if change > UNEVEN:
                what = f"plane waves need a uniform medium, but {name} varies by {100 * change:.2g} %"
                rising = "'kind: plane-wave' of sources starts a wave below any medium."
                checking.problems.error("initial", what, "one material", rising)
                break
        if SideKind.ABSORBING in checking.sides.values():
            what = (
                "plane waves fill the box, but no waves enter through its absorbing sides: the waves "
                "remain plane only until this disturbance arrives"
            )
            advice = "'kind: plane-wave' of sources starts a wave below any medium."
            checking.problems.warn("initial", what, advice=advice)
        return self

    def state(self, plan: FdPlan) -> Solution:
        made = plan.medium.coefficients
        lam, mu, b = (float(np.asarray(made[name]).flat[0]) for name in ("lam", "mu_xy", "b_x"))
        material = {"lambda": np.array([lam]), "mu": np.array([mu]), "rho": np.array([1.0 / b])}
        return lambda x, t: plane_waves(plan.law, material, self.case.initial.wave, x, t)
