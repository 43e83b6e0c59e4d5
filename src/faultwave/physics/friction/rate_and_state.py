"""Rate-and-state laws: ageing, slip, severe velocity weakening and flash heating (Dieterich 1979; Ruina 1983; Rice et al. 2001).

Friction depends on the slip rate V and on a state variable psi that remembers the slip history over the distance L. In
a sub-step, psi advances by the exact solution of its equation at constant V (docs/theory/friction.md, "Rate and
state").

mu = f0 + a V/(V + V0) - b psi/(psi + L), psi' = (V L/V0 - psi) V0/L with psi in metres. V0 is not a small reference
rate here but the slip rate at which friction weakens. Friction does not depend on ln V: where it balances the load, the
fault is locked.

mu = a asinh( V/(2 V0) e^(psi/a) ), psi' = -(V/L)(psi - psi_ss(V)). The steady state psi_ss belongs to the steady
friction mu_ss = mu_w + (mu_LV - mu_w)/(1 + (V/V_w)^8)^(1/8), which decreases from mu_LV = f0 - (b - a) ln(V/V0) to mu_w
above the rate V_w (Noda et al. 2009; Dunham et al. 2011).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import e as E

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.quantities import Output, Parameter, State
from faultwave.kernels import math as m
from faultwave.kernels.expr import Changes, Condition, Number
from faultwave.physics.friction.law import (
    Directions,
    FrictionLaw,
    PointOrUniform,
    Values,
    Weakening,
    check_filled,
    doubt,
    filled,
    point_or_uniform,
    report,
)
from faultwave.physics.friction.load import Balance, Trial
from faultwave.physics.friction.solvers import growth

F0 = point_or_uniform("rs_f0", "", "friction at the reference slip rate", lower=0.0, aliases=("RS_f0",))
B = point_or_uniform("rs_b", "", "evolution effect b", lower=0.0, aliases=("RS_b",))
POINT = (
    Parameter("rs_a", "", "direct effect a", positive=True, aliases=("RS_a",)),
    Parameter("rs_sl0", "m", "state evolution distance L", positive=True, aliases=("RS_sl0",)),
    F0.point,
    B.point,
)
MUW_NAMES = ("RS_muW", "RS_muw", "rs_muW", "muW", "mu_w")
NOT_GIVEN = -1.0
UNIFORM = (
    F0.uniform,
    B.uniform,
    Parameter("rs_sr0", "m/s", "reference slip rate V0", positive=True, aliases=("RS_sr0",)),
    Parameter("rs_ini_slip_rate", "m/s", "initial slip rate (magnitude)", positive=True),
    Parameter("rs_muw", "", "fully weakened friction, for output DS only; absent: that of steady slip", NOT_GIVEN, lower=0.0,
              aliases=MUW_NAMES),
    Parameter("rs_slip_rate_updates", "", "most Newton steps", 60, 1, 10000, ("RSMaxSlipRateUpdates",), whole=True),
    Parameter("rs_slip_rate_tolerance", "", "relative error of the slip rate at which Newton stops; in single precision 1e-6 at least",
              1e-8, 0.0, 1.0, ("RSSlipRateTolerance",)),
    Parameter("rs_average", "", "rate with which the state evolves: 0 mean of start and end, 1 end", 0, 0, 1, whole=True),
)  # fmt: skip


SEISMIC_RATE = 1.0
"""Slip rate [m/s] during rupture, for forecasts."""
LONG = 1e30
"""Time [s] after which every state variable has reached its steady value."""


SINGLE_TOLERANCE = 1e-6
"""Smallest tolerance of the slip rate for Newton's method in single precision: wave fields are not more accurate."""

STATE_BEND = 8.0
"""Bound of the curvature of the balance due to the state variable.

It is relative to the fraction of its evolution in a sub-step and to the exponent on which it acts. The steepest case is
steady friction that decreases with the eighth power of the slip rate.
"""


