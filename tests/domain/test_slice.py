"""Vertical cuts through meshes: areas, values and faces in the plane itself."""

import numpy as np
import pytest

from faultwave.domain.tets.triangles import cross_section

CUBE = np.array([[x, y, z] for z in (0.0, 1.0) for y in (0.0, 1.0) for x in (0.0, 1.0)])
KUHN = np.array([[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]])


def areas(points, corners):
    x, y = points[corners][..., 0], points[corners][..., 1]
    return 0.5 * np.abs((x * np.roll(y, -1, 1) - y * np.roll(x, -1, 1)).sum(1))


@pytest.mark.parametrize(
    ("start", "end", "area"),
    [((0.5, 0), (0.5, 1), 1.0), ((0, 0.25), (1, 0.25), 1.0), ((0, 0), (1, 1), 2**0.5), ((0, 0.1), (1, 0.7), 1.36**0.5)],
)
def test_area(start, end, area):
    points, corners, cells = cross_section(CUBE, KUHN, np.array(start, float), np.array(end, float))
    assert areas(points, corners).sum() == pytest.approx(area)
    assert len(corners) == len(cells) == len(set(cells))


def test_polygons_are_convex_and_lie_in_their_cells():
    start, end = np.array([0.0, 0.2]), np.array([1.0, 0.6])
    points, corners, cells = cross_section(CUBE, KUHN, start, end)
    way = (end - start) / np.linalg.norm(end - start)
    for polygon, cell in zip(points[corners], cells, strict=True):
        vertices = CUBE[KUHN[cell]]
        places = np.column_stack([start + polygon[:, :1] * way, polygon[:, 1]])
        share = np.linalg.solve(np.vstack([vertices.T, np.ones(4)]), np.vstack([places.T, np.ones(4)]))
        assert share.min() > -1e-12
        sides = np.roll(polygon, -1, 0) - polygon
        turns = sides[:, 0] * np.roll(sides[:, 1], -1) - sides[:, 1] * np.roll(sides[:, 0], -1)
        assert min(turns) * max(turns) > -1e-20


def test_a_plane_of_faces_is_cut_once():
    stacked = np.vstack([CUBE, CUBE + [0, 1, 0]])
    cells = np.vstack([KUHN, KUHN + 8])
    points, corners, chosen = cross_section(stacked, cells, np.array([0.0, 1.0]), np.array([1.0, 1.0]))
    assert areas(points, corners).sum() == pytest.approx(1.0)
    assert (chosen < 6).all() or (chosen >= 6).all()


def test_only_between_the_ends():
    points, corners, _ = cross_section(CUBE, KUHN, np.array([2.0, 0.5]), np.array([3.0, 0.5]))
    assert not len(corners) and not len(points)
