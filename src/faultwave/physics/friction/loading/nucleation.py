"""Smooth ramps in time: nucleation episodes and imposed Gaussian slip (docs/theory/friction.md, "Nucleation")."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from faultwave.base.errors import Problems
from faultwave.base.types import Setting
from faultwave.kernels import math as m
from faultwave.kernels.types import Number

LARGEST_STRESS = 1e15
"""Largest stress of nucleation [Pa], a thousand times the pressure in the Earth's core."""
STRESS_ALLOWED = f"finite numbers up to {LARGEST_STRESS:g} Pa"


def wrong_stress(traction: np.ndarray) -> np.ndarray:
    """Return True (n,) where nucleation adds an invalid traction (n, 3) [Pa]: not finite or too large."""
    return np.asarray(~(np.abs(traction) <= LARGEST_STRESS).all(1))


def check_starts(nucleation: Iterable[Setting], end_time: float, problems: Problems) -> None:
    """Warn of episodes of nucleation that begin after the end of the run [s]."""
    for i, episode in enumerate(nucleation):
        if episode.start >= end_time:
            what = f"begins at {episode.start:g} s, and the run ends at {end_time:g} s: it does nothing"
            problems.warn(
                f"fault.nucleation[{i}].start", what, f"below {end_time:g} s", "Start it earlier, or raise end_time."
            )


def smooth_step(t: Number, duration: Number) -> Any:
    """Return the smooth step G(t) from 0 to 1 over a duration T (kernel).

    It is 0 for t <= 0, exp((t-T)^2/(t(t-2T))) for 0 < t < T, and 1 after, with continuous derivatives of all orders; a
    jump after t = 0 if T <= 0.
    """
    ramps = duration > 0.0
    x = t / m.where(ramps, duration, 0.0 * duration + 1.0)
    # Below 1e-4 of the ramp the exponential is zero in any precision; the limit avoids an infinite argument.
    inside = m.maximum(m.minimum(x, 1.0), 1e-4)
    ramp = m.exp((inside - 1.0) * (inside - 1.0) / (inside * (inside - 2.0)))
    return m.where(ramps, m.where(x > 0.0, ramp, 0.0 * x), m.where(x > 0.0, 0.0 * x + 1.0, 0.0 * x))


def unmistakable(onset: npt.ArrayLike) -> np.ndarray:
    """Return the time of a jump, shifted by more than rounding of adjacent intervals so that exactly one contains it (host).

    The relative shift of 1e-12 is itself negligible.
    """
    return np.asarray(onset, float) * (1.0 + 1e-12)


def increment(t0: float, t1: float, start: float, duration: float) -> float:
    """Return the fraction of an episode's stress added between ``t0`` and ``t1`` [s] (host); increments sum to 1."""
    if duration <= 0:
        start = float(unmistakable(start))
    since, until = t0 - start, t1 - start
    if until <= 0.0 or since >= duration and since > 0.0:  # before or after the ramp: most steps of a run
        return 0.0
    before, after, length = (np.asarray(x, float) for x in (since, until, duration))
    return float(smooth_step(after, length) - smooth_step(before, length))
