"""Subdivisions fill their parent without overlap, in its orientation."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.observe.snapshots.pieces import refine_tet, refine_triangle


def coordinates_inside(cells: np.ndarray, points: np.ndarray) -> np.ndarray:
    """How many cells contain each point."""
    edges = np.swapaxes(cells[:, 1:] - cells[:, :1], 1, 2)
    local = np.einsum("cij,cpj->cpi", np.linalg.inv(edges), points[None] - cells[:, :1])
    return np.sum(np.all(local > 0, axis=2) & (local.sum(axis=2) < 1), axis=0)


def random_points(dimension: int) -> np.ndarray:
    parts = np.random.default_rng(0).dirichlet(np.ones(dimension + 1), size=2000)
    return parts[:, 1:]


@pytest.mark.parametrize("refinement, count", [(0, 1), (1, 4), (2, 8), (3, 32)])
def test_tets(refinement: int, count: int) -> None:
    cells, centroids = refine_tet(refinement)
    assert cells.shape == (count, 4, 3)
    np.testing.assert_allclose(centroids, cells.mean(axis=1))
    volumes = np.linalg.det(cells[:, 1:] - cells[:, :1]) / 6
    np.testing.assert_allclose(volumes, 1 / 6 / count)  # equal, and positive as the parent's
    assert np.all(coordinates_inside(cells, random_points(3)) == 1)


@pytest.mark.parametrize("strategy, base", [("four", 4), ("three", 3)])
@pytest.mark.parametrize("levels", [0, 1, 2, 3])
def test_triangles(strategy: str, base: int, levels: int) -> None:
    cells, centroids = refine_triangle(levels, strategy)
    assert cells.shape == (base**levels, 3, 2)
    np.testing.assert_allclose(centroids, cells.mean(axis=1))
    areas = np.linalg.det(cells[:, 1:] - cells[:, :1]) / 2
    np.testing.assert_allclose(areas, 0.5 / base**levels)
    assert np.all(coordinates_inside(cells, random_points(2)) == 1)


def test_children_stay_together() -> None:
    coarse, _ = refine_tet(1)
    fine, centroids = refine_tet(3)
    for parent, children in zip(coarse, centroids.reshape(4, 8, 3), strict=True):
        assert np.all(coordinates_inside(parent[None], children) == 1)


def test_what_is_not_allowed() -> None:
    with pytest.raises(ValueError, match="not one of 0, 1, 2, 3"):
        refine_tet(4)
    with pytest.raises(ValueError, match="negative"):
        refine_triangle(-1)
