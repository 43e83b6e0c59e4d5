"""How unclean a field on triangles is: what sets single triangles apart from their neighbours."""

from __future__ import annotations

import numpy as np


def residuals(centres: np.ndarray, triangles: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(n,) difference of each triangle's value from the plane through those of its three neighbours; NaN where it has fewer.

    ``centres`` (n, 2) of the triangles in their plane, ``triangles`` (n, 3) numbers of their points. A field that is linear in space has
    none, whatever the mesh, and one with curvature little.
    """
    near = neighbours(triangles)
    whole = (near >= 0).all(1)
    found = np.full(len(triangles), np.nan)
    edges = centres[near[whole]] - centres[whole][:, None]
    system = np.concatenate([np.ones((len(edges), 3, 1)), edges], 2)
    determinant = np.abs(np.linalg.det(system))
    good = determinant > 1e-6 * (edges**2).sum((1, 2))  # three neighbours in a line span no plane
    rows = np.flatnonzero(whole)[good]
    plane = np.linalg.solve(system[good], values[near[rows]][..., None])
    found[rows] = values[rows] - plane[:, 0, 0]
    return found


def neighbours(triangles: np.ndarray) -> np.ndarray:
    """(n, 3) triangles that share an edge with each, -1 where none does."""
    edges = np.sort(np.stack([triangles, np.roll(triangles, -1, 1)], 2), 2).reshape(-1, 2)
    _, which, count = np.unique(edges, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(which.reshape(-1), kind="stable")
    first = np.cumsum(count) - count
    pairs = first[count == 2]
    found = np.full(len(edges), -1)
    a, b = order[pairs], order[pairs + 1]
    found[a], found[b] = b // 3, a // 3
    return found.reshape(-1, 3)


def beside(centres: np.ndarray, box: tuple[float, float, float, float], reach: float) -> np.ndarray:
    """Which (n,) of the places lie within ``reach`` of the sides of a rectangle: from and to along the first axis, then the second."""
    x, y = centres.T
    a, b, c, d = box
    outside = np.hypot(np.maximum(np.maximum(a - x, x - b), 0.0), np.maximum(np.maximum(c - y, y - d), 0.0))
    inside = np.minimum(np.minimum(x - a, b - x), np.minimum(y - c, d - y))
    return np.where(outside > 0, outside, inside) <= reach


__all__ = ["beside", "neighbours", "residuals"]
