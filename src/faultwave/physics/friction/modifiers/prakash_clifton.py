"""Delayed response of strength to changes of the normal traction (Prakash & Clifton 1993; Rubin & Ampuero 2007).

The delay makes slip between different rocks, whose normal traction changes with slip, a well-posed problem. The
strength S of the friction law is replaced by S_p with

    S_p' = -(|V| + V*)/L (S_p - S).

Over a sub-step, V is the slip rate of the sub-step before.
"""

from __future__ import annotations

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.quantities import State
from faultwave.kernels import math as m
from faultwave.kernels.expr import Changes, Number
from faultwave.physics.friction.law import check_filled, filled, point_or_uniform
from faultwave.physics.friction.load import Load, Values
from faultwave.physics.friction.modifier import Modifier

_UNIFORM = (
    point_or_uniform("pc_reference_rate", "m/s", "slip rate V* that is added to that of the fault", lower=0.0,
                     aliases=("pc_vStar", "v_star")),
    point_or_uniform("pc_length", "m", "slip L over which the strength adapts", positive=True, aliases=("pc_prakashLength",)),
)  # fmt: skip


class PrakashClifton(Modifier):
    """Delayed response of the strength to changes of the normal traction."""

    name = "prakash-clifton"
    title = "Strength that adapts with a delay (Prakash & Clifton)"
    parameters = tuple(q.point for q in _UNIFORM)
    constants = tuple(q.uniform for q in _UNIFORM)
    kernel_parameters = tuple(q.point.name for q in _UNIFORM)
    state = (State("regularised_strength", "Pa", "delayed strength"),)
    solvers = ("closed-form",)
    work = 0.0  # its cost equals the cost of the projection, which is not needed
    project = False  # delayed strength is unstable with projected slip

    def prepare(self, p: Values, c: Values) -> dict[str, np.ndarray]:
        return filled(p, c, _UNIFORM)

    def check(self, p: Values, c: Values, points: np.ndarray) -> Problems:
        problems = Problems()
        known = {**p, **check_filled(p, c, _UNIFORM, problems)}
        problems.extend(super().check(known, c, points).items)
        return problems

    def strength(self, p: Values, c: Values, s: Values, strength: Number, load: Load) -> Number:
        delayed = s["regularised_strength"]
        slip = (m.maximum(s["slip_rate"], 0.0) + p["pc_reference_rate"]) * load.dt
        return delayed - m.expm1(-slip / p["pc_length"]) * (strength - delayed)

    def keep(self, p: Values, c: Values, strength: Number) -> Changes:
        return {"regularised_strength": strength}


PRAKASH_CLIFTON = PrakashClifton()
