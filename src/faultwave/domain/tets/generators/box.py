"""Box of bricks split into tetrahedra, with any boundary condition on its sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, Problem, Problems, suggest
from faultwave.base.processes.host import machine_memory
from faultwave.base.processes.pieces import map_chunks
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

EACH = 1024.0
"""Approximate memory per cell of a mesher, or of topology and geometry of a mesh [bytes]."""


def check_count(count: float, where: str, advice: str) -> None:
    """Raise InputError at the setting ``where`` if about ``count`` cells do not fit into the memory of this machine."""
    memory = machine_memory()
    if memory is None or count * EACH <= memory:
        return
    what = f"makes about {count:.2g} cells, which need {count * EACH / 2**30:.3g} GiB"
    allowed = f"about {memory / EACH:.2g} cells in the {memory / 2**30:.3g} GiB of this machine"
    raise InputError(Problem(where, what, allowed, advice))


def grid_vertices(x: Floats, y: Floats, z: Floats) -> Floats:
    """Return the vertices (n, 3) of a tensor grid, x fastest."""
    zz, yy, xx = np.meshgrid(z, y, x, indexing="ij")
    return np.stack([xx.ravel(), yy.ravel(), zz.ravel()], axis=1)


def kuhn_paths(nx: int, ny: int, nz: int) -> Integers:
    """Return the tetrahedra (6 nx ny nz, 4) of a grid of bricks, each with its vertices along its path (Kuhn 1960).

    Adjacent bricks have the same diagonals on their common face. Half of the tetrahedra have negative volume in this
    order. The six of one brick are consecutive.
    """
    strides = np.array([1, nx + 1, (nx + 1) * (ny + 1)])
    k, j, i = np.meshgrid(np.arange(nz), np.arange(ny), np.arange(nx), indexing="ij")
    corner = (i * strides[0] + j * strides[1] + k * strides[2]).ravel()
    paths = np.array([np.concatenate([[0], np.cumsum(strides[list(axes)])]) for axes in permutations(range(3))])
    return np.asarray((corner[:, None, None] + paths).reshape(-1, 4), np.int64)


def five_tetrahedra(nx: int, ny: int, nz: int) -> Integers:
    """Return the tetrahedra (5 nx ny nz, 4) of a grid of bricks: four at corners with an even index sum, and a central one.

    Adjacent bricks have the same diagonals on their common face. The five of one brick are consecutive; their
    orientation is arbitrary.
    """
    k, j, i = (x.ravel() for x in np.meshgrid(np.arange(nz), np.arange(ny), np.arange(nx), indexing="ij"))
    strides = np.array([1, nx + 1, (nx + 1) * (ny + 1)])
    corner, odd = i * strides[0] + j * strides[1] + k * strides[2], (i + j + k) % 2
    made = np.empty((len(corner), 5, 4), np.int64)
    places = np.array(list(product((0, 1), repeat=3)))
    for parity in range(2):
        mine = odd == parity
        even = places[places.sum(1) % 2 == parity]
        adjacent = [[p, *(p ^ np.eye(3, dtype=int))] for p in even]
        cells = np.array([*adjacent, places[places.sum(1) % 2 != parity]]) @ strides
        made[mine] = corner[mine, None, None] + cells
    return made.reshape(-1, 4)


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
    check_count(count, "mesh.generate.cells", "Use fewer and larger bricks.")
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
            problems.error(f"{where}.boundaries.{axis}", "one side is periodic and the other is not", "both or none")
        elif "periodic" in ends and box.tetrahedra == 5 and box.cells["xyz".index(axis)] % 2:
            what = (
                f"an odd number of bricks along {axis} is not periodic: each brick is split as the mirror "
                "image of the next"
            )
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
            f"{box.fault[0]} = {at} is not a plane between bricks",
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
            f"{box.perturb} inverts or flattens a tetrahedron",
            advice="Lower it (0.2 is safe) or use another seed.",
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
