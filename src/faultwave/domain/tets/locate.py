"""Search for the cell that contains a point, and for the nearest fault face."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, Problem
from faultwave.base.processes.pieces import in_pieces, map_chunks
from faultwave.domain.tets.geometry import Geometry
from faultwave.domain.tets.mesh import SORTED_FACES, BoundaryKind, Floats, Integers, Topology, bounds
from faultwave.domain.tets.triangles import nearest_on_triangles

_CHUNK = 4096
FEW = 64
"""Number of points up to which all cells are scanned instead of sorted."""
_CUBES = 2**20
"""Largest number of cubes along an axis, so that 64-bit integers number them all."""
_ROWS = np.array([(x, y, 0) for x in (-1, 0, 1) for y in (-1, 0, 1)])


@dataclass(frozen=True)
class Located:
    """Cells that contain points.

    Attributes
    ----------
    cells : (n,) array
        Cell of each point, -1 outside the mesh, -2 in another process.
    xi : (n, 3) array
        Reference coordinates in the sorted cell (NaN elsewhere).
    distance : (n,) array
        Distance to the mesh, 0 inside [m].
    """

    cells: Integers
    xi: Floats
    distance: Floats


@dataclass(frozen=True)
class FaultPoints:
    """Nearest points on fault faces.

    Attributes
    ----------
    cells, faces : (n,) array
        Nearest fault face, from its lower cell.
    points : (n, 3) array
        Nearest point on it [m].
    distance : (n,) array
        Distance [m].
    """

    cells: Integers
    faces: Integers
    points: Floats
    distance: Floats


def locate(
    points: Floats, topology: Topology, geometry: Geometry, vertices: Floats, tolerance: float = 1e-9
) -> Located:
    """Return the cell of each of points (n, 3).

    A point on a face, edge or vertex belongs to the cell of lowest index. The search is exact for any grading: cells
    are sorted into classes of size, and a cell can contain a point only if its centroid is nearer than its largest
    vertex distance.

    Parameters
    ----------
    points : (n, 3) array
        Points [m].
    topology, geometry
        Mesh.
    vertices : (nv, 3) array
        Vertices [m].
    tolerance : float
        Distance outside a cell, in reference coordinates, that still counts as inside.
    """
    points = _points(points)
    cells = np.full(len(points), -1, np.int64)
    classes = _size_classes(points, geometry)
    for start in range(0, len(points), _CHUNK):
        part = slice(start, start + _CHUNK)
        best = np.full(len(points[part]), len(topology.cells), np.int64)
        for cells_of_size in classes:
            near, candidates = cells_of_size.near(points[part])
            coordinates = _reference(points[part][near], candidates, geometry)
            inside = (coordinates.min(axis=1) >= -tolerance) & (coordinates.sum(axis=1) <= 1 + tolerance)
            np.minimum.at(best, near[inside], candidates[inside])
        found = best < len(topology.cells)
        cells[part][found] = best[found]
    xi = np.full((len(points), 3), np.nan)
    distance = np.zeros(len(points))
    inside = cells >= 0
    xi[inside] = _reference(points[inside], cells[inside], geometry)
    if not inside.all():
        corners = vertices[_outer_faces(topology)]
        for i in np.flatnonzero(~inside):
            distance[i] = _nearest(points[i], corners)[1].min()
    return Located(cells, xi, distance)


def nearest_fault_face(points: Floats, topology: Topology, geometry: Geometry, vertices: Floats) -> FaultPoints:
    """Project points (n, 3) onto the nearest fault face.

    Of equally near faces (``as_near``) the one of the lowest cell index is chosen.

    Raises
    ------
    InputError
        If the mesh has no fault face.
    """
    points = _points(points)
    cell, face = np.nonzero(topology.kinds == BoundaryKind.FAULT)
    if not len(cell):
        raise InputError(
            Problem(
                "fault receivers",
                "the mesh has no fault faces",
                advice="Fault faces carry tag 3 or a tag from 65 on, or those of mesh.boundaries.",
            )
        )
    corners = vertices[np.take_along_axis(topology.cells[cell], SORTED_FACES[face], axis=1)]
    cells, faces = np.empty(len(points), np.int64), np.empty(len(points), np.int64)
    projected, distance = np.empty_like(points), np.empty(len(points))
    for i, point in enumerate(points):
        candidates, distances, nearest = _nearest(point, corners)
        scale = np.abs(corners[candidates] - point).max()
        tied = np.flatnonzero(as_near(distances, distances.min(), scale))
        chosen = tied[0]  # faces were listed by ascending cell
        cells[i], faces[i] = cell[candidates[chosen]], face[candidates[chosen]]
        projected[i], distance[i] = nearest[chosen], distances[chosen]
    return FaultPoints(cells, faces, projected, distance)


def as_near(distance: Floats, least: Floats, scale: Floats) -> np.ndarray:
    """Return True for distances that equal the smallest one within rounding.

    A point on an edge of the fault is assigned by the last digits of the mesh, as in other programs. ``scale`` is the
    size of the coordinates whose differences give the distances [m].
    """
    return np.asarray(distance <= (1.0 + 1e-9) * least + 4e-16 * scale)


def _points(points: Floats) -> Floats:
    points = np.asarray(points, float).reshape(-1, 3)
    bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if len(bad):
        raise InputError(Problem("points", f"point {bad[0]} = {points[bad[0]].tolist()} is not finite"))
    return points


def _reference(points: Floats, cells: Integers, geometry: Geometry) -> Floats:
    return np.einsum("nij,nj->ni", geometry.inverse[cells], points - geometry.origin(cells))


class _SizeClass:
    """Cells of similar size, sorted into cubes as wide as the largest distance of a vertex from its centroid."""

    def __init__(self, members: Integers, centroids: Floats, radius: float):
        self.radius, self.low, high = radius, centroids.min(axis=0), centroids.max(axis=0)
        self.width = max(radius * (1 + 1e-6), float((high - self.low).max()) / _CUBES)
        cube = self._cube(centroids).astype(np.int64)
        self.last = cube.max(axis=0)
        number = self._number(cube)
        order = np.argsort(number, kind="stable")
        self.number, self.members, self.centroids = number[order], members[order], centroids[order]

    def _cube(self, points: Floats) -> Floats:
        return np.asarray(np.floor((points - self.low) / self.width))

    def _number(self, cube: Integers) -> Integers:
        """Return the number of a cube, up to two outside the occupied ones."""
        x, y, z = np.moveaxis(cube + 2, -1, 0)
        return np.asarray((x * (self.last[1] + 5) + y) * (self.last[2] + 5) + z)

    def near(self, points: Floats) -> tuple[Integers, Integers]:
        """Return pairs of a point index and a cell whose centroid is within the radius of the point."""
        cube = self._cube(points)
        point = np.flatnonzero(((cube >= -1) & (cube <= self.last + 1)).all(axis=1))
        rows = self._number(cube[point, None].astype(np.int64) + _ROWS)  # (n, 9) rows of three consecutive cubes
        first = np.searchsorted(self.number, rows - 1).reshape(-1)
        count = np.searchsorted(self.number, rows + 1, side="right").reshape(-1) - first
        place = np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())
        point = np.repeat(np.repeat(point, len(_ROWS)), count)
        close = ((self.centroids[place] - points[point]) ** 2).sum(axis=1) <= self.radius**2
        return point[close], self.members[place[close]]


def cells_about(low: Floats, high: Floats, geometry: Geometry, slack: float = 0.0) -> Integers:
    """Return the cells whose bounding boxes intersect any of the boxes from ``low`` to ``high`` (n, 3).

    ``slack`` enlarges the boxes of cells, relative to their longest side.
    """

    def met(piece: slice) -> NDArray[np.bool_]:
        corners = geometry.corners_of(piece)
        found = np.zeros(len(corners), bool)
        first, last = (np.array([f(corners[..., axis]) for axis in range(3)]) for f in (np.min, np.max))
        wider = slack * float((last - first).max())
        boxes = np.flatnonzero(((last + wider > low) & (first - wider < high)).all(axis=1))
        if not len(boxes):
            return found
        least, most = bounds(corners)
        if slack:
            sides = slack * (most - least).max(axis=1, keepdims=True)
            least, most = least - sides, most + sides
        for i in boxes:
            found |= ((most > low[i]) & (least < high[i])).all(axis=1)
        return found

    return np.flatnonzero(map_chunks(met, len(geometry.cells)))


def _size_classes(points: Floats, geometry: Geometry) -> list[_SizeClass]:
    """Return cells by size: all of them, or only those near the points if these are few."""
    few = cells_about(points, points, geometry, 1e-6) if len(points) <= FEW else None
    numbers = np.arange(len(geometry.cells)) if few is None else few
    centroids, radius = np.empty((len(numbers), 3)), np.empty(len(numbers))

    def measure(piece: slice) -> None:
        corners = geometry.corners_of(numbers[piece])
        centroids[piece] = middle = corners.mean(axis=-2)
        far = np.max([((corners[:, i] - middle) ** 2).sum(axis=1) for i in range(4)], axis=0)
        radius[piece] = np.sqrt(far) * (1 + 1e-6)

    in_pieces(measure, len(numbers))
    octave = np.ceil(2 * np.log2(radius)).astype(int)
    members = [np.flatnonzero(octave == size) for size in np.unique(octave)]
    return [_SizeClass(numbers[m], centroids[m], float(radius[m].max())) for m in members]


def _outer_faces(topology: Topology) -> Integers:
    """Return the vertices (n, 3) of the faces that bound the mesh in space, including periodic faces."""
    corners = topology.cells[:, SORTED_FACES]
    across = corners[topology.neighbours, topology.neighbour_faces]
    outer = (topology.neighbours < 0) | (across != corners).any(axis=2)
    return np.asarray(corners[outer])


def _nearest(point: Floats, corners: Floats) -> tuple[Integers, Floats, Floats]:
    """Return the triangles that may be nearest, their distances and nearest points.

    A triangle is excluded if its centre is farther than the nearest centre plus its own radius.
    """
    centres = corners.mean(axis=1)
    far = np.linalg.norm(centres - point, axis=1)
    radius = np.sqrt(((corners - centres[:, None]) ** 2).sum(axis=2).max(axis=1))
    candidates = np.flatnonzero(far - radius <= far.min() * (1 + 1e-12))
    nearest, distances = nearest_on_triangles(point, corners[candidates])
    return candidates, distances, nearest
