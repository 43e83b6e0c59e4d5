"""What rate-and-state laws share (Dieterich 1979; Ruina 1983; Rice et al. 2001); each law has a module of its own.

mu = a asinh( V/(2 V0) exp((f0 + b ln(V0 psi/L))/a) ), psi the state variable [s]. The laws differ in how psi evolves; all advance it
by its exact solution at constant V (docs/theory/friction.md, "Rate and state").
"""

from __future__ import annotations

from typing import Any

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.quantities import Output, Parameter, State
from faultwave.kernels import math as m
from faultwave.physics.friction.law import Directions, FrictionLaw, Values, Weakening, report

_POINT = (
    Parameter("rs_a", "", "direct effect a", positive=True),
    Parameter("rs_sl0", "m", "state evolution distance L", positive=True, aliases=("RS_sl0",)),
    Parameter("rs_f0", "", "friction at the reference slip rate; absent: the constant", np.nan, aliases=("RS_f0",)),
    Parameter("rs_b", "", "evolution effect b; absent: the constant", np.nan, aliases=("RS_b",)),
)
_UNIFORM = (
    Parameter("rs_f0", "", "friction at the reference slip rate", 0.6, lower=0.0, aliases=("RS_f0",)),
    Parameter("rs_b", "", "evolution effect b", 0.012, lower=0.0, aliases=("RS_b",)),
    Parameter("rs_sr0", "m/s", "reference slip rate V0", 1e-6, positive=True, aliases=("RS_sr0",)),
    Parameter("rs_ini_slip_rate", "m/s", "initial slip rate (magnitude)", 1e-12, positive=True),
    Parameter("rs_muw", "", "fully weakened friction, for output DS only", 0.0, lower=0.0, aliases=("RS_muW", "mu_w")),
    Parameter("rs_slip_rate_updates", "", "most Newton steps", 60, 1, 10000, ("RSMaxSlipRateUpdates",)),
    Parameter("rs_state_updates", "", "most fixed-point steps of the state", 10, 1, 1000, ("RSStateUpdates",)),
    Parameter("rs_slip_rate_tolerance", "m/s", "Newton's tolerance", 1e-8, 0.0, 1.0, ("RSSlipRateTolerance",)),
    Parameter("rs_state_tolerance", "m/s", "tolerance on the mean slip rate", 1e-8, 0.0, 1.0, ("RSStateTolerance",)),
    Parameter("rs_average", "", "mean rate that ages the state: 0 start and end, 1 last two iterates", 0, 0, 1),
)  # fmt: skip


SEISMIC_RATE = 1.0
"""Slip rate [m/s] in a rupture, for forecasts."""


class RateAndState(FrictionLaw):
    """Base of the laws: subclasses state how psi evolves."""

    parameters = _POINT
    constants = _UNIFORM
    kernel_parameters = ("rs_a", "rs_sl0", "rs_f0", "rs_b")
    state = (
        State("state", "s", "state variable psi"),
        State("unconverged", "", "sub-steps that ended with the balance of forces violated"),
    )
    solver = "newton"
    work = 22.0
    double = True  # exponents reach 60 and psi 1e9 s: single precision loses the balance of forces
    outputs = (
        *FrictionLaw.outputs,
        Output("StV", "s", "state variable of the friction law", lambda p, c, s: s["state"]),
    )

    def prepare(self, p: Values, c: Values, directions: Directions | None) -> dict[str, np.ndarray]:
        result = {name: np.array(p[name], float) for name in self.kernel_parameters}
        for name in ("rs_f0", "rs_b"):  # per point where the fault file has it, else the constant
            result[name] = np.where(np.isnan(result[name]), c[name], result[name])
        return result

    def check(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray, points: np.ndarray) -> Problems:
        filled = dict(p) | {name: np.where(np.isnan(p[name]), c[name], p[name]) for name in ("rs_f0", "rs_b")}
        problems = super().check(filled, c, tau, sigma, points)
        report(problems, ~(sigma < 0), points, "initial normal traction is", sigma, "< 0 Pa (compression)")
        report(problems, ~(filled["rs_b"] > 0), points, "rs_b is", filled["rs_b"], "> 0")
        return problems

    def initial(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> dict[str, np.ndarray]:
        """The state at which the initial stress drives exactly the initial slip rate: mu(V_ini, psi) = |tau/sigma|."""
        a, b, v0, v = p["rs_a"], p["rs_b"], c["rs_sr0"], c["rs_ini_slip_rate"]
        mu = np.abs(tau / sigma)
        x = np.maximum(mu / a, 1e-300)  # no load: a state so young that the fault has no strength
        log_sinh2 = x + np.log(-np.expm1(-2.0 * x))  # ln(2 sinh x) without overflow
        exponent = (a * log_sinh2 - p["rs_f0"] - a * np.log(v / v0)) / b
        psi = p["rs_sl0"] / v0 * np.exp(np.clip(exponent, -600.0, 600.0))
        return {"state": psi, "friction": mu, "slip_rate": np.full_like(psi, v), "unconverged": np.zeros_like(psi)}

    def weakening(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> Weakening:
        """Friction at the rate of a rupture before and after the state has evolved (Cocco & Bizzarri 2002)."""
        pressed, rate = np.maximum(-sigma, 0.0), np.full_like(sigma, SEISMIC_RATE)
        state, steady = self.initial(p, c, tau, sigma)["state"], p["rs_sl0"] / rate
        peak, dynamic = (pressed * self.coefficient(p, c, rate, psi)[0] for psi in (state, steady))
        age = np.maximum(np.log(np.maximum(state / steady, 1.0)), 1.0)
        return Weakening(peak, dynamic, p["rs_sl0"] * age, threshold=False)

    def coefficient(self, p: Values, c: Values, v: Any, psi: Any) -> tuple[Any, Any]:
        """mu and dmu/dV, with the argument of asinh kept as its logarithm, so that nothing overflows."""
        a, v0 = p["rs_a"], c["rs_sr0"]
        y = m.log(v / (2.0 * v0)) + (p["rs_f0"] + p["rs_b"] * m.log(v0 * psi / p["rs_sl0"])) / a
        decay = m.exp(-2.0 * m.abs(y))
        large = y + m.log(1.0 + m.sqrt(1.0 + decay))
        mu = a * m.where(y > 0.0, large, m.asinh(m.exp(m.minimum(y, 0.0))))
        # dmu/dV = (a/V) e^y / sqrt(1 + e^2y); decay is e^-2|y|.
        slope = a / v * m.exp(m.minimum(y, 0.0)) / m.sqrt(1.0 + decay)
        return mu, slope

    def dynamic_stress_reached(self, p: Values, c: Values, s: Values, mu: Any) -> Any:
        """Friction within 5 % of fully weakened; only meaningful after rupture."""
        return mu <= c["rs_muw"] + 0.05 * (p["rs_f0"] - c["rs_muw"])

    def relax(self, p: Values, c: Values, psi: Any, v: Any, dt: Any) -> Any:
        """State after ``dt`` at constant slip rate v."""
        raise NotImplementedError
