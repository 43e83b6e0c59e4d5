"""Shapes of cells: Jacobians, normals, areas, volumes (all double precision)."""

from __future__ import annotations

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.pieces import in_pieces
from faultwave.domain.tets.mesh import SORTED_FACES, Geometry, Mesh, Topology

# Winding of the ascending face vertices as seen from outside, for a cell of positive determinant.
_WINDING = np.array([1.0, -1.0, 1.0, -1.0])


def geometry(mesh: Mesh, topology: Topology) -> Geometry:
    """Shape of every sorted cell: x = v0 + J xi maps the reference tetrahedron to it.

    Raises InputError where a cell has no volume.
    """
    nc = len(topology.cells)
    inverse, normals, areas = np.empty((nc, 3, 3)), np.empty((nc, 4, 3)), np.empty((nc, 4))
    volume, inradius = np.empty(nc), np.empty(nc)
    flat: list[int] = []

    def shape(piece: slice) -> None:
        v = mesh.vertices[topology.cells[piece]]
        origin = np.ascontiguousarray(v[:, 0])
        a, b, c = (v[:, i] - origin for i in (1, 2, 3))
        ab, bc, ca = np.cross(a, b), np.cross(b, c), np.cross(c, a)
        determinant = np.einsum("ij,ij->i", a, bc)
        if not (np.abs(determinant) > 0).all():
            flat.append(piece.start + int(np.flatnonzero(~(np.abs(determinant) > 0))[0]))
            return
        inverse[piece] = np.stack([bc, ca, ab], axis=1) / determinant[:, None, None]
        corners = v[:, SORTED_FACES]
        outward = np.cross(corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0])
        outward *= (_WINDING * np.sign(determinant)[:, None])[:, :, None]
        double_areas = np.linalg.norm(outward, axis=2)
        normals[piece] = outward / double_areas[:, :, None]
        areas[piece] = double_areas / 2
        volume[piece] = np.abs(determinant) / 6
        inradius[piece] = 3 * volume[piece] / areas[piece].sum(axis=1)

    in_pieces(shape, nc)
    if flat:
        cell = min(flat)
        raise InputError(
            Problem(
                mesh.name,
                f"cell {cell} at {mesh.vertices[topology.cells[cell]].mean(axis=0).tolist()} has no volume",
                "four corners that do not lie in a plane",
                "Mesh anew, or let the mesher optimise.",
            )
        )
    return Geometry(mesh.vertices, topology.cells, inverse, volume, normals, areas, inradius)
