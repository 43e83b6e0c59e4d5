"""Estimate of the error of single precision in a run on a grid."""

from __future__ import annotations

import math

from faultwave.case.settings.model import Case
from faultwave.engine.precision import ERROR_OF_GRIDS, Estimate
from faultwave.fd.capability import FdPlan
from faultwave.physics.friction import laws

HALF = 2.0**-11
"""Largest relative error of a coefficient in sixteen bits."""
FRICTION, ATTENUATION, YIELDING = 4.0, 2.0, 4.0
"""Factors on the estimate for waves in elastic rock."""


def estimate(plan: FdPlan) -> Estimate:
    """Return the estimated rounding error of a planned run.

    Single precision stores coefficients in sixteen bits, rounded such that their means are right. The error grows
    with the number of periods, as waves pass over more of them.
    """
    case, more = plan.case, dict[str, float]()
    if case.fault is not None:
        more[f"friction {case.fault.friction}"] = FRICTION
    if case.attenuation is not None:
        more["attenuation"] = ATTENUATION
    if case.yields:
        more["yielding"] = YIELDING
    periods = case.end_time * plan.frequency
    return Estimate(plan.steps, ERROR_OF_GRIDS, more, 0.5 * HALF * math.sqrt(1.0 + periods))


def needs_double(case: Case) -> bool:
    """Return True if the friction law needs double precision to keep its balance of forces."""
    law = None if case.fault is None else laws().get(case.fault.friction)
    return law is not None and law.double


__all__ = ["estimate", "needs_double"]
