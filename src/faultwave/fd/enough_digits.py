"""What single precision may change in a run on a grid."""

from __future__ import annotations

import math

from faultwave.case.model import Case
from faultwave.engine.precision import OF_GRIDS, Estimate
from faultwave.fd.part import FdPlan
from faultwave.physics.friction import laws

HALF = 2.0**-11
"""Relative error of a coefficient in sixteen bits, at most."""
FRICTION, ATTENUATION, YIELDING = 4.0, 2.0, 4.0
"""By what the estimate for waves in elastic rock is multiplied."""


def estimate(plan: FdPlan) -> Estimate:
    """Of a planned run. Coefficients of single precision have sixteen bits, rounded so that means are right; waves pass over more of them
    the longer they travel."""
    case, more = plan.case, dict[str, float]()
    if case.fault is not None:
        more[f"friction {case.fault.friction}"] = FRICTION
    if case.attenuation is not None:
        more["attenuation"] = ATTENUATION
    if case.yields:
        more["yielding"] = YIELDING
    periods = case.end_time * plan.frequency
    return Estimate(plan.steps, OF_GRIDS, more, 0.5 * HALF * math.sqrt(1.0 + periods))


def needs_double(case: Case) -> bool:
    """Whether friction keeps its balance of forces in double precision only."""
    law = None if case.fault is None else laws().get(case.fault.friction)
    return law is not None and law.double


__all__ = ["estimate", "needs_double"]
