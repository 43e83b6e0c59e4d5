"""Interpolation of triangle values to corners, preserving the mean of each triangle, for smooth shading."""

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


__all__ = ["at_corners", "at_points", "merged_points", "split_along"]
