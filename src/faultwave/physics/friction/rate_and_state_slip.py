"""Rate and state with the slip law, psi' = -(V psi/L) ln(V psi/L): the state changes only by slip (Ruina 1983; deck number 4)."""

from __future__ import annotations

from dataclasses import replace

from faultwave.kernels import math as m
from faultwave.kernels.types import Number
from faultwave.physics.friction.loading.load import Values
from faultwave.physics.friction.rate_and_state import UNIFORM, Classical

MIN_UPDATES = 2
"""Smallest number of Newton steps.

After one step, slip of a test with nucleation had an error of 12 % of the largest slip; after two, of 0.1 % at most.
"""
WHY = "One Newton step does not follow the state of the slip law: slip would be wrong by a tenth."


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
