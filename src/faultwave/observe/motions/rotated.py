"""Intensity measures of many records of the same length at once, with the definitions of ``measures``.

The largest projection of a motion onto a direction is that of one of the corners of its convex hull in the plane of both components.
Only samples that may be such corners are rotated, which leaves the values unchanged and saves most of the work.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from faultwave.observe.motions.measures import (
    DAMPING,
    FINE,
    UNITS,
    derived,
    measures,
    padded,
    response,
    spectral,
    summed,
    turned,
)

COARSE = 15
"""Step between the directions whose extremes bound the others."""
OTHERS = tuple(name for name in UNITS if name not in ("PGA", "PGV", "PGD", "SA", "FAS"))
"""Measures that are computed record by record."""
SAMPLES_PER_PERIOD = 10
"""Smallest number of samples per period of a spectral acceleration."""
ROUNDING = 1e-9
"""Relative difference by which periods may be shorter, because intervals are rounded."""
_SPECTRAL = re.compile(r"SA\(((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\)")


def spectral_period(name: str) -> float | None:
    """Return the period [s] of a spectral acceleration from its name, such as SA(1.0), and None for other measures."""
    found = _SPECTRAL.fullmatch(name)
    return float(found[1]) if found and float(found[1]) > 0 else None


def is_sampled(period: float, step: float) -> bool:
    """Return True if motion with a sampling interval has enough samples per period of a spectral acceleration."""
    return period >= SAMPLES_PER_PERIOD * step * (1.0 - ROUNDING)


def is_measure(name: str) -> bool:
    """Return True if a name is one of the measures that ``rotated_measures`` computes."""
    return name in ("PGA", "PGV", "PGD", *OTHERS) or spectral_period(name) is not None


def directional_peaks(motion: np.ndarray) -> np.ndarray:
    """Return the largest absolute projections (n, 180) of motions (n, 2, nt) onto 180 directions."""
    found = np.empty((len(motion), len(turned(np.zeros(1), np.zeros(1)))))
    for row, (east, north) in zip(found, motion, strict=True):
        coarse = np.abs(turned(east, north, len(row) // COARSE)).argmax(1)
        bound = np.abs(turned(east[coarse], north[coarse])).max(1).min()
        outside = east * east + north * north >= (1.0 - 1e-12) * bound * bound  # points inside are no extremes
        row[:] = np.abs(turned(east[outside], north[outside])).max(1)
    return found


def rotated_measures(
    step: float, horizontal: np.ndarray, names: Sequence[str], percentile: float = 50.0, damping: float = DAMPING
) -> np.ndarray:
    """Return intensity measures of many records, percentiles over 180 directions.

    Parameters
    ----------
    step : float
        Sampling interval [s].
    horizontal : ndarray of shape (n, 2, nt)
        Horizontal velocities [m/s].
    names : sequence of str
        Measures: PGA, PGV, PGD, SA(period), CAV, Arias, D5-75, D5-95. Spectral accelerations of periods below ten samples are NaN.
    percentile : float
        Percentile over directions: 50 for RotD50, 100 for RotD100.
    damping : float
        Fraction of critical damping.

    Returns
    -------
    ndarray of shape (n, len(names))
        Measures in SI units.

    Raises
    ------
    ValueError
        For an unknown measure.
    """
    velocity = np.asarray(horizontal, float)
    found = np.empty((len(velocity), len(names)))
    finer: dict[int, np.ndarray] = {}
    others = [name for name in names if name in OTHERS]
    slow = [measures(step, record[0], record[1], periods=()).rotd(percentile) for record in velocity] if others else []
    for column, name in enumerate(names):
        period = spectral_period(name)
        if name in OTHERS:
            found[:, column] = [values[name] for values in slow]
            continue
        if period is not None:
            if not is_sampled(period, step):
                found[:, column] = np.nan
                continue
            times = max(1, int(np.ceil(FINE * step / period)))
            if times not in finer:
                finer[times] = derived(velocity, step, times)
            x = response(padded(finer[times], step / times, period, damping), step / times, period, damping)
            peaks = (2 * np.pi / period) ** 2 * directional_peaks(x)
        elif name == "PGV":
            peaks = directional_peaks(velocity)
        elif name == "PGA":
            if 1 not in finer:
                finer[1] = derived(velocity, step)
            peaks = directional_peaks(finer[1])
        elif name == "PGD":
            peaks = directional_peaks(summed(velocity, step))
        else:
            raise ValueError(f"'{name}' is no intensity measure")
        found[:, column] = np.percentile(peaks, percentile, axis=1)
    return found


__all__ = ["directional_peaks", "is_measure", "is_sampled", "rotated_measures", "spectral", "spectral_period"]
