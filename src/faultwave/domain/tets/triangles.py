"""Nearest point of a triangle."""

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
