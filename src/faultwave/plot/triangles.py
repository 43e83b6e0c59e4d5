"""Values on triangles prepared for pictures: interpolation to corners for smooth shading, and roughness."""

from __future__ import annotations

import numpy as np

ROUNDS = 12


def merged_points(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merge points (n, d) repeated for every triangle: the index of the first at each place (m,), and the place of each (n,).

    Points within a millionth of the extent are merged.
    """
    grain = 1e-6 * max(float(np.ptp(points, axis=0).max(initial=0.0)), 1e-30)
    _, first, merged = np.unique(np.round(points / grain), axis=0, return_index=True, return_inverse=True)
    return first, merged.reshape(-1)


def at_points(cells: np.ndarray, count: int, values: np.ndarray) -> np.ndarray:
    """Return values (count,) at points whose means over the ``cells`` (nc, 3) approximate the finite ``values`` (nc,), else 0.

    Plain averages of the cells around a point are one-sided at edges; a few corrections by the residuals of the cells remove that error.
    """
    finite = np.isfinite(values)
    cells, given = cells[finite], values[finite]
    around = np.maximum(np.bincount(cells.reshape(-1), minlength=count), 1)
    points = np.zeros(count)
    for _ in range(ROUNDS):
        missing = given - points[cells].mean(axis=1)
        points += np.bincount(cells.reshape(-1), np.repeat(missing, 3), minlength=count) / around
    return points


def at_corners(cells: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return values (nc, 3) at the corners of ``cells`` (nc, 3) with merged points, from finite ``values`` (nc,).

    No corner value exceeds the range of the cells around its point: steps remain steps, and positive values positive.
    """
    count = int(cells.max(initial=-1)) + 1
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    for corner in range(3):
        np.minimum.at(low, cells[:, corner], values)
        np.maximum.at(high, cells[:, corner], values)
    return np.asarray(np.clip(at_points(cells, count, values), low, high)[cells])


def split_along(xy: np.ndarray, cells: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return ``cells`` (nc, 3) with separate point indices on either side of ``edges`` (k, 2, 2), since motion jumps across a fault.

    ``xy`` (n, 2) are the merged points.
    """
    if not len(edges):
        return cells
    grain = 1e-5 * max(float(np.ptp(xy, axis=0).max()), 1e-30)
    ends = {tuple(end) for end in np.round(edges.reshape(-1, 2) / grain).astype(np.int64)}
    on = np.array([tuple(place) in ends for place in np.round(xy / grain).astype(np.int64)])
    touching = np.flatnonzero(on[cells].any(axis=1))
    centres = xy[cells[touching]].mean(axis=1)
    middle, along = edges.mean(axis=1), edges[:, 1] - edges[:, 0]
    along = np.where(
        (along[:, :1] < 0) | ((along[:, :1] == 0) & (along[:, 1:] < 0)), -along, along
    )  # consistent sides for all edges
    nearest = np.array([int(np.square(middle - centre).sum(1).argmin()) for centre in centres], dtype=int)
    offset, direction = centres - middle[nearest], along[nearest]
    left = direction[:, 0] * offset[:, 1] - direction[:, 1] * offset[:, 0] > 0
    found = cells.copy()
    found[touching] += np.where(on[cells[touching]] & left[:, None], len(xy), 0)
    return found


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


def near_sides(centres: np.ndarray, box: tuple[float, float, float, float], reach: float) -> np.ndarray:
    """Return True for each place (n,) within ``reach`` of the sides of a rectangle ``box``: min and max along both axes."""
    x, y = centres.T
    a, b, c, d = box
    outside = np.hypot(np.maximum(np.maximum(a - x, x - b), 0.0), np.maximum(np.maximum(c - y, y - d), 0.0))
    inside = np.minimum(np.minimum(x - a, b - x), np.minimum(y - c, d - y))
    return np.where(outside > 0, outside, inside) <= reach
