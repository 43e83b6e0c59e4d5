"""Box of bricks split into tetrahedra, with any boundary condition on its sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import Problems, suggest
from faultwave.base.processes.pieces import map_chunks
from faultwave.domain.tets.generators.counts import check_count
from faultwave.domain.tets.generators.kuhn import five_tetrahedra, grid_vertices, kuhn_paths
from faultwave.domain.tets.mesh import (
    FILE_FACES,
    Floats,
    Integers,
    Mesh,
    make_mesh,
    orient,
    shuffle_vertices,
    signed_volumes,
)

SIDE_TAGS = {"free-surface": 1, "gravity": 2, "dirichlet": 4, "absorbing": 5, "periodic": 6, "analytic": 7, "rigid": 8,
             "symmetry": 9, "impedance": 10, "pec": 11, "pmc": 12, "sealed-surface": 13}  # fmt: skip
FAULT_TAG = 3
_SIDES = [axis + end for axis in "xyz" for end in "-+"]


@dataclass(frozen=True)
class Box:
    """Settings of a box.

    Attributes
    ----------
    cells
        Number of bricks along x, y, z.
    lower, upper
        Corners [m].
    boundaries
        Kind of boundary by axis ('x') or side ('x-', which takes precedence); absorbing by default.
    perturb
        Random displacement of vertices as a fraction of the edge of a brick.
    seed
        Seed of random numbers.
    shuffle
        True to number vertices and the corners of each tetrahedron at random.
    fault
        Axis and coordinate [m] of a plane of fault faces.
    tetrahedra
        Number of tetrahedra per brick, 6 or 5.
    """

    cells: tuple[int, int, int]
    lower: tuple[float, float, float]
    upper: tuple[float, float, float]
    boundaries: Mapping[str, str] = field(default_factory=dict)
    perturb: float = 0.0
    seed: int = 0
    shuffle: bool = False
    fault: tuple[str, float] | None = None
    tetrahedra: int = 6


def box_mesh(box: Box, name: str = "box") -> Mesh:
    """Return a mesh of bricks split into tetrahedra, in group 1, with periodic axes in ``identify``.

    Raises
    ------
    InputError
        For impossible settings.
    """
    sides = _sides(box)
    periodic = np.array([sides[axis + "-"] == "periodic" for axis in "xyz"])
    count = box.tetrahedra * float(np.prod(np.array(box.cells, float)))
    check_count(count, "mesh.generate.cells", "Take fewer and larger bricks.")
    lower, upper, cells = np.array(box.lower), np.array(box.upper), np.array(box.cells)
    axes = [np.linspace(lower[d], upper[d], cells[d] + 1) for d in range(3)]
    index = grid_vertices(*[np.arange(n + 1.0) for n in cells]).astype(np.int64)
    vertices = grid_vertices(*axes)
    split = kuhn_paths if box.tetrahedra == 6 else five_tetrahedra
    tetrahedra = split(*cells.tolist())
    tags = _tags(tetrahedra, index, cells, sides, _fault_plane(box))
    identify = _identify(index, cells, periodic)
    rng = np.random.default_rng(box.seed)
    if box.perturb:
        vertices = vertices + _displacements(box, index, identify, periodic, rng)
    mesh = make_mesh(vertices, tetrahedra, np.ones(len(tetrahedra)), tags, identify if periodic.any() else None, name)
    if box.perturb:
        _check_perturbed(box, vertices, tetrahedra)
    mesh = orient(mesh)
    if box.shuffle:
        mesh = shuffle_vertices(_renumber(mesh, rng, bool((periodic & (cells == 1)).any())), rng)
    return mesh


def _sides(box: Box) -> dict[str, str]:
    """Return the kind of each of the six sides."""
    problems = Problems()
    where = "mesh.generate"
    allowed = [*"xyz", *_SIDES]
    for side, kind in box.boundaries.items():
        if side not in allowed:
            problems.error(f"{where}.boundaries", f"'{side}' is not a side", ", ".join(allowed), suggest(side, allowed))
        if kind not in SIDE_TAGS:
            problems.error(
                f"{where}.boundaries.{side}", f"'{kind}'", ", ".join(SIDE_TAGS), suggest(str(kind), SIDE_TAGS)
            )
    if any(n < 1 for n in box.cells):
        problems.error(f"{where}.cells", f"{list(box.cells)}", "at least one brick along each axis")
    if not all(a < b for a, b in zip(box.lower, box.upper, strict=True)):
        problems.error(where, f"lower {list(box.lower)}, upper {list(box.upper)}", "lower below upper on every axis")
    if not 0 <= box.perturb < 0.5:
        problems.error(f"{where}.perturb", f"{box.perturb}", "0 to below 0.5")
    sides = {side: box.boundaries.get(side, box.boundaries.get(side[0], "absorbing")) for side in _SIDES}
    for axis in "xyz":
        ends = {sides[axis + "-"], sides[axis + "+"]}
        if "periodic" in ends and len(ends) == 2:
            problems.error(f"{where}.boundaries.{axis}", "one side is periodic, the other is not", "both or none")
        elif "periodic" in ends and box.tetrahedra == 5 and box.cells["xyz".index(axis)] % 2:
            what = f"an odd number of bricks along {axis} does not close: each is split as the mirror image of the next"
            problems.error(f"{where}.cells", what, "an even number, or tetrahedra: 6")
    problems.raise_errors()
    return sides


def _fault_plane(box: Box) -> tuple[int, int] | None:
    """Return the axis and the grid plane of the fault, or None."""
    if box.fault is None:
        return None
    problems = Problems()
    axis, at = "xyz".find(box.fault[0]), box.fault[1]
    if axis < 0 or len(box.fault[0]) != 1:
        problems.error("mesh.generate.fault", f"'{box.fault[0]}'", "x, y, z")
    else:
        step = (box.upper[axis] - box.lower[axis]) / box.cells[axis]
        plane = (at - box.lower[axis]) / step
        if abs(plane - round(plane)) < 1e-9 * box.cells[axis] and 0 < round(plane) < box.cells[axis]:
            return axis, round(plane)
        problems.error(
            "mesh.generate.fault",
            f"{box.fault[0]} = {at} is no plane between bricks",
            f"{box.lower[axis]} + i * {step}, inside the box",
        )
    problems.raise_errors()
    return None


def _tags(
    tetrahedra: Integers, index: Integers, cells: Integers, sides: Mapping[str, str], fault: tuple[int, int] | None
) -> NDArray[np.int32]:
    tags = np.zeros((len(tetrahedra), 4), np.int32)
    planes = [
        (axis, plane, SIDE_TAGS[sides[letter + end]])
        for axis, letter in enumerate("xyz")
        for end, plane in (("-", 0), ("+", int(cells[axis])))
    ]
    for axis, plane, tag in [*planes, *([] if fault is None else [(*fault, FAULT_TAG)])]:
        inside = index[:, axis] == plane
        rows = _with_faces(inside, tetrahedra)
        cell, face = np.nonzero(inside[tetrahedra[rows]][:, FILE_FACES].all(axis=2))
        tags[rows[cell], face] = tag
    return tags


def _with_faces(inside: NDArray[np.bool_], cells: Integers) -> Integers:
    """Return the indices of cells with three or more vertices ``inside`` (nv,)."""
    return np.flatnonzero(map_chunks(lambda piece: inside[cells[piece]].sum(1) > 2, len(cells)))


def _identify(index: Integers, cells: Integers, periodic: NDArray[np.bool_]) -> Integers:
    """Return the vertex with which each vertex is identified: its image at the lower side of periodic axes."""
    wrapped = np.where(periodic & (index == cells), 0, index)
    return np.asarray(wrapped @ np.array([1, cells[0] + 1, (cells[0] + 1) * (cells[1] + 1)]))


def _displacements(
    box: Box, index: Integers, identify: Integers, periodic: NDArray[np.bool_], rng: np.random.Generator
) -> Floats:
    """Return random shifts that keep sides and the fault plane flat and periodic images congruent."""
    cells = np.array(box.cells)
    spacing = (np.array(box.upper) - np.array(box.lower)) / cells
    shift = rng.uniform(-box.perturb, box.perturb, (len(index), 3)) * spacing
    shift[((index == 0) | (index == cells)) & ~periodic] = 0
    plane = _fault_plane(box)
    if plane is not None:
        shift[index[:, plane[0]] == plane[1], plane[0]] = 0
    return np.asarray(shift[identify])


def _check_perturbed(box: Box, vertices: Floats, paths: Integers) -> None:
    """Raise InputError if moved vertices invert or flatten a tetrahedron."""
    straight = grid_vertices(
        *[np.linspace(a, b, n + 1) for a, b, n in zip(box.lower, box.upper, box.cells, strict=True)]
    )
    before, after = (signed_volumes(make_mesh(v, paths, paths[:, 0], paths)) for v in (straight, vertices))
    worst = float((after / before).min())
    if worst < 1e-3:
        problems = Problems()
        problems.error(
            "mesh.generate.perturb",
            f"{box.perturb} turns a tetrahedron over or flattens it",
            advice="Lower it (0.2 is safe) or take another seed.",
        )
        problems.raise_errors()


def _renumber(mesh: Mesh, rng: np.random.Generator, one_wide: bool) -> Mesh:
    """Return the mesh with vertices in random order.

    Periodic boxes one brick wide are unchanged, because their images can only be distinguished by the order of the
    grid.
    """
    if one_wide:
        return mesh
    order = rng.permutation(len(mesh.vertices))
    place = np.argsort(order)
    identify = None if mesh.identify is None else place[mesh.identify[order]]
    return make_mesh(mesh.vertices[order], place[mesh.cells], mesh.groups, mesh.tags, identify, mesh.name)
