"""Geometry of cells (Jacobians, normals, areas, volumes), and the worst cells of a mesh."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from faultwave.base.errors import InputError, Problem
from faultwave.base.processes.pieces import in_pieces, map_chunks
from faultwave.domain.tets.mesh import SORTED_FACES, WINDING, BoundaryKind, Floats, Integers, Mesh, Topology

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class OnDemand(NDArrayOperatorsMixin):
    """Array-like (n, ...) of doubles whose rows are computed by ``of(rows)``, for a slice or indices (k,).

    Operations on the whole array compute all rows, each time again.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, of: Callable[[slice | np.ndarray | int], np.ndarray], shape: tuple[int, ...]):
        self.of, self.shape, self.ndim = of, shape, len(shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> np.ndarray:
        """Return rows as for an array."""
        rows, *inner = key if isinstance(key, tuple) else (key,)
        if isinstance(rows, np.ndarray) and rows.dtype == bool:
            inner = [*np.nonzero(rows), *inner]
            rows = inner.pop(0)
        if isinstance(rows, slice):
            return np.asarray(self.of(rows)[(slice(None), *inner)])
        if rows is None or rows is Ellipsis:
            return np.asarray(np.asarray(self)[key])
        numbers = np.asarray(rows)
        places = np.arange(numbers.size).reshape(numbers.shape)
        return np.asarray(self.of(numbers.reshape(-1))[(places, *inner)])

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        made = map_chunks(self.of, len(self)) if len(self) else np.zeros(self.shape)
        return made if dtype is None else made.astype(dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **options: object) -> Any:
        arrays = [np.asarray(x) if isinstance(x, OnDemand) else x for x in inputs]
        return getattr(ufunc, method)(*arrays, **options)


@dataclass(frozen=True)
class Geometry:
    """Geometry of every sorted cell, in SI units.

    Quantities that are cheap to compute are computed on access and use no memory.

    Attributes
    ----------
    vertices : (nv, 3) array
        Vertices [m].
    cells : (nc, 4) array
        Cells of the topology.
    volume : (nc,) array
        Positive volumes [m^3].
    areas : (nc, 4) array
        Areas of the faces [m^2].
    inradius : (nc,) array
        Inradii [m].
    """

    vertices: Floats
    cells: Integers
    volume: Floats
    areas: Floats
    inradius: Floats

    @property
    def inverse(self) -> Floats:
        """Inverse Jacobians (nc, 3, 3) [1/m]."""
        return cast(Floats, OnDemand(lambda some: _inverse(self.corners_of(some)), (len(self.cells), 3, 3)))

    @property
    def normals(self) -> Floats:
        """Outward unit normals (nc, 4, 3)."""
        return cast(Floats, OnDemand(lambda some: _normals(self.corners_of(some)), (len(self.cells), 4, 3)))

    def corners_of(self, cells: slice | np.ndarray | int = slice(None)) -> Floats:
        """Return the corners (..., 4, 3) of some cells, or all."""
        return np.asarray(self.vertices[self.cells[cells]])

    def origin(self, cells: slice | np.ndarray | int = slice(None)) -> Floats:
        """Return the first vertex v0 (..., 3) of some cells, or all."""
        return np.asarray(self.vertices[self.cells[cells, 0]])

    def jacobian(self, cells: slice | np.ndarray | int = slice(None)) -> Floats:
        """Return the Jacobian (..., 3, 3) with columns v1-v0, v2-v0, v3-v0; its determinant may be negative."""
        corners = self.corners_of(cells)
        return np.ascontiguousarray(np.moveaxis(corners[..., 1:, :] - corners[..., :1, :], -1, -2))

    def points(self, cells: slice | np.ndarray | int, reference: Floats) -> Floats:
        """Return the positions (n, m, 3) in some cells of points (m, 3) of the reference cell."""
        return self.origin(cells)[:, None] + np.einsum("cij,nj->cni", self.jacobian(cells), reference)

    @property
    def centroids(self) -> Floats:
        """Centroids (nc, 3), computed on each access."""
        return map_chunks(self.centroid, len(self.cells))

    def centroid(self, cells: slice | np.ndarray | int) -> Floats:
        """Return the centroids (..., 3) of some cells."""
        return np.asarray(self.corners_of(cells).mean(axis=-2))

    def of(self, cells: Integers, vertices: Floats, corners: Integers) -> Geometry:
        """Return the geometry of some ``cells``, whose ``corners`` (n, 4) are indices of other ``vertices``."""
        return Geometry(vertices, corners, self.volume[cells], self.areas[cells], self.inradius[cells])


def _edges(v: Floats) -> tuple[Floats, Floats, Floats, NDArray[np.float64]]:
    """Return the three edges from the first of the corners (n, 4, 3), and their determinant (n,)."""
    origin = np.ascontiguousarray(v[:, 0])
    a, b, c = (v[:, i] - origin for i in (1, 2, 3))
    return a, b, c, np.einsum("ij,ij->i", a, np.cross(b, c))


def _inverse(v: Floats) -> Floats:
    """Return the inverse Jacobians (n, 3, 3) of cells with corners (n, 4, 3)."""
    a, b, c, determinant = _edges(v)
    return np.asarray(np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=1) / determinant[:, None, None])


