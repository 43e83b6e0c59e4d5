"""Meshes stored in parts: the cells of each part are contiguous, with all data that a process needs for its own part.

The file is an ordinary PUML mesh, with cells renumbered part by part, and an additional group ``parts``: neighbours
across faces, copies of the vertices of each part, and the start of each part. Opening a part reads a few contiguous
blocks, so its time and memory depend only on the part.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.files.hdf5 import BROKEN, check_size_of_dataset, opened
from faultwave.domain.tets.connectivity.matching import Matching, leading_vertices, sort_cells
from faultwave.domain.tets.connectivity.tags import tag_table
from faultwave.domain.tets.connectivity.topology import check_numbers, check_order, check_tags, check_volumes
from faultwave.domain.tets.formats.puml import unpack, write_puml
from faultwave.domain.tets.mesh import Integers, Mesh, Topology, make_mesh, narrowed, reorder_cells, sorted_tags

GROUP = "parts"
STORED = "mesh stored in parts"


@dataclass(frozen=True)
class Slice:
    """Cells of one process.

    Attributes
    ----------
    mesh
        Cells in their own numbering, vertices in the order of the whole mesh.
    first
        Index of the first cell in the whole mesh.
    starts : (n + 1,) array
        First cell of every part.
    number
        Number of this part.
    original : (nc,) array
        Cell indices before the mesh was stored in parts.
    neighbours, neighbour_faces : (nc, 4) array
        Cells across faces, in the whole mesh, and their face numbers, -1 if none; faces ordered as in ``Topology``.
    leading : (nv,) array of bool
        Vertices that are first in sorted cells.
    """

    mesh: Mesh
    first: int
    starts: Integers
    number: int
    original: Integers
    neighbours: Integers
    neighbour_faces: Integers
    leading: NDArray[np.bool_]


def split(parts: Sequence[int], cut: Callable[[Integers, int], Integers], cells: int) -> Integers:
    """Return the parts (nc,) for the largest number in ``parts``, nested in the parts for every smaller number.

    ``cut(chosen, n)`` returns parts 0..n-1 of the cells ``chosen``.

    Raises
    ------
    InputError
        Unless each number divides the next.
    """
    numbers = sorted(set(parts))
    for a, b in zip(numbers, numbers[1:], strict=False):
        if b % a:
            raise InputError(Problem("-n", f"{a} does not divide {b}, so both cannot be stored in one file"))
    found, before = np.zeros(cells, np.int64), 1
    for number in numbers:
        finer, each = np.empty(cells, np.int64), number // before
        for part in range(before):
            chosen = np.flatnonzero(found == part)
            finer[chosen] = part * each + cut(chosen, each)
        found, before = finer, number
    return found


def write_parts(
    path: str | Path, mesh: Mesh, topology: Topology, part: Integers, counts: Sequence[int], order: Integers
) -> None:
    """Write a mesh in parts.

    Parameters
    ----------
    path
        File.
    mesh, topology
        Mesh.
    part : (nc,) array
        Part of each cell, for the largest number of parts.
    counts
        Numbers of parts in which the file can be opened.
    order : (nc,) array
        Permutation along a space-filling curve, by which the cells of a part are sorted.
    """
    path, finest = Path(path), int(max(counts))
    rank = np.empty(len(part), np.int64)
    rank[order] = np.arange(len(part))
    arrange = np.lexsort((rank, part))
    number = np.empty(len(part), np.int64)
    number[arrange] = np.arange(len(part))
    stored = reorder_cells(mesh, arrange)
    across = topology.neighbours[arrange]
    starts = np.searchsorted(part[arrange], np.arange(finest + 1))
    vertices = [np.unique(stored.cells[a:b]) for a, b in zip(starts[:-1], starts[1:], strict=True)]
    temporary = path.with_name(f".{path.name}.parts")
    try:
        write_puml(temporary, stored)
        with h5py.File(temporary, "r+") as file:
            group = file.create_group(GROUP)
            group.attrs["counts"] = sorted(set(counts))
            group["starts"] = starts
            group["original"] = arrange
            group["neighbours"] = np.where(across >= 0, number[across], -1)
            group["neighbour_faces"] = topology.neighbour_faces[arrange].astype(np.int8)
            group["vertex_starts"] = np.cumsum([0, *map(len, vertices)])
            ids = np.concatenate(vertices)
            group["vertices"], group["points"] = ids, mesh.vertices[ids]
            group["leading"] = leading_vertices(mesh)[ids]
            if mesh.identify is not None:
                group["identify"] = mesh.identify[ids]
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def stored_parts(path: str | Path) -> tuple[int, ...]:
    """Return the numbers of parts in which a mesh file can be opened; empty if it is not stored in parts."""
    try:
        with h5py.File(path, "r") as file:
            counts = tuple(int(n) for n in file[GROUP].attrs["counts"]) if GROUP in file else ()
            return counts if all(n > 0 for n in counts) else ()
    except BROKEN:
        return ()


def stored_starts(path: str | Path, parts: int) -> Integers:
    """Return the first cell (parts + 1,) of every part, and the number of cells at the end, of a file stored in parts."""
    with opened(path, STORED, probed=False) as file:
        return np.asarray(file[GROUP]["starts"][:: int(file[GROUP].attrs["counts"][-1]) // parts])


def read_slice(path: str | Path, parts: int, number: int) -> Slice:
    """Read part ``number`` of ``parts``, which must divide the largest stored number; raise InputError."""
    path = Path(path)
    counts = stored_parts(path)
    if not counts or counts[-1] % parts:
        have = f"it is stored in {', '.join(map(str, counts))}" if counts else "it is not stored in parts"
        advice = f"Store it with: faultwave mesh partition MESH -n {parts}"
        raise InputError(Problem(str(path), f"cannot be opened in {parts} parts: {have}", advice=advice))
    with opened(path, STORED, probed=False) as file:
        group, each = file[GROUP], counts[-1] // parts
        starts = check_size_of_dataset(path, group["starts"])[::each]
        a, b = int(starts[number]), int(starts[number + 1])
        c, d = (int(group["vertex_starts"][(number + i) * each]) for i in range(2))
        if not (0 <= a <= b <= len(file["connect"]) and 0 <= c <= d <= len(group["vertices"])):
            raise ValueError(f"part {number + 1} has cells {a} to {b} and vertices {c} to {d}")
        for found in (*group.values(), *(file[n] for n in ("connect", "boundary", "group"))):
            check_size_of_dataset(path, found)
        ids, first = np.unique(group["vertices"][c:d], return_index=True)  # joined parts share vertices
        points = group["points"][c:d][first]
        cells = np.searchsorted(ids, file["connect"][a:b].astype(np.int64))
        tags = unpack(file["boundary"][a:b], str(file.attrs["boundary-format"]), path)
        leading = (
            group["leading"][c:d][first] if "leading" in group else np.zeros(len(ids), bool)
        )  # missing in older files
        identify = None
        if "identify" in group:
            identify = np.unique(group["identify"][c:d][first], return_inverse=True)[1].reshape(-1)
        mesh = make_mesh(points, cells, file["group"][a:b], tags, identify, f"{path} part {number + 1} of {parts}")
        return Slice(
            mesh, a, starts, number, group["original"][a:b], group["neighbours"][a:b],
            group["neighbour_faces"][a:b].astype(np.int64), leading,
        )  # fmt: skip


def slice_topology(
    piece: Slice, mesh: Mesh, boundaries: Mapping[str, Sequence[int | str]] | None, problems: Problems
) -> Topology | None:
    """Return the topology of a part, with the checks of ``build_topology`` and ``check_mesh``; None if there are errors.

    ``mesh`` is the one of the slice, possibly moved. Neighbours are cells of the slice, -1 also for cells in other
    parts.
    """
    table = tag_table(boundaries, mesh)
    check_numbers(mesh, problems)
    if problems.errors:
        return None
    check_order(mesh, *check_volumes(mesh, problems), problems)
    cells, order = sort_cells(mesh, piece.leading)
    local = piece.neighbours - piece.first
    here = (piece.neighbours >= 0) & (local >= 0) & (local < len(cells))
    neighbours, faces = np.where(here, local, -1), np.where(here, piece.neighbour_faces, -1).astype(np.int8)
    tags = sorted_tags(mesh, order)
    match = Matching(cells, order, neighbours, faces, np.zeros(0, np.int64))
    check_tags(mesh, match, piece.neighbours < 0, piece.neighbours >= 0, tags, table, problems)
    cells, neighbours = narrowed(cells, len(mesh.vertices)), narrowed(neighbours, len(cells))
    return Topology(cells, order, neighbours, faces, table.kinds(tags), tags)
