"""Rate and state with the ageing law, psi' = 1 - V psi/L: faults also heal at rest (Dieterich 1979; deck number 3)."""

from __future__ import annotations

from typing import Any

from faultwave.kernels import math as m
from faultwave.physics.friction.load import Trial, Values
from faultwave.physics.friction.rate_and_state import Classical


class Ageing(Classical):
    name = "rate-and-state-ageing"
    title = "Rate and state, ageing law"
    deck_number = 3

    def exponent(self, p: Values, c: Values, s: Values, trial: Trial) -> tuple[Any, Any]:
        x, steady = trial.mean * (trial.dt / p["rs_sl0"]), p["rs_sl0"] / trial.mean
        lost = m.expm1(-x)
        psi = s["state"] * (1.0 + lost) - lost * steady
        change = (lost * steady - x * (1.0 + lost) * (s["state"] - steady)) / psi
        scale = p["rs_b"] / p["rs_a"]
        return p["rs_f0"] / p["rs_a"] + scale * m.log(psi * (c["rs_sr0"] / p["rs_sl0"])), scale * change

    def relax(self, p: Values, c: Values, psi: Any, v: Any, dt: Any) -> Any:
        lost = m.expm1(-v * (dt / p["rs_sl0"]))
        return psi * (1.0 + lost) - lost * (p["rs_sl0"] / v)


AGEING = Ageing()
