"""What single precision may change in a run on tetrahedra."""

from __future__ import annotations

from faultwave.case.model import Case
from faultwave.dg.attenuation import attenuates
from faultwave.engine.precision import OF_ORDER, Estimate
from faultwave.physics.friction import laws
from faultwave.physics.waves import Law

FRICTION, STATE_OF_FRICTION, ATTENUATION, DRAG, YIELDING, BY_LINES = 4.0, 10.0, 2.0, 10.0, 4.0, 4.0
"""By what the estimate for waves in elastic rock is multiplied; the second is of friction that depends on slip rate."""


def estimate(case: Case, law: Law, steps: float) -> Estimate:
    """What single precision may change in a run of so many of its smallest steps."""
    more: dict[str, float] = {}
    if case.fault is not None:
        found = laws().get(case.fault.friction)
        more[f"friction {case.fault.friction}"] = STATE_OF_FRICTION if found is not None and found.double else FRICTION
    if attenuates(law):
        more["attenuation"] = ATTENUATION
    if law.decays:
        more["drag of pore fluid"] = DRAG
    if case.yields:
        more["yielding"] = YIELDING
    if case.numerics.integrator != "ader":
        more[f"integrator {case.numerics.integrator}"] = BY_LINES
    return Estimate(steps, OF_ORDER[case.numerics.order], more)


__all__ = ["estimate"]
