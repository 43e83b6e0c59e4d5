import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.domain.build.coast import columns, shore
from faultwave.domain.build.region import relief_of
from tests.messages import raises

LOWER, UPPER = np.array([-10e3, -10e3, -10e3]), np.array([10e3, 10e3, 0.0])


def hills(xy, width=0.0):
    return 800.0 * np.sin(xy[:, 0] / 3e3) * np.cos(xy[:, 1] / 2e3) + 200.0


def test_flat_and_true_are_each_others_inverse_and_surfaces_lie_flat():
    relief = relief_of(LOWER, UPPER, 200.0, hills, [("the basin", lambda p, width: -2e3 + 0.1 * p[:, 0])])
    rng = np.random.default_rng(1)
    flat = rng.uniform(LOWER, UPPER, (500, 3))
    true = relief.physical(flat)
    np.testing.assert_allclose(relief.flat(true), flat, atol=1e-6)
    top = flat * [1, 1, 0]
    np.testing.assert_allclose(relief.physical(top)[:, 2], hills(top), atol=15.0)
    basin = np.column_stack([flat[:, :2], np.full(500, relief.cuts[1])])
    np.testing.assert_allclose(relief.physical(basin)[:, 2], -2e3 + 0.1 * flat[:, 0], atol=15.0)
    bottom = np.column_stack([flat[:, :2], np.full(500, -10e3)])
    np.testing.assert_allclose(relief.physical(bottom), bottom)


def test_hills_are_not_felt_far_below():
    relief = relief_of(LOWER, UPPER, 200.0, hills, [])
    deep = np.array([[1e3, 500.0, -5e3], [4e3, -3e3, -7e3]])
    np.testing.assert_allclose(relief.physical(deep), deep, atol=1e-6)


def test_layers_that_cross_are_told_with_the_place():
    with raises(InputError):
        relief_of(LOWER, UPPER, 500.0, hills, [("layer 1", lambda p, width: np.where(p[:, 0] < -9e3, 2e3, -2e3))])


def lattice(n=21, width=20e3):
    x = np.linspace(-width / 2, width / 2, n)
    xy = np.stack([a.ravel() for a in np.meshgrid(x, x, indexing="ij")], 1)
    i = np.arange((n - 1) * n).reshape(n - 1, n)[:, :-1].ravel()
    return xy, np.concatenate([np.stack([i, i + n, i + 1], 1), np.stack([i + n, i + n + 1, i + 1], 1)])


def test_the_sea_fills_what_is_below_zero_and_open_to_a_side():
    xy, triangles = lattice()
    height = 0.1 * xy[:, 0] + 30.0  # sea in the west
    height[np.linalg.norm(xy - [5e3, 0], axis=1) < 2.2e3] = -50.0  # a basin on land
    sides = (np.abs(xy) == 10e3).any(1)
    ground, wet = shore(xy, triangles, height, 0.1, sides)
    assert wet[xy[:, 0] < -1e3].all() and not wet[xy[:, 0] > 0].any()
    assert (ground[~wet & (xy[:, 0] < 1.5e3)] >= 0).all()
    vertices = np.column_stack([xy, ground])
    made, cells, surface, top = columns(vertices, triangles, wet, np.full(len(xy), 400.0))
    x = np.concatenate([vertices, made])
    a, b, c = (x[cells[:, k]] - x[cells[:, 0]] for k in (1, 2, 3))
    volume = np.abs(np.einsum("ij,ij->i", a, np.cross(b, c))) / 6
    assert (volume > 1.0).all()
    floor = triangles[wet[triangles].any(1)]
    area = 0.5 * 1e6
    assert volume.sum() == pytest.approx(
        (-ground[floor].mean(1) * area).sum()
    )  # columns fill all between floor and z = 0
    assert np.abs(x[surface][..., 2]).max() == 0
    # Every inner face belongs to two cells: columns agree with their neighbours.
    faces = np.sort(np.concatenate([cells[:, f] for f in ([0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3])]), 1)
    _, count = np.unique(faces, axis=0, return_counts=True)
    assert count.max() == 2
    outer = np.unique(faces, axis=0)[count == 1]
    on_floor = {tuple(f) for f in np.sort(floor, 1).tolist()}
    on_top = {tuple(f) for f in np.sort(surface, 1).tolist()}
    at_side = [(np.abs(x[f][:, :2]) == 10e3).all(0).any() for f in outer]
    assert all(tuple(f) in on_floor | on_top or s for f, s in zip(outer.tolist(), at_side, strict=True))
