"""Planes of finite sources as faults, and faults that are cut off at the region's sides."""

import json

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.base.projection import Projection
from faultwave.domain.build.faults import Fault, clipped
from faultwave.domain.build.planes import from_plane, read_planes
from tests.messages import raises

PROJECTION = Projection("EPSG:32611", (-117.0, 34.0))
SRF = """2.0
# one vertical and one dipping segment
PLANE 2
 -117.0 34.0 8 5 8 5
 30 90 1.5 -3.2 3
 -117.05 33.95 4 4 4.0 4.0
 0 60 2.0 0 0
POINTS 0
"""
HEAD = """% ---- FINITE-SOURCE RUPTURE MODEL
% Mech : STRK = 90.0  DIP = 45.0  RAKE = 90.0  Htop = 3.00 km
% Invs : Nx = 3  Nz = 2  Dx = 2.00 km  Dz = 1.50 km
% LAT LON X==EW Y==NS Z SLIP
"""


def test_srf(tmp_path):
    (tmp_path / "a.srf").write_text(SRF)
    first, second = read_planes(tmp_path / "a.srf")
    assert (first.middle, first.length, first.width, first.strike, first.dip, first.top) == (
        (-117.0, 34.0),
        8e3,
        5e3,
        30.0,
        90.0,
        1.5e3,
    )
    assert second.dip == 60.0 and second.source.endswith("a.srf:6")


def test_a_plane_is_where_the_file_says(tmp_path):
    (tmp_path / "a.srf").write_text(SRF)
    first, second = (from_plane(p, "f", 500.0, (), PROJECTION) for p in read_planes(tmp_path / "a.srf"))
    assert first.xy is not None and second.xy is not None
    np.testing.assert_allclose(first.xy.mean(0), 0.0, atol=1e-3)
    along = first.xy[1] - first.xy[0]
    assert np.linalg.norm(along) == pytest.approx(8e3) and np.degrees(np.arctan2(*along)) == pytest.approx(
        30.0, abs=1.0
    )
    assert (first.top, first.bottom) == (1.5e3, 6.5e3)
    assert second.bottom == pytest.approx(2e3 + 4e3 * np.sin(np.radians(60)))
    middle = PROJECTION.to_local(-117.05, 33.95)[0]
    edge = second.xy.mean(0) + 2e3 / np.tan(np.radians(60)) * np.array(second.direction)  # of the upper edge, 2 km deep
    np.testing.assert_allclose(edge, middle, atol=1e-3)
    assert second.direction[0] == pytest.approx(1.0, abs=0.02)  # strike north: it dips to the east


def test_fsp(tmp_path):
    rows = []
    for j in range(2):
        for i in range(3):
            x, z = 2.0 * (i - 1), 3.0 + 1.5 * j * np.sin(np.radians(45))
            y = -1.5 * j * np.cos(np.radians(45))
            rows.append(
                f"{34.0 + y / 111.195:.6f} {-117.0 + x / (111.195 * np.cos(np.radians(34))):.6f} {x} {y} {z:.5f} 1.0"
            )
    (tmp_path / "a.fsp").write_text(HEAD + "\n".join(rows) + "\n")
    (plane,) = read_planes(tmp_path / "a.fsp")
    assert plane.middle == pytest.approx((-117.0, 34.0), abs=1e-5)
    assert (plane.length, plane.width, plane.top) == pytest.approx((6e3, 3e3, 3e3), rel=1e-3)
    assert (plane.strike, plane.dip) == (90.0, 45.0)


@pytest.mark.parametrize(("stated", "top"), [("center", "Xtop = 0"), ("top-center", "Htop = 3.00 km")])
def test_fsp_with_coordinates_of_centres(tmp_path, stated, top):
    """The depth of the upper edge decides, else the statement."""
    dip = np.sin(np.radians(45))
    rows = []
    for j in range(2):
        for i in range(3):
            x, down = 2.0 * (i - 1), 1.5 * (j + 0.5)
            y, z = -down * np.cos(np.radians(45)), 3.0 + down * dip
            rows.append(
                f"{34.0 + y / 111.195:.6f} {-117.0 + x / (111.195 * np.cos(np.radians(34))):.6f} {x} {y} {z:.5f} 1.0"
            )
    head = HEAD.replace("Htop = 3.00 km", top).replace("% LAT", f"% Coordinates are given for {stated} of each\n% LAT")
    (tmp_path / "a.fsp").write_text(head + "\n".join(rows) + "\n")
    (plane,) = read_planes(tmp_path / "a.fsp")
    assert plane.middle == pytest.approx((-117.0, 34.0), abs=1e-5)
    assert (plane.length, plane.width, plane.top) == pytest.approx((6e3, 3e3, 3e3), rel=1e-3)


def test_fsp_with_unknown_values(tmp_path):
    rows = ["34.00 -117.00 0 0 5.0 1.0", "34.00 -116.98 0 0 5.0 1.0"]
    for head, top in (("STRK = 90 DIP = 30 RAKE = 999 Htop = 999.00 km", 5e3), ("STRK = 999 DIP = 999", None)):
        text = f"% Mech : {head}\n% Invs : Dx = 2.00 km Dz = 2.00 km\n% LAT LON X==EW Y==NS Z SLIP\n"
        (tmp_path / "a.fsp").write_text(text + "\n".join(rows) + "\n")
        if top is None:
            with raises(InputError):
                read_planes(tmp_path / "a.fsp")
        else:
            assert read_planes(tmp_path / "a.fsp")[0].top == top


