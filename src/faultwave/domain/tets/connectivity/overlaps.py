"""Overlapping cells: inverted relative to their neighbours, or at the same place as cells that are not neighbours.

If the cells on both sides of every inner face lie on opposite sides of it, the number of cells that cover a point is
the winding number of the boundary around it. So a mesh fills its volume once if no face is folded and every line
crosses its boundary in the order in, out, in, out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import Problems
from faultwave.base.processes.pieces import map_chunks
from faultwave.domain.tets.connectivity.matching import Matching
from faultwave.domain.tets.mesh import SORTED_FACES, WINDING, Floats, Integers, Mesh, Topology, signed_volumes

EXAMPLES = 10
_MAX_LINES = 256
"""Largest number of lines along each side of the bounding box."""
_TOUCHING = 1e-7
"""Distance below which parts touch, relative to the extent of the mesh: coordinates may be in single precision."""


def sorted_signs(volumes: Floats, order: NDArray[np.integer], flat: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Return the signs of the volumes of cells with ascending vertices.

    Parameters
    ----------
    volumes : (nc,) array
        Signed volumes in the vertex order of the file [m^3].
    order : (nc, 4) array
        Permutation that sorts the vertices of each cell.
    flat : (nc,) array of bool
        Cells whose volume is rounding noise.

    Returns
    -------
    (nc,) array of int8
        1 or -1, and 0 for flat cells.
    """

    def of(piece: slice) -> NDArray[np.int8]:
        columns = order[piece].T
        odd = np.zeros(len(order[piece]), bool)
        for i in range(4):
            for j in range(i):
                odd ^= columns[j] > columns[i]
        signs = np.sign(volumes[piece]).astype(np.int8)
        return np.where(flat[piece], np.int8(0), np.where(odd, -signs, signs))

    return map_chunks(of, len(volumes))


def folded_faces(
    signs: NDArray[np.int8], neighbours: Integers, neighbour_faces: NDArray[np.integer]
) -> NDArray[np.bool_]:
    """Return the inner faces (nc, 4) whose two cells lie on the same side.

    Parameters
    ----------
    signs : (nc,) array
        As returned by ``sorted_signs``.
    neighbours, neighbour_faces : (nc, 4) arrays
        Cell across each face and its face number there, -1 if none.
    """

    def of(piece: slice) -> NDArray[np.bool_]:
        near = neighbours[piece]
        theirs = np.where(near >= 0, signs[near], np.int8(0))
        return _folded(signs[piece], theirs, neighbour_faces[piece])

    return map_chunks(of, len(signs))


def _folded(
    signs: NDArray[np.int8], theirs: NDArray[np.int8], neighbour_faces: NDArray[np.integer]
) -> NDArray[np.bool_]:
    winding = WINDING.astype(np.int8)
    here = winding * signs[:, None]
    return np.asarray((here == winding[neighbour_faces] * theirs) & (here != 0))


def check_folds(mesh: Mesh, match: Matching, volumes: Floats, signs: NDArray[np.int8], problems: Problems) -> Integers:
    """Report cells that are inverted relative to their neighbours.

    The problem names the cells, their positions, and by what percentage the volumes of all cells exceed the volume
    enclosed by the boundary (by the divergence theorem, the sum of volumes in which these cells are negative).

    Returns
    -------
    (n,) array
        Indices of these cells.
    """
    folded = folded_faces(signs, match.neighbours, match.neighbour_faces)
    if not folded.any():
        return np.empty(0, np.int64)
    inverted = _inverted(match.neighbours, folded)
    total = float(np.abs(volumes).sum())
    enclosed = total - 2 * float(np.abs(volumes[inverted]).sum())
    shown = "; ".join(
        f"cell {c} at {point(mesh.vertices[mesh.cells[c]].mean(axis=0))} with {abs(volumes[c]):.3g} m^3"
        for c in inverted[:EXAMPLES].tolist()
    )
    more = f"; and {len(inverted) - EXAMPLES} more" if len(inverted) > EXAMPLES else ""
    share = f"{100 * (total / enclosed - 1):.2g} % more than" if enclosed > 0 else "and"
    problems.error(
        mesh.name,
        f"{len(inverted)} cells with negative volume are inverted and overlap their neighbours: {shown}{more}. "
        f"The volumes of all cells sum to {total:.6g} m^3, {share} the {enclosed:.6g} m^3 within the boundary",
        "neighbours on opposite sides of their common face",
        "A vertex lies beyond the faces opposite to it: remesh there, or use the optimiser of the mesher.",
    )
    return inverted


