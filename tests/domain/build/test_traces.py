import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultwave.base.errors import InputError, Problems
from faultwave.base.projection import Projection
from faultwave.domain.build.traces import Trace, check_scale, check_trace, read_traces, self_crossing, simplified
from tests.messages import expect

UTM = Projection("EPSG:32611", (-117.0, 34.0))
numbers = st.floats(-1e5, 1e5, allow_nan=False).map(lambda x: round(x, 3))


def told(path, projection=None):
    with pytest.raises(InputError) as caught:
        read_traces(path, projection)
    return str(caught.value)


@given(st.lists(st.tuples(numbers, numbers), min_size=2, max_size=20), st.sampled_from([",", " ", ";", "\t"]))
def test_columns_come_back_as_they_were_written(tmp_path_factory, rows, mark):
    path = tmp_path_factory.mktemp("trace") / "line.csv"
    path.write_text(f"x{mark}y\n" + "".join(f"{x!r}{mark}{y!r}\n" for x, y in rows))
    (trace,) = read_traces(path, None)
    np.testing.assert_array_equal(trace.xy, rows)


def test_geojson_lines_are_projected_and_named(tmp_path):
    lonlat = [[-117.0, 34.0], [-116.9, 34.05]]
    features = [
        {"type": "Feature", "properties": {"name": "main"}, "geometry": {"type": "LineString", "coordinates": lonlat}},
        {
            "type": "Feature",
            "properties": {},
            "geometry": {"type": "MultiLineString", "coordinates": [lonlat, lonlat[::-1]]},
        },
    ]
    path = tmp_path / "t.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    found = read_traces(path, UTM)
    assert [t.name for t in found] == ["main", "", ""]
    np.testing.assert_allclose(found[0].xy[0], 0.0, atol=1e-6)
    np.testing.assert_allclose(found[2].xy, found[0].xy[::-1])


def test_units_of_columns_and_lines_between_marks(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("# fault\nname,x[km],y[km]\n".replace("name,", "") + "1,2\n3,4\n> second\n5,6\n7,8\n")
    first, second = read_traces(path, None)
    np.testing.assert_array_equal(first.xy, [[1e3, 2e3], [3e3, 4e3]])
    assert second.name == "second"


def test_what_is_no_trace_is_told_with_its_place(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,2\n3\n")
    assert f"{path}:3" in told(path)
    path.write_text("north,south\n1,2\n")
    assert "defines no coordinates" in told(path)
    path.write_text("lon,lat\n-117,34\n-116.9,34\n")
    assert "no projection" in told(path)
    path.write_text("lat,lon\n34,-117\n34.1,-117\n".replace("lat,lon", "lon,lat"))
    assert "They seem to be exchanged" in told(path, UTM)
    path.write_text("500000,4000000\n510000,4000000\n")
    assert "metres" in told(path, UTM)
    geojson = tmp_path / "t.geojson"
    other = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::32611"}}
    geojson.write_text(json.dumps({"type": "FeatureCollection", "crs": other, "features": []}))
    assert "coordinate system" in told(geojson, UTM)
    geojson.write_text('{"type": "Feature", "geometry": {"type": "Polygon", "coordinates": []}}')
    assert "Polygon" in told(geojson, UTM)


@pytest.mark.parametrize(
    "xy, expected",
    [
        ([[0, 0], [4, 0], [4, 2], [2, -2]], "crosses itself at here (3, 0)"),
        ([[0, 0], [40, 0]], "lie outside of the region, the first at here (40, 0)"),
    ],
)
def test_a_trace_that_cannot_be_meshed_is_told_with_the_place(xy, expected):
    problems = Problems()
    trace = Trace(np.array(xy, float), None, "t", "t.csv:1")
    check_trace(trace, np.full(2, -10.0), np.full(2, 10.0), lambda p: f"here ({p[0]:g}, {p[1]:g})", problems)
    assert expected in str(problems.errors[0])


def test_degrees_that_lie_elsewhere_are_asked_about_their_order():
    problems = Problems()
    trace = Trace(np.array([[4e6, 4e6], [4.1e6, 4e6]]), np.array([[34.0, -67.0], [34.1, -67.0]]), "t", "t.csv:1")
    check_trace(trace, np.full(2, -1e4), np.full(2, 1e4), str, problems)
    expect(problems.errors[0])


def test_metres_under_a_header_of_kilometres_are_asked_about():
    problems = Problems()
    trace = Trace(np.array([[-4e6, -5e6], [5e6, 6e6]]), None, "t", "t.csv:1")
    check_trace(trace, np.full(2, -2e4), np.full(2, 2e4), str, problems)
    expect(problems.errors[0])


@pytest.mark.parametrize("depth, told", [(15e3, True), (500.0, False)])
def test_a_trace_in_kilometres_is_far_too_short_for_its_depth(tmp_path, depth, told):
    path = tmp_path / "km.csv"
    path.write_text("x,y\n-4,-5\n0,0\n> short piece of the same fault\n5,6\n6,7\n")
    problems = Problems()
    check_scale(read_traces(path, None), depth, problems)
    assert [("15.62 m" in str(p) and "kilometres" in str(p)) for p in problems.errors] == [True] * told


def test_neighbours_that_touch_are_no_crossing():
    assert self_crossing(np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 1.0], [0.0, 3.0]])) is None


@given(st.integers(2, 60), st.integers(0, 1000))
def test_a_simplified_line_stays_near_and_keeps_its_ends(n, seed):
    rng = np.random.default_rng(seed)
    xy = np.cumsum(rng.normal(size=(n, 2)) * [0.4, 0.1] + [0.3, 0.0], axis=0)
    size = 1.0
    kept = simplified(xy, size)
    np.testing.assert_array_equal(kept[[0, -1]], xy[[0, -1]])
    inner = np.linalg.norm(np.diff(kept, axis=0), axis=1)[:-1]
    assert len(kept) == 2 or (inner >= 0.8 * size - 1e-9).all()
