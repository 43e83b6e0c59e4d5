"""Meshes stored in parts: each part's cells stand together, with all that a process needs to open its own part only.

The file is an ordinary PUML mesh, its cells renumbered part by part, with a group ``parts`` beside: who touches whom
across faces, the vertices of every part once more side by side, and where each part begins. Opening a part reads a few
contiguous pieces, so its time and memory depend on the part alone.
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
from faultwave.base.hdf5 import BROKEN, held, opened
from faultwave.domain.tets.checks import check_numbers, check_order, check_tags, check_volumes
from faultwave.domain.tets.matching import Matching, leading_vertices, sort_cells
from faultwave.domain.tets.mesh import Integers, Mesh, Topology, make_mesh, narrowed, reorder_cells, sorted_tags
from faultwave.domain.tets.puml import unpack, write_puml
from faultwave.domain.tets.tags import tag_table

GROUP = "parts"
STORED = "mesh stored in parts"


@dataclass(frozen=True)
class Slice:
    """One process's cells of a mesh.

    mesh: its cells in their own numbering, vertices in the order of the whole mesh; first: number of its first cell in
    the whole; starts (n + 1,): first cell of every part; number: which it is; original (nc,): cell numbers before the
    mesh was stored in parts; neighbours (nc, 4): cells across faces, in the whole, -1 where none, and
    neighbour_faces (nc, 4), faces ordered as in ``Topology``; leading (nv,): vertices that sorted cells have first.
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
    """Parts (nc,) of the largest number in ``parts``, of which those of every smaller number are unions.

    ``cut(chosen, n)``: parts 0..n-1 of the cells ``chosen``. Raises InputError unless each number divides the next.
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
    """Write ``mesh`` in the parts (nc,), of which files for all ``counts`` parts can be opened; cells of a part follow
    ``order``, a permutation along a space-filling curve."""
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
    """In how many parts a mesh file can be opened; empty for one that is not stored in parts."""
    try:
        with h5py.File(path, "r") as file:
            counts = tuple(int(n) for n in file[GROUP].attrs["counts"]) if GROUP in file else ()
            return counts if all(n > 0 for n in counts) else ()
    except BROKEN:
        return ()


def stored_starts(path: str | Path, parts: int) -> Integers:
    """First cell (parts + 1,) of every part, with the number of cells at the end, of a file stored in parts."""
    with opened(path, STORED, probed=False) as file:
        return np.asarray(file[GROUP]["starts"][:: int(file[GROUP].attrs["counts"][-1]) // parts])


def read_slice(path: str | Path, parts: int, number: int) -> Slice:
    """Open part ``number`` of ``parts``: any number that divides the finest one stored. Raises InputError."""
    path = Path(path)
    counts = stored_parts(path)
    if not counts or counts[-1] % parts:
        have = f"it is stored in {', '.join(map(str, counts))}" if counts else "it is not stored in parts"
        advice = f"Store it with: faultwave mesh partition MESH -n {parts}"
        raise InputError(Problem(str(path), f"cannot be opened in {parts} parts: {have}", advice=advice))
    with opened(path, STORED, probed=False) as file:
        group, each = file[GROUP], counts[-1] // parts
        starts = held(path, group["starts"])[::each]
        a, b = int(starts[number]), int(starts[number + 1])
        c, d = (int(group["vertex_starts"][(number + i) * each]) for i in range(2))
        if not (0 <= a <= b <= len(file["connect"]) and 0 <= c <= d <= len(group["vertices"])):
            raise ValueError(f"part {number + 1} has cells {a} to {b} and vertices {c} to {d}")
        for found in (*group.values(), *(file[n] for n in ("connect", "boundary", "group"))):
            held(path, found)
        ids, first = np.unique(group["vertices"][c:d], return_index=True)  # parts that are joined share vertices
        points = group["points"][c:d][first]
        cells = np.searchsorted(ids, file["connect"][a:b].astype(np.int64))
        tags = unpack(file["boundary"][a:b], str(file.attrs["boundary-format"]), path)
        leading = group["leading"][c:d][first] if "leading" in group else np.zeros(len(ids), bool)  # as in older files
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
    """As ``build_topology`` and ``check_mesh`` of ``mesh``, the slice's, perhaps moved; neighbours are cells of the slice,
    -1 also where another part has them. None where something is wrong."""
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
