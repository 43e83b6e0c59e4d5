"""Constants of cells in single precision: rounding that is the same in every cell changes the speed of waves, one that is not averages out
(docs/theory/single-precision.md).
"""

from __future__ import annotations

import numpy as np

_CELLS, _COLUMNS = 0.6180339887498949, 0.7548776662466927  # multiples of the first, modulo 1, fill the interval evenly


def spread(values: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Constants (n, k) of the cells with these numbers, rounded to single precision up or down so that means over cells keep more digits.

    What single precision holds stays. A cell is rounded alike on whatever process it is.
    """
    single = values.astype(np.float32)
    threshold = (numbers[:, None] * _CELLS + np.arange(values.shape[1]) * _COLUMNS) % 1.0 - 0.5
    moved = (values + threshold * np.spacing(np.abs(single)).astype(float)).astype(np.float32)
    return np.where(single == values, single, moved).astype(float)


__all__ = ["spread"]
