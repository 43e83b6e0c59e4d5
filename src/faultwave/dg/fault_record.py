"""What every point of a fault remembers beside the friction law's own state, and how sub-steps change it (all notes are *kernel*
functions)."""

from __future__ import annotations

from typing import Any

from faultwave.base.columns import Columns, Row
from faultwave.kernels import math as m
from faultwave.physics.friction.load import Solved
from faultwave.physics.waves.law import dot

RUPTURE_RATE = 1e-3  # m/s, above which a point counts as ruptured

RECORD = ("ruptured", "weakened", "traction1", "traction2", "traction_n", "strength", "work")
"""What every fault point remembers beside the friction law's own state: rupture and dynamic stress times, the last
traction change and strength, frictional work [J/m^2]."""

LEFT = ("traction1", "traction2", "traction_n", "strength")
"""What of it is overwritten by each sub-step."""

FELT = ("felt1", "felt2")
"""The last change of the shear traction that balances friction, where smooth sliding leaves more to the face than friction feels."""

MOVED = ("moved",)
"""The path length of the velocity jump of both sides [m]; slip and work by this jump are ``JUMPED`` and ``JUMP_WORK``."""

JUMPED = Columns(**dict.fromkeys(("moved1", "moved2")))
"""Slip along the tangents by the velocity jump [m], of face modes: an integral of polynomials is one."""

JUMP_WORK = "work_moved"
"""The mean over a face of the work by the velocity jump [J/m^2]."""

BREAKDOWN = ("dissipated", "path", "least", "breakdown")
"""Work against friction [J/m^2] and path length [m] since the start, the least shear traction while slipping [Pa], and the work above
it that was done until it was reached, or until the law's dynamic stress was (Tinti, Spudich & Cocco 2005)."""

HUGE = 1e30
"""The least shear traction before there was any."""

AT_ONCE = 1e-30
"""Time [s] of what breaks in the very first step, where times are those of whole steps: later than never, which is 0."""

CLOCK = Columns(**dict.fromkeys(("duration", "end", "mark")))
"""Columns of a sub-step's times [s]: its length and end, and the time to mark a rupture with."""


def recorded(moved: bool, breakdown: bool = False, smooth_sliding: bool = False) -> Columns:
    """Return the columns of ``record``."""
    first, rest = RECORD[:-1], RECORD[-1:]
    return Columns(**dict.fromkeys(first + FELT * smooth_sliding + rest + MOVED * moved + BREAKDOWN * breakdown))


def note(
    old: dict[str, Any], last: Any, x: Solved, traction: Any, clock: Row, w: Any, whole_steps: bool
) -> dict[str, Any]:
    """Rupture time (with ``whole_steps`` the clock's mark, else interpolated in the sub-step), tractions, strength and frictional work."""
    starts = (x.slip_rate > RUPTURE_RATE) & (old["ruptured"] <= 0.0)
    moment = clock.mark
    if not whole_steps:
        share = (RUPTURE_RATE - last) / m.maximum(x.slip_rate - last, 1e-300)
        moment = moment + clock.duration * m.minimum(m.maximum(share, 0.0), 1.0)
    return old | {
        "ruptured": m.where(starts, moment, old["ruptured"]),
        "traction_n": traction[0],
        "traction1": traction[1],
        "traction2": traction[2],
        "strength": x.strength,
        "work": old["work"] - w[0] * (traction[1] * x.slip_rate1 + traction[2] * x.slip_rate2),
    }


def note_breakdown(old: dict[str, Any], x: Solved, total: Any, w: Any) -> dict[str, Any]:
    """BREAKDOWN after a sub-step that ends with the shear traction ``total``."""
    size = m.sqrt(dot(total, total))
    dissipated = old["dissipated"] + w[0] * (total[0] * x.slip_rate1 + total[1] * x.slip_rate2)
    path = old["path"] + w[0] * x.slip_rate
    falls = (x.slip_rate > 0.0) & (size < old["least"]) & (old["weakened"] <= 0.0)
    return {
        "dissipated": dissipated,
        "path": path,
        "least": m.where(falls, size, old["least"]),
        "breakdown": m.where(falls, dissipated - size * path, old["breakdown"]),
    }


def note_path(path: Any, jump: Any, w: Any) -> Any:
    """Path length by the jump of the velocity."""
    return [[path[0] + w[0] * m.sqrt(dot(jump, jump))]]


__all__ = [
    "AT_ONCE", "BREAKDOWN", "CLOCK", "FELT", "HUGE", "JUMPED", "JUMP_WORK", "LEFT", "MOVED", "RECORD", "RUPTURE_RATE", "note",
    "note_breakdown", "note_path", "recorded",
]  # fmt: skip
