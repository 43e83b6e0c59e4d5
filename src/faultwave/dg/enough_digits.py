"""What single precision may change in a run on tetrahedra."""

from __future__ import annotations

from faultwave.case.model import Case
from faultwave.dg.attenuation import attenuates
from faultwave.engine.precision import LASTING, LASTING_OF_FAULTS, OF_ORDER, Estimate
from faultwave.physics.friction import laws
from faultwave.physics.waves import Law

FRICTION, STATE_OF_FRICTION, ATTENUATION, DRAG, YIELDING, BY_LINES = 4.0, 10.0, 2.0, 10.0, 4.0, 4.0
"""By what the estimate for waves in elastic rock is multiplied; the second is of friction that depends on slip rate."""


def estimate(case: Case, law: Law, steps: float, closed: bool) -> Estimate:
    """What single precision may change in a run of so many of its smallest steps. ``closed``: no side of the mesh absorbs waves."""
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
    # Stress or displacement that lasts: what points leave depends on where they lie in their cells, the many of a fault average.
    left = LASTING if case.sources else LASTING_OF_FAULTS if case.fault is not None else 0.0
    scheme = OF_ORDER[case.numerics.order]
    return Estimate(steps, scheme, more, lasting=left * scheme if closed else 0.0)


__all__ = ["estimate"]
