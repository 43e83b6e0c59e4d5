"""Topology of a mesh (sorted cells, neighbours, kinds of faces), and its checks, which report all errors at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import Problems
from faultwave.base.processes.pieces import map_chunks
from faultwave.domain.tets.connectivity.matching import Matching, match_faces
from faultwave.domain.tets.connectivity.overlaps import EXAMPLES, check_folds, check_overlaps, point, sorted_signs
from faultwave.domain.tets.connectivity.tags import INTERNAL, UNKNOWN, TagTable, tag_table
from faultwave.domain.tets.mesh import (
    SORTED_FACES,
    BoundaryKind,
    Floats,
    Integers,
    Mesh,
    Topology,
    bounds,
    narrowed,
    signed_volumes,
    sorted_tags,
)

_FARTHEST = 1e30
"""Largest valid coordinate [m], to avoid overflow in volumes and distances."""

_FLAT = 1e-12
"""Ratio of volume to the cube of the longest edge below which a volume is rounding noise."""


def check_mesh(mesh: Mesh, boundaries: Mapping[str, Sequence[int | str]] | None = None) -> Problems:
    """Return all errors of a mesh; the caller raises them.

    Each kind of problem is one entry that counts its cells and shows at most ten, with coordinates in metres.

    Parameters
    ----------
    mesh
        Mesh.
    boundaries
        Tags by kind of boundary, as for ``build_topology``; mistakes in it raise InputError.
    """
    table = tag_table(boundaries, mesh)
    problems = Problems()
    check_numbers(mesh, problems)
    if problems.errors:
        return problems  # nothing else can be computed with missing vertices
    volumes, flat = check_volumes(mesh, problems)
    match = match_faces(mesh)
    tags = sorted_tags(mesh, match.order)
    check_connections(mesh, match, tags, table, problems)
    check_places(mesh, match, volumes, flat, problems)
    return problems


def check_numbers(mesh: Mesh, problems: Problems) -> None:
    """Report vertices that are not finite, vertex ids that do not exist, and cells with repeated vertices."""
    nv, nc = len(mesh.vertices), len(mesh.cells)
    if nc == 0 or nv == 0:
        problems.error(mesh.name, f"the mesh has {nc} cells and {nv} vertices", "at least one cell")
        return
    shapes = {"groups": (mesh.groups.shape, (nc,)), "tags": (mesh.tags.shape, (nc, 4))}
    if mesh.identify is not None:
        shapes["identify"] = (mesh.identify.shape, (nv,))
    for what, (given, expected) in shapes.items():
        if given != expected:
            problems.error(mesh.name, f"{what} has shape {given}", f"{expected}")
    broken = np.flatnonzero(~(np.abs(mesh.vertices) <= _FARTHEST).all(axis=1))
    _report(
        problems,
        mesh.name,
        broken,
        "vertices with a coordinate that is not a finite number",
        lambda v: f"vertex {v} = {tuple(mesh.vertices[v].tolist())}",
        allowed=f"numbers up to {_FARTHEST:g}",
    )
    outside = _cells(nc, lambda p: ((mesh.cells[p] < 0) | (mesh.cells[p] >= nv)).any(axis=1))
    _report(
        problems,
        mesh.name,
        outside,
        f"cells with vertex ids outside 0..{nv - 1}",
        lambda c: f"cell {c} = {mesh.cells[c].tolist()}",
    )

    def repeats(piece: slice) -> NDArray[np.bool_]:
        ids = np.sort(mesh.cells[piece], axis=1)
        return np.asarray((ids[:, 1:] == ids[:, :-1]).any(axis=1))

    double = _cells(nc, repeats)
    _report(
        problems,
        mesh.name,
        double,
        "cells with the same vertex twice",
        lambda c: f"cell {c} = {mesh.cells[c].tolist()}",
    )
    if mesh.identify is not None and mesh.identify.shape == (nv,):
        wrong = np.flatnonzero(mesh.identify < 0)
        _report(problems, mesh.name, wrong, "vertices with a negative topological id", lambda v: f"vertex {v}")
    tagged = mesh.tags.shape == (nc, 4)
    negative = _cells(nc, lambda p: (mesh.tags[p] < 0).any(axis=1)) if tagged else np.empty(0, int)
    _report(
        problems,
        mesh.name,
        negative,
        "cells with a negative face tag",
        lambda c: f"cell {c} has tags {mesh.tags[c].tolist()}",
    )


def check_volumes(mesh: Mesh, problems: Problems) -> tuple[Floats, NDArray[np.bool_]]:
    """Report cells of no volume.

    Returns
    -------
    volumes : (nc,) array
        Signed volumes [m^3].
    flat : (nc,) array of bool
        Cells whose volume is rounding noise.
    """
    volumes = signed_volumes(mesh)

    def none(piece: slice) -> NDArray[np.bool_]:
        low, high = bounds(mesh.vertices[mesh.cells[piece]])
        size = np.maximum.reduce([high[:, axis] - low[:, axis] for axis in range(3)])
        return np.asarray(np.abs(volumes[piece]) <= _FLAT * size**3)

    flat = map_chunks(none, len(volumes))
    _report(
        problems,
        mesh.name,
        np.flatnonzero(flat),
        "cells with no volume",
        lambda c: _shown(mesh, volumes, c),
        advice="Repair or remesh there.",
    )
    return volumes, flat


def check_order(
    mesh: Mesh, volumes: Floats, flat: NDArray[np.bool_], problems: Problems, inverted: Integers | None = None
) -> None:
    """Report cells with the wrong orientation of vertices, except those reported as ``inverted``."""
    negative = (volumes < 0) & ~flat
    if inverted is not None:
        negative[inverted] = False
    _report(
        problems,
        mesh.name,
        np.flatnonzero(negative),
        "cells with negative volume",
        lambda c: _shown(mesh, volumes, c),
        advice="Their vertices have the wrong order: exchange two of them.",
    )


def check_places(mesh: Mesh, match: Matching, volumes: Floats, flat: NDArray[np.bool_], problems: Problems) -> None:
    """Report cells of negative volume, and overlapping cells: neighbours, or others at the same place."""
    signs = sorted_signs(volumes, match.order, flat)
    inverted = check_folds(mesh, match, volumes, signs, problems)
    check_order(mesh, volumes, flat, problems, inverted)
    if not problems.errors:
        check_overlaps(mesh, match, signs, problems)


def check_connections(
    mesh: Mesh, match: Matching, tags: NDArray[np.int32], table: TagTable, problems: Problems
) -> None:
    """Report faces of more than two cells, and tags (nc, 4), in sorted face order, that are unknown or inconsistent."""
    centres = _FaceCentres(mesh, match)

    def show(face: int) -> str:
        return f"cell {face // 4} at {point(centres(face))} with tag {table.called(int(tags.flat[face]))}"

    _report(
        problems,
        mesh.name,
        match.crowded,
        "faces shared by more than two cells",
        show,
        advice="Remove duplicate or overlapping cells.",
    )
    own = np.flatnonzero(
        map_chunks(lambda p: match.neighbours[p] == np.arange(p.start, p.stop)[:, None], len(mesh.cells))
    )
    _report(problems, mesh.name, own, "faces whose neighbour is their own cell", show)
    alone = match.neighbours < 0
    alone.flat[match.crowded] = False
    check_tags(mesh, match, alone, match.neighbours >= 0, tags, table, problems)
    _check_fault_sides(mesh, match, tags, table.kinds(tags), problems, show)


def check_tags(
    mesh: Mesh, match: Matching, alone: NDArray[np.bool_], across: NDArray[np.bool_], tags: NDArray[np.int32],
    table: TagTable, problems: Problems,
) -> None:  # fmt: skip
    """Report tags (nc, 4) that are unknown or do not fit faces that are ``alone`` (nc, 4) or have a cell ``across``."""
    centres = _FaceCentres(mesh, match)

    def show(face: int) -> str:
        return f"cell {face // 4} at {point(centres(face))} with tag {table.called(int(tags.flat[face]))}"

    kinds = table.kinds(tags)
    _report(
        problems,
        mesh.name,
        np.flatnonzero(kinds == UNKNOWN),
        "faces with an unknown tag",
        show,
        allowed=table.describe(),
        advice="Define its kind in mesh.boundaries.",
    )
    internal = np.isin(np.arange(UNKNOWN, max(BoundaryKind) + 1), INTERNAL)[kinds - UNKNOWN]
    bare = np.flatnonzero(alone & internal)
    _report(
        problems,
        mesh.name,
        bare,
        "faces without neighbour but with the tag of an inner face",
        show,
        allowed=table.describe(),
        advice=_why_bare(mesh, match, tags, table, bare),
    )
    covered = np.flatnonzero(~alone & ~internal & (kinds != UNKNOWN) & across)
    _report(
        problems, mesh.name, covered, "faces with a boundary tag but with a neighbour", show, allowed=table.describe()
    )


def _check_fault_sides(
    mesh: Mesh,
    match: Matching,
    tags: NDArray[np.int32],
    kinds: NDArray[np.int8],
    problems: Problems,
    show: Callable[[int], str],
) -> None:
    cell, face = np.nonzero((kinds == BoundaryKind.FAULT) & (match.neighbours >= 0))
    beyond = match.neighbours[cell, face], match.neighbour_faces[cell, face]
    other = tags[beyond]
    # Report a face once: from its lower cell, or from the only side with a fault tag.
    other_fault = kinds[beyond] == BoundaryKind.FAULT
    differs = (other != tags[cell, face]) & ((cell < beyond[0]) | ~other_fault)
    number = 4 * cell + face
    across = dict(zip(number[differs].tolist(), other[differs].tolist(), strict=True))
    _report(
        problems,
        mesh.name,
        number[differs],
        "fault faces whose two cells carry different tags",
        lambda f: f"{show(f)}, {across[f]} in cell {match.neighbours.flat[f]}",
        advice="Both sides of a fault face need the same tag.",
    )


def _why_bare(mesh: Mesh, match: Matching, tags: NDArray[np.int32], table: TagTable, faces: Integers) -> str:
    """Return the likeliest reason for inner faces without neighbour."""
    if not len(faces):
        return ""
    from scipy.spatial import cKDTree

    vertices = np.unique(match.cells[:, SORTED_FACES].reshape(-1, 3)[faces])
    spacing = np.ptp(mesh.vertices, axis=0).max()
    pairs = cKDTree(mesh.vertices[vertices]).query_pairs(1e-9 * spacing, output_type="ndarray")
    if len(pairs):
        where = point(mesh.vertices[vertices[pairs[0, 0]]])
        return f"{len(pairs)} pairs of their vertices coincide, one at {where}: merge duplicate vertices."
    if mesh.identify is None and (tags.flat[faces] == 6).all():
        return "Periodic faces need a mesh that identifies vertices (identify or topology data)."
    if mesh.identify is not None:
        return "Periodic faces need an image of the same shape on the other side, with the same topological vertices."
    if table.names:
        named = "Outer faces need a physical surface that mesh.boundaries gives a kind"
        return f"{named}; inside the mesh it is a hanging node or a missing cell."
    return "Outer faces need a boundary tag; inside the mesh it is a hanging node or a missing cell."


def _cells(count: int, wrong: Callable[[slice], np.ndarray | np.bool_]) -> Integers:
    """Return the indices of cells, among ``count``, for which ``wrong`` is True; it is evaluated in blocks."""
    return np.flatnonzero(map_chunks(lambda part: np.asarray(wrong(part)), count))


def _shown(mesh: Mesh, volumes: Floats, cell: int) -> str:
    return f"cell {cell} at {point(mesh.vertices[mesh.cells[cell]].mean(axis=0))} with {volumes[cell]:.3g} m^3"


class _FaceCentres:
    def __init__(self, mesh: Mesh, match: Matching):
        self.mesh, self.match = mesh, match

    def __call__(self, face: int) -> NDArray[np.float64]:
        corners = self.match.cells[face // 4][SORTED_FACES[face % 4]]
        return np.asarray(self.mesh.vertices[corners].mean(axis=0))


def _report(
    problems: Problems,
    where: str,
    found: NDArray[np.integer],
    what: str,
    show: Callable[[int], str],
    *,
    allowed: str = "",
    advice: str = "",
) -> None:
    if len(found):
        more = f"; and {len(found) - EXAMPLES} more" if len(found) > EXAMPLES else ""
        examples = "; ".join(show(int(i)) for i in found[:EXAMPLES])
        problems.error(where, f"{len(found)} {what}: {examples}{more}", allowed, advice)


def build_topology(
    mesh: Mesh,
    boundaries: Mapping[str, Sequence[int | str]] | None = None,
    volumes: bool = False,
    warned: Problems | None = None,
) -> Topology:
    """Sort the vertices of cells (``Topology``) and find the neighbour and kind of every face.

    Parameters
    ----------
    mesh
        Mesh.
    boundaries
        Face tags or ranges by kind of boundary; None: the default tags.
    volumes
        True to check volumes and overlaps as well, as in ``checks.check_mesh``.
    warned
        Receives warnings.

    Raises
    ------
    InputError
        With cells and coordinates where the connectivity is invalid.
    """
    table = tag_table(boundaries, mesh)
    problems = Problems()
    check_numbers(mesh, problems)
    problems.raise_errors()
    if volumes:
        sizes, flat = check_volumes(mesh, problems)
    match = match_faces(mesh)
    tags = sorted_tags(mesh, match.order)
    check_connections(mesh, match, tags, table, problems)
    if volumes:
        check_places(mesh, match, sizes, flat, problems)
    problems.raise_errors()
    if warned is not None:
        warned.extend(problems.warnings)
    cells, neighbours = narrowed(match.cells, len(mesh.vertices)), narrowed(match.neighbours, len(mesh.cells))
    return Topology(cells, match.order, neighbours, match.neighbour_faces, table.kinds(tags), tags)
