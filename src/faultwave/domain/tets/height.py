"""Interpolation of heights on a triangulated surface."""

from __future__ import annotations

import numpy as np

from faultwave.domain.tets.mesh import Floats

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


__all__ = ["height_at"]
