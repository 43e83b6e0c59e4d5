"""SeisSol's netCDF meshes: one block of cells and vertices per process for which the file was made.

The layout follows SeisSol's `NetcdfReader` and the tools that write it, `cube_c` and `gambit2netcdf`. Blocks have the
length of the longest; the number of valid entries is in `element_size` and `vertex_size`. Cells refer to vertices of
their own block. Neighbours are in the file, too, but follow from the vertices, which have the same position in every
block except for rounding.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.files.hdf5 import dataset, opened
from faultwave.domain.tets.mesh import FILE_FACES, Floats, Integers, Mesh, make_mesh

if TYPE_CHECKING:
    import h5py

FACES = np.array([0, 1, 3, 2])
"""Face of the file (0 2 1, 0 1 3, 0 3 2, 1 2 3) for each of ``FILE_FACES``."""

PERIODIC = 6
_SLACK = 1e-9
"""Tolerance for equal positions across a periodic mesh, relative to its extent."""

_ROUNDING, _OF_EDGE = 1e-6, 1e-3
"""Largest distance of identical vertices of two blocks, relative to the extent of the mesh and to the shortest edge."""


def is_netcdf_mesh(path: Path) -> bool:
    """Return True if an HDF5 file is such a mesh; False if it cannot be read."""
    with suppress(InputError), opened(path, "mesh (HDF5)") as file:
        return "element_vertices" in file and "connect" not in file
    return False


def read_netcdf(path: str | Path) -> Mesh:
    """Return the mesh of all blocks; faces with tag 6 on opposite sides of a box are joined.

    Raises
    ------
    InputError
        For files that are missing, truncated or inconsistent.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(Problem(str(path), "the mesh file does not exist"))
    with opened(path, "netCDF mesh (NetCDF-4)") as file:
        counts = _blocks(path, file)
        cells = _joined(path, file, "element_vertices", counts[0], (4,), "iu")
        tags = _joined(path, file, "element_boundaries", counts[0], (4,), "iu")
        vertices = _joined(path, file, "vertex_coordinates", counts[1], (3,), "f")
        groups = np.ones(len(cells), np.int32)
        if "element_group" in file:
            groups = _joined(path, file, "element_group", counts[0], (), "iu")
    cells = _numbered(path, cells.astype(np.int64), counts)
    places, where = np.unique(vertices + 0.0, axis=0, return_inverse=True)  # + 0.0 avoids negative zeros
    where = where.reshape(-1)
    blocks = np.unique(np.stack([where, np.repeat(np.arange(len(counts[1])), counts[1])], 1), axis=0)
    cells, tags = where[cells], tags[:, FACES]
    joint = _join(path, places, cells, blocks) if len(counts[0]) > 1 else None
    if joint is None:
        return make_mesh(places, cells, groups, tags, _periodic(path, places, cells, tags), str(path))
    cells = joint.place[cells]
    mesh = make_mesh(joint.places, cells, groups, tags, _periodic(path, joint.places, cells, tags), str(path))
    return replace(mesh, remarks=(joint.remark,))


@dataclass(frozen=True)
class _Joint:
    """Vertices after merging those that differ by rounding.

    Attributes
    ----------
    places : (n, 3) array
        Merged positions [m].
    place : (m,) array
        Index of each former vertex.
    remark
        Warning.
    """

    places: Floats
    place: Integers
    remark: Problem


def _join(path: Path, places: Floats, cells: Integers, blocks: Integers) -> _Joint | None:
    """Merge vertices of different blocks on faces without neighbour; return None if none are merged.

    ``blocks`` (m, 2) are pairs of a vertex and a block that contains it.

    Raises
    ------
    InputError
        If two vertices of one block would be merged.
    """
    faces, times = np.unique(np.sort(cells[:, FILE_FACES].reshape(-1, 3), 1), axis=0, return_counts=True)
    corners = places[faces[times == 1]]
    shortest = np.sqrt(((corners - np.roll(corners, 1, axis=1)) ** 2).sum(2)).min(initial=np.inf)
    near = min(_ROUNDING * float(np.ptp(places, axis=0).max()), _OF_EDGE * float(shortest))
    outer = np.unique(faces[times == 1])
    one, far = np.arange(len(places)), 0.0
    one[outer], far = _one(places[outer], near, outer)
    moved = np.flatnonzero(one != np.arange(len(places)))
    if not len(moved):
        return None
    found, times = np.unique(np.stack([one[blocks[:, 0]], blocks[:, 1]], 1), axis=0, return_counts=True)
    if (times > 1).any():
        place, block = found[int(np.argmax(times > 1))]
        what = f"block {block} has vertices within {near:.3g} m of each other, near {_at(places[place])}"
        why = "Vertices of blocks at this distance are merged, which would collapse cells here: remesh there."
        raise InputError(Problem(str(path), what, advice=why))
    retained = one == np.arange(len(places))
    first, why = _at(places[moved[0]]), f"the same place, within {near:.2g} m"
    what = f"{len(moved)} vertices lie up to {far:.2g} m from one of another block and were joined with it, the first at {first}"
    remark = Problem(str(path), what, why, severity="warning")
    return _Joint(places[retained], (np.cumsum(retained) - 1)[one], remark)


