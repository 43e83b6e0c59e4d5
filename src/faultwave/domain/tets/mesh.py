"""Tetrahedral meshes as read or generated: plain arrays, before renumbering."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import cast

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, Problem
from faultwave.base.processes.pieces import in_pieces, map_chunks

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FILE_FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
"""Vertices of face f of a cell in the vertex order of the file, anticlockwise seen from outside."""

SORTED_FACES = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])
"""Vertices of face f of a cell with ascending vertices: face f is opposite vertex f."""

WINDING = np.array([1.0, -1.0, 1.0, -1.0])
"""Sign 1 if the ascending vertices of face f are anticlockwise from outside, else -1, for positive determinants."""

FACE_OPPOSITE = np.array([2, 3, 1, 0])
"""File face opposite each file vertex."""

_TURNED = np.array([[0, 1, 2, 3], [0, 2, 1, 3]], np.int8)
"""Vertex orders for cells of positive and of negative volume."""

_SHOWN = 10
"""Number of cells shown in a message."""

EVEN_PERMUTATIONS = np.array(
    [[0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2], [1, 0, 3, 2], [1, 3, 2, 0], [1, 2, 0, 3],
     [2, 3, 0, 1], [2, 0, 1, 3], [2, 1, 3, 0], [3, 2, 1, 0], [3, 1, 0, 2], [3, 0, 2, 1]]
)  # fmt: skip
"""The twelve permutations of the vertices of a tetrahedron that preserve its orientation."""


class BoundaryKind(IntEnum):
    """Kind of boundary condition or interface of a face."""

    REGULAR = 0
    FREE_SURFACE = 1
    GRAVITY = 2
    FAULT = 3
    DIRICHLET = 4
    ABSORBING = 5
    ANALYTIC = 7
    RIGID = 8
    SYMMETRY = 9
    IMPEDANCE = 10
    PEC = 11
    PMC = 12
    SEALED_SURFACE = 13  # traction-free and impermeable to pore fluid


@dataclass(frozen=True)
class Mesh:
    """Mesh in the numbering of its file.

    Attributes
    ----------
    vertices : (nv, 3) array
        Vertices [m].
    cells : (nc, 4) array
        Vertex ids, positively oriented.
    groups : (nc,) array
        Region ids.
    tags : (nc, 4) array
        Face tags in the order of ``FILE_FACES``.
    identify : (nv,) array or None
        Topological vertex of each vertex in periodic meshes, where several vertices are identified.
    name : str
        Name in messages.
    names
        Number by dimension and name of the named surfaces (2, as in tags) and volumes (3, as in groups).
    written
        Tag by the number that a surface has in the file, if it is different.
    remarks
        Warnings of the reader.
    """

    vertices: Floats
    cells: Integers
    groups: NDArray[np.int32]
    tags: NDArray[np.int32]
    identify: Integers | None = None
    name: str = "mesh"
    names: Mapping[tuple[int, str], int] = field(default_factory=dict)
    written: Mapping[int, int] = field(default_factory=dict)
    remarks: tuple[Problem, ...] = ()

    def surface(self, key: str | int) -> int | None:
        """Return the tag of a surface by its name or number; None for unknown names."""
        tag = self.named(2).get(str(key))
        if tag is None and str(key).isdigit():
            return self.written.get(int(key), int(key))
        return tag

    def named(self, dimension: int) -> dict[str, int]:
        """Return the names and numbers of the surfaces (dimension 2) or volumes (3)."""
        return {name: number for (d, name), number in self.names.items() if d == dimension}


@dataclass(frozen=True)
class Topology:
    """Cells with sorted vertices and their neighbours.

    Attributes
    ----------
    cells : (nc, 4) array
        Vertex ids, first vertices of tagged inner faces, then the others, each ordered by topological id. Face f is
        opposite sorted vertex f and has its vertices in this order, so that both sides of a face agree.
    order : (nc, 4) array
        Permutation from the vertices of file cells.
    neighbours, neighbour_faces : (nc, 4) array
        Cell across each face and its face number there, -1 on the boundary.
    kinds : (nc, 4) array
        ``BoundaryKind`` of each face.
    tags : (nc, 4) array
        Face tags in sorted face order.
    """

    cells: Integers  # 32-bit integers if possible, as for neighbours: see ``narrowed``
    order: NDArray[np.integer]
    neighbours: Integers
    neighbour_faces: NDArray[np.integer]
    kinds: NDArray[np.int8]
    tags: NDArray[np.int32]


def make_mesh(
    vertices: object, cells: object, groups: object, tags: object, identify: object | None = None, name: str = "mesh"
) -> Mesh:
    """Return a Mesh with contiguous arrays of the declared types; raise InputError for groups and tags beyond 32 bits."""
    return Mesh(
        np.ascontiguousarray(vertices, np.float64),
        np.ascontiguousarray(cells, np.int64),
        _in_32_bits(groups, "groups of cells", name),
        _in_32_bits(tags, "tags of faces", name),
        None if identify is None else np.ascontiguousarray(identify, np.int64),
        name,
    )


def _in_32_bits(values: object, what: str, name: str) -> NDArray[np.int32]:
    given = np.asarray(values)
    narrow = np.ascontiguousarray(given.astype(np.int32, casting="unsafe"))
    if given.dtype != np.int32 and (narrow != given).any():
        wrong = given[narrow != given][0]
        raise InputError(Problem(name, f"has {what} such as {wrong}", f"whole numbers up to {np.iinfo(np.int32).max}"))
    return narrow


MOST_NARROW = 1 << 29
"""Number of cells below which numbers of cells and of their four faces fit into 32 bits."""


def narrowed(numbers: Integers, count: int) -> Integers:
    """Return indices (n, 4) of ``count`` vertices or cells as 32-bit integers, if they fit."""
    if count > MOST_NARROW:
        return numbers
    return cast(Integers, map_chunks(lambda piece: numbers[piece].astype(np.int32), len(numbers)))


def signed_volumes(mesh: Mesh) -> Floats:
    """Return the volume (nc,) of every cell, negative for reversed vertex order [m^3]."""

    def of(piece: slice) -> Floats:
        v = mesh.vertices[mesh.cells[piece]]
        a, b, c = (v[:, i] - v[:, 0] for i in (1, 2, 3))
        return np.asarray(np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0)

    return map_chunks(of, len(mesh.cells))


def bounds(corners: Floats) -> tuple[Floats, Floats]:
    """Return the lower and upper corners (n, 3) of the bounding boxes of cells with ``corners`` (n, 4, 3).

    It is much faster than reductions over so few corners.
    """
    a, b, c, d = np.moveaxis(corners, 1, 0)
    low, high = (f(f(a, b), f(c, d)) for f in (np.minimum, np.maximum))
    return low, high


def sorted_tags(mesh: Mesh, order: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return the face tags (nc, 4) in the order of the faces of sorted cells; ``order`` (nc, 4) sorts them."""
    return map_chunks(lambda p: np.take_along_axis(mesh.tags[p][:, FACE_OPPOSITE], order[p], axis=1), len(order))


