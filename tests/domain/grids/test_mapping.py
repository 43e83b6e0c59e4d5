"""Places and points of a regular staggered grid."""

import numpy as np
import pytest

from faultwave.domain.grids import CENTRE, Mapping, RegularGrid

GRID = RegularGrid((100.0, -50.0, -400.0), 20.0, (5, 7, 9))


@pytest.mark.parametrize("half", [CENTRE, (1, 0, 0), (0, 1, 1), (1, 1, 1)])
def test_index_is_the_inverse_of_place(half):
    index = np.array([[0, 0, 0], [4, 6, 8], [2, -1, 11]])
    assert GRID.index(GRID.place(index, half), half) == pytest.approx(index)


def test_where_points_lie():
    """The first cell's centre is half an edge from the corner; index goes along (z, y, x), places along (x, y, z)."""
    assert GRID.place(np.zeros(3, int)).tolist() == [110.0, -40.0, -390.0]
    assert GRID.place(np.array([1, 0, 0]), (1, 0, 0)).tolist() == [120.0, -40.0, -370.0]
    assert GRID.upper == (280.0, 90.0, -300.0)
    assert GRID.line(0, np.arange(2), (1, 0, 0)).tolist() == [120.0, 140.0]
    assert GRID.inside(2, np.arange(4), 2).tolist() == [-395.0, -385.0, -375.0, -365.0]


def test_the_cell_of_a_place():
    places = np.array([[100.0, -50.0, -400.0], [119.9, -30.1, -301.0], [280.0, 90.0, -420.5]])
    assert GRID.cell(places).tolist() == [[0, 0, 0], [4, 0, 0], [-2, 7, 9]]
    cells = np.array([[0, 0, 0], [4, 6, 8]])
    assert (GRID.cell(GRID.middle(cells)) == cells).all()


def test_a_grid_that_follows_a_topography_can_take_its_place():
    """What asks only for ``Mapping`` takes any: here the surface of a hill, under which cells are higher."""

    class Hilly:
        shape = GRID.shape

        def stretch(self, place):
            return 1.0 + 0.1 * np.sin(place[..., 0] / 50.0)

        def place(self, index, half=CENTRE):
            flat = GRID.place(index, half)
            flat[..., 2] = GRID.lower[2] + (flat[..., 2] - GRID.lower[2]) * self.stretch(flat)
            return flat

        def index(self, place, half=CENTRE):
            flat = np.array(place)
            flat[..., 2] = GRID.lower[2] + (flat[..., 2] - GRID.lower[2]) / self.stretch(flat)
            return GRID.index(flat, half)

        def cell(self, place):
            return np.floor(self.index(place) + 0.5).astype(int)

    index = np.array([[0, 1, 2], [4, 6, 8]])
    for grid in (GRID, Hilly()):
        made: Mapping = grid
        places = made.place(index)
        assert made.index(places) == pytest.approx(index) and (made.cell(places) == index).all()
