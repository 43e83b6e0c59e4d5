"""Grids of bricks split into six tetrahedra along paths from the lowest to the highest corner, or into five."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np

from faultwave.domain.tets.mesh import Floats, Integers


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