def check_part_folds(
    mesh: Mesh, topology: Topology, neighbour_faces: Integers, beyond: Callable[[Floats], Floats], problems: Problems
) -> None:
    """Report cells of a part of a mesh that lie on the same side of a face as their neighbour, in this part or another.

    Parameters
    ----------
    mesh, topology
        The part; cells without volume were reported before.
    neighbour_faces : (nc, 4) array
        Face number in the cell across each face, in any part.
    beyond
        Collective function that returns, for a number per cell (nc,), the numbers of the cells across each face (nc, 4), 0 if
        none.
    problems
        Receives an error for such cells.
    """
    signs = np.sign(signed_volumes(replace(mesh, cells=topology.cells, tags=topology.tags)))
    theirs = np.sign(beyond(signs)).astype(np.int8)
    wrong = np.flatnonzero(_folded(signs.astype(np.int8), theirs, neighbour_faces).any(axis=1))
    if len(wrong):
        shown = "; ".join(
            f"cell {c} at {point(mesh.vertices[topology.cells[c]].mean(axis=0))}" for c in wrong[:EXAMPLES].tolist()
        )
        more = f"; and {len(wrong) - EXAMPLES} more" if len(wrong) > EXAMPLES else ""
        problems.error(
            mesh.name,
            f"{len(wrong)} cells overlap a neighbour: {shown}{more}",
            "neighbours on opposite sides of their common face",
            "A vertex lies beyond the faces opposite to it: remesh there, or use the optimiser of the mesher.",
        )


