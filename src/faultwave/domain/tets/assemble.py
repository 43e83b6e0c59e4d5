"""Assembly of a mesh from tetrahedra and tagged triangles, as mesh generators provide them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.processes.pieces import map_chunks
from faultwave.domain.tets.mesh import FILE_FACES, Floats, Integers, Mesh, make_mesh, orient


@dataclass(frozen=True)
class Parts:
    """Nodes, elements and tags of a mesh generator.

    Attributes
    ----------
    ids : (n,) array
        Node ids.
    coordinates : (n, 3) array
        Coordinates of the nodes [m].
    tetrahedra : (m, 4) array
        Node ids of tetrahedra.
    groups : (m,) array
        Groups of the tetrahedra.
    triangles : (k, 3) array
        Node ids of tagged triangles.
    face_tags : (k,) array
        Tags of the triangles.
    periodic : (p, 2) array
        Pairs of periodic nodes that are identified.
    names, written
        As in ``Mesh``.
    """

    ids: Integers
    coordinates: Floats
    tetrahedra: Integers
    groups: Integers
    triangles: Integers
    face_tags: Integers
    periodic: Integers = field(default_factory=lambda: np.empty((0, 2), np.int64))
    names: Mapping[tuple[int, str], int] = field(default_factory=dict)
    written: Mapping[int, int] = field(default_factory=dict)


def assemble(parts: Parts, name: str) -> Mesh:
    """Return a mesh: number the used nodes, orient tetrahedra, and assign tags to both sides of every tagged triangle.

    Parameters
    ----------
    parts
        Nodes and elements.
    name
        Name of the mesh in messages.

    Raises
    ------
    InputError
        For unknown nodes, triangles that are not a face of a tetrahedron, and triangles with two tags.
    """
    problems = Problems()
    if not len(parts.tetrahedra):
        problems.error(name, "the mesh has no tetrahedra", advice="Was the volume meshed (gmsh -3) and saved?")
    problems.raise_errors()
    used, cells = _numbered(parts.tetrahedra)
    order = np.argsort(parts.ids, kind="stable")
    place = np.searchsorted(parts.ids, used, sorter=order).clip(max=len(order) - 1)
    rows = order[place]
    missing = used[parts.ids[rows] != used]
    if len(missing):
        problems.error(
            name,
            f"{len(missing)} nodes of tetrahedra do not exist, first {missing[:10].tolist()}",
            "numbers of nodes in the file",
            "Export the complete mesh again.",
        )
    problems.raise_errors()
    vertices = parts.coordinates[rows]
    tags = _face_tags(cells, used, parts, name, problems)
    problems.raise_errors()
    identify = _identify(used, parts.periodic)
    made = orient(make_mesh(vertices, cells, parts.groups, tags, identify, name), remark=True)
    return replace(made, names=dict(parts.names), written=dict(parts.written))


def _numbered(tetrahedra: Integers) -> tuple[Integers, Integers]:
    """Return the node ids (n,) of tetrahedra (m, 4), ascending, and the tetrahedra as indices into them."""
    low, high = int(tetrahedra.min()), int(tetrahedra.max())
    if high - low > 8 * tetrahedra.size:  # for widely spread ids a table would take more memory than the mesh
        used = np.unique(tetrahedra)
        return used, np.searchsorted(used, tetrahedra)
    present = np.zeros(high - low + 1, bool)
    present[tetrahedra - low] = True
    number = np.cumsum(present) - 1
    return np.flatnonzero(present) + low, map_chunks(lambda piece: number[tetrahedra[piece] - low], len(tetrahedra))


def _face_tags(cells: Integers, used: Integers, parts: Parts, name: str, problems: Problems) -> Integers:
    tags = np.zeros(cells.shape, np.int64)
    triangles = np.sort(parts.triangles, axis=1)
    marked = parts.face_tags != 0
    triangles, values = triangles[marked], parts.face_tags[marked]
    if not len(triangles):
        return tags
    triangles, first, where = np.unique(triangles, axis=0, return_index=True, return_inverse=True)
    clash = np.flatnonzero(values != values[first][where.ravel()])
    if len(clash):
        a = int(clash[0])
        both = sorted({int(values[a]), int(values[first][where.ravel()[a]])})
        problems.error(
            name,
            f"{len(clash)} triangles carry two face tags, one of them {both} on nodes "
            f"{np.sort(parts.triangles[marked][a]).tolist()}",
            "one physical group per surface",
        )
        return tags
    values = values[first]
    near = np.isin(used, triangles)  # other nodes are not on tagged triangles
    adjacent = np.flatnonzero(map_chunks(lambda piece: near[cells[piece]].sum(axis=1) > 2, len(cells)))
    faces = np.sort(used[cells[adjacent][:, FILE_FACES]].reshape(-1, 3), axis=1)
    _, number = np.unique(np.concatenate([triangles, faces]), axis=0, return_inverse=True)
    number = number.ravel()
    tag_of = np.zeros(number.max() + 1, np.int64)
    tag_of[number[: len(triangles)]] = values
    found = number[len(triangles) :]
    lost = np.flatnonzero(~np.isin(number[: len(triangles)], found))
    if len(lost):
        _lost_triangles(triangles[lost], values[lost], parts, name, problems)
    tags[adjacent] = tag_of[found].reshape(-1, 4)
    return tags


def _lost_triangles(triangles: Integers, tags: Integers, parts: Parts, name: str, problems: Problems) -> None:
    """Report triangles that are not a face; the likeliest reason is a volume without physical group, which Gmsh does not save."""
    node = np.isin(parts.ids, triangles[0])
    where = ", ".join(f"{x:g}" for x in parts.coordinates[node].mean(axis=0)) if node.any() else "unknown nodes"
    surfaces = {tag: f"'{n}'" for (dimension, n), tag in parts.names.items() if dimension == 2}
    volumes = [f"'{n}'" for dimension, n in parts.names if dimension == 3]
    of = ", ".join(surfaces.get(t, f"tag {t}") for t in np.unique(tags).tolist())
    advice = "A surface inside a volume must be embedded in it (fragment or embed) before meshing."
    if volumes:
        advice = (
            f"Put every volume into a physical group (there are {', '.join(volumes)}): Gmsh saves no other "
            f"volumes. {advice}"
        )
    problems.error(
        name, f"{len(triangles)} triangles of {of} are not faces of a tetrahedron, one at ({where})", advice=advice
    )


def _identify(used: Integers, pairs: Integers) -> Integers | None:
    """Return the topological id of each used node: the smallest of all nodes identified with it; None without pairs."""
    index = np.searchsorted(used, pairs).clip(max=len(used) - 1)
    pairs_known = index[(used[index] == pairs).all(axis=1)]
    if not len(pairs_known):
        return None
    identify = np.arange(len(used))
    while True:
        before = identify.copy()
        smaller = identify[pairs_known].min(axis=1)
        for side in (0, 1):
            np.minimum.at(identify, pairs_known[:, side], smaller)
        if (identify == before).all():
            return identify
