"""Rate and state with the ageing law, psi' = 1 - V psi/L: faults also heal at rest (Dieterich 1979; deck number 3)."""

from __future__ import annotations

from faultwave.kernels import math as m
from faultwave.kernels.types import Number
from faultwave.physics.friction.loading.load import Values
from faultwave.physics.friction.rate_and_state import Classical


class Ageing(Classical):
    name = "rate-and-state-ageing"
    title = "Rate and state, ageing law"
    deck_number = 3

    def relaxed(self, p: Values, c: Values, psi: Number, v: Number, dt: Number) -> tuple[Number, Number]:
        x, steady = v * (dt * (1.0 / p["rs_sl0"])), p["rs_sl0"] * (1.0 / v)
        lost, left = m.expm1(-x), m.exp(-x)  # computing one from the other would lose accuracy at small or large x
        return psi * left - lost * steady, lost * steady - x * left * (psi - steady)


AGEING = Ageing()