def permute_vertices(mesh: Mesh, order: NDArray[np.integer]) -> Mesh:
    """Return the mesh with the vertices of each cell in ``order`` (nc, 4); face tags follow their faces."""
    cells, tags = np.empty_like(mesh.cells), np.empty_like(mesh.tags)

    def take(piece: slice) -> None:
        cells[piece] = np.take_along_axis(mesh.cells[piece], order[piece], axis=1)
        opposite = np.take_along_axis(mesh.tags[piece][:, FACE_OPPOSITE], order[piece], axis=1)
        tags[piece, FACE_OPPOSITE] = opposite

    in_pieces(take, len(cells))
    return replace(mesh, cells=cells, tags=tags)


def shuffle_vertices(mesh: Mesh, rng: np.random.Generator) -> Mesh:
    """Permute the vertices of every cell at random, preserving its orientation."""
    return permute_vertices(mesh, EVEN_PERMUTATIONS[rng.integers(12, size=len(mesh.cells))])


def orient(mesh: Mesh, remark: bool = False) -> Mesh:
    """Swap two vertices of every cell of negative volume.

    With ``remark``, a warning is added to the remarks of the mesh if only some cells were reversed: then their volumes
    cannot distinguish cells in another order from inverted cells, which ``overlaps.check_folds`` finds.
    """
    negative = signed_volumes(mesh) < 0
    if not negative.any():
        return mesh
    turned = permute_vertices(mesh, _TURNED[negative.astype(np.int8)])
    if negative.all() or not remark:
        return turned
    few = negative if 2 * np.count_nonzero(negative) <= len(negative) else ~negative
    cells = np.flatnonzero(few)
    shown = "; ".join(
        f"cell {c} at ({', '.join(f'{x:.6g}' for x in mesh.vertices[mesh.cells[c]].mean(axis=0))})"
        for c in cells[:_SHOWN].tolist()
    )
    more = f"; and {len(cells) - _SHOWN} more" if len(cells) > _SHOWN else ""
    mixed = Problem(
        mesh.name,
        f"{len(cells)} of {len(negative)} cells have their vertices in the opposite order of the others: {shown}{more}",
        "one order in all cells",
        "They are read in the order of the others, which moves no vertex.",
        "warning",
    )
    return replace(turned, remarks=(*turned.remarks, mixed))


def turn_mirrored(mesh: Mesh) -> Mesh:
    """Swap two vertices of all cells if every cell has a negative volume: a file with the opposite convention."""
    if not len(mesh.cells) or not len(mesh.vertices):
        return mesh
    first = replace(mesh, cells=mesh.cells[:_SHOWN].clip(0, len(mesh.vertices) - 1))
    if not (signed_volumes(first) < 0).all():  # the usual case, which is cheap to detect
        return mesh
    if mesh.cells.min() < 0 or mesh.cells.max() >= len(mesh.vertices) or not (signed_volumes(mesh) < 0).all():
        return mesh
    return permute_vertices(mesh, np.broadcast_to(_TURNED[1], mesh.cells.shape))


def reorder_cells(mesh: Mesh, permutation: NDArray[np.integer]) -> Mesh:
    """Return the mesh in which cell i is the former cell ``permutation[i]``."""
    return replace(mesh, cells=mesh.cells[permutation], groups=mesh.groups[permutation], tags=mesh.tags[permutation])


def fingerprint(mesh: Mesh, numbers: Integers) -> NDArray[np.uint64]:
    """Return two checksums (2,) of the corners of cells, whose indices in the whole mesh are ``numbers`` (nc,).

    Checksums of a mesh are the sums over its parts.
    """
    corners = mesh.vertices[mesh.cells].reshape(-1, 12)
    primes = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)
    return np.array([row_sum(corners, numbers, prime) for prime in primes], np.uint64)


def row_sum(values: Floats, numbers: Integers, prime: int = 0x9E3779B97F4A7C15) -> np.uint64:
    """Return the sum over rows (n, k) of a hash of their bits and of their index in the whole, modulo 2^64.

    Sums of parts add up to the sum of the whole. ``numbers`` (n,) are the indices of the rows.
    """
    words = np.ascontiguousarray(values + 0.0, np.float64).view(np.uint64)  # + 0.0 avoids negative zeros
    state = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(prime)
    for word in words.T:
        state = (state ^ word) * np.uint64(prime)
        state ^= state >> np.uint64(29)
    return np.uint64(state.sum(dtype=np.uint64))
