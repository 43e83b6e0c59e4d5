"""Longitude and latitude to local x, y and back; directions."""

import numpy as np
import pytest

from faultwave.base.errors import InputError, Problems
from faultwave.base.projection import Projection, geographic_tensor, voigt, warn_map_distortion
from tests.messages import raises


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


@pytest.mark.parametrize(("crs", "words"), [("EPSG:99999", "is not a projection"), ("EPSG:4326", "no metres")])
def test_what_is_no_projection(crs, words):
    with pytest.raises(InputError, match=words):
        Projection(crs)


@pytest.mark.parametrize(
    ("crs", "words"),
    [
        ("EPSG:2225", "counts in US survey foot, not in metres"),
        ("+proj=utm +zone=11 +units=km", "counts in kilometre, not in metres"),
        ("+proj=utm +zone=11 +units=ft +towgs84=0,0,0", "counts in foot"),
        ("EPSG:2053", "point west and south"),
        ("EPSG:5513", "point south and west"),
    ],
)
def test_maps_count_metres_east_and_north(crs, words):
    with pytest.raises(InputError, match=words):
        Projection(crs)


@pytest.mark.parametrize(
    "crs", ["EPSG:2193", "EPSG:5514", "EPSG:3413", "+proj=tmerc +lat_0=34 +lon_0=-118", "EPSG:2056"]
)
def test_other_orders_of_axes_and_poles_stand(crs):
    Projection(crs)


@pytest.mark.parametrize("origin", [(100.0, 34.0), (34.0, -117.0), (-60.0, 34.0)])
def test_origin_of_another_zone(origin):
    with raises(InputError):
        Projection("EPSG:32611", origin)


def test_definitions_without_an_area_are_warned():
    problems = Problems()
    warn_map_distortion(Projection("+proj=utm +zone=11", (100.0, 34.0)), np.zeros(2), np.full(2, 1e4), problems)
    assert [w.where for w in problems.warnings] == ["projection"]


def test_neighbours_of_a_zone_stand():
    Projection("EPSG:32611", (-122.0, 34.0))
    Projection("EPSG:32660", (-179.9, 10.0))
    Projection("EPSG:32660", (540.1, 10.0))


def test_lengths_of_a_map():
    warned = []
    for crs in ("EPSG:3857", "EPSG:32611"):
        p, problems = Projection(crs, (-117.0, 34.0), 30.0), Problems()
        scale = p.scale(np.array([[0.0, 0.0]]))
        assert scale == pytest.approx(1.2077 if crs == "EPSG:3857" else 0.9996, rel=3e-3)
        warn_map_distortion(p, np.zeros(3), np.array([5e4, 5e4, 0.0]), problems)
        warned.append([w.what for w in problems.warnings])
    assert not warned[1] and len(warned[0]) == 1 and "1.21" in warned[0][0] and "(east)" in warned[0][0]
