"""Coefficients at single points with the precision of the stored arrays, sixteen bits in single precision."""

from __future__ import annotations

import numpy as np

from faultwave.fd.capability import FdPlan
from faultwave.fd.method.half_precision import rounded_at
from faultwave.fd.operators.operator import storage_units


def coefficient(plan: FdPlan, name: str, points: np.ndarray) -> np.ndarray:
    """Return a coefficient (n,) in SI units at points (n, 3) of the box of this process."""
    made, box = plan.medium.coefficients, plan.scheme.filled(plan.box)
    whole = np.broadcast_to(made[name], box.shape)
    values = np.asarray(whole[tuple((points - np.array(box.lo)).T)], float)
    units = storage_units(plan.medium, plan.case.numerics.precision, plan.shared)
    if units is None:
        return values
    unit, number = units.of(name), list(made).index(name)
    return unit * rounded_at(values / unit, points % np.array(plan.scheme.grid.shape), number)


__all__ = ["coefficient"]
