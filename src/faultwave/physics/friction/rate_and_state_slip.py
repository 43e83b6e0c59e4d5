"""Rate and state with the slip law, psi' = -(V psi/L) ln(V psi/L): the state changes only by slip (Ruina 1983; deck number 4)."""

from __future__ import annotations

from typing import Any

from faultwave.kernels import math as m
from faultwave.physics.friction.law import Values
from faultwave.physics.friction.rate_and_state import RateAndState


class Slip(RateAndState):
    name = "rate-and-state-slip"
    title = "Rate and state, slip law"
    deck_number = 4

    def relax(self, p: Values, c: Values, psi: Any, v: Any, dt: Any) -> Any:
        # ln(V psi/L) decays exponentially; as a factor on psi it keeps all digits when V dt/L is tiny.
        return psi * m.exp(m.expm1(-v * dt / p["rs_sl0"]) * m.log(v * psi / p["rs_sl0"]))


SLIP = Slip()
