"""Shapes of cells: Jacobians, normals, areas, volumes (all double precision)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, Problem
from faultwave.base.pieces import in_pieces, mapped
from faultwave.domain.tets.mesh import SORTED_FACES, WINDING, Floats, Integers, Mesh, Topology
from faultwave.domain.tets.on_demand import OnDemand


@dataclass(frozen=True)
class Geometry:
    """Shape of every sorted cell, SI.

    vertices (nv, 3) and cells (nc, 4) of the topology, volume (nc,) positive, areas (nc, 4), inradius (nc,). What takes no time to make is
    made when asked for, and takes no memory: ``inverse`` (nc, 3, 3) of the Jacobian, outward unit ``normals`` (nc, 4, 3), see
    ``corners_of`` and what follows it.
    """

    vertices: Floats
    cells: Integers
    volume: Floats
    areas: Floats
    inradius: Floats

    @property
    def inverse(self) -> Floats:
        """(nc, 3, 3) of the Jacobian."""
        return cast(Floats, OnDemand(lambda some: _inverse(self.corners_of(some)), (len(self.cells), 3, 3)))

    @property
    def normals(self) -> Floats:
        """(nc, 4, 3) outward unit normals."""
        return cast(Floats, OnDemand(lambda some: _normals(self.corners_of(some)), (len(self.cells), 4, 3)))

    def corners_of(self, cells: Any = slice(None)) -> Floats:
        """(..., 4, 3) of some cells, or all."""
        return np.asarray(self.vertices[self.cells[cells]])

    def origin(self, cells: Any = slice(None)) -> Floats:
        """(..., 3) v0."""
        return np.asarray(self.vertices[self.cells[cells, 0]])

    def jacobian(self, cells: Any = slice(None)) -> Floats:
        """(..., 3, 3) with columns v1-v0, v2-v0, v3-v0; its determinant may be negative."""
        corners = self.corners_of(cells)
        return np.ascontiguousarray(np.moveaxis(corners[..., 1:, :] - corners[..., :1, :], -1, -2))

    def points(self, cells: Any, reference: Floats) -> Floats:
        """(n, m, 3) places of points (m, 3) of the reference cell in some cells."""
        return self.origin(cells)[:, None] + np.einsum("cij,nj->cni", self.jacobian(cells), reference)

    @property
    def centroids(self) -> Floats:
        """(nc, 3), made anew each time"""
        return mapped(self.centroid, len(self.cells))

    def centroid(self, cells: Any) -> Floats:
        """(..., 3) of some cells."""
        return np.asarray(self.corners_of(cells).mean(axis=-2))

    def of(self, cells: Integers, vertices: Floats, corners: Integers) -> Geometry:
        """That of some ``cells``, whose ``corners`` (n, 4) are numbers of other ``vertices``."""
        return Geometry(vertices, corners, self.volume[cells], self.areas[cells], self.inradius[cells])


def _edges(v: Floats) -> tuple[Floats, Floats, Floats, NDArray[np.float64]]:
    """From the first of the corners (n, 4, 3) to the others, and the determinant (n,) of these."""
    origin = np.ascontiguousarray(v[:, 0])
    a, b, c = (v[:, i] - origin for i in (1, 2, 3))
    return a, b, c, np.einsum("ij,ij->i", a, np.cross(b, c))


def _inverse(v: Floats) -> Floats:
    """(n, 3, 3) of the Jacobians of cells with corners (n, 4, 3)."""
    a, b, c, determinant = _edges(v)
    return np.asarray(np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=1) / determinant[:, None, None])


def _normals(v: Floats) -> Floats:
    """(n, 4, 3) outward unit normals of the faces of cells with corners (n, 4, 3)."""
    determinant = _edges(v)[3]
    spanned, double_areas = _spanned(v)
    spanned *= (WINDING * np.sign(determinant)[:, None])[:, :, None]
    return np.asarray(spanned / double_areas[:, :, None])


def _spanned(v: Floats) -> tuple[Floats, Floats]:
    """Products (n, 4, 3) of two edges of each face of cells with corners (n, 4, 3), wound as its corners ascend, and their lengths (n, 4):
    twice the areas."""
    corners = v[:, SORTED_FACES]
    spanned = np.cross(corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0])
    return spanned, np.linalg.norm(spanned, axis=2)


def geometry(mesh: Mesh, topology: Topology) -> Geometry:
    """Shape of every sorted cell: x = v0 + J xi maps the reference tetrahedron to it.

    Raises InputError where a cell has no volume.
    """
    nc = len(topology.cells)
    areas, volume, inradius = np.empty((nc, 4)), np.empty(nc), np.empty(nc)
    flat: list[int] = []

    def shape(piece: slice) -> None:
        v = mesh.vertices[topology.cells[piece]]
        determinant = _edges(v)[3]
        if not (np.abs(determinant) > 0).all():
            flat.append(piece.start + int(np.flatnonzero(~(np.abs(determinant) > 0))[0]))
            return
        areas[piece] = _spanned(v)[1] / 2
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
    return Geometry(mesh.vertices, topology.cells, volume, areas, inradius)
