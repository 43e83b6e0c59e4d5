"""What single precision is spared of rounding that repeats itself: errors that are the same in every cell or step change the speed of
waves, those that are not average out (docs/theory/single-precision.md).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from faultwave.domain import tets

_CELLS, _COLUMNS = 0.6180339887498949, 0.7548776662466927  # multiples of the first, modulo 1, fill the interval evenly

STEP_BITS = 12
"""Binary digits of a time step: its square has so many that single precision holds it, too."""


def spread(values: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Constants (n, k) of the cells with these numbers, rounded to single precision up or down so that means over cells keep more digits.

    What single precision holds stays. A cell is rounded alike on whatever process it is.
    """
    single = values.astype(np.float32)
    threshold = (numbers[:, None] * _CELLS + np.arange(values.shape[1]) * _COLUMNS) % 1.0 - 0.5
    moved = (values + threshold * np.spacing(np.abs(single)).astype(float)).astype(np.float32)
    return np.where(single == values, single, moved).astype(float)


def with_short_steps(clustering: tets.Clustering) -> tets.Clustering:
    """Steps shorter by up to one part in two thousand, which have ``STEP_BITS`` binary digits where each is twice the one before."""
    first = float(clustering.steps[0])
    mantissa, exponent = np.frexp(first)
    shorter = float(np.ldexp(np.floor(np.ldexp(mantissa, STEP_BITS)), int(exponent) - STEP_BITS))
    return replace(clustering, steps=shorter * np.round(clustering.steps / first))


__all__ = ["STEP_BITS", "spread", "with_short_steps"]
