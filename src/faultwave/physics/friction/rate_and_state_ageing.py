"""Rate and state with the ageing law, psi' = 1 - V psi/L: faults also heal at rest (Dieterich 1979; deck number 3)."""

from __future__ import annotations

from typing import Any

from faultwave.kernels import math as m
from faultwave.physics.friction.law import Values
from faultwave.physics.friction.rate_and_state import RateAndState


class Ageing(RateAndState):
    name = "rate-and-state-ageing"
    title = "Rate and state, ageing law"
    deck_number = 3

    def relax(self, p: Values, c: Values, psi: Any, v: Any, dt: Any) -> Any:
        x = v * dt / p["rs_sl0"]
        return psi * m.exp(-x) - m.expm1(-x) * (p["rs_sl0"] / v)


AGEING = Ageing()
