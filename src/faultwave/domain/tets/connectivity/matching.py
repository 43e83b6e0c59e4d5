"""Identification of the common faces of cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faultwave.base.processes.pieces import in_pieces, map_chunks, stable_argsort
from faultwave.domain.tets.mesh import FILE_FACES, SORTED_FACES, Integers, Mesh


@dataclass(frozen=True)
class Matching:
    """Sorted cells and their neighbours.

    Attributes
    ----------
    cells : (nc, 4) array
        Cells with sorted vertices.
    order : (nc, 4) array
        Permutation that sorts the vertices of each cell.
    neighbours, neighbour_faces : (nc, 4) array
        Cell across each face and its face number there, -1 if none.
    crowded : (k,) array
        Flat face numbers 4 c + f of faces shared by more than two cells.
    """

    cells: Integers
    order: NDArray[np.int8]
    neighbours: Integers
    neighbour_faces: NDArray[np.int8]
    crowded: Integers


def leading_vertices(mesh: Mesh) -> NDArray[np.bool_]:
    """Return a mask (nv,) of vertices that are first in sorted cells: vertices of tagged faces between two cells, as faults are.

    Such a face is then the last one of nearly all its cells, on which traces are cheapest. The mask is empty in
    periodic meshes, where vertices of both sides are identified.
    """
    found = np.zeros(len(mesh.vertices), bool)
    if mesh.identify is None:
        cell, face = np.nonzero(mesh.tags)
        corners = mesh.cells[cell[:, None], FILE_FACES[face]]
        _, first, times = np.unique(np.sort(corners, 1), axis=0, return_index=True, return_counts=True)
        found[corners[first[times > 1]]] = True
    return found


def sort_cells(mesh: Mesh, leading: NDArray[np.bool_] | None = None) -> tuple[Integers, NDArray[np.int8]]:
    """Return cells with sorted vertices, and the permutations (nc, 4): ``leading`` (nv,) vertices first, then by topological id.

    Vertices with the same topological id (in periodic meshes one cell wide) are ordered by their own id: a periodic
    image is numbered in the same order as its original, so that both sides of a face agree.
    """
    leading = leading if leading is not None and leading.any() else None
    cells, order = np.empty_like(mesh.cells), np.empty(mesh.cells.shape, np.int8)

    def sort(piece: slice) -> None:
        given = mesh.cells[piece]
        key = given if mesh.identify is None else mesh.identify[given] * len(mesh.vertices) + given
        if leading is not None:
            key = key + np.where(leading, 0, len(mesh.vertices))[given]
        order[piece] = found = np.argsort(key, axis=1, kind="stable")
        cells[piece] = np.take_along_axis(given, found, axis=1)

    in_pieces(sort, len(cells))
    return cells, order


def match_faces(mesh: Mesh) -> Matching:
    """Return the cell on the other side of every face, found by its topological vertices."""
    cells, order = sort_cells(mesh, leading_vertices(mesh))
    nc = len(cells)
    topological = cells if mesh.identify is None else mesh.identify[cells]
    arrange, new = _arranged(topological, int(topological.max(initial=0)) + 1)
    starts = np.flatnonzero(new)
    counts = np.diff(np.append(starts, 4 * nc))
    other = np.full(4 * nc, -1, np.int64)
    pairs = starts[counts == 2]

    def join(piece: slice) -> None:
        a, b = arrange[pairs[piece]], arrange[pairs[piece] + 1]
        if mesh.identify is not None:
            one, two = _corners(cells, a), _corners(cells, b)
            same = (one == two).all(axis=1)
            images = np.flatnonzero(~same)
            same[images] = _same_shape(mesh, one[images], two[images])
            a, b = a[same], b[same]
        other[a], other[b] = b, a

    in_pieces(join, len(pairs))
    crowded: list[int] = []
    for start, count in zip(starts[counts > 2], counts[counts > 2], strict=True):
        crowded += _resolve(mesh, cells, np.sort(arrange[start : start + count]), other)
    across, faces = other.reshape(nc, 4), np.empty((nc, 4), np.int8)

    def divide(piece: slice) -> None:
        faces[piece] = np.where(across[piece] >= 0, across[piece] & 3, -1)
        across[piece] >>= 2  # -1 is unchanged

    in_pieces(divide, nc)
    return Matching(cells, order, across, faces, np.array(crowded, np.int64))


def _corners(cells: Integers, faces: Integers) -> Integers:
    """Return the vertices (n, 3) of faces (n,)."""
    return np.take_along_axis(cells[faces >> 2], SORTED_FACES[faces & 3], axis=1)


def _arranged(topological: Integers, limit: int) -> tuple[Integers, NDArray[np.bool_]]:
    """Return the order of faces of cells (nc, 4) that groups equal vertices, and a mask of the first face of each group.

    Three vertices are packed into one integer if they fit.
    """
    bits, count = max(limit - 1, 1).bit_length(), 4 * len(topological)
    new = np.ones(count, bool)
    if 3 * bits > 63:
        keys = topological[:, SORTED_FACES].reshape(-1, 3)
        arrange = np.lexsort((keys[:, 2], keys[:, 1], keys[:, 0]))
        new[1:] = (keys[arrange[1:]] != keys[arrange[:-1]]).any(axis=1)
        return arrange, new

    def pack(piece: slice) -> Integers:
        a, b, c = (topological[piece][:, SORTED_FACES[:, i]] for i in range(3))
        return np.asarray((a << 2 * bits) | (b << bits) | c)

    packed = map_chunks(pack, len(topological)).reshape(-1)
    arrange = stable_argsort(packed)

    def differ(piece: slice) -> None:
        here = packed[arrange[max(piece.start - 1, 0) : piece.stop]]
        new[max(piece.start, 1) : piece.stop] = here[1:] != here[:-1]

    in_pieces(differ, count)
    return arrange, new


def _resolve(mesh: Mesh, cells: Integers, faces: Integers, other: Integers) -> list[int]:
    """Pair faces with equal topological vertices; return faces claimed by several cells.

    In periodic meshes one or two cells wide, different faces have the same topological vertices. Faces with the same
    real vertices are paired first, then those that are translated copies of each other.
    """
    if mesh.identify is None:
        return [int(f) for f in faces]
    corners = _corners(cells, faces)
    left, crowded = list(range(len(faces))), []
    for same in (_same_vertices, _same_shape):
        queue, left = left, []
        while queue:
            i = queue.pop(0)
            partners = [j for j in queue if same(mesh, corners[i], corners[j])]
            if len(partners) == 1:
                other[faces[i]], other[faces[partners[0]]] = faces[partners[0]], faces[i]
            elif partners:
                crowded += [int(faces[j]) for j in (i, *partners)]
            else:
                left.append(i)
            queue = [j for j in queue if j not in partners]
    return crowded


def _same_vertices(mesh: Mesh, a: Integers, b: Integers) -> bool:
    return bool((a == b).all())


def _same_shape(mesh: Mesh, a: Integers, b: Integers) -> NDArray[np.bool_]:
    """Return True where faces a (..., 3) are translated copies of b, within a thousandth of their size.

    Different faces with equal topological vertices differ by a whole edge, and periodic sides need not agree exactly.
    """
    first, second = mesh.vertices[a], mesh.vertices[b]
    first, second = first - first[..., :1, :], second - second[..., :1, :]
    return np.asarray(np.abs(first - second).max(axis=(-1, -2)) <= 1e-3 * np.abs(first).max(axis=(-1, -2)))
