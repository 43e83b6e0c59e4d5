"""Severe velocity weakening (Ampuero & Ben-Zion 2008; deck number 7).

mu = f0 + a V/(V + V0) - b psi/(psi + L), psi' = (V L/V0 - psi) V0/L with psi in metres. V0 is not a small reference
rate here but the slip rate at which friction weakens. Friction does not depend on ln V: where it balances the load, the
fault is locked.
"""

from __future__ import annotations

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.quantities import Parameter
from faultwave.kernels import math as m
from faultwave.kernels.types import Condition, Number
from faultwave.physics.friction.law import Values, report
from faultwave.physics.friction.loading.load import Balance, Trial
from faultwave.physics.friction.rate_and_state import UNIFORM, RateAndState

V0 = Parameter(
    "rs_sr0",
    "m/s",
    "slip rate V0 at which friction weakens, no tiny reference rate",
    positive=True,
    aliases=("RS_sr0",),
)


class SevereVelocityWeakening(RateAndState):
    name = "severe-velocity-weakening"
    title = "Severe velocity weakening"
    deck_number = 7
    work = 2.0
    constants = tuple(V0 if q.name == V0.name else q for q in UNIFORM)
    state_unit = "m"

    def check(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray, points: np.ndarray) -> Problems:
        problems = super().check(p, c, tau, sigma, points)
        with np.errstate(all="ignore"):
            weakened = self.weakened(self.filled(p, c), c, np.abs(tau / sigma))
        bad = np.isfinite(weakened) & ~((weakened >= 0) & (weakened < 1))
        what = "no state balances the initial stress: (rs_f0 + rs_a V/(V + rs_sr0) - tau/|sigma_n|)/rs_b at the initial slip rate is"
        report(problems, bad, points, what, weakened, "0 to below 1")
        return problems

    @staticmethod
    def weakened(p: Values, c: Values, mu: np.ndarray) -> np.ndarray:
        """Return psi/(psi + L) at which friction is ``mu`` at the initial slip rate."""
        v = c["rs_ini_slip_rate"]
        return np.asarray((p["rs_f0"] + p["rs_a"] * v / (v + c["rs_sr0"]) - mu) / p["rs_b"])

    def balanced_state(self, p: Values, c: Values, mu: np.ndarray) -> np.ndarray:
        weakened = self.weakened(p, c, mu)
        return np.asarray(p["rs_sl0"] * weakened / (1.0 - weakened))

    def balance(self, p: Values, c: Values, s: Values, trial: Trial) -> Balance:
        v, normal, v0, length = trial.rate, trial.normal, c["rs_sr0"], p["rs_sl0"]
        psi, by_mean = self.relaxed(p, c, s["state"], trial.mean, trial.dt)
        change = trial.share * by_mean
        direct, weakening = 1.0 / (v + v0), 1.0 / (psi + length)
        mu = p["rs_f0"] + p["rs_a"] * v * direct - p["rs_b"] * psi * weakening
        resisting = v * (trial.eta + normal * p["rs_a"] * v0 * direct * direct)
        losing = normal * p["rs_b"] * length * weakening * weakening * change
        excess = trial.tau - trial.eta * v - normal * mu
        # The balance is linear in the rate except for the direct effect, whose relative curvature is 2 at most, and for weakening.
        doubt = 1.0 + 2.0 * m.abs(losing) / resisting
        if trial.variation is not None:
            growing = trial.variation.growing
            losing = losing - normal * mu * growing
            doubt = doubt + 2.0 * normal * (mu + p["rs_a"]) * (trial.variation.bend + m.abs(growing)) / resisting
        return Balance(excess / resisting, excess / (resisting - losing), psi, change, 0.0 * v + 1.0, doubt)

    def relaxed(self, p: Values, c: Values, psi: Number, v: Number, dt: Number) -> tuple[Number, Number]:
        lost = m.expm1(-c["rs_sr0"] * (dt / p["rs_sl0"]))
        steady = v * (p["rs_sl0"] * (1.0 / c["rs_sr0"]))
        return psi + lost * (psi - steady), -lost * steady

    def nearly_steady(self, p: Values, c: Values, s: Values) -> Condition:
        """Return True where psi/(psi + L) is at 95 % of its steady value V/(V + V0), at slip rates of at least V0.

        Where slip only begins, the initial state exceeds the steady value at so small a rate.
        """
        v, psi = s["slip_rate"], s["state"]
        return (v >= c["rs_sr0"]) & (psi * (v + c["rs_sr0"]) >= 0.95 * v * (psi + p["rs_sl0"]))


SEVERE_VELOCITY_WEAKENING = SevereVelocityWeakening()
