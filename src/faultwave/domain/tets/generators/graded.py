"""Mesh of a planar fault in a box without external programs: bricks split into tetrahedra, bisected towards the fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.domain.tets.generators.box import check_count, grid_vertices, kuhn_paths
from faultwave.domain.tets.mesh import FILE_FACES, Floats, Integers, Mesh, make_mesh, orient

_EDGES = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])

# Vertices of the two children, by the parent's type: 4 stands for the midpoint of the bisected edge 0-type.
_CHILDREN = np.array(
    [[[0, 4, 2, 3], [1, 4, 2, 3]],
     [[0, 1, 4, 3], [1, 2, 4, 3]],
     [[0, 1, 2, 4], [1, 2, 3, 4]]]
)  # fmt: skip


def refine(
    vertices: Floats, paths: Integers, wanted: Callable[[Floats], NDArray[np.bool_]], rounds: int
) -> tuple[Floats, Integers]:
    """Bisect Kuhn tetrahedra until ``wanted`` is False for all; half of the resulting cells have negative volume.

    Three bisections halve all edges, and only a few shapes occur. Cells next to a bisected edge are bisected as well,
    so that the mesh stays conforming.

    Parameters
    ----------
    vertices : (nv, 3) array
        Vertices [m].
    paths : (nc, 4) array
        Vertices of the tetrahedra in the order of their path.
    wanted
        Function of corners (n, 4, 3) that returns True (n,) for cells to be bisected, called once per round.
    rounds
        Largest number of rounds.

    Returns
    -------
    vertices, cells
        Vertices (n, 3) and cells (m, 4).
    """
    state = _Bisection(vertices, paths)
    for _ in range(rounds):
        marked = np.flatnonzero(wanted(state.vertices[state.cells]))
        if not len(marked):
            break
        while len(marked):
            state.split(marked)
            marked = state.hanging()
    return state.vertices, state.cells


class _Bisection:
    def __init__(self, vertices: Floats, paths: Integers):
        self.vertices, self.cells = vertices, paths
        self.types = np.full(len(paths), 3)
        self.edges = np.empty(0, np.int64)  # keys of the bisected edges, ascending
        self.midpoints = np.empty(0, np.int64)

    def split(self, chosen: Integers) -> None:
        """Replace the chosen cells by their halves."""
        cells, types = self.cells[chosen], self.types[chosen]
        keys = _keys(cells[:, 0], cells[np.arange(len(cells)), types])
        new = np.setdiff1d(keys, self.edges)
        ends = np.stack([new >> 32, new & 0xFFFFFFFF], axis=1)
        added = np.arange(len(new)) + len(self.vertices)
        self.vertices = np.concatenate([self.vertices, self.vertices[ends].mean(axis=1)])
        place = np.searchsorted(self.edges, new)
        self.edges = np.insert(self.edges, place, new)
        self.midpoints = np.insert(self.midpoints, place, added)
        middle = self.midpoints[np.searchsorted(self.edges, keys)]
        corners = np.concatenate([cells, middle[:, None]], axis=1)
        # The tail of the path keeps its order after the midpoint, which replaces the removed vertex.
        children = np.take_along_axis(corners[:, None, :], _CHILDREN[types - 1], axis=2)
        child_types = np.where(types > 1, types - 1, 3)
        keep = np.ones(len(self.cells), bool)
        keep[chosen] = False
        self.cells = np.concatenate([self.cells[keep], children.reshape(-1, 4)])
        self.types = np.concatenate([self.types[keep], np.repeat(child_types, 2)])

    def hanging(self) -> Integers:
        """Return cells with an edge that was bisected by another cell."""
        keys = _keys(self.cells[:, _EDGES[:, 0]], self.cells[:, _EDGES[:, 1]])
        place = np.searchsorted(self.edges, keys).clip(max=len(self.edges) - 1)
        return np.flatnonzero((self.edges[place] == keys).any(axis=1))


def _keys(a: Integers, b: Integers) -> Integers:
    return np.asarray((np.minimum(a, b) << 32) | np.maximum(a, b))


FREE_SURFACE, FAULT, ABSORBING = 1, 3, 5
GROWTH = 0.5
"""Growth of the element edge per metre of distance from the fault."""
WIDEST = 100.0
"""Largest extent of the box relative to the fault; larger values indicate mixed units."""
PER_VOLUME = 6.0 * 2.0**0.5
"""Number of regular tetrahedra per cube of their edge."""


@dataclass(frozen=True)
class Tpv5:
    """Rectangular fault that reaches the free surface z = 0, with its trace along x through the origin.

    Lengths in metres, dip in degrees towards +y.

    Attributes
    ----------
    size, far_size
        Element edge on the fault, and the largest one.
    half_width
        Half extent of the box along x and y.
    depth
        Depth of the box.
    fault_length, fault_depth
        Length and down-dip width of the fault.
    dip
        Dip of the fault.
    mesher
        'auto', 'gmsh' or 'builtin'.
    patches
        Rectangles whose sides faces follow: from and to along x, from and to down dip.
    """

    size: float = 500.0
    far_size: float = 5000.0
    half_width: tuple[float, float] | float = (40e3, 30e3)
    depth: float = 40e3
    fault_length: float = 30e3
    fault_depth: float = 15e3
    dip: float = 90.0
    mesher: str = "auto"
    patches: Sequence[tuple[float, float, float, float]] = ()

    @property
    def widths(self) -> tuple[float, float]:
        """Half extents along x and y [m]."""
        w = self.half_width
        return (float(w), float(w)) if isinstance(w, int | float) else (float(w[0]), float(w[1]))

    @property
    def bottom(self) -> tuple[float, float]:
        """Coordinates y and z of the lower edge of the fault [m]."""
        angle = np.radians(self.dip)
        across = 0.0 if self.dip == 90 else float(np.cos(angle)) * self.fault_depth
        return across, -float(np.sin(angle)) * self.fault_depth

    def check(self) -> None:
        """Raise InputError for inconsistent lengths."""
        problems = Problems()
        where = "mesh.generate"
        for name in ("size", "far_size", "depth", "fault_length", "fault_depth"):
            if not 0 < getattr(self, name) < np.inf:
                problems.error(f"{where}.{name}", f"{getattr(self, name)}", "a positive length")
        if self.mesher not in ("auto", "gmsh", "builtin"):
            problems.error(f"{where}.mesher", f"'{self.mesher}'", "auto, gmsh, builtin")
        if not 10 < self.dip <= 90:
            problems.error(f"{where}.dip", f"{self.dip}", "more than 10, at most 90 degrees")
        problems.raise_errors()
        y, z = self.bottom
        if not (self.fault_length < 2 * self.widths[0] and y < self.widths[1] and -z < self.depth):
            problems.error(where, "the fault does not fit into the box", advice="Raise half_width or depth.")
        if self.size > min(self.far_size, self.fault_length, self.fault_depth):
            problems.error(f"{where}.size", f"{self.size}", "at most far_size and the extents of the fault")
        for name, width in (*zip(("half_width", "half_width"), self.widths, strict=True), ("depth", self.depth)):
            widest = WIDEST * max(self.fault_length, self.fault_depth)
            if not self.size <= width <= widest:
                allowed = f"{self.size:g} m, an element edge, to {widest:g} m, {WIDEST:g} times the fault"
                problems.error(f"{where}.{name}", f"{width:g} m", allowed, "Is one of them in other units?")
        problems.raise_errors()
        check_count(self.cells, "mesh.generate", "Is a length in other units? Otherwise raise size and far_size.")

    @property
    def cells(self) -> float:
        """Approximate number of cells of the mesh: near the fault, and far from it."""
        area, volume = self.fault_length * self.fault_depth, 4.0 * self.widths[0] * self.widths[1] * self.depth
        near = 2.0 * PER_VOLUME * area / (2.0 * GROWTH * self.size**2)
        return near + PER_VOLUME * volume / self.far_size**3


def graded_mesh(setting: Tpv5) -> Mesh:
    """Return a mesh of the box: tags 1 on top, 3 on the fault, 5 elsewhere; group 1.

    The coarse bricks divide the fault evenly, so halving them results in an edge of ``size`` or slightly less on it.
    For a dip below 90 degrees the vertical mesh is sheared, decreasing towards the sides.
    """
    setting.check()
    (nx, nz), levels = _fault_bricks(setting)
    x, y, z = _axes(setting, nx, nz)
    paths = kuhn_paths(len(x) - 1, len(y) - 1, len(z) - 1)
    vertices, cells = refine(grid_vertices(x, y, z), paths, _Wanted(setting, nx, nz, levels), 3 * levels)
    tags = _tags(setting, vertices, cells)
    mesh = make_mesh(_dipping(setting, vertices), cells, np.ones(len(cells)), tags, name="tpv5 (built-in mesher)")
    return orient(mesh)


def _fault_bricks(setting: Tpv5) -> tuple[tuple[int, int], int]:
    """Return coarse bricks along strike and dip, and how often to halve them, for the lowest cost.

    Many halvings allow large bricks far away, few follow the requested size more closely.
    """
    # Bricks larger than far_size are bisected like all others.
    most = int(np.ceil(np.log2(setting.far_size / setting.size) - 1e-9))
    area = setting.fault_length * setting.fault_depth
    volume = 4 * setting.widths[0] * setting.widths[1] * setting.depth
    choices = []
    for levels in range(most, -1, -1):
        brick = setting.size * 2**levels
        counts = [_count(e, brick, 2**levels, lines) for e, lines in _lines(setting)]
        nx, nz = counts
        if not nx or not nz:
            continue
        bx, bz = setting.fault_length / nx, setting.fault_depth / nz
        # 27 cells per square of the fault in the surrounding volume (counted), with a step that decreases with the shorter edge.
        near = 27 * area * 4**levels / (bx * bz) * brick / min(bx, bz)
        far = 6 * volume / (bx * bz * (bx + bz) / 2)
        choices.append(((near + far) * (max(bx, bz) / min(bx, bz)) ** 0.5, (nx, nz), levels))
    if not choices:
        what = f"no bricks of {setting.size:g} m down to a quarter of that have planes along all sides of the patches"
        raise InputError(Problem("mesh.generate.patches", what, advice="Use rounder numbers, or mesher: gmsh."))
    return min(choices)[1:]


def _lines(setting: Tpv5) -> list[tuple[float, list[float]]]:
    """Return the extents along strike and down dip, and the distances from the end of the fault to the sides of patches."""
    half = setting.fault_length / 2
    return [
        (setting.fault_length, [half + x for p in setting.patches for x in p[:2]]),
        (setting.fault_depth, [d for p in setting.patches for d in p[2:]]),
    ]


def _count(extent: float, brick: float, halved: int, lines: list[float]) -> int:
    """Return the number of bricks along an extent, none longer than ``brick``, with planes at all ``lines``.

    The planes exist after halving the bricks into ``halved`` parts. Returns 0 if four times the smallest number is not
    sufficient.
    """
    least = max(1, int(np.ceil(extent / brick - 1e-9)))
    for count in range(least, 4 * least + 1):
        at = np.array(lines) / extent * count * halved
        if np.abs(at - np.round(at)).max(initial=0.0) < 1e-9:
            return count
    return 0


def _axes(setting: Tpv5, nx: int, nz: int) -> tuple[Floats, Floats, Floats]:
    """Return the planes between coarse bricks; z of a dipping fault is along its dip until ``_dipping``."""
    half = setting.fault_length / 2
    bx, bz = setting.fault_length / nx, setting.fault_depth / nz
    brick = (bx + bz) / 2
    # The lower end of the fault is a plane of bricks; below it the box extends to the same depth for any dip.
    below = setting.depth + setting.bottom[1]
    x_out = _divide(half, setting.widths[0], brick)
    y_out = _divide(0.0, setting.widths[1], brick)
    z_out = _divide(setting.fault_depth, setting.fault_depth + below, brick)
    x = np.concatenate([-x_out[:0:-1], np.linspace(-half, half, nx + 1), x_out[1:]])
    y = np.concatenate([-y_out[:0:-1], y_out])
    z = np.concatenate([-z_out[:0:-1], np.linspace(-setting.fault_depth, 0, nz + 1)])
    return x, y, z


def _divide(start: float, stop: float, step: float) -> Floats:
    return np.linspace(start, stop, max(1, round((stop - start) / step)) + 1)


class _Wanted:
    """Criterion for cells to bisect: larger than the requested size at their distance from the fault."""

    def __init__(self, setting: Tpv5, nx: int, nz: int, levels: int):
        self.setting = setting
        # Final size of the bricks on the fault: the finest level is reached there and not exceeded.
        along = setting.fault_length / nx / 2**levels
        down = setting.fault_depth / nz / 2**levels
        self.size = np.sqrt(along * down)

    def __call__(self, corners: Floats) -> NDArray[np.bool_]:
        s = self.setting
        a, b, c = (corners[:, i] - corners[:, 0] for i in (1, 2, 3))
        edge = np.cbrt(np.abs(np.einsum("ij,ij->i", a, np.cross(b, c))))
        outside = np.stack(
            [
                np.maximum(np.abs(corners[..., 0]) - s.fault_length / 2, 0),
                corners[..., 1],
                np.maximum(-s.fault_depth - corners[..., 2], 0),
            ]
        )
        # The second nearest vertex: cells that touch the fault only in a point need not be as small as those along it.
        distance = np.sort(np.sqrt((outside**2).sum(axis=0)), axis=1)[:, 1]
        return np.asarray(edge > 1.1 * np.minimum(self.size + GROWTH * distance, s.far_size))


def _tags(setting: Tpv5, vertices: Floats, cells: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return face tags from the vertical mesh, where planes are exact: midpoints of equal coordinates are equal."""
    corners = vertices[cells[:, FILE_FACES]]
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    tags = np.zeros((len(cells), 4), np.int32)
    for axis in range(3):
        for end in (low, high):
            tags[(corners[..., axis] == end[axis]).all(axis=2)] = ABSORBING
    tags[(corners[..., 2] == high[2]).all(axis=2)] = FREE_SURFACE
    slack = 1e-9 * setting.fault_length
    on_fault = (
        (corners[..., 1] == 0)
        & (np.abs(corners[..., 0]) <= setting.fault_length / 2 + slack)
        & (corners[..., 2] >= -setting.fault_depth - slack)
    )
    tags[on_fault.all(axis=2)] = FAULT
    return tags


def _dipping(setting: Tpv5, vertices: Floats) -> Floats:
    """Shear the plane y = 0 to the dip of the fault; sides and depth of the box are unchanged."""
    if setting.dip == 90:
        return vertices
    y_bottom, z_bottom = setting.bottom
    out = vertices.copy()
    down = np.minimum(-vertices[:, 2] / setting.fault_depth, 1.0)  # fraction of the width of the fault above the vertex
    out[:, 1] += down * y_bottom * (1 - np.abs(vertices[:, 1]) / setting.widths[1])
    below = np.maximum(-vertices[:, 2] - setting.fault_depth, 0.0)
    out[:, 2] = down * z_bottom - below
    return out
