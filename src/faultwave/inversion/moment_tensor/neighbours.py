"""Neighbours of a place among places in any order: their spacing, and the side on which it is at the edge."""

from __future__ import annotations

import numpy as np

BEYOND = 1e-3
"""Tolerance of the planes beyond which a place is no neighbour, as a fraction of their distance."""
FLAT = 1e-5
"""Extent in a direction, as a fraction of the largest one, below which places do not differ in it."""
BENT, MISSING = 0.05, 0.5
"""Sine of the angle by which edges of places may be bent, and sum of cosines from which on a side has no neighbours."""


def neighbours(points: np.ndarray, number: int) -> np.ndarray:
    """Return vectors (k, 3) [m] from one of the points (n, 3) to its neighbours in all directions.

    A point beyond the plane through a nearer neighbour that is perpendicular to the direction of that neighbour is none. On a regular
    grid the neighbours are one step away along its axes.
    """
    apart = points - points[number]
    distance = np.linalg.norm(apart, axis=1)
    left = apart[np.argsort(distance, kind="stable")]
    left = left[np.sort(distance) > FLAT * distance.max(initial=0.0)]
    found = list[np.ndarray]()
    while len(left):
        found.append(left[0])
        left = left[left @ left[0] < (1.0 - BEYOND) * (left[0] @ left[0])]
    return np.array(found).reshape(-1, 3)


def spacing(points: np.ndarray, number: int) -> tuple[float, float, float]:
    """Return the largest distances along x, y and z [m] of the neighbours of one of the points (n, 3), 0 where they do not differ."""
    near = neighbours(points, number)
    x, y, z = (float(np.abs(part).max(initial=0.0)) for part in near.T)
    least = BEYOND * max(x, y, z)
    return (x if x > least else 0.0, y if y > least else 0.0, z if z > least else 0.0)


def outward(points: np.ndarray, number: int) -> np.ndarray:
    """Return the unit vector (3,) from one of the points (n, 3) to the side without points, zero if they surround it.

    Directions in which the points do not differ, such as across a plane of points, have no sides.
    """
    from scipy.optimize import linprog

    near = neighbours(points, number)
    if not len(near):
        return np.zeros(3)
    apart = points - points.mean(0)
    squares, axes = np.linalg.eigh(apart.T @ apart)
    axes = axes[:, squares > FLAT**2 * squares[-1]]
    directions = near @ axes / np.linalg.norm(near, axis=1)[:, None]
    found = linprog(directions.sum(0), directions, np.full(len(near), BENT), bounds=(-1.0, 1.0))
    if not found.success or -found.fun < MISSING:
        return np.zeros(3)
    side = axes @ found.x
    return np.asarray(side / np.linalg.norm(side))