class RateAndState(FrictionLaw):
    """Base of the rate-and-state laws; subclasses define the evolution of psi and its effect on friction."""

    parameters: tuple[Parameter, ...] = POINT
    constants: tuple[Parameter, ...] = UNIFORM
    kernel_parameters: tuple[str, ...] = ("rs_a", "rs_sl0", "rs_f0", "rs_b")
    either: tuple[PointOrUniform, ...] = (F0, B)
    state_unit = "s"
    positive = False  # True if the state variable is always positive and its logarithm is used
    solver = "newton"
    work = 2.1
    double = True  # exponents reach 60 and psi 1e9 s: single precision cannot balance the forces
    counted = {
        "unconverged": (
            "sub-steps of rate and state friction ended without balance of load, friction and radiation damping"
        )
    }

    def __init__(self) -> None:
        decades = self.state_unit == "s"  # from 1e9 s at rest to L/V
        self.state = (
            State("state", self.state_unit, "state variable psi", decades=decades),
            State("unconverged", "", "sub-steps that ended with the balance of forces violated"),
        )
        self.outputs = (
            *FrictionLaw.outputs,
            Output("StV", self.state_unit, "state variable of the friction law", lambda p, c, s: s["state"], decades),
        )

    def filled(self, p: Values, c: Values) -> dict[str, np.ndarray]:
        """Return all parameters per point, replacing missing ones by the constants."""
        return dict(p) | filled(p, c, self.either)

    def in_single(self, c: Mapping[str, float]) -> dict[str, float]:
        return {**c, "rs_slip_rate_tolerance": max(c["rs_slip_rate_tolerance"], SINGLE_TOLERANCE)}

    def prepare(self, p: Values, c: Values, directions: Directions | None) -> dict[str, np.ndarray]:
        values = self.filled(p, c)
        return {name: np.array(values[name], float) for name in self.kernel_parameters}

    def check(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray, points: np.ndarray) -> Problems:
        missing = Problems()
        values = dict(p) | check_filled(p, c, self.either, missing)
        problems = super().check(values, c, tau, sigma, points)
        problems.extend(missing.items)
        report(
            problems, values["rs_b"] == 0.0, points, "rs_b is", values["rs_b"], "> 0"
        )  # the constant may be zero if it is not used
        report(problems, ~(sigma < 0), points, "initial normal traction is", sigma, "< 0 Pa (compression)")
        free = np.flatnonzero(tau == 0.0)
        if len(free):
            place = "({:g}, {:g}, {:g})".format(*points[free[0]])
            what = f"no initial shear traction (at {len(free)} points): in balance with it, friction starts at zero"
            problems.warn(f"fault point {place}", what)
        return problems

    def initial(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> dict[str, np.ndarray]:
        """Return the state at which the initial stress drives exactly the initial slip rate: mu(V_ini, psi) = |tau/sigma|."""
        mu = np.abs(tau / sigma)
        psi = self.balanced_state(p, c, mu)
        rate = np.full_like(psi, c["rs_ini_slip_rate"])
        return {"state": psi, "friction": mu, "slip_rate": rate, "unconverged": np.zeros_like(psi)}

    def balanced_state(self, p: Values, c: Values, mu: np.ndarray) -> np.ndarray:
        """Return the state variable at which friction is ``mu`` at the initial slip rate."""
        raise NotImplementedError

    def balance(self, p: Values, c: Values, s: Values, trial: Trial) -> Balance:
        """Return the balance of forces of a trial slip rate (kernel); ``s`` is the state at the start of the sub-step."""
        raise NotImplementedError

    def guess(self, p: Values, c: Values, s: Values, start: Trial) -> Number:
        """Return an initial guess of the slip rate (kernel).

        ``start`` is the slip rate at the start of the sub-step under the load of the sub-step.
        """
        return start.rate

    def evolved(self, s: Values, psi: Number, dt: Number) -> Changes:
        """Return the state variables after a sub-step in which the state evolves from ``s`` to ``psi`` (kernel).

        They include the values that the next guess needs.
        """
        return {"state": psi}

    def relaxed(self, p: Values, c: Values, psi: Number, v: Number, dt: Number) -> tuple[Number, Number]:
        """Return the state variable after ``dt`` at constant slip rate v, and its derivative with respect to ln v (kernel)."""
        raise NotImplementedError

    def dynamic_stress_reached(self, p: Values, c: Values, s: Values, mu: Number) -> Condition:
        """Return True where friction is within 5 % of fully weakened; only meaningful after rupture.

        If the fully weakened friction is not given, friction must be close to its value in steady slip.
        """
        if "rs_muw" not in self.kernel_parameters and c["rs_muw"] == NOT_GIVEN:
            return self.nearly_steady(p, c, s)
        weak = p["rs_muw"] if "rs_muw" in self.kernel_parameters else c["rs_muw"]
        return mu <= weak + 0.05 * (p["rs_f0"] - weak)

    def nearly_steady(self, p: Values, c: Values, s: Values) -> Condition:
        """Return True where friction has almost reached the value of steady slip at the slip rate (kernel)."""
        raise NotImplementedError


class Regularised(RateAndState):
    """Regularised friction mu = a asinh( V/(2 V0) e^E ), finite at rest (Rice et al. 2001); the exponent E depends on the state.

    Load and damping balance where V = 2 V0 sinh(m) e^-E with m = (|tau| - eta V)/(a |sigma|). Both sides are compared
    by their logarithms, so that nothing overflows and small slip rates keep full accuracy.
    """

    def __init__(self) -> None:
        super().__init__()
        unit, seconds = self.state_unit, self.state_unit == "s"
        reported = "state in the last balance of forces: psi before it was resampled"
        self.state += (
            State("balanced", unit, reported, decades=seconds),
            State("drift", "" if seconds else "1/s", "rate at which the state last changed"),
        )

    def initial(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> dict[str, np.ndarray]:
        found = super().initial(p, c, tau, sigma)
        return found | {"balanced": found["state"]}

    def evolved(self, s: Values, psi: Number, dt: Number) -> Changes:
        return {"state": psi, "balanced": psi, "drift": (psi - s["state"]) * (1.0 / dt)}

    def balance(self, p: Values, c: Values, s: Values, trial: Trial) -> Balance:
        psi, by_mean = self.relaxed(p, c, s["state"], trial.mean, trial.dt)
        change = trial.share * by_mean
        exponent, slope = self.exponent(p, c, psi)
        softness = (
            1.0 / (p["rs_a"] * trial.normal) if trial.variation is None else 1.0 / p["rs_a"] * trial.variation.by_normal
        )
        damping = trial.eta * trial.rate
        driving = m.maximum((trial.tau - damping) * softness, 1e-60)
        decay = m.expm1(-2.0 * driving)  # ln(2 sinh m) = m + ln(1 - e^-2m)
        excess = driving + m.log(-decay * (c["rs_sr0"] * (1.0 / trial.rate))) - exponent
        # The excess falls by 1 + damped + slope change, damped = damping coth(m), coth(m) = -(2 + decay)/decay.
        damping = damping * softness
        evolved = trial.mean * trial.dt * (1.0 / p["rs_sl0"])
        if trial.variation is None:
            damped = -damping * (2.0 + decay) / decay
            less = 1.0 / (1.0 + damped + slope * change)
            doubt = m.abs((damped - damping) * (damped + damping) * less) + STATE_BEND * evolved * m.abs(exponent)
        else:
            steep, growing = -(2.0 + decay) / decay, trial.variation.growing
            damped = damping * steep
            less = 1.0 / (1.0 + damped + slope * change + steep * driving * growing)
            bend = driving * trial.variation.bend + (driving + damping) * m.abs(growing)
            doubt = m.abs((damped - damping) * (damped + damping) * less) + STATE_BEND * evolved * m.abs(exponent)
            doubt = doubt + 2.0 * m.abs(steep * less) * bend
        return Balance(excess, excess * less, psi, change, damped * less, doubt)

    def guess(self, p: Values, c: Values, s: Values, start: Trial) -> Number:
        """Return a guess of the slip rate: friction changes by a with the logarithm of the rate, and with the state.

        The state is extrapolated from the last sub-step. The second order accounts for damping.
        """
        state = s["state"] - s["balanced"] + s["drift"] * start.dt
        friction = s["friction"] + p["rs_a"] * self.exponent(p, c, s["state"])[1] * state
        damping = start.eta * start.rate
        share = 1.0 / (p["rs_a"] * start.normal + damping)
        change = (start.tau - damping - friction * start.normal) * share
        change = m.maximum(m.minimum(change - 0.5 * change * change * damping * share, 1.0), -1.0)
        return start.rate * growth(change)

    def exponent(self, p: Values, c: Values, psi: Number) -> tuple[Number, Number]:
        """Return the exponent E and its derivative with respect to psi (kernel)."""
        raise NotImplementedError

    def state_of(self, p: Values, c: Values, exponent: np.ndarray) -> np.ndarray:
        """Return the state variable at which the exponent is E."""
        raise NotImplementedError

    def weakening(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> Weakening:
        """Return friction at the slip rate of a rupture before and after the state has evolved (Cocco & Bizzarri 2002)."""
        young = self.initial(p, c, tau, sigma)["state"]
        rate = np.full_like(young, SEISMIC_RATE)
        old = self.relaxed(p, c, young, rate, LONG)[0]

        def strength(exponent: np.ndarray) -> np.ndarray:
            x = exponent + np.log(rate / (2.0 * c["rs_sr0"]))
            large = np.maximum(x, 0.0)
            above = large + np.log1p(np.sqrt(1.0 + np.exp(-2.0 * large)))  # asinh(e^x) without overflow
            return np.asarray(
                np.maximum(-sigma, 0.0) * p["rs_a"] * np.where(x > 0.0, above, np.arcsinh(np.exp(x - large)))
            )

        before, after = (np.asarray(self.exponent(p, c, psi)[0]) for psi in (young, old))
        return Weakening(strength(before), strength(after), self.evolution(p, before - after), threshold=False)

    def evolution(self, p: Values, fall: np.ndarray) -> np.ndarray:
        """Return the slip [m] of a linear weakening of the same fracture energy, where the exponent decreases by ``fall``.

        Here the decrease decays exponentially with slip over L.
        """
        return 2.0 * np.array(p["rs_sl0"], float)

    def balanced_state(self, p: Values, c: Values, mu: np.ndarray) -> np.ndarray:
        x = np.maximum(mu / p["rs_a"], 1e-300)
        log_sinh2 = x + np.log(-np.expm1(-2.0 * x))
        return self.state_of(p, c, log_sinh2 - np.log(c["rs_ini_slip_rate"] / c["rs_sr0"]))


class Classical(Regularised):
    """Exponent E = (f0 + b ln(V0 psi/L))/a with psi in seconds (Dieterich 1979; Ruina 1983)."""

    positive = True

    def exponent(self, p: Values, c: Values, psi: Number) -> tuple[Number, Number]:
        inverse = 1.0 / p["rs_a"]
        scale = p["rs_b"] * inverse
        return p["rs_f0"] * inverse + scale * m.log(psi * (c["rs_sr0"] * (1.0 / p["rs_sl0"]))), scale / psi

    def nearly_steady(self, p: Values, c: Values, s: Values) -> Condition:
        """Return True where V psi/L <= e: friction is at most b above steady slip, while it decreases by some 25 b in a rupture."""
        return s["slip_rate"] * s["state"] <= E * p["rs_sl0"]

    def state_of(self, p: Values, c: Values, exponent: np.ndarray) -> np.ndarray:
        log_psi = (p["rs_a"] * exponent - p["rs_f0"]) / p["rs_b"]
        return np.asarray(p["rs_sl0"] / c["rs_sr0"] * np.exp(np.clip(log_psi, -600.0, 600.0)))

    def evolution(self, p: Values, fall: np.ndarray) -> np.ndarray:
        """Return the equivalent slip [m] of linear weakening.

        At a constant rate, friction of the ageing law decreases linearly by b for each L of slip (Cocco & Bizzarri
        2002).
        """
        return np.asarray(p["rs_sl0"] * np.maximum(fall * p["rs_a"] / p["rs_b"], 1.0))


class Ageing(Classical):
    """Rate-and-state friction with the ageing law."""

    name = "rate-and-state-ageing"
    title = "Rate and state, ageing law"
    deck_number = 3

    def relaxed(self, p: Values, c: Values, psi: Number, v: Number, dt: Number) -> tuple[Number, Number]:
        x, steady = v * (dt * (1.0 / p["rs_sl0"])), p["rs_sl0"] * (1.0 / v)
        lost, left = m.expm1(-x), m.exp(-x)  # computing one from the other would lose accuracy at small or large x
        return psi * left - lost * steady, lost * steady - x * left * (psi - steady)


AGEING = Ageing()


MIN_UPDATES = 2
"""Smallest number of Newton steps.

After one step, slip of a test with nucleation had an error of 12 % of the largest slip; after two, of 0.1 % at most.
"""
WHY = "One Newton step is inaccurate for the slip law: slip would be wrong by 10 %."


class Slip(Classical):
    """Slip law: ln(V psi/L) decays exponentially. Applied as a factor on psi, it stays accurate if V dt/L is tiny."""

    name = "rate-and-state-slip"
    title = "Rate and state, slip law"
    deck_number = 4
    work = 2.4
    constants = tuple(
        replace(q, lower=MIN_UPDATES, reason=WHY) if q.name == "rs_slip_rate_updates" else q for q in UNIFORM
    )

    def relaxed(self, p: Values, c: Values, psi: Number, v: Number, dt: Number) -> tuple[Number, Number]:
        inverse = 1.0 / p["rs_sl0"]
        x, off_steady = v * (dt * inverse), m.log(v * (psi * inverse))
        lost = m.expm1(-x)
        new = psi * m.exp(lost * off_steady)
        return new, new * (lost - x * (1.0 + lost) * off_steady)


SLIP = Slip()


V0 = Parameter(
    "rs_sr0",
    "m/s",
    "slip rate V0 at which friction weakens (not a small reference rate)",
    positive=True,
    aliases=("RS_sr0",),
)


class SevereVelocityWeakening(RateAndState):
    """Rate-and-state friction with severe velocity weakening."""

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


MUW = point_or_uniform("rs_muw", "", "fully weakened friction mu_w", lower=0.0, aliases=MUW_NAMES)
MIN_STEADY_FRICTION = 1e-3
"""Lower bound of steady friction.

mu_LV is negative at very small slip rates where a > b, and friction has a steady state only if it is positive.
"""


class StrongVelocityWeakening(Regularised):
    """Rate-and-state friction with strong velocity weakening, the flash heating of contacts."""

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

    def exponent(self, p: Values, c: Values, psi: Number) -> tuple[Number, Number]:
        inverse = 1.0 / p["rs_a"]
        return psi * inverse, inverse

    def state_of(self, p: Values, c: Values, exponent: np.ndarray) -> np.ndarray:
        return np.asarray(p["rs_a"] * exponent)


STRONG_VELOCITY_WEAKENING = StrongVelocityWeakening()
