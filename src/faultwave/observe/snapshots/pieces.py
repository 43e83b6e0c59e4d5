"""Pieces of the cells of snapshots: subdivided linear cells, or cells of high degree with values at nodes.

Cells are given by vertices in reference coordinates; children have the orientation of their parent and fill it.

Nodes follow the order of VTK's Lagrange cells: corners, then nodes inside edges, inside faces and inside the cell; the nodes inside a
triangle or a tetrahedron are again the nodes of a smaller one.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import comb, factorial, prod
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from faultwave.observe.snapshots.fields import PiecesSettings


_TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
_TET = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])

# local points: vertices, then mid-points (triangle: 01 12 02; tet: 01 02 03 12 13 23) or the barycentre
_TRIANGLE_FOUR = np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]])
_TRIANGLE_THREE = np.array([[0, 1, 3], [1, 2, 3], [2, 0, 3]])
_TET_FOUR = np.array([[0, 1, 2, 4], [0, 3, 1, 4], [1, 3, 2, 4], [0, 2, 3, 4]])
# four corners, then the inner octahedron split along the diagonal from mid-point 03 to mid-point 12
_TET_EIGHT = np.array(
    [[0, 4, 5, 6], [4, 1, 7, 8], [5, 7, 2, 9], [6, 8, 9, 3], [4, 7, 6, 8], [4, 5, 6, 7], [5, 9, 6, 7], [6, 8, 7, 9]]
)


def _with_midpoints(cells: np.ndarray) -> np.ndarray:
    if cells.shape[1] == 3:
        pairs = [(0, 1), (1, 2), (0, 2)]
    else:
        pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    middle = [0.5 * (cells[:, i] + cells[:, j]) for i, j in pairs]
    return np.concatenate([cells, np.stack(middle, axis=1)], axis=1)


def _with_barycentre(cells: np.ndarray) -> np.ndarray:
    return np.concatenate([cells, cells.mean(axis=1, keepdims=True)], axis=1)


def _children(points: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return the children (n*m, k, d), grouped by parent, with the parent's orientation."""
    children = points[:, table].reshape(-1, table.shape[1], points.shape[2])
    edges = children[:, 1:] - children[:, :1]
    wrong = np.linalg.det(edges) < 0
    children[wrong, -2:] = children[wrong, :-3:-1]
    return children


def refine_triangle(levels: int, strategy: Literal["four", "three"] = "four") -> tuple[np.ndarray, np.ndarray]:
    """Split the reference triangle ``levels`` times, by edge mid-points into 4 or by the barycentre into 3.

    Returns vertices (n, 3, 2) and centroids (n, 2) with n = 4**levels (3**levels). Raises ValueError for negative levels.
    """
    if levels < 0:
        raise ValueError(f"refinement level {levels} is negative")
    cells = _TRIANGLE[None]
    for _ in range(levels):
        if strategy == "four":
            cells = _children(_with_midpoints(cells), _TRIANGLE_FOUR)
        else:
            cells = _children(_with_barycentre(cells), _TRIANGLE_THREE)
    return cells, cells.mean(axis=1)


def refine_tet(refinement: int) -> tuple[np.ndarray, np.ndarray]:
    """Split the reference tetrahedron in SeisSol's numbering: 0 none, 1 into 4, 2 into 8, 3 into 32 (8 of 4 each).

    Returns vertices (n, 4, 3) and centroids (n, 3). Raises ValueError for other numbers.
    """
    if refinement not in (0, 1, 2, 3):
        raise ValueError(f"refinement {refinement} is not one of 0, 1, 2, 3")
    cells = _TET[None]
    if refinement in (1, 3):
        cells = _children(_with_barycentre(cells), _TET_FOUR)
    if refinement in (2, 3):
        cells = _children(_with_midpoints(cells), _TET_EIGHT)
    return cells, cells.mean(axis=1)


_EDGES = {2: ((0, 1), (1, 2), (2, 0)), 3: ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))}
_FACES = ((0, 1, 3), (2, 3, 1), (0, 3, 2), (0, 2, 1))

MOST_DEGREE = 8
"""Maximum degree of cells that are written and read."""

CellKind = Literal["linear", "lagrange triangles", "lagrange tetrahedra"]

Weights = tuple[int, ...]
"""Barycentric coordinates of a node, times the degree."""


def node_count(dimension: int, degree: int) -> int:
    """Return the number of nodes of a triangle (dimension 2) or a tetrahedron (3)."""
    return comb(degree + dimension, dimension)


def degree_of(dimension: int, count: int) -> int:
    """Return the degree of a cell with this number of nodes, or raise ValueError if there is none."""
    for degree in range(1, MOST_DEGREE + 1):
        if node_count(dimension, degree) == count:
            return degree
    raise ValueError(f"cells of {count} nodes match no degree up to {MOST_DEGREE}")


