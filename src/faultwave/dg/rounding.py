"""Constants of cells in single precision: rounding that is the same in every cell changes the speed of waves, one that is not averages out
(docs/theory/single-precision.md). And cells whose shape single precision does not bear.
"""

from __future__ import annotations

import numpy as np

from faultwave.base.pieces import mapped

SHAPELY = 30.0
"""Condition number of a cell's Jacobian up to which components along its edges keep their digits: those of a sliver lose some that
single precision does not have to spare."""


_CELLS, _COLUMNS = 0.6180339887498949, 0.7548776662466927  # multiples of the first, modulo 1, fill the interval evenly


def spread(values: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Constants (n, k) of the cells with these numbers, rounded to single precision up or down so that means over cells keep more digits.

    What single precision holds stays. A cell is rounded alike on whatever process it is.
    """
    single = values.astype(np.float32)
    threshold = (numbers[:, None] * _CELLS + np.arange(values.shape[1]) * _COLUMNS) % 1.0 - 0.5
    moved = (values + threshold * np.spacing(np.abs(single)).astype(float)).astype(np.float32)
    return np.where(single == values, single, moved).astype(float)


def worst_shape(inverse: np.ndarray, dtype: type) -> float:
    """At least the largest condition number of the cells' Jacobians where it is above ``SHAPELY``, and single precision makes it matter;
    else at most that."""
    if dtype is np.float64:
        return 1.0

    def bound(piece: slice) -> np.ndarray:
        rows = np.moveaxis(inverse[piece], 1, 0)
        back = [
            np.cross(rows[(i + 1) % 3], rows[(i + 2) % 3]) for i in range(3)
        ]  # of the inverse matrix, times the determinant
        sizes = [sum(np.einsum("ij,ij->i", x, x) for x in side) for side in (rows, back)]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.sqrt(sizes[0] * sizes[1]) / np.abs(np.einsum("ij,ij->i", rows[0], back[0])))

    doubtful = inverse[~(mapped(bound, len(inverse)) <= SHAPELY)]  # others are below their bound
    return float(np.linalg.cond(doubtful).max(initial=1.0))


def shapely(condition: float) -> bool:
    """Whether single precision may take components along the edges of cells up to this condition number."""
    return condition <= SHAPELY


__all__ = ["shapely", "spread", "worst_shape"]