def _inverted(neighbours: Integers, folded: NDArray[np.bool_]) -> Integers:
    """Return the cells on the smaller side of folded faces, ascending."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = len(neighbours)
    cell, face = np.nonzero((neighbours >= 0) & ~folded)
    joined = coo_array((np.ones(len(cell), bool), (cell, neighbours[cell, face])), shape=(count, count))
    number, piece = connected_components(joined, directed=False)
    sizes = np.bincount(piece, minlength=number)
    cell, face = np.nonzero(folded)
    here, there = piece[cell], piece[neighbours[cell, face]]
    sides = np.unique(np.stack([here, there], 1), axis=0)
    # Components that meet at folded faces have opposite orientations: starting with the largest, they alternate.
    right = np.zeros(number, np.int8)
    following: dict[int, list[int]] = {}
    for a, b in sides.tolist():
        following.setdefault(a, []).append(b)
    for start in sorted(following, key=lambda p: -sizes[p]):
        if right[start]:
            continue
        right[start], queue = 1, [start]
        while queue:
            at = queue.pop()
            for other in following[at]:
                if not right[other]:
                    right[other] = -right[at]
                    queue.append(other)
    wrong = np.flatnonzero(right[piece] < 0)
    return wrong if len(wrong) else np.unique(cell)


@dataclass(frozen=True)
class _Crossings:
    """Crossings of lines along ``axis`` with the boundary, sorted by line and height.

    Attributes
    ----------
    lines : (n,) array
        Line of each crossing.
    heights : (n,) array
        Coordinate along the axis [m].
    enters : (n,) array
        Number of cells entered minus left.
    faces : (n,) array
        Boundary face.
    """

    lines: Integers
    heights: Floats
    enters: Integers
    faces: Integers


def check_overlaps(mesh: Mesh, match: Matching, signs: NDArray[np.int8], problems: Problems) -> None:
    """Report overlaps of cells that are not neighbours, and warn if parts of a mesh touch without common vertices.

    Parameters
    ----------
    mesh, match
        Mesh without folded faces, and its common faces.
    signs : (nc,) array
        As returned by ``sorted_signs``.
    problems
        Receives an error for overlaps, a warning for faces that touch.
    """
    cell, face = _outer(mesh, match)
    if not len(cell):
        return
    corners = mesh.vertices[np.take_along_axis(match.cells[cell], SORTED_FACES[face], axis=1)]
    outward = np.asarray(WINDING[face] * signs[cell], np.float64)
    low, high = corners.min((0, 1)), corners.max((0, 1))
    near = _TOUCHING * float((high - low).max())
    touching: dict[int, Floats] = {}
    for axis in range(3):
        found = _crossings(corners, outward, low, high, axis)
        if not len(found.lines):
            continue
        inside = np.cumsum(found.enters)
        length = np.append(np.diff(found.heights), 0.0)
        same_line = np.append(found.lines[1:] == found.lines[:-1], False)
        double = np.flatnonzero(same_line & ((inside > 1) | (inside < 0)) & (length > near))
        if len(double):
            at = double[np.argmax(length[double])]
            place = _place(found, at, axis, corners)
            place[axis] = found.heights[at] + length[at] / 2
            both = sorted({int(cell[found.faces[i]]) for i in (at, at + 1)})
            problems.error(
                mesh.name,
                f"cells that are not neighbours overlap: at {point(place)}, over {length[at]:.4g} m along "
                f"{'xyz'[axis]}, near the boundary's {' and '.join(f'cell {c}' for c in both)}",
                "a mesh that fills its volume once",
                (
                    "Parts of the model were meshed twice, or apart from each other: combine them into one "
                    "geometry before meshing."
                ),
            )
            return
        touch = np.flatnonzero(same_line & (inside == 0) & (length <= near))
        for i in touch.tolist():
            touching.setdefault(int(found.faces[i]), _place(found, i, axis, corners))
    if touching:
        first, place = next(iter(touching.items()))
        problems.warn(
            mesh.name,
            f"parts of the mesh touch without common vertices, on {len(touching)} or more boundary faces, one of cell "
            f"{cell[first]} at {point(place)}",
            advice="Waves pass there only if both sides have the same vertices: merge them, unless it is an open crack.",
        )


def _outer(mesh: Mesh, match: Matching) -> tuple[Integers, Integers]:
    """Return cells and faces at the boundary in space: without neighbour, or with a periodic one."""
    alone = match.neighbours < 0
    if mesh.identify is not None:
        cell, face = np.nonzero(match.neighbours >= 0)
        other = match.neighbours[cell, face], match.neighbour_faces[cell, face]
        mine = np.take_along_axis(match.cells[cell], SORTED_FACES[face], axis=1)
        theirs = np.take_along_axis(match.cells[other[0]], SORTED_FACES[other[1]], axis=1)
        image = (mine != theirs).any(axis=1)
        alone[cell[image], face[image]] = True
    cell, face = np.nonzero(alone)
    return cell, face


def _crossings(corners: Floats, outward: Floats, low: Floats, high: Floats, axis: int) -> _Crossings:
    """Return the crossings of lines along an axis with triangles (n, 3, 3).

    Their corners are anticlockwise from outside where ``outward`` is 1.
    """
    count = int(np.clip(np.sqrt(len(corners)), 16, _MAX_LINES))
    u, v = [i for i in range(3) if i != axis]
    random = np.random.default_rng(
        1
    )  # random, because lines through edges are not conclusive, and meshes have edges at regular positions
    at = [low[i] + (high[i] - low[i]) * (np.arange(count) + random.uniform(0.1, 0.9, count)) / count for i in (u, v)]
    first = [np.searchsorted(a, corners[:, :, i].min(1)) for a, i in zip(at, (u, v), strict=True)]
    number = [
        np.searchsorted(a, corners[:, :, i].max(1), side="right") - f for a, i, f in zip(at, (u, v), first, strict=True)
    ]
    tries = number[0] * number[1]
    faces = np.repeat(np.arange(len(corners)), tries)
    step = np.arange(len(faces)) - np.repeat(np.cumsum(tries) - tries, tries)
    lines = (first[0][faces] + step // number[1][faces]) * count + first[1][faces] + step % number[1][faces]
    places = np.stack([at[0][lines // count], at[1][lines % count]], 1)
    plane = corners[:, :, [u, v]][faces] - places[:, None]
    # Twice the areas of the triangles between a line and two corners: of equal sign if it passes inside the triangle.
    share = np.stack([_cross(plane[:, (i + 1) % 3], plane[:, (i + 2) % 3]) for i in range(3)], 1)
    through = (share > 0).all(1) | (share < 0).all(1)
    faces, lines, share = faces[through], lines[through], share[through]
    area = share.sum(1)
    heights = (share * corners[faces][:, :, axis]).sum(1) / area
    upward = np.sign(area) * outward[faces] * (-1 if axis == 1 else 1)  # (x, z, y) is left-handed
    enters = -upward.astype(np.int64)
    unsound = np.bincount(lines, enters, minlength=count * count) != 0  # through an edge, or at a hole
    sound = ~unsound[lines]
    faces, lines, heights, enters = faces[sound], lines[sound], heights[sound], enters[sound]
    arrange = np.lexsort((heights, lines))
    return _Crossings(lines[arrange], heights[arrange], enters[arrange], faces[arrange])


def _cross(a: Floats, b: Floats) -> Floats:
    return np.asarray(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])


def _place(found: _Crossings, i: int, axis: int, corners: Floats) -> Floats:
    """Return the position (3,) of a crossing, within the size of its triangle."""
    place = corners[found.faces[i]].mean(axis=0)
    place[axis] = found.heights[i]
    return np.asarray(place)


def point(x: Floats) -> str:
    """Return coordinates as text."""
    return "(" + ", ".join(f"{v:.6g}" for v in x) + ")"
