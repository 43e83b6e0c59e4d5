"""Shapes of cells: Jacobians, normals, areas, volumes (all double precision)."""

from __future__ import annotations

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.domain.tets.mesh import SORTED_FACES, Geometry, Mesh, Topology

# Winding of the ascending face vertices as seen from outside, for a cell of positive determinant.
_WINDING = np.array([1.0, -1.0, 1.0, -1.0])


def geometry(mesh: Mesh, topology: Topology) -> Geometry:
    """Shape of every sorted cell: x = v0 + J xi maps the reference tetrahedron to it.

    Raises InputError where a cell has no volume.
    """
    v = mesh.vertices[topology.cells]
    origin = np.ascontiguousarray(v[:, 0])
    a, b, c = (v[:, i] - origin for i in (1, 2, 3))
    ab, bc, ca = np.cross(a, b), np.cross(b, c), np.cross(c, a)
    determinant = np.einsum("ij,ij->i", a, bc)
    if not (np.abs(determinant) > 0).all():
        cell = int(np.flatnonzero(~(np.abs(determinant) > 0))[0])
        raise InputError(
            Problem(
                mesh.name,
                f"cell {cell} at {v[cell].mean(axis=0).tolist()} has no volume",
                "four corners that do not lie in a plane",
                "Mesh anew, or let the mesher optimise.",
            )
        )
    inverse = np.stack([bc, ca, ab], axis=1) / determinant[:, None, None]
    corners = v[:, SORTED_FACES]
    normals = np.cross(corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0])
    normals *= (_WINDING * np.sign(determinant)[:, None])[:, :, None]
    double_areas = np.linalg.norm(normals, axis=2)
    normals /= double_areas[:, :, None]
    areas = double_areas / 2
    volume = np.abs(determinant) / 6
    inradius = 3 * volume / areas.sum(axis=1)
    return Geometry(mesh.vertices, topology.cells, inverse, volume, normals, areas, inradius)
