"""Rounding of cell constants to single precision with dithering, and the cell shapes that single precision tolerates.

Rounding that is equal in every cell changes the speed of waves; dithered rounding averages out
(docs/theory/single-precision.md).
"""

from __future__ import annotations

import numpy as np

from faultwave.base.processes.pieces import map_chunks

SHAPELY = 30.0
"""Largest condition number of a cell's Jacobian for components along the cell's edges in single precision.

In slivers these components lose more digits than single precision has to spare.
"""


_CELLS, _COLUMNS = 0.6180339887498949, 0.7548776662466927  # multiples modulo 1 fill the interval evenly


def spread(values: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Round constants of cells to single precision, up or down so that means over cells keep more digits.

    Values that single precision represents exactly do not change. A cell is rounded in the same way on every process.

    Parameters
    ----------
    values : ndarray (n, k)
        Constants of the cells.
    numbers : ndarray (n,)
        Numbers of the cells in the whole mesh.

    Returns
    -------
    ndarray of float64 (n, k)
        Rounded constants.
    """
    single = values.astype(np.float32)
    threshold = (numbers[:, None] * _CELLS + np.arange(values.shape[1]) * _COLUMNS) % 1.0 - 0.5
    moved = (values + threshold * np.spacing(np.abs(single)).astype(float)).astype(np.float32)
    return np.where(single == values, single, moved).astype(float)


def worst_shape(inverse: np.ndarray, dtype: type) -> float:
    """Return the largest condition number of the cells' Jacobians if it exceeds a limit, else a value up to that limit.

    Parameters
    ----------
    inverse : ndarray (nc, 3, 3)
        Inverse Jacobians of the cells.
    dtype : type
        Type of the numbers; for double precision the result is 1.
    """
    if dtype is np.float64:
        return 1.0

    def bound(piece: slice) -> np.ndarray:
        rows = np.moveaxis(inverse[piece], 1, 0)
        back = [
            np.cross(rows[(i + 1) % 3], rows[(i + 2) % 3]) for i in range(3)
        ]  # columns of the inverse, times the determinant
        sizes = [sum(np.einsum("ij,ij->i", x, x) for x in side) for side in (rows, back)]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.sqrt(sizes[0] * sizes[1]) / np.abs(np.einsum("ij,ij->i", rows[0], back[0])))

    doubtful = inverse[~(map_chunks(bound, len(inverse)) <= SHAPELY)]  # the bound of the others suffices
    return float(np.linalg.cond(doubtful).max(initial=1.0))


def allows_edge_components(condition: float) -> bool:
    """Return True if cells up to this condition number permit components along their edges in single precision."""
    return condition <= SHAPELY
