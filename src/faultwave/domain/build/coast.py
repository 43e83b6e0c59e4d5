"""Sea on a mesh: wet vertices of the ground, the coast between wet and dry, and the columns of water above."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


def shore(xy: Floats, triangles: Integers, height: Floats, slope: float, sides: Flags) -> tuple[Floats, Flags]:
    """Return heights (n,) of the ground with a coast at z = 0 along mesh edges, and a mask (n,) of vertices below the sea.

    Vertices below zero that are connected to a side are sea; basins on land stay dry. The floor falls by at least
    ``slope`` away from the coast, so that no water cell is flatter than this.

    Parameters
    ----------
    xy : (n, 2) array
        Horizontal positions of the vertices of the ground [m].
    triangles : (m, 3) array
        Triangles of the ground.
    height : (n,) array
        Heights [m].
    slope : float
        Smallest slope of the sea floor.
    sides : (n,) array of bool
        True for vertices at the sides of the region.
    """
    from scipy.spatial import cKDTree

    wet = _joined(triangles, height < 0, sides)
    if not wet.any():
        return height, wet
    ground = height.copy()
    adjacent = np.unique(triangles[wet[triangles].any(1)])
    coast = adjacent[~wet[adjacent]]
    ground[coast] = 0.0
    if len(coast):
        away = cKDTree(xy[coast]).query(xy[wet])[0]
        ground[wet] = np.minimum(height[wet], -slope * away)
    return ground, wet


def _joined(triangles: Integers, low: Flags, sides: Flags) -> Flags:
    """Return a mask of the ``low`` vertices connected to the ``sides`` along edges between low vertices."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    a = np.concatenate([triangles[:, [0, 1, 2]].ravel()])
    b = np.concatenate([triangles[:, [1, 2, 0]].ravel()])
    both = low[a] & low[b]
    n = len(low)
    _, label = connected_components(
        coo_matrix((np.ones(int(both.sum())), (a[both], b[both])), shape=(n, n)), directed=False
    )
    return np.asarray(low & np.isin(label, np.unique(label[low & sides])))


def columns(vertices: Floats, floor: Integers, wet: Flags, size: Floats) -> tuple[Floats, Integers, Integers, Integers]:
    """Return the cells of the water above the sea floor.

    Every wet vertex has a column of vertices up to z = 0. Over a triangle the three columns are climbed step by step,
    the lowest next vertex first, so that neighbours agree on the faces between them. At the coast columns are empty,
    and the water is a wedge.

    Parameters
    ----------
    vertices : (nv, 3) array
        Vertices [m].
    floor : (m, 3) array
        Triangles of the ground.
    wet : (nv,) array of bool
        Vertices of the ground below the sea.
    size : (nv,) array
        Wanted edge length in the water above each vertex [m].

    Returns
    -------
    made : (k, 3) array
        New vertices.
    cells : (c, 4) array
        Cells of the water.
    surface : (s, 3) array
        Triangles of the sea surface.
    top : (nv,) array
        Vertex at the surface above each vertex, itself if dry.
    """
    nodes = np.flatnonzero(wet)
    depth = -vertices[nodes, 2]
    count = np.maximum(1, np.round(depth / size[nodes]).astype(int))
    first = len(vertices) + np.concatenate([[0], np.cumsum(count)])
    made = np.concatenate([_column(vertices[v], n) for v, n in zip(nodes, count, strict=True)])
    ladder = {int(v): [int(v), *range(f, f + n)] for v, f, n in zip(nodes, first, count, strict=False)}
    height = np.concatenate([vertices[:, 2], made[:, 2]])
    cells, surface = [], []
    for triangle in floor[wet[floor].any(1)].tolist():
        steps = [ladder.get(v, [v]) for v in triangle]
        at = [0, 0, 0]
        while True:
            open_ = [k for k in range(3) if at[k] + 1 < len(steps[k])]
            if not open_:
                break
            k = min(open_, key=lambda k: (height[steps[k][at[k] + 1]], triangle[k]))
            corner = steps[k][at[k] + 1]
            cells.append([*(steps[j][at[j]] for j in range(3)), corner])
            at[k] += 1
        surface.append([s[-1] for s in steps])
    top = np.arange(len(vertices))
    top[nodes] = first[1:] - 1
    return made, np.array(cells, np.int64).reshape(-1, 4), np.array(surface, np.int64).reshape(-1, 3), top


def _column(foot: Floats, count: int) -> Floats:
    """Return the vertices (count, 3) above a vertex of the floor, up to z = 0."""
    return np.column_stack([np.tile(foot[:2], (count, 1)), foot[2] * (1 - np.arange(1, count + 1) / count)])
