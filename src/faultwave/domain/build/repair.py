"""Repair of cells far smaller than the target size, which occur where faults nearly meet: short edges are collapsed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from faultwave.domain.build.flat import FlatBox, Meshed

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SMALL = 0.05
"""Inradius relative to the wanted edge below which a cell is too small for its time step; 0.2 for a regular cell."""
SHORT = 0.35
"""Longest edge, relative to the wanted one, that is collapsed; a fault may move by as much."""
MOST = 400
"""Largest number of collapsed edges."""
EDGES = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))


@dataclass
class _Growing:
    """Mesh during the collapse of edges.

    ``alive`` (nc,) marks the remaining cells; ``held`` (nv,) has one bit per surface or volume that a vertex belongs
    to.
    """

    x: Floats
    cells: Integers
    alive: NDArray[np.bool_]
    triangles: Integers
    of: Integers
    held: Integers


def repaired(meshed: Meshed, wanted: Floats, box: FlatBox) -> tuple[Meshed, int]:
    """Return the mesh without edges whose collapse enlarges its smallest cells, and the number of collapsed edges.

    No vertex leaves the sides of the region, the ground or a layer boundary, the sea keeps its floor, and every face
    keeps its kind. The smallest cells are treated first. ``wanted`` (nv,) are target edges [m].
    """
    mesh = _Growing(
        meshed.vertices, meshed.cells.copy(), np.ones(len(meshed.cells), bool), meshed.triangles.copy(), meshed.of, _held(meshed, box)
    )  # fmt: skip
    gone = 0
    given_up: set[int] = set()
    radius = _inradius(mesh.x[mesh.cells]) / wanted[mesh.cells].mean(1)
    while gone < MOST:
        left = np.flatnonzero(mesh.alive & (radius < SMALL))
        left = left[~np.isin(left, list(given_up))]
        if not len(left):
            break
        worst = int(left[radius[left].argmin()])
        touched = _collapse(mesh, worst, wanted)
        if touched is None:
            given_up.add(worst)
            continue
        gone += 1
        radius[touched] = _inradius(mesh.x[mesh.cells[touched]]) / wanted[mesh.cells[touched]].mean(1)
        given_up -= set(touched.tolist())
    return (_cleaned(meshed, mesh), gone) if gone else (meshed, 0)


def _held(meshed: Meshed, box: FlatBox) -> Integers:
    """Return bits of each vertex: sides of the region, kinds of its triangles, adjacent layers, and whether it is wet."""
    held = np.zeros(len(meshed.vertices), np.int64)
    slack = 1e-6 * float((box.upper - box.lower).max())
    for k in range(3):
        for bit, end in ((2 * k, box.lower[k]), (2 * k + 1, box.upper[k])):
            if (k, bit) != (2, 5):
                held[np.abs(meshed.vertices[:, k] - end) < slack] |= 1 << bit
    for bit, part in enumerate(np.unique(meshed.of[meshed.of < 0]).tolist()):
        held[np.unique(meshed.triangles[meshed.of == part])] |= 1 << (8 + bit)
    for layer in np.unique(meshed.layer).tolist():
        held[np.unique(meshed.cells[meshed.layer == layer])] |= 1 << (16 + layer)
    held[meshed.wet] |= 1 << 40
    return held


def _collapse(mesh: _Growing, cell: int, wanted: Floats) -> Integers | None:
    """Collapse the shortest possible edge of a cell; return the changed cells, or None if none can be collapsed."""
    corners = mesh.cells[cell]
    lengths = [float(np.linalg.norm(mesh.x[corners[a]] - mesh.x[corners[b]])) for a, b in EDGES]
    for k in np.argsort(lengths):
        a, b = (int(corners[i]) for i in EDGES[k])
        if lengths[k] > SHORT * min(wanted[a], wanted[b]):
            return None
        for gone, retained in ((a, b), (b, a)):
            if mesh.held[gone] & ~mesh.held[retained] or (mesh.held[gone] ^ mesh.held[retained]) >> 40:
                continue
            touched = _try(mesh, gone, retained, wanted)
            if touched is not None:
                return touched
    return None


def _try(mesh: _Growing, gone: int, remaining: int, wanted: Floats) -> Integers | None:
    """Collapse the vertex ``gone`` into another one if no cell is inverted and the smallest cell around grows."""
    around = np.flatnonzero(mesh.alive & (mesh.cells == gone).any(1))
    both = (mesh.cells[around] == remaining).any(1)
    moved = around[~both]
    before = mesh.cells[moved]
    after = np.where(before == gone, remaining, before)
    old, new = _volumes(mesh.x[before]), _volumes(mesh.x[after])
    if len(moved) == 0 or (new * np.sign(old) <= 1e-3 * np.abs(old)).any():
        return None
    size = wanted[after].mean(1)
    smallest = (_inradius(mesh.x[mesh.cells[around]]) / wanted[mesh.cells[around]].mean(1)).min()
    if (_inradius(mesh.x[after]) / size).min() <= 1.2 * smallest:
        return None
    rows = np.flatnonzero((mesh.triangles == gone).any(1))
    turned = np.where(mesh.triangles[rows] == gone, remaining, mesh.triangles[rows])
    if _clash(mesh, rows, turned, remaining):
        return None
    mesh.triangles[rows] = turned
    mesh.cells[moved] = after
    mesh.alive[around[both]] = False
    return moved


def _clash(mesh: _Growing, rows: Integers, turned: Integers, remaining: int) -> bool:
    """Return True if a triangle would coincide with one of another kind."""
    near = np.union1d(rows, np.flatnonzero((mesh.triangles == remaining).any(1)))
    place = {
        tuple(sorted(t)): int(o) for t, o in zip(mesh.triangles[near].tolist(), mesh.of[near].tolist(), strict=True)
    }
    fresh = {
        tuple(sorted(t)): int(o)
        for t, o in zip(turned.tolist(), mesh.of[rows].tolist(), strict=True)
        if len(set(t)) == 3
    }
    return any(place.get(t, o) != o for t, o in fresh.items())


def _cleaned(meshed: Meshed, mesh: _Growing) -> Meshed:
    """Return the mesh without unused vertices and collapsed triangles."""
    cells = mesh.cells[mesh.alive]
    used = np.unique(cells)
    number = np.full(len(mesh.x), -1)
    number[used] = np.arange(len(used))
    whole = np.array([len(set(t)) == 3 for t in mesh.triangles.tolist()], bool)
    triangles, of = mesh.triangles[whole], mesh.of[whole]
    _, first = np.unique(np.sort(triangles, 1), axis=0, return_index=True)
    return replace(
        meshed,
        vertices=mesh.x[used],
        cells=number[cells],
        layer=meshed.layer[mesh.alive],
        triangles=number[triangles[first]],
        of=of[first],
        wet=meshed.wet[used],
    )


def _volumes(x: Floats) -> Floats:
    a, b, c = (x[:, k] - x[:, 0] for k in (1, 2, 3))
    return np.asarray(np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0)


def _inradius(x: Floats) -> Floats:
    area = np.zeros(len(x))
    for i, j, k in ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)):
        area += 0.5 * np.linalg.norm(np.cross(x[:, j] - x[:, i], x[:, k] - x[:, i]), axis=1)
    return np.asarray(3.0 * np.abs(_volumes(x)) / area)
