"""Roughness: none of what is linear in space, all of what sets one triangle apart."""

from __future__ import annotations

import numpy as np

from faultwave.plot.triangles import near_sides, neighbours, residuals


def sheet(n: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Centres (m, 2) and triangles (m, 3) of an uneven sheet."""
    a, b = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    index = np.arange(n * n).reshape(n, n)
    low = np.stack([index[:-1, :-1], index[1:, :-1], index[:-1, 1:]], -1).reshape(-1, 3)
    high = np.stack([index[1:, 1:], index[:-1, 1:], index[1:, :-1]], -1).reshape(-1, 3)
    points = np.stack([a.ravel(), b.ravel()], 1) + np.random.default_rng(0).uniform(-0.2, 0.2, (n * n, 2))
    triangles = np.concatenate([low, high])
    return points[triangles].mean(1), triangles


def test_neighbours_share_an_edge() -> None:
    found = neighbours(np.array([[0, 1, 2], [2, 1, 3], [4, 5, 6]]))
    assert found.tolist() == [[-1, 1, -1], [0, -1, -1], [-1, -1, -1]]


def test_a_plane_is_smooth_and_one_triangle_is_rough() -> None:
    centres, triangles = sheet()
    plane = 3.0 + 0.5 * centres[:, 0] - 0.2 * centres[:, 1]
    found = residuals(centres, triangles, plane)
    inner = np.isfinite(found)
    assert (inner == (neighbours(triangles) >= 0).all(1)).all() and 0.5 < inner.mean() < 1.0
    assert np.abs(found[inner]).max() < 1e-12
    one = int(np.flatnonzero(inner)[len(triangles) // 3])
    plane[one] += 2.0
    assert np.isclose(residuals(centres, triangles, plane)[one], 2.0)


def test_beside_the_sides_of_a_patch() -> None:
    places = np.array([[0.0, 0.0], [0.9, 0.0], [1.2, 0.0], [1.4, 1.4], [5.0, 0.0]])
    assert near_sides(places, (-1.0, 1.0, -1.0, 1.0), 0.5).tolist() == [False, True, True, False, False]
    assert near_sides(places, (-1.0, 1.0, -1.0, 1.0), 0.6).tolist() == [False, True, True, True, False]
