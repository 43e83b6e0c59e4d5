"""Triangles: the nearest point of one, heights on a triangulated surface, and triangles of a vertical cross-section of a mesh."""

from __future__ import annotations

import numpy as np

from faultwave.domain.tets.mesh import Floats


def nearest_on_triangles(point: Floats, corners: Floats) -> tuple[Floats, Floats]:
    """Return the nearest point (n, 3) of each triangle ``corners`` (n, 3, 3) to ``point`` (3,), and its distance (n,).

    If the foot of the perpendicular is outside the triangle, the nearest point is on one of its edges.
    """
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    candidates = np.stack([_on_segment(point, p, q) for p, q in ((a, b), (b, c), (c, a))])
    distances = np.linalg.norm(candidates - point, axis=2)
    edge = distances.argmin(axis=0)
    rows = np.arange(len(corners))
    nearest, distance = candidates[edge, rows], distances[edge, rows]
    normal = np.cross(b - a, c - a)
    square = np.maximum((normal * normal).sum(axis=1), np.finfo(float).tiny)
    foot = point - ((point - a) * normal).sum(axis=1)[:, None] / square[:, None] * normal
    inside = np.ones(len(corners), bool)
    for p, q in ((a, b), (b, c), (c, a)):
        inside &= (np.cross(q - p, foot - p) * normal).sum(axis=1) >= 0
    nearest[inside] = foot[inside]
    distance[inside] = np.linalg.norm(foot[inside] - point, axis=1)
    return nearest, distance


def _on_segment(point: Floats, a: Floats, b: Floats) -> Floats:
    direction = b - a
    length = np.maximum((direction * direction).sum(axis=1), np.finfo(float).tiny)
    share = np.clip(((point - a) * direction).sum(axis=1) / length, 0, 1)
    return np.asarray(a + share[:, None] * direction)


TRIED = 24
"""Number of nearest triangles, by their centres, that are searched for a point."""


def height_at(places: Floats, corners: Floats) -> Floats:
    """Return z (n,) at points (n, 2) on triangles with ``corners`` (m, 3, 3) that do not overlap in map view.

    Beyond the triangles, the nearest one is extrapolated.
    """
    from scipy.spatial import cKDTree

    flat = corners[:, :, :2]
    _, near = cKDTree(flat.mean(1)).query(places, k=min(TRIED, len(corners)))
    near = near.reshape(len(places), -1)
    a, b, c = (flat[near, k] for k in range(3))
    u, v, w = b - a, c - a, places[:, None] - a
    area = u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]
    s = (w[..., 0] * v[..., 1] - w[..., 1] * v[..., 0]) / area
    t = (u[..., 0] * w[..., 1] - u[..., 1] * w[..., 0]) / area
    shares = np.stack([1 - s - t, s, t], -1)
    best = shares.min(-1).argmax(1)  # triangle that contains the point, or the nearest one
    rows = np.arange(len(places))
    return np.asarray((shares[rows, best] * corners[near[rows, best], :, 2]).sum(1))


_THREE = ((0, 1), (0, 2), (0, 3), (0, 3))
_FOUR = ((0, 2), (0, 3), (1, 3), (1, 2))
_LAST = ((0, 3), (1, 3), (2, 3), (2, 3))
_EDGES = np.array([_THREE, _FOUR, _LAST])
"""Edges crossed by the plane, in order around the polygon, for cells with one, two and three vertices in front of it.

Vertices are sorted by distance. A triangle repeats its last corner.
"""


def cross_section(
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
