"""Hysteresis loops of shear stress and strain, and the stiffness and damping that they imply.

Half a loop lies between two reversals of the strain. By Masing's rules unloading follows the same curve reversed, so that half a loop
determines its whole area, closed or not: damping is that area over 2 pi times the amplitudes of strain and stress (Kramer 1996,
equation 6.8).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SMALLEST = 0.1
"""Fraction of the strain range by which the strain must return for a reversal to count."""


@dataclass(frozen=True)
class HalfLoop:
    """Half a hysteresis loop.

    Attributes
    ----------
    first, last : int
        Samples at which it begins and ends.
    amplitude : float
        Strain amplitude.
    modulus : float
        Secant shear modulus from reversal to reversal [Pa].
    damping : float
        Damping ratio, a fraction of critical damping.
    """

    first: int
    last: int
    amplitude: float
    modulus: float
    damping: float


NONE = HalfLoop(0, 0, np.nan, np.nan, np.nan)
"""Result for a record without two reversals."""


def strain_reversals(strain: np.ndarray) -> list[int]:
    """Return the samples at which a record (n,) reverses, except at its ends and near its start."""
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
    adjacent = int(bool(found) and abs(strain[found[0]] - strain[0]) <= least)  # the next segment is first loading
    return [k for k in found[adjacent:] if 0 < k < len(strain) - 1]


def half_loops(strain: np.ndarray, stress: np.ndarray) -> list[HalfLoop]:
    """Return the half loops of records (n,) of engineering shear strain (twice the tensor component) and stress [Pa]."""
    at, found = strain_reversals(strain), []
    for a, b in zip(at, at[1:], strict=False):
        x, y = strain[a : b + 1] - strain[a], stress[a : b + 1] - stress[a]
        chord = 0.5 * x[-1] * y[-1]
        half = float(np.sum(0.5 * (y[1:] + y[:-1]) * np.diff(x))) - chord
        found.append(HalfLoop(a, b, 0.5 * abs(float(x[-1])), float(y[-1] / x[-1]), half / (np.pi * 0.5 * chord)))
    return found


def largest(strain: np.ndarray, stress: np.ndarray) -> HalfLoop:
    """Return the half loop of the largest strain amplitude."""
    return max(half_loops(strain, stress), key=lambda loop: loop.amplitude, default=NONE)
