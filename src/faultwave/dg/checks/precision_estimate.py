"""Estimate of the error of single precision in a run on tetrahedra."""

from __future__ import annotations

from faultwave.case.settings.model import Case
from faultwave.dg.method.attenuation import attenuates
from faultwave.engine.precision import ERROR_BY_ORDER, PERMANENT_ERROR, PERMANENT_ERROR_OF_FAULTS, Estimate
from faultwave.physics.friction import laws
from faultwave.physics.waves import Law

FRICTION, STATE_OF_FRICTION, ATTENUATION, DRAG, YIELDING, BY_LINES = 4.0, 10.0, 2.0, 10.0, 4.0, 4.0
"""Factors of the error estimate of waves in elastic rock; the second is for friction that depends on slip rate."""


def estimate(case: Case, law: Law, steps: float, closed: bool) -> Estimate:
    """Estimate the error of single precision.

    Parameters
    ----------
    case : Case
        Case of the run.
    law : Law
        Wave law.
    steps : float
        Number of smallest time steps of the run.
    closed : bool
        True if no side of the mesh absorbs waves.
    """
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
    # Permanent stress or displacement: its error depends on the place of a source in its cell; over the points of a fault it averages.
    left = PERMANENT_ERROR if case.sources else PERMANENT_ERROR_OF_FAULTS if case.fault is not None else 0.0
    scheme = ERROR_BY_ORDER[case.numerics.order]
    return Estimate(steps, scheme, more, lasting=left * scheme if closed else 0.0)


__all__ = ["estimate"]
