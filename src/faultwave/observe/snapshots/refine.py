"""Subdivision of reference triangles and tetrahedra, so that high-order fields show more than one value per cell.

Cells are given by vertices in reference coordinates; children have the orientation of their parent and fill it.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

_TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
_TET = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])

# local points: vertices, then mid-points (triangle: 01 12 02; tet: 01 02 03 12 13 23) or the barycentre
_TRIANGLE_FOUR = np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]])
_TRIANGLE_THREE = np.array([[0, 1, 3], [1, 2, 3], [2, 0, 3]])
_TET_FOUR = np.array([[0, 1, 2, 4], [0, 3, 1, 4], [1, 3, 2, 4], [0, 2, 3, 4]])
# four corners, then the inner octahedron split along the diagonal from mid-point 03 to mid-point 12
_TET_EIGHT = np.array(
    [[0, 4, 5, 6], [4, 1, 7, 8], [5, 7, 2, 9], [6, 8, 9, 3], [4, 7, 6, 8], [4, 5, 6, 7], [5, 9, 6, 7], [6, 8, 7, 9]]
)


def _with_midpoints(cells: np.ndarray) -> np.ndarray:
    if cells.shape[1] == 3:
        pairs = [(0, 1), (1, 2), (0, 2)]
    else:
        pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    middle = [0.5 * (cells[:, i] + cells[:, j]) for i, j in pairs]
    return np.concatenate([cells, np.stack(middle, axis=1)], axis=1)


def _with_barycentre(cells: np.ndarray) -> np.ndarray:
    return np.concatenate([cells, cells.mean(axis=1, keepdims=True)], axis=1)


def _children(points: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return the children (n*m, k, d), grouped by parent, with the parent's orientation."""
    children = points[:, table].reshape(-1, table.shape[1], points.shape[2])
    edges = children[:, 1:] - children[:, :1]
    wrong = np.linalg.det(edges) < 0
    children[wrong, -2:] = children[wrong, :-3:-1]
    return children


def refine_triangle(levels: int, strategy: Literal["four", "three"] = "four") -> tuple[np.ndarray, np.ndarray]:
    """Split the reference triangle ``levels`` times, by edge mid-points into 4 or by the barycentre into 3.

    Returns vertices (n, 3, 2) and centroids (n, 2) with n = 4**levels (3**levels). Raises ValueError for negative levels.
    """
    if levels < 0:
        raise ValueError(f"refinement level {levels} is negative")
    cells = _TRIANGLE[None]
    for _ in range(levels):
        if strategy == "four":
            cells = _children(_with_midpoints(cells), _TRIANGLE_FOUR)
        else:
            cells = _children(_with_barycentre(cells), _TRIANGLE_THREE)
    return cells, cells.mean(axis=1)


def refine_tet(refinement: int) -> tuple[np.ndarray, np.ndarray]:
    """Split the reference tetrahedron in SeisSol's numbering: 0 none, 1 into 4, 2 into 8, 3 into 32 (8 of 4 each).

    Returns vertices (n, 4, 3) and centroids (n, 3). Raises ValueError for other numbers.
    """
    if refinement not in (0, 1, 2, 3):
        raise ValueError(f"refinement {refinement} is not one of 0, 1, 2, 3")
    cells = _TET[None]
    if refinement in (1, 3):
        cells = _children(_with_barycentre(cells), _TET_FOUR)
    if refinement in (2, 3):
        cells = _children(_with_midpoints(cells), _TET_EIGHT)
    return cells, cells.mean(axis=1)