def _normals(v: Floats) -> Floats:
    """Return the outward unit normals (n, 4, 3) of the faces of cells with corners (n, 4, 3)."""
    determinant = _edges(v)[3]
    spanned, double_areas = _spanned(v)
    spanned *= (WINDING * np.sign(determinant)[:, None])[:, :, None]
    return np.asarray(spanned / double_areas[:, :, None])


def _spanned(v: Floats) -> tuple[Floats, Floats]:
    """Return cross products (n, 4, 3) of two edges of each face, and their lengths (n, 4), twice the areas.

    Their orientation follows ascending corners.
    """
    corners = v[:, SORTED_FACES]
    spanned = np.cross(corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0])
    return spanned, np.linalg.norm(spanned, axis=2)


def geometry(mesh: Mesh, topology: Topology) -> Geometry:
    """Return the geometry of every sorted cell: x = v0 + J xi maps the reference tetrahedron to it.

    Raises
    ------
    InputError
        If a cell has no volume.
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
                "four corners that are not in a plane",
                "Remesh, or use the optimiser of the mesher.",
            )
        )
    return Geometry(mesh.vertices, topology.cells, volume, areas, inradius)


_SLIVER = 6.0


@dataclass(frozen=True)
class BadCell:
    """Cell to be inspected: id, centroid [m], inradius [m], aspect ratio (1 is regular) and the reason."""

    cell: int
    centroid: tuple[float, float, float]
    inradius: float
    aspect: float
    reason: str


def aspect_ratios(mesh: Mesh, topology: Topology, geometry: Geometry) -> Floats:
    """Return circumradius over three inradii (nc,): 1 for a regular tetrahedron, large for slivers."""
    a, b, c = np.moveaxis(geometry.jacobian(), 2, 0)

    def square(x: Floats) -> Floats:
        return np.asarray((x * x).sum(axis=1, keepdims=True))

    offset = square(a) * np.cross(b, c) + square(b) * np.cross(c, a) + square(c) * np.cross(a, b)
    circumradius = np.linalg.norm(offset, axis=1) / (12 * geometry.volume)
    return np.asarray(circumradius / (3 * geometry.inradius))


def flatness(geometry: Geometry) -> Floats:
    """Return longest edge over inradius (nc,): 4.9 for a regular tetrahedron."""

    def of(piece: slice) -> Floats:
        sides = geometry.jacobian(piece).transpose(0, 2, 1)
        edges = [*(sides[:, i] for i in range(3)), *(sides[:, i] - sides[:, j] for i, j in combinations(range(3), 2))]
        return np.asarray(np.max([np.linalg.norm(e, axis=1) for e in edges], axis=0) / geometry.inradius[piece])

    return map_chunks(of, len(geometry.cells))


def worst_cells(
    mesh: Mesh, topology: Topology, geometry: Geometry, count: int = 10, step: Floats | None = None
) -> list[BadCell]:
    """Return the cells with the smallest time step, worst first.

    ``step`` (nc,) is the stable time step of each cell [s], if known; otherwise cells are ranked by inradius.
    """
    measure = geometry.inradius if step is None else step
    aspects = aspect_ratios(mesh, topology, geometry)
    edges = np.cbrt(6 * np.sqrt(2) * geometry.volume)
    typical = float(np.median(measure))
    at_fault = (topology.kinds == BoundaryKind.FAULT).any(axis=1)
    found = []
    for cell in np.argsort(measure, kind="stable")[:count]:
        reasons = [f"{'inradius' if step is None else 'time step'} is {measure[cell] / typical:.2g} of the median"]
        if aspects[cell] > _SLIVER:
            reasons.append(f"sliver of {_size(edges[cell])} size")
        else:
            reasons.append(f"well shaped but small, {_size(edges[cell])}")
        if at_fault[cell]:
            reasons.append("on the fault")
        x, y, z = geometry.centroid(cell).tolist()
        found.append(
            BadCell(int(cell), (x, y, z), float(geometry.inradius[cell]), float(aspects[cell]), ", ".join(reasons))
        )
    return found


def _size(edge: float) -> str:
    return f"{edge:.4g} m"
