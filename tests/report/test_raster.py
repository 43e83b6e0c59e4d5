"""Triangles on grids: every point is in the triangle that holds it."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import Delaunay

from faultwave.report import figures
from faultwave.report.figures import Grid, Raster, grid_over


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.integers(4, 60))
def test_points_lie_in_their_triangles(seed: int, count: int) -> None:
    """As SciPy finds them, in a mesh of triangles of any shape."""
    xy = np.random.default_rng(seed).random((count, 2)) * (3.0, 1.0)
    mesh, grid = Delaunay(xy), Grid(np.linspace(-0.2, 3.2, 41), np.linspace(-0.1, 1.1, 17))
    cells = np.asarray(mesh.simplices)
    found = Raster(xy, cells, grid)(np.arange(len(cells), dtype=float))
    points = np.stack(np.meshgrid(grid.x, grid.y), -1).reshape(-1, 2)
    wanted = mesh.find_simplex(points).astype(float)
    wanted[wanted < 0] = np.nan
    same = (found.reshape(-1) == wanted) | (np.isnan(found.reshape(-1)) & np.isnan(wanted))
    assert same.mean() > 0.99  # all but points on edges


def test_large_meshes_are_taken_in_parts(monkeypatch) -> None:
    xy = np.random.default_rng(1).random((200, 2))
    cells, grid = np.asarray(Delaunay(xy).simplices), grid_over(xy, 60)
    whole = Raster(xy, cells, grid).cell
    monkeypatch.setattr(figures, "AT_ONCE", 50)
    np.testing.assert_array_equal(Raster(xy, cells, grid).cell, whole)
    assert (whole >= 0).mean() > 0.9


def test_outside_there_is_nothing_and_flat_triangles_hold_nothing() -> None:
    xy = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    cells = np.array([[0, 1, 2], [0, 3, 3]])
    found = Raster(xy, cells, Grid(np.array([0.2, 0.9, 1.5]), np.array([0.2, 0.9])))(np.array([7.0, 8.0]))
    np.testing.assert_array_equal(found, [[7.0, np.nan, np.nan], [np.nan, np.nan, np.nan]])
