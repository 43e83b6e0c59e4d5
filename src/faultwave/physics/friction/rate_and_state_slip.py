"""Rate and state with the slip law, psi' = -(V psi/L) ln(V psi/L): the state changes only by slip (Ruina 1983; deck number 4)."""

from __future__ import annotations

from typing import Any

from faultwave.kernels import math as m
from faultwave.physics.friction.load import Values
from faultwave.physics.friction.rate_and_state import Classical


class Slip(Classical):
    """ln(V psi/L) decays exponentially; as a factor on psi it keeps all digits when V dt/L is tiny."""

    name = "rate-and-state-slip"
    title = "Rate and state, slip law"
    deck_number = 4
    work = 6.5

    def relaxed(self, p: Values, c: Values, psi: Any, v: Any, dt: Any) -> tuple[Any, Any]:
        inverse = 1.0 / p["rs_sl0"]
        x, off_steady = v * (dt * inverse), m.log(v * (psi * inverse))
        lost = m.expm1(-x)
        new = psi * m.exp(lost * off_steady)
        return new, new * (lost - x * (1.0 + lost) * off_steady)


SLIP = Slip()