def test_fsp_of_segments(tmp_path):
    rows = "34.0 -117.0 0 0 1.0 1.0\n34.0 -116.98 2 0 1.0 1.0\n"
    segments = "".join(
        f"% SEGMENT # {n}: STRIKE = {s} deg DIP = {d} deg\n% LAT LON X Y Z SLIP\n{rows}"
        for n, s, d in ((1, 90, 80), (2, 85, 70))
    )
    (tmp_path / "a.fsp").write_text("% Dx = 2.00 km Dz = 2.00 km\n" + segments)
    assert [(p.strike, p.dip, p.width) for p in read_planes(tmp_path / "a.fsp")] == [(90, 80, 2e3), (85, 70, 2e3)]


def rupture_json(rings, kind="MultiPolygon"):
    geometry = {"type": kind, "coordinates": [rings]}
    feature = {"type": "Feature", "properties": {"rupture type": "rupture extent"}, "geometry": geometry}
    return json.dumps({"type": "FeatureCollection", "metadata": {"reference": "none"}, "features": [feature]})


KM = 1.0 / 110.922  # of latitude at 34 degrees
EAST = 1.0 / (111.320 * np.cos(np.radians(34.0)) * 1.00105)
RING = [  # strikes north, first 4 km, then 2 km, and dips by 60 degrees to the east
    [-117.0, 34.0, 2.0], [-117.0, 34.0 + 4 * KM, 2.0], [-117.0, 34.0 + 6 * KM, 2.0],
    *[[-117.0 + 1.5 * EAST, 34.0 + y * KM, 2.0 + 1.5 * np.sqrt(3.0)] for y in (6, 4, 0)], [-117.0, 34.0, 2.0],
]  # fmt: skip


def test_ruptures_of_shakemap(tmp_path):
    (tmp_path / "rupture.json").write_text(rupture_json([RING, RING]))
    planes = read_planes(tmp_path / "rupture.json")
    assert len(planes) == 4
    for plane, length, middle in zip(planes[:2], (4e3, 2e3), (2, 5), strict=True):
        assert plane.middle == pytest.approx((-117.0, 34.0 + middle * KM), abs=1e-5)
        assert (plane.length, plane.width, plane.top) == pytest.approx((length, 3e3, 2e3), rel=1e-3)
        assert (plane.strike % 360.0, plane.dip) == pytest.approx((0.0, 60.0), abs=0.05)


@pytest.mark.parametrize(
    "text",
    [
        rupture_json([RING[:-1]]),
        rupture_json([[point[:2] for point in RING]]),
        rupture_json([[*RING[2::-1], *RING[5:2:-1], RING[2]]]),
        rupture_json([[[lat, lon, z] for lon, lat, z in RING]]),
        rupture_json([[RING[0], [-117.0, 34.04, 4.0], *RING[2:]]]),
        rupture_json([RING], kind="Point"),
        '{"type": "FeatureCollection"}',
        "{",
    ],
    ids=["open", "no depth", "reversed", "exchanged", "not level", "point", "no feature", "no json"],
)
def test_mistakes_in_ruptures_of_shakemap(tmp_path, text):
    (tmp_path / "rupture.json").write_text(text)
    with raises(InputError):
        read_planes(tmp_path / "rupture.json")


@pytest.mark.parametrize(
    "text",
    [
        "2.0\nPOINTS 0\n",
        "2.0\nPLANE 1\n -117 34 8 5 8\n 30 90 1\n",
        "2.0\nPLANE 1\n -117 34 8 5 8 5\n 30 5 1\n",
        HEAD.replace("Dx", "Ex") + "34 -117 0 0 1 1\n",
        HEAD + "34 -117 0 zero\n",
    ],
)
def test_mistakes(tmp_path, text):
    (tmp_path / "a.srf").write_text(text)
    with raises(InputError):
        read_planes(tmp_path / "a.srf")
    if "PLANE 1\n -117 34 8 5 8 5" in text:
        (tmp_path / "a.srf").write_text(SRF)
        with raises(InputError):
            from_plane(read_planes(tmp_path / "a.srf")[0], "f", 500.0, (), None)


LOWER, UPPER = np.array([-10e3, -10e3, -12e3]), np.array([10e3, 10e3, 0.0])


def line(xy, **more):
    return Fault("f", "file", 1e3, np.array(xy, float), bottom=8e3, **more)


def test_a_line_is_cut_off_before_the_sides():
    found = clipped(line([[-30e3, 0], [0, 0], [30e3, 3e3]]), LOWER, UPPER)
    assert found.xy is not None
    np.testing.assert_allclose(found.xy, [[-8950, 0], [0, 0], [8950, 895]])
    assert found.bottom == 8e3


def test_the_lower_edge_stays_inside_too():
    found = clipped(line([[-5e3, 9e3], [5e3, -20e3]], dips=((0.0, 45.0),), direction=(0.0, 1.0)), LOWER, UPPER)
    assert found.xy is not None
    assert found.xy[0, 1] == pytest.approx(10e3 - 8e3 - 1050)
    deep = clipped(line([[-5e3, 0], [5e3, 0]], dips=((0.0, 90.0),)), np.array([-10e3, -10e3, -5e3]), UPPER)
    assert deep.bottom == pytest.approx(3950)


def test_the_longest_part_is_kept_and_nothing_is_an_error():
    found = clipped(line([[-9e3, 8e3], [-7e3, 20e3], [0, 20e3], [0, -9e3]]), LOWER, UPPER)
    assert found.xy is not None and (found.xy[:, 0] > -1.0).all()
    with raises(InputError):
        clipped(line([[20e3, 0], [30e3, 0]]), LOWER, UPPER)
