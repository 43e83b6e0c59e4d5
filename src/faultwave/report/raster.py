"""Sampling of triangle values on a regular grid, so that maps of any mesh can be zoomed, and compared point by point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MOST = 220
"""Number of points along the longer side of a map."""
AT_ONCE = 1 << 21
"""Number of triangle-point pairs that are processed at once."""
EDGE = 1e-9
"""Relative tolerance by which points on an edge belong to a triangle."""


@dataclass(frozen=True)
class Grid:
    """Points of a map: ``x`` (nx,), ``y`` (ny,), in the unit of the corners."""

    x: np.ndarray
    y: np.ndarray


def grid_over(xy: np.ndarray, most: int = MOST) -> Grid:
    """Return square cells over points (n, 2): ``most`` along the longer side, at least 24 along the other."""
    lower, upper = xy.min(0), xy.max(0)
    size = np.maximum(upper - lower, 1e-9)
    counts = np.maximum(np.ceil(most * size / size.max()).astype(int), 24)
    x, y = (lower[i] + (np.arange(counts[i]) + 0.5) * size[i] / counts[i] for i in range(2))
    return Grid(x, y)


class Raster:
    """Assignment of grid points to triangles with corners ``xy`` (np, 2) and ``cells`` (nc, 3)."""

    def __init__(self, xy: np.ndarray, cells: np.ndarray, grid: Grid):
        self.grid, self.cells, self.corners = grid, np.asarray(cells), np.asarray(xy, float)[cells]
        corners = self.corners
        first = [np.searchsorted(g, corners[:, :, i].min(1)) for i, g in enumerate((grid.x, grid.y))]
        last = [np.searchsorted(g, corners[:, :, i].max(1), "right") for i, g in enumerate((grid.x, grid.y))]
        width, height = last[0] - first[0], last[1] - first[1]
        self.cell = np.full((len(grid.y), len(grid.x)), -1)
        pairs = np.cumsum(width * height)
        for part in np.split(
            np.arange(len(cells)), np.searchsorted(pairs, np.arange(AT_ONCE, pairs[-1:].sum(), AT_ONCE))
        ):
            owner = np.repeat(part, (width * height)[part])
            within = np.arange(len(owner)) - np.repeat(
                np.cumsum((width * height)[part]) - (width * height)[part], (width * height)[part]
            )
            i, j = first[0][owner] + within % width[owner], first[1][owner] + within // width[owner]
            s, t = _shares(corners[owner], np.stack([grid.x[i], grid.y[j]], 1))
            inside = (s >= -EDGE) & (t >= -EDGE) & (s <= 1.0 + EDGE - t)
            self.cell[j[inside], i[inside]] = owner[inside]

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return the values (nc,) of the triangles at the points (ny, nx), NaN outside all triangles."""
        found = np.full(self.cell.shape, np.nan)
        inside = self.cell >= 0
        found[inside] = np.asarray(values, float)[self.cell[inside]]
        return found

    def linear(self, values: np.ndarray) -> np.ndarray:
        """Return corner values (np,) interpolated linearly to the points (ny, nx), NaN outside all triangles."""
        found = np.full(self.cell.shape, np.nan)
        j, i = np.nonzero(self.cell >= 0)
        owner = self.cell[j, i]
        s, t = _shares(self.corners[owner], np.stack([self.grid.x[i], self.grid.y[j]], 1))
        first, second, third = np.asarray(values, float)[self.cells[owner]].T
        found[j, i] = first + s * (second - first) + t * (third - first)
        return found


def _shares(corners: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the barycentric coordinates of points (n, 2) for the second and third corner of their triangles (n, 3, 2).

    They are NaN in a triangle of zero area.
    """
    a, b, p = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0], points - corners[:, 0]
    area = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    inverse = np.divide(1.0, area, out=np.full(len(area), np.nan), where=area != 0.0)
    return (p[:, 0] * b[:, 1] - p[:, 1] * b[:, 0]) * inverse, (a[:, 0] * p[:, 1] - a[:, 1] * p[:, 0]) * inverse


__all__ = ["Grid", "Raster", "grid_over"]
