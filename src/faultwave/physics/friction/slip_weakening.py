"""Slip weakening: friction decreases with slip, linearly (Ida 1972; Andrews 1976) or by a power law (Herrera et al. 2024).

Cohesion, forced rupture at a given time (SCEC TPV16) and instantaneous healing are options of the same law
(docs/theory/friction.md, "Linear slip weakening"; deck number 16). Laws of another shape override ``weakened``.

mu = mu_d + (mu_s - mu_d) (1 + slip/d_c)^-alpha: friction decreases fast at first and never stops decreasing; d_c is a
scale of slip.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.quantities import Parameter
from faultwave.kernels import math as m
from faultwave.kernels.expr import Changes, Condition, Number
from faultwave.physics.friction.law import (
    Directions,
    FrictionLaw,
    Load,
    Solved,
    Values,
    Weakening,
    check_filled,
    doubt,
    filled,
    point_or_uniform,
)


class SlipWeakening(FrictionLaw):
    """Friction that falls linearly with slip."""

    name = "linear-slip-weakening"
    title = "Linear slip weakening"
    deck_number = 16
    parameters: tuple[Parameter, ...] = (
        Parameter("mu_s", "", "static friction coefficient", lower=0.0),
        Parameter("mu_d", "", "dynamic friction coefficient", lower=0.0),
        Parameter("d_c", "m", "slip over which friction falls to dynamic", positive=True),
        Parameter("cohesion", "Pa", "cohesion, negative or zero: adds -cohesion to the strength", upper=0.0),
        Parameter(
            "forced_rupture_time", "s", "time at which the point weakens independently of slip; default: never", inf
        ),
    )
    constants: tuple[Parameter, ...] = (
        Parameter("forced_rupture_ramp", "s", "time over which forced weakening acts; 0: at once", 0.0, lower=0.0,
                  aliases=("t_0",)),
        Parameter("healing_threshold", "m/s", "slip rate below which friction heals at once; < 0: never", -1.0,
                  aliases=("LSW_healingThreshold",)),
    )  # fmt: skip
    kernel_parameters: tuple[str, ...] = ("mu_s", "mu_d", "d_c", "cohesion", "forced_rupture_time")
    solver = "closed-form"
    project = True

    def check(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray, points: np.ndarray) -> Problems:
        problems = super().check(p, c, tau, sigma, points)
        advice = "Friction then grows with slip, and no rupture propagates there. Are the two exchanged?"
        doubt(problems, p["mu_d"] > p["mu_s"], points, "mu_d is larger than mu_s", advice)
        return problems

    def weakening(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> Weakening:
        pressed = np.maximum(-sigma, 0.0)
        peak, dynamic = (p[name] * pressed - p["cohesion"] for name in ("mu_s", "mu_d"))
        return Weakening(peak, dynamic, np.array(p["d_c"], float), forced=np.array(p["forced_rupture_time"], float))

    def initial(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> dict[str, np.ndarray]:
        return {"friction": np.array(p["mu_s"], float)}

    def strength(self, p: Values, c: Values, s: Values, load: Load) -> Number:
        """Return -C - mu min(sigma, 0), with the friction at the end of the previous sub-step."""
        return -p["cohesion"] - s["friction"] * m.minimum(load.sigma, 0.0)

    def evolve(self, p: Values, c: Values, s: Values, solved: Solved, projected_rate: Number, load: Load) -> Changes:
        # Projected slip can be negative ahead of the front; its magnitude weakens, as in the reference code.
        slip = m.abs(s["accumulated_slip"] + projected_rate * load.dt)
        weakening = m.maximum(self.weakened(p, c, slip), self.forced(p, c, load.t))
        friction = p["mu_s"] - (p["mu_s"] - p["mu_d"]) * weakening
        threshold = c["healing_threshold"]
        if threshold > 0.0:
            peak = m.maximum(s["peak_slip_rate"], solved.slip_rate)
            friction = m.where((peak > threshold) & (solved.slip_rate < threshold), p["mu_s"], friction)
        return {"friction": friction}

    def weakened(self, p: Values, c: Values, slip: Number) -> Number:
        """Return the fraction of weakening from static to dynamic friction at a slip [m] (kernel)."""
        return m.minimum(slip * (1.0 / p["d_c"]), 1.0)

    @staticmethod
    def forced(p: Values, c: Values, t: Number) -> Number:
        """Return the fraction of weakening forced by time: a ramp, or a step if the ramp is 0."""
        after, ramp = t - p["forced_rupture_time"], c["forced_rupture_ramp"]
        if ramp > 0.0:
            return m.maximum(m.minimum(after * (1.0 / ramp), 1.0), 0.0)
        return m.where(after >= 0.0, 0.0 * p["mu_s"] + 1.0, 0.0 * p["mu_s"])

    def stays_locked(self, p: Values, c: Values, s: Values) -> Condition:
        """Return True: friction follows from slip and time alone, and time only weakens."""
        return True

    def relative_slip(self, p: Values, c: Values, s: Values) -> Number:
        return s["accumulated_slip"] * (1.0 / p["d_c"])

    def weakened_fully(self, p: Values, c: Values, s: Values) -> Number:
        return s["friction"] if c["healing_threshold"] > 0.0 else p["mu_d"]

    def dynamic_stress_reached(self, p: Values, c: Values, s: Values, mu: Number) -> Condition:
        return m.abs(s["accumulated_slip"]) >= p["d_c"]


LINEAR_SLIP_WEAKENING = SlipWeakening()


_EXPONENT = point_or_uniform(
    "weakening_exponent", "", "exponent alpha", 1.0 / 3.0, positive=True, aliases=("TpProxyExponent",)
)


class PowerLawWeakening(SlipWeakening):
    """Friction that falls with a power of slip."""

    name = "power-law-slip-weakening"
    title = "Slip weakening by a power law (proxy of thermal pressurisation)"
    deck_number = 1058
    work = 1.4
    parameters = (*SlipWeakening.parameters, _EXPONENT.point)
    constants = (*SlipWeakening.constants, _EXPONENT.uniform)
    kernel_parameters = (*SlipWeakening.kernel_parameters, _EXPONENT.point.name)
    project = False

    def prepare(self, p: Values, c: Values, directions: Directions | None) -> dict[str, np.ndarray]:
        return super().prepare(p, c, directions) | filled(p, c, [_EXPONENT])

    def check(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray, points: np.ndarray) -> Problems:
        missing = Problems()
        problems = super().check({**p, **check_filled(p, c, [_EXPONENT], missing)}, c, tau, sigma, points)
        problems.extend(missing.items)
        return problems

    def weakening(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> Weakening:
        """Return the strengths, with the distance of a linear decrease of the same initial slope.

        The power law has no end and its fracture energy may be unbounded.
        """
        linear = super().weakening(p, c, tau, sigma)
        return replace(linear, distance=linear.distance / p["weakening_exponent"])

    def weakened(self, p: Values, c: Values, slip: Number) -> Number:
        return -m.expm1(-p["weakening_exponent"] * m.log1p(slip * (1.0 / p["d_c"])))


POWER_LAW_SLIP_WEAKENING = PowerLawWeakening()
