"""Neighbours of places, and the sides on which a place is at their edge."""

import numpy as np
import pytest

from faultwave.inversion.moment_tensor.neighbours import neighbours, outward, spacing

STEPS = np.array([2000.0, 1000.0, 300.0])


def grid(shape=(5, 5, 5)):
    return STEPS * np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), -1).reshape(-1, 3)


def turned(angle, dip=0.0):
    c, s, d, e = np.cos(angle), np.sin(angle), np.cos(dip), np.sin(dip)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ np.array([[1, 0, 0], [0, d, -e], [0, e, d]])


@pytest.mark.parametrize("angle", [0.0, 0.4])
def test_neighbours_are_one_step_away_along_the_axes(angle):
    turn = turned(angle)
    points = np.random.default_rng(1).permutation(grid())
    middle = int(np.flatnonzero((points == 2 * STEPS).all(1))[0])
    found = neighbours(points @ turn.T, middle) @ turn
    expected = np.concatenate([np.diag(STEPS), -np.diag(STEPS)])
    assert sorted(found.round(6).tolist()) == sorted(expected.tolist())


def test_the_spacing_is_that_of_the_neighbours():
    assert spacing(grid(), 0) == pytest.approx(STEPS)
    assert spacing(grid((1, 1, 4)), 2) == (0.0, 0.0, 300.0) and spacing(grid((1, 1, 1)), 0) == (0.0, 0.0, 0.0)
    assert spacing(grid((3, 3, 1)) @ turned(0.5).T, 4) == pytest.approx([2000 * np.cos(0.5), 2000 * np.sin(0.5), 0.0])


@pytest.mark.parametrize("angle", [0.0, 0.4])
@pytest.mark.parametrize(
    ("place", "side"),
    [
        ((2, 2, 2), (0, 0, 0)), ((1, 3, 1), (0, 0, 0)), ((4, 2, 2), (1, 0, 0)), ((2, 0, 1), (0, -1, 0)), ((1, 1, 4), (0, 0, 1)),
        ((0, 1, 4), (-1, 0, 1)), ((4, 4, 0), (1, 1, -1)),
    ],
)  # fmt: skip
def test_sides_of_a_grid(angle, place, side):
    noise = 5.0 * np.random.default_rng(2).standard_normal((125, 3))
    found = outward((grid() + noise) @ turned(angle).T, int(np.ravel_multi_index(place, (5, 5, 5)))) @ turned(angle)
    expected = np.array(side) / max(np.linalg.norm(side), 1.0)
    np.testing.assert_allclose(found, expected, atol=0.12)


def test_a_plane_of_places_has_sides_in_the_plane_only():
    points, turn = grid((5, 4, 1)), turned(0.3, 0.7)
    places = points @ turn.T + 1e-4 * np.random.default_rng(3).standard_normal((20, 3))
    assert not outward(places, 5).any()
    np.testing.assert_allclose(outward(places, 7), turn @ [0, 1, 0], atol=0.06)
    line = places[:4]
    assert not outward(line, 2).any() and not outward(line[:1], 0).any()
    np.testing.assert_allclose(outward(line, 0), turn @ [0, -1, 0], atol=0.06)


def test_places_within_a_distance_have_sides_all_around():
    points = grid((9, 9, 9)) / STEPS - 4.0
    ball = points[np.linalg.norm(points, axis=1) < 3.2]
    inside = {tuple(p) for p in ball}
    for number, point in enumerate(ball):
        complete = all(tuple(point + step) in inside for step in np.concatenate([np.eye(3), -np.eye(3)]))
        assert complete == (not outward(ball, number).any()), point
