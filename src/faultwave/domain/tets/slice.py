"""Vertical cross-sections of a mesh of tetrahedra."""

from __future__ import annotations

import numpy as np

_THREE = ((0, 1), (0, 2), (0, 3), (0, 3))
_FOUR = ((0, 2), (0, 3), (1, 3), (1, 2))
_LAST = ((0, 3), (1, 3), (2, 3), (2, 3))
_EDGES = np.array([_THREE, _FOUR, _LAST])
"""Edges crossed by the plane, in order around the polygon, for cells with one, two and three vertices in front of it.

Vertices are sorted by distance. A triangle repeats its last corner.
"""


def cut(
    vertices: np.ndarray, cells: np.ndarray, start: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the polygons in which a vertical plane cuts cells.

    Faces in the plane belong to the cells on its left.

    Parameters
    ----------
    vertices : (nv, 3) array
        Vertices [m].
    cells : (nc, 4) array
        Cells.
    start, end : (2,) array
        Ends of the section [m].

    Returns
    -------
    points : (p, 2) array
        Distance from the start, and z [m].
    corners : (n, 4) array
        Points of each polygon.
    chosen : (n,) array
        Cell of each polygon.
    """
    along = (end - start) / np.linalg.norm(end - start)
    offset = vertices[:, :2] - start
    distance = along[0] * offset[:, 1] - along[1] * offset[:, 0]
    distance[np.abs(distance) < 1e-9 * np.abs(distance).max()] = 0.0
    before = (distance[cells] < 0).sum(1)
    chosen = np.flatnonzero((before > 0) & (before < 4))
    order = np.argsort(distance[cells[chosen]], axis=1, kind="stable")
    ranked = np.take_along_axis(cells[chosen], order, axis=1)
    ends = np.take_along_axis(ranked[:, None, :], _EDGES[before[chosen] - 1], axis=2)  # (n, 4 corners, 2 ends)
    first, last = distance[ends[..., 0]], distance[ends[..., 1]]
    share = (first / (first - last))[..., None]
    corners = vertices[ends[..., 0]] * (1 - share) + vertices[ends[..., 1]] * share
    flat = np.stack([(corners[..., :2] - start) @ along, corners[..., 2]], axis=-1)
    length = np.linalg.norm(end - start)
    inside = (flat[..., 0].max(1) >= 0) & (flat[..., 0].min(1) <= length)
    flat, chosen = flat[inside], chosen[inside]
    return flat.reshape(-1, 2), np.arange(flat.shape[0] * 4).reshape(-1, 4), chosen


__all__ = ["cut"]
