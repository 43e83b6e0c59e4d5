"""Rate and state with the slip law, psi' = -(V psi/L) ln(V psi/L): the state changes only by slip (Ruina 1983; deck number 4)."""

from __future__ import annotations

from typing import Any

from faultwave.kernels import math as m
from faultwave.physics.friction.load import Trial, Values
from faultwave.physics.friction.rate_and_state import Classical


class Slip(Classical):
    """ln(V psi/L) decays exponentially; as a change of ln psi it keeps all digits when V dt/L is tiny."""

    name = "rate-and-state-slip"
    title = "Rate and state, slip law"
    deck_number = 4

    def exponent(self, p: Values, c: Values, s: Values, trial: Trial) -> tuple[Any, Any]:
        x, log_psi = trial.mean * (trial.dt / p["rs_sl0"]), m.log(s["state"] * (c["rs_sr0"] / p["rs_sl0"]))
        off_steady = log_psi + m.log(trial.mean * (1.0 / c["rs_sr0"]))
        lost = m.expm1(-x)
        scale = p["rs_b"] / p["rs_a"]
        exponent = p["rs_f0"] / p["rs_a"] + scale * (log_psi + lost * off_steady)
        return exponent, scale * (lost - x * (1.0 + lost) * off_steady)

    def relax(self, p: Values, c: Values, psi: Any, v: Any, dt: Any) -> Any:
        return psi * m.exp(m.expm1(-v * (dt / p["rs_sl0"])) * m.log(v * psi / p["rs_sl0"]))


SLIP = Slip()
