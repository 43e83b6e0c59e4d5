"""Roughness of a field on triangles: deviations of single triangles from their neighbours."""

from __future__ import annotations

import numpy as np


def residuals(centres: np.ndarray, triangles: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the difference (n,) of each triangle's value from the plane through the values of its three neighbours.

    The result is zero for a field that is linear in space on any mesh, small for one with curvature, and NaN for triangles with fewer
    neighbours.

    Parameters
    ----------
    centres : ndarray of shape (n, 2)
        Centres of the triangles in their plane.
    triangles : ndarray of shape (n, 3)
        Indices of their points.
    values : ndarray of shape (n,)
        Values of the field.
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
    """Return the triangles (n, 3) that share an edge with each triangle, -1 if there is none."""
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
    """Return True for each place (n,) within ``reach`` of the sides of a rectangle ``box``: min and max along both axes."""
    x, y = centres.T
    a, b, c, d = box
    outside = np.hypot(np.maximum(np.maximum(a - x, x - b), 0.0), np.maximum(np.maximum(c - y, y - d), 0.0))
    inside = np.minimum(np.minimum(x - a, b - x), np.minimum(y - c, d - y))
    return np.where(outside > 0, outside, inside) <= reach


__all__ = ["beside", "neighbours", "residuals"]
