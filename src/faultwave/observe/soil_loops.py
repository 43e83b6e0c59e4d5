"""Loops of shear stress over strain: the stiffness and the damping that a record of both shows.

Between two turns of the strain lies half a loop. By Masing's rules the way back is the same curve turned around, so that half a loop tells
its whole area, closed or not: damping is that area over 2 pi times the amplitudes of strain and stress (Kramer 1996, equation 6.8).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SMALLEST = 0.1
"""Turns count where the strain goes back by this share of its whole range."""


@dataclass(frozen=True)
class HalfLoop:
    """Between the samples ``first`` and ``last``: ``amplitude`` of strain, ``modulus`` [Pa] from turn to turn, ``damping`` as a share of
    the critical one."""

    first: int
    last: int
    amplitude: float
    modulus: float
    damping: float


NONE = HalfLoop(0, 0, np.nan, np.nan, np.nan)
"""Of a record without two turns."""


def turns(strain: np.ndarray) -> list[int]:
    """Samples at which a record (n,) turns, those at its ends and beside its start left out."""
    least = SMALLEST * float(np.ptp(strain))
    found, low, high, rising = list[int](), 0, 0, 0
    for k, x in enumerate(strain):
        if x > strain[high]:
            high = k
        if x < strain[low]:
            low = k
        if rising >= 0 and strain[high] - x > least:
            found.append(high)
            rising, low = -1, k
        elif rising <= 0 and x - strain[low] > least:
            found.append(low)
            rising, high = 1, k
    beside = int(bool(found) and abs(strain[found[0]] - strain[0]) <= least)  # what follows is first loading
    return [k for k in found[beside:] if 0 < k < len(strain) - 1]


def half_loops(strain: np.ndarray, stress: np.ndarray) -> list[HalfLoop]:
    """Of records (n,) of shear strain, twice the tensor's, and stress [Pa]."""
    at, found = turns(strain), []
    for a, b in zip(at, at[1:], strict=False):
        x, y = strain[a : b + 1] - strain[a], stress[a : b + 1] - stress[a]
        chord = 0.5 * x[-1] * y[-1]
        half = float(np.sum(0.5 * (y[1:] + y[:-1]) * np.diff(x))) - chord
        found.append(HalfLoop(a, b, 0.5 * abs(float(x[-1])), float(y[-1] / x[-1]), half / (np.pi * 0.5 * chord)))
    return found


def largest(strain: np.ndarray, stress: np.ndarray) -> HalfLoop:
    """The one of the largest amplitude."""
    return max(half_loops(strain, stress), key=lambda loop: loop.amplitude, default=NONE)


__all__ = ["HalfLoop", "half_loops", "largest", "turns"]