def _inside(corners: Sequence[Weights], degree: int) -> list[Weights]:
    """Return the nodes of the triangle or tetrahedron with these corners, ``degree`` steps from each other."""
    if degree < 0:
        return []
    if degree == 0:
        return [corners[0]]
    found = [*corners]
    for pair in _EDGES[len(corners) - 1]:
        found += _between([corners[i] for i in pair], degree)
    if len(corners) == 4:
        for face in _FACES:
            found += _inside(_smaller([corners[i] for i in face], degree), degree - 3)
    return found + _inside(_smaller(corners, degree), degree - len(corners))


def _between(ends: Sequence[Weights], degree: int) -> list[Weights]:
    a, b = ends
    step = [(y - x) // degree for x, y in zip(a, b, strict=True)]
    return [tuple(x + i * s for x, s in zip(a, step, strict=True)) for i in range(1, degree)]


def _smaller(corners: Sequence[Weights], degree: int) -> list[Weights]:
    """Return the corners, each moved by one step along each of its edges."""
    found = []
    for corner in corners:
        moved = list(corner)
        for other in corners:
            moved = [m + (o - c) // degree for m, o, c in zip(moved, other, corner, strict=True)]
        found.append(tuple(moved))
    return found


@functools.cache
def _weights(dimension: int, degree: int) -> tuple[Weights, ...]:
    corners = [tuple(degree * int(i == k) for i in range(dimension + 1)) for k in range(dimension + 1)]
    return tuple(_inside(corners, degree))


def lagrange_nodes(dimension: int, degree: int) -> np.ndarray:
    """Return the barycentric coordinates (n, dimension + 1) of the nodes."""
    return np.array(_weights(dimension, degree)) / degree


@functools.cache
def mean_weights(dimension: int, degree: int) -> np.ndarray:
    """Return the weights (n,) of the nodal values in the mean of the polynomial over the cell."""
    return np.array([float(_mean(node, degree)) for node in _weights(dimension, degree)])


@functools.cache
def _mean(node: Weights, degree: int) -> Fraction:
    """Return the mean of the nodal basis polynomial of a node.

    The polynomial is the product of binomials (degree x_k over w_k) of the barycentric coordinates x.
    """
    total = Fraction(0)
    for terms in product(*(enumerate(_binomial(degree, w)) for w in node)):
        powers = [power for power, _ in terms]
        moment = Fraction(
            factorial(len(node) - 1) * prod(map(factorial, powers)), factorial(sum(powers) + len(node) - 1)
        )
        total += moment * prod(value for _, value in terms)
    return total


def _binomial(degree: int, w: int) -> list[Fraction]:
    """Return the coefficients of (degree x over w) by powers of x."""
    found = [Fraction(1)]
    for j in range(w):
        down, up = [-j * c for c in found] + [Fraction(0)], [Fraction(0)] + [degree * c for c in found]
        found = [(a + b) / (j + 1) for a, b in zip(down, up, strict=True)]
    return found


@dataclass(frozen=True)
class Pieces:
    """Subdivision of a reference cell for visualisation.

    Attributes
    ----------
    nodes : ndarray of shape (m, k, d)
        Nodes of the m pieces in reference coordinates.
    points : ndarray of shape (n, d)
        Points at which fields are evaluated: the centre of each piece, or all nodes if ``degree`` is not 0.
    degree : int
        Degree of the pieces, 0 for one value per piece.
    """

    nodes: np.ndarray
    points: np.ndarray
    degree: int = 0

    @property
    def kind(self) -> CellKind:
        if not self.degree:
            return "linear"
        return "lagrange triangles" if self.nodes.shape[2] == 2 else "lagrange tetrahedra"

    def mirrored(self) -> np.ndarray:
        """Return the node indices (m * k,) with the second and third corner of each piece exchanged.

        The pieces of a left-handed cell become right-handed by this order.
        """
        count, each = self.nodes.shape[:2]
        if not self.degree:
            order = [0, 2, 1, *range(3, each)]
        else:
            weights = _weights(self.nodes.shape[2], self.degree)
            order = [weights.index((w[0], w[2], w[1], *w[3:])) for w in weights]
        return (each * np.arange(count)[:, None] + np.array(order)).reshape(-1)


def _of_degree(corners: np.ndarray, centres: np.ndarray, degree: int | None) -> Pieces:
    if degree is None:
        return Pieces(corners, centres)
    nodes = np.einsum("kc,mcd->mkd", lagrange_nodes(corners.shape[2], degree), corners)
    return Pieces(nodes, nodes.reshape(-1, corners.shape[2]), degree)


def triangle_pieces(setting: PiecesSettings) -> Pieces:
    """Return the subdivision of the reference triangle in snapshots of a surface or a fault."""
    return _of_degree(*refine_triangle(setting.refinement, getattr(setting, "split", "four")), setting.degree)


def tet_pieces(setting: PiecesSettings) -> Pieces:
    """Return the subdivision of the reference tetrahedron in snapshots of the volume."""
    return _of_degree(*refine_tet(setting.refinement), setting.degree)
