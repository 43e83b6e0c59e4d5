"""Local refinement of tetrahedra by bisection into conforming meshes (Maubach, SIAM J. Sci. Comput. 16, 210, 1995)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from faultwave.domain.tets.mesh import Floats, Integers

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
