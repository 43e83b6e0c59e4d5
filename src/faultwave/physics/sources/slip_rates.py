"""Slip rates of finite sources that state a rise time instead of samples: normalised shapes, sampled for many subfaults."""

from __future__ import annotations

import numpy as np

from faultwave.physics.sources.time_functions import SampledFunctions, Triangle, Yoffe

SHAPES = ("triangle", "cosine", "yoffe")
"""Shapes of a slip rate that lasts for a rise time."""
INTERVALS = 128
"""Number of intervals of a sampled shape."""
SHORTEST = 1e-9
"""Duration [s] that replaces a part of zero length."""
ACCELERATION = 0.1
"""Time of acceleration tau_S of the regularised Yoffe function as a fraction of the rise time, its whole duration."""


def asymmetric_cosine(t: np.ndarray, rise: np.ndarray, fall: np.ndarray) -> np.ndarray:
    """Return slip rates of unit slip that rise and fall as half periods of cosines (Ji et al., 2003).

    Parameters
    ----------
    t : ndarray of shape (n, k)
        Times after the onset [s].
    rise, fall : ndarray of shape (n,)
        Durations of both parts [s]; either may be zero.

    Returns
    -------
    ndarray of shape (n, k)
        Rates [1/s].
    """
    rise, fall = (np.maximum(part, SHORTEST)[:, None] for part in (rise, fall))
    up = 1.0 - np.cos(np.pi * t / rise)
    down = 1.0 + np.cos(np.pi * (t - rise) / fall)
    inside = (t > 0) & (t < rise + fall)
    return np.asarray(np.where(inside, np.where(t < rise, up, down), 0.0) / (rise + fall))


def sampled_shapes(shape: str, duration: np.ndarray) -> SampledFunctions:
    """Return slip rates (n functions) of unit slip and one of the ``SHAPES`` that last for ``duration`` (n,) [s]."""
    x = np.linspace(0.0, 1.0, INTERVALS + 1)
    match shape:
        case "triangle":
            unit = Triangle(1.0).value(x)
        case "cosine":
            unit = 1.0 - np.cos(2.0 * np.pi * x)
        case "yoffe":
            unit = Yoffe(1.0 - 2.0 * ACCELERATION, ACCELERATION).value(x)
        case _:
            raise ValueError(f"no slip rate has the shape '{shape}'")
    return _normalised(np.tile(unit, (len(duration), 1)), duration)


def sampled_cosines(rise: np.ndarray, fall: np.ndarray) -> SampledFunctions:
    """Return slip rates (n functions) of unit slip that rise and fall within ``rise`` and ``fall`` (n,) [s] as cosines."""
    t = np.linspace(0.0, 1.0, INTERVALS + 1) * (rise + fall)[:, None]
    return _normalised(asymmetric_cosine(t, rise, fall), rise + fall)


def _normalised(samples: np.ndarray, duration: np.ndarray) -> SampledFunctions:
    """Return functions with zero ends and unit integral of samples (n, INTERVALS + 1)."""
    samples[:, [0, -1]] = 0.0
    interval = duration / INTERVALS
    samples = samples / (samples.sum(1) * interval)[:, None]
    first = (INTERVALS + 1) * np.arange(len(duration) + 1, dtype=np.int64)
    return SampledFunctions(samples.ravel(), first, interval)
