"""Mesh generation with Gmsh: cut the flat box, mesh its surfaces, move them to the relief, then fill the volumes.

Importing this module needs Gmsh.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import gmsh
import numpy as np
from numpy.typing import NDArray

from faultwave.base.files.cache import scratch_folder
from faultwave.domain.build.coast import shore
from faultwave.domain.build.flat import GROUND, SIDES, FlatBox, Meshed, Sizes
from faultwave.domain.tets.generators.gmsh_planar import elements, nodes, plane_face, session
from faultwave.domain.tets.triangles import height_at

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LESS_TRUE = 0.3
"""Factor on the quality of the last way to cut faults, which follows hills least, in the comparison with others."""


def mesh(box: FlatBox) -> Meshed:
    """Return tetrahedra between the ground and the bottom; raises errors of Gmsh."""
    box = _best(box)
    with session("faultwave-build"), scratch_folder() as folder:
        pieces, cut = _geometry(box)
        outer = _outer(box)
        _background(box.sizes, Path(folder) / "flat")
        gmsh.model.mesh.generate(2)
        triangles = {tag: elements(2, tag, 3) for _, tag in gmsh.model.getEntities(2)}
        of = outer | pieces
        ground = np.concatenate([triangles[tag] for tag, kind in outer.items() if kind == GROUND])
        ids, wet, moved = _project_on_relief(box, ground)
        _background(_lifted(box), Path(folder) / "true")
        gmsh.model.mesh.generate(3)
        return _collected(box, triangles, of, ids[wet], cut, moved)


def _best(box: FlatBox) -> FlatBox:
    """Return the box with the variant of facets whose shortest curve is longest, because it determines the smallest cells."""
    ways = [
        replace(box, facets=box.facets[box.variant == v], fault=box.fault[box.variant == v], variant=box.variant[box.variant == v])
        for v in np.unique(box.variant)
    ]  # fmt: skip
    if len({way.facets.tobytes() for way in ways}) < 2:
        return ways[0] if ways else box
    shortest = []
    for way in ways:
        with session("faultwave-variant"):
            try:
                _geometry(way)
            except Exception:  # Gmsh raises this and nothing more specific
                shortest.append(0.0)
                continue
            shortest.append(min(gmsh.model.occ.getMass(1, tag) for _, tag in gmsh.model.getEntities(1)))
    return ways[
        int(np.argmax(np.array(shortest) * [1.0 if k < len(ways) - 1 else LESS_TRUE for k in range(len(ways))]))
    ]


def _geometry(box: FlatBox) -> tuple[dict[int, int], NDArray[np.bool_]]:
    """Cut the box by layers and faults; return the fault of each surface, and whether each of the stops was found."""
    occ = gmsh.model.occ
    volume = occ.addBox(*box.lower, *(box.upper - box.lower))
    tools = [plane_face(list(dict.fromkeys(map(tuple, corners.tolist())))) for corners in box.facets]
    (x0, y0, _), (x1, y1, _) = box.lower.tolist(), box.upper.tolist()
    tools += [plane_face([(x0, y0, z), (x1, y0, z), (x1, y1, z), (x0, y1, z)]) for z in box.relief.cuts[1:].tolist()]
    if not tools:
        occ.synchronize()
        return {}, np.zeros(0, bool)
    _, images = occ.fragment([(3, volume)], [(2, tag) for tag in tools])
    occ.synchronize()
    pieces = _pieces(box, images[1 : 1 + len(box.facets)])
    cut = np.array([_stop(pieces, int(a), int(b)) for a, b in box.stops], bool)
    return pieces, cut


def _pieces(box: FlatBox, images: Sequence[Sequence[tuple[int, int]]]) -> dict[int, int]:
    """Return the fault of each surface inside the box, and remove surfaces outside."""
    pieces: dict[int, int] = {}
    slack = 2e-6 * float((box.upper - box.lower).max())
    outside = []
    for number, image in zip(box.fault.tolist(), images, strict=True):
        for tag in (tag for dimension, tag in image if dimension == 2):
            low, high = np.reshape(gmsh.model.getBoundingBox(2, tag), (2, 3))
            if (low < box.lower - slack).any() or (
                high > box.upper + slack
            ).any():  # above the ground, or beyond the sides
                outside.append((2, tag))
            else:
                pieces.setdefault(tag, number)
    if outside:
        gmsh.model.occ.remove(outside, recursive=True)
        gmsh.model.occ.synchronize()
    return pieces


def _stop(pieces: dict[int, int], fault: int, at: int) -> bool:
    """Remove the part of ``fault`` beyond another fault; return True if there was any.

    Of the groups of surfaces connected without crossing the other fault, only the one with the largest area remains.
    """
    barrier = {c for tag, n in pieces.items() if n == at for c in _edges(tag)}
    mine = [tag for tag, n in pieces.items() if n == fault]
    edges = {tag: _edges(tag) - barrier for tag in mine}
    groups: list[list[int]] = []
    left = set(mine)
    while left:
        group, todo = [], [left.pop()]
        while todo:
            tag = todo.pop()
            group.append(tag)
            adjacent = {other for other in left if edges[tag] & edges[other]}
            left -= adjacent
            todo += adjacent
        groups.append(group)
    if len(groups) < 2:
        return False
    groups.sort(key=lambda group: sum(gmsh.model.occ.getMass(2, tag) for tag in group))
    for group in groups[:-1]:
        for tag in group:
            del pieces[tag]
    return True


def _edges(tag: int) -> set[int]:
    """Return the curves on the boundary of a surface, and those embedded in it."""
    around = {curve for _, curve in gmsh.model.getBoundary([(2, tag)], oriented=False)}
    return around | {curve for dimension, curve in gmsh.model.mesh.getEmbedded(2, tag) if dimension == 1}


def _outer(box: FlatBox) -> dict[int, int]:
    """Return the kind, GROUND or SIDES (sides and bottom), of the outer surfaces of the box."""
    slack = 1e-6 * float((box.upper - box.lower).max())
    found = {}
    for _, tag in gmsh.model.getEntities(2):
        low, high = np.reshape(gmsh.model.getBoundingBox(2, tag), (2, 3))
        for axis in range(3):
            for end in (box.lower, box.upper):
                if max(abs(low[axis] - end[axis]), abs(high[axis] - end[axis])) < slack:
                    found[tag] = GROUND if axis == 2 and end is box.upper else SIDES
    return found


def _background(sizes: Sizes, path: Path) -> None:
    """Set element sizes as a structured field of Gmsh, which is read from a file."""
    with path.open("wb") as file:
        np.array([*sizes.origin, *sizes.spacing], float).tofile(file)
        np.array(sizes.values.shape, np.int32).tofile(file)
        np.ascontiguousarray(sizes.values, float).tofile(file)
    field = gmsh.model.mesh.field
    number = field.add("Structured")
    field.setString(number, "FileName", str(path))
    field.setNumber(number, "TextFormat", 0)
    field.setAsBackgroundMesh(number)


def _lifted(box: FlatBox) -> Sizes:
    """Return the sizes at true positions."""
    highest = float(box.heights[0].max())
    shape = np.array(box.values.shape)
    origin, top = box.origin.copy(), max(highest, 0.0)
    extent = top - origin[2]
    shape[2] += int(np.ceil(max(highest, 0.0) / box.spacing[2]))
    spacing = np.array([*box.spacing[:2], extent / (shape[2] - 1)])
    empty = Sizes(origin, spacing, np.zeros(shape))
    values = box.sizes.at(box.relief.flat(empty.points()))
    return replace(empty, values=values.reshape(shape))


def _project_on_relief(box: FlatBox, ground: Integers) -> tuple[Integers, NDArray[np.bool_], float]:
    """Move all vertices to their true heights.

    Returns the ids (n,) of vertices of the ground, a mask of the wet ones, and the largest shift of the ground along
    the coast [m].
    """
    ids, flat = nodes()
    order = np.argsort(ids)
    ids, flat = ids[order], flat[order]
    top = np.unique(ground)
    xy = flat[np.searchsorted(ids, top), :2]
    height, wet, moved = box.relief.at(xy)[:, 0], np.zeros(len(top), bool), 0.0
    if box.sea:
        sides = np.asarray(((np.abs(xy - box.lower[:2]) < 1e-6) | (np.abs(xy - box.upper[:2]) < 1e-6)).any(1))
        coast, wet = shore(xy, np.searchsorted(top, ground), height, box.slope, sides)
        moved, height = float(np.abs(coast - height).max()), coast
    corners = np.column_stack([xy, height])[np.searchsorted(top, ground)]
    true = box.relief.physical(flat, height_at(flat[:, :2], corners))  # so that nothing below penetrates the ground
    true[np.searchsorted(ids, top), 2] = height
    for number, place in zip(ids.tolist(), true.tolist(), strict=True):
        gmsh.model.mesh.setNode(number, place, [])
    return top, wet, moved


def _collected(
    box: FlatBox,
    triangles: dict[int, Integers],
    of: dict[int, int],
    wet: Integers,
    cut: NDArray[np.bool_],
    moved: float,
) -> Meshed:
    ids, points = nodes()
    volumes = [tag for _, tag in gmsh.model.getEntities(3)]
    middle = [gmsh.model.occ.getCenterOfMass(3, tag)[2] for tag in volumes]
    cells = [elements(4, tag, 4) for tag in volumes]
    layer = [np.full(len(c), int((z < box.relief.cuts).sum()) - 1) for c, z in zip(cells, middle, strict=True)]
    order = np.argsort(ids)
    used = np.unique(np.concatenate(cells))
    rows = order[np.searchsorted(ids, used, sorter=order)]
    retained = [tag for tag in triangles if tag in of]
    flags = np.isin(used, wet)
    return Meshed(
        points[rows],
        np.searchsorted(used, np.concatenate(cells)),
        np.concatenate(layer),
        np.searchsorted(used, np.concatenate([triangles[tag] for tag in retained])),
        np.concatenate([np.full(len(triangles[tag]), of[tag]) for tag in retained]),
        flags,
        cut,
        moved,
    )
