"""Faces at which a periodic mesh continues on its opposite side."""

from __future__ import annotations

import numpy as np

from faultwave.domain import tets


def across_period(mesh: tets.Mesh, topology: tets.Topology) -> tuple[np.ndarray, np.ndarray]:
    """Return the faces whose neighbour lies across a period.

    Returns
    -------
    faces : ndarray of bool (nc, 4)
        Faces at a periodic boundary.
    shift : ndarray (n, 3)
        Vector from the neighbour's face to each of them [m].
    """
    near = topology.neighbours
    if mesh.identify is None:
        return np.zeros(near.shape, bool), np.zeros((0, 3))
    centres = mesh.vertices[topology.cells[:, tets.SORTED_FACES]].mean(2)
    shift = np.where(
        (near >= 0)[..., None], centres - centres[np.maximum(near, 0), np.maximum(topology.neighbour_faces, 0)], 0.0
    )
    there = np.linalg.norm(shift, axis=2) > 1e-9 * np.ptp(mesh.vertices, axis=0).max()
    return there, shift[there]


__all__ = ["across_period"]