def _one(places: Floats, near: float, numbers: Integers) -> tuple[Integers, float]:
    """Return the first vertex to which each is connected by steps up to ``near`` [m], and the longest step [m].

    ``numbers`` are the indices of the positions ``places`` (n, 3).
    """
    from scipy.sparse import coo_array  # slow to import, and few meshes need them
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    pairs = cKDTree(places).query_pairs(near, output_type="ndarray")
    far = np.sqrt(((places[pairs[:, 0]] - places[pairs[:, 1]]) ** 2).sum(1)).max(initial=0.0)
    graph = coo_array((np.ones(len(pairs), bool), (pairs[:, 0], pairs[:, 1])), shape=(len(places), len(places)))
    label = connected_components(graph, directed=False)[1]
    first = np.unique(label, return_index=True)[1]
    return numbers[first[label]], float(far)


def _at(place: Floats) -> str:
    return "(" + ", ".join(f"{x:.9g}" for x in place) + ")"


def _blocks(path: Path, file: h5py.File) -> tuple[Integers, Integers]:
    """Return the numbers of cells and vertices (blocks,) in each block."""
    sizes, problems = [], Problems()
    for name, of, width in (("element_size", "element_vertices", 4), ("vertex_size", "vertex_coordinates", 3)):
        size = np.asarray(dataset(path, file, name, 1, "iu")[()], np.int64)
        shape = dataset(path, file, of, 3).shape
        if shape[0] != len(size) or shape[2] != width:
            problems.error(f"{path}:/{of}", f"has shape {shape}", f"{len(size)} x n x {width}")
        elif size.min() < 0 or size.max() > shape[1]:
            problems.error(f"{path}:/{name}", f"counts from {size.min()} to {size.max()}", f"0 to {shape[1]}")
        sizes.append(size)
    if len(sizes[0]) != len(sizes[1]):
        problems.error(
            str(path), f"{len(sizes[0])} blocks of cells, {len(sizes[1])} of vertices", "the same number of both"
        )
    problems.raise_errors()
    return sizes[0], sizes[1]


def _joined(path: Path, file: h5py.File, name: str, counts: Integers, width: tuple[int, ...], kinds: str) -> np.ndarray:
    """Return the valid entries of all blocks, concatenated."""
    found = dataset(path, file, name, 2 + len(width), kinds)
    if found.shape[0] != len(counts) or found.shape[1] < counts.max() or found.shape[2:] != width:
        wanted = " x ".join(map(str, (len(counts), f"{counts.max()} or more", *width)))
        raise InputError(Problem(f"{path}:/{name}", f"has shape {found.shape}", wanted))
    return np.concatenate([found[block, :count] for block, count in enumerate(counts)])


def _numbered(path: Path, cells: Integers, counts: tuple[Integers, Integers]) -> Integers:
    """Return cells with vertices numbered through all blocks."""
    block = np.repeat(np.arange(len(counts[0])), counts[0])
    wrong = np.flatnonzero(((cells < 0) | (cells >= counts[1][block][:, None])).any(1))
    if len(wrong):
        first, of = int(wrong[0]), int(block[wrong[0]])
        what = (
            f"{len(wrong)} cells refer to vertices that their block lacks, first cell {first}: {cells[first].tolist()}"
        )
        raise InputError(Problem(f"{path}:/element_vertices", what, f"0 to {counts[1][of] - 1} in block {of}"))
    before = np.cumsum(counts[1]) - counts[1]
    return np.asarray(cells + before[block][:, None])


def _periodic(path: Path, places: Floats, cells: Integers, tags: np.ndarray) -> Integers | None:
    """Return the vertex (nv,) identified with each vertex across opposite sides of tag 6; None without such faces."""
    faces = cells[:, FILE_FACES][tags == PERIODIC]
    if not len(faces):
        return None
    low, high = places.min(0), places.max(0)
    near = _SLACK * float((high - low).max())
    ends = [(np.abs(places - end) <= near)[faces].all(1) for end in (low, high)]  # (faces, axes)
    axes = ends[0].any(0) & ends[1].any(0)
    stray = np.flatnonzero(~((ends[0] | ends[1]) & axes).any(1))
    if len(stray):
        at = ", ".join(f"{x:g}" for x in places[faces[stray[0]]].mean(0))
        what = f"{len(stray)} periodic faces (tag 6) have no opposite side, the first at ({at})"
        raise InputError(Problem(str(path), what, "opposite sides of a box whose sides are parallel to the axes"))
    wrapped = np.where(axes & (np.abs(places - high) <= near), low, places)
    _, same = np.unique(np.rint((wrapped - low) / near).astype(np.int64), axis=0, return_inverse=True)
    return np.asarray(same.reshape(-1))
