"""Longitude and latitude to local x, y and back; directions."""

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.base.projection import Projection, geographic_tensor, voigt


@pytest.mark.parametrize("azimuth", [0.0, 40.0])
def test_there_and_back(azimuth):
    p = Projection("EPSG:32611", (-118.0, 34.0), azimuth)
    places = np.array([[-118.0, 34.0], [-117.5, 34.4], [-118.9, 33.2]])
    xy = p.to_local(*places.T)
    assert xy[0] == pytest.approx([0, 0], abs=1e-6)
    assert p.to_geographic(xy) == pytest.approx(places, abs=1e-9)


def test_axes_turn_clockwise():
    east = Projection("EPSG:32611", (-117.0, 34.0), 90.0)  # y points east, x south
    x, y = east.to_local(-117.0, 34.1)[0]
    assert x == pytest.approx(-11090, rel=2e-3) and y == pytest.approx(0, abs=1)
    assert east.north(-117.0, 34.0) == pytest.approx([-1, 0], abs=1e-6)


def test_meridians_converge():
    p = Projection("EPSG:32611", (-119.0, 34.0))  # two degrees west of the central meridian
    n = p.north(-119.0, 34.0)
    assert np.arctan2(n[0], n[1]) == pytest.approx(np.radians(2) * np.sin(np.radians(34)), rel=1e-3)


def test_tensors_turn_with_north():
    ned = np.array([[1.0, 2, 3], [2, 4, 5], [3, 5, 6]])
    # x east, y north, z up
    assert voigt(geographic_tensor(ned, np.array([0.0, 1.0]))) == pytest.approx([4, 1, 6, 2, -3, -5])
    assert voigt(geographic_tensor(ned, np.array([1.0, 0.0]))) == pytest.approx([1, 4, 6, -2, 5, -3])


@pytest.mark.parametrize(("crs", "words"), [("EPSG:99999", "is no projection"), ("EPSG:4326", "no metres")])
def test_what_is_no_projection(crs, words):
    with pytest.raises(InputError, match=words):
        Projection(crs)
