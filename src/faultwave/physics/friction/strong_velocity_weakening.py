"""Strong (fast) velocity weakening by flash heating, with a slip law (deck number 103).

mu = a asinh( V/(2 V0) e^(psi/a) ), psi' = -(V/L)(psi - psi_ss(V)). The steady state psi_ss belongs to the steady
friction mu_ss = mu_w + (mu_LV - mu_w)/(1 + (V/V_w)^8)^(1/8), which decreases from mu_LV = f0 - (b - a) ln(V/V0) to mu_w
above the rate V_w (Noda et al. 2009; Dunham et al. 2011).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.quantities import Parameter
from faultwave.kernels import math as m
from faultwave.kernels.types import Number
from faultwave.physics.friction.law import doubt
from faultwave.physics.friction.loading.load import Values
from faultwave.physics.friction.rate_and_state import F0, MUW_NAMES, POINT, UNIFORM, B, Regularised
from faultwave.physics.friction.uniform import point_or_uniform

MUW = point_or_uniform("rs_muw", "", "fully weakened friction mu_w", lower=0.0, aliases=MUW_NAMES)
MIN_STEADY_FRICTION = 1e-3
"""Lower bound of steady friction.

mu_LV is negative at very small slip rates where a > b, and friction has a steady state only if it is positive.
"""


class StrongVelocityWeakening(Regularised):
    name = "strong-velocity-weakening"
    title = "Strong velocity weakening (flash heating), slip law"
    deck_number = 103
    work = 2.3
    parameters = (
        *POINT,
        Parameter("rs_srW", "m/s", "slip rate V_w above which friction weakens", positive=True, aliases=("RS_srW", "rs_srw")),
        MUW.point,
    )  # fmt: skip
    constants = tuple(MUW.uniform if q.name == MUW.uniform.name else q for q in UNIFORM)
    kernel_parameters = ("rs_a", "rs_sl0", "rs_f0", "rs_b", "rs_srW", "rs_muw")
    either = (F0, B, MUW)
    state_unit = ""
    resampled = ("state",)

    def check(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray, points: np.ndarray) -> Problems:
        problems = super().check(p, c, tau, sigma, points)
        values = self.filled(p, c)
        advice = "Friction then grows above the slip rate rs_srW; are the two exchanged?"
        doubt(problems, values["rs_muw"] > values["rs_f0"], points, "rs_muw is larger than rs_f0", advice)
        return problems

    def steady(self, p: Values, c: Values, v: Number) -> tuple[Number, Number]:
        """Return psi_ss at a slip rate, and its derivative with respect to ln V (kernel)."""
        a, slope, log_v = p["rs_a"], p["rs_b"] - p["rs_a"], m.log(v * (1.0 / c["rs_sr0"]))
        low_rate = p["rs_f0"] - slope * log_v
        above = m.maximum(low_rate, 0.0) - p["rs_muw"]
        w = m.minimum(v * (1.0 / p["rs_srW"]), 1e30)
        w8 = (w * w) * (w * w) * ((w * w) * (w * w))
        weakening = 1.0 / m.sqrt(m.sqrt(m.sqrt(1.0 + w8)))
        w4 = (weakening * weakening) * (weakening * weakening)  # its eighth power is 1/(1 + w8)
        mu = p["rs_muw"] + above * weakening
        change = -(m.where(low_rate > 0.0, slope, 0.0 * slope) + above * (1.0 - w4 * w4)) * weakening
        change = m.where(mu > MIN_STEADY_FRICTION, change, 0.0 * change)
        mu = m.maximum(mu, MIN_STEADY_FRICTION)
        decay = m.expm1(mu * (-2.0 * (1.0 / a)))
        return mu + a * (m.log(-decay) - log_v), -change * (2.0 + decay) / decay - a

    def relaxed(self, p: Values, c: Values, psi: Number, v: Number, dt: Number) -> tuple[Number, Number]:
        x, (steady, change) = v * (dt * (1.0 / p["rs_sl0"])), self.steady(p, c, v)
        lost, off_steady = m.expm1(-x), psi - steady
        return psi + lost * off_steady, -(x * (1.0 + lost) * off_steady + lost * change)

    def exponent(self, p: Values, c: Values, psi: Number) -> tuple[Any, Any]:
        inverse = 1.0 / p["rs_a"]
        return psi * inverse, inverse

    def state_of(self, p: Values, c: Values, exponent: np.ndarray) -> np.ndarray:
        return np.asarray(p["rs_a"] * exponent)


STRONG_VELOCITY_WEAKENING = StrongVelocityWeakening()
