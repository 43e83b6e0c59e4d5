"""Slip over the planes of a rupture of ShakeMap: moment, mechanism, onsets and tapers; and files that are wrong."""

import json

import numpy as np
import pytest

from faultwave.base.errors import InputError, Problems
from faultwave.base.formulas import moment_of_magnitude
from faultwave.base.projection import Projection
from faultwave.domain.build.planes import Plane
from faultwave.physics.sources.readers.param import read_param
from faultwave.run.new_case.event_source import EventRequest, FiniteEvent, PointEvent
from faultwave.run.new_case.events.read import read_event
from faultwave.run.new_case.events.shakemap import RUPTURE_SPEED, _distance
from faultwave.run.new_case.text import shear_modulus_at
from tests.messages import expect, raises
from tests.run.new_case.events import RING, rupture_json

EARTH = Projection("+proj=tmerc +lat_0=35.7 +lon_0=-117.5 +datum=WGS84 +units=m", (-117.5, 35.7))


def read(path, text, mechanism=None, warned=None):
    path.write_text(text)
    return read_event(EventRequest(path, mechanism=mechanism), warned or Problems())


def slip(tmp_path, event, frequency=0.5):
    """Return the sources of the file for a case."""
    path = tmp_path / "rupture.param"
    path.write_text(event.content(frequency))
    return read_param(path, EARTH), np.array([
        [float(w) for w in line.split()] for line in path.read_text().splitlines() if not line.startswith("#")
    ])  # fmt: skip


def test_slip_has_the_moment_of_the_magnitude(tmp_path):
    event = read(tmp_path / "rupture.json", rupture_json())
    assert isinstance(event, FiniteEvent) and event.kind == "param" and event.moment == moment_of_magnitude(6.4)
    sources, rows = slip(tmp_path, event)
    moments = sources.shear_modulus * np.sqrt(2.0 * (sources.potency**2 * [1, 1, 1, 2, 2, 2]).sum(1))
    assert moments.sum() == pytest.approx(event.moment, rel=1e-5)
    assert rows[:, 10].sum() == pytest.approx(1e7 * event.moment, rel=1e-6)
    assert sources.shear_modulus == pytest.approx(2720.0 * 3360.0**2, rel=1e-5)  # the uppermost layer
    assert event.bottom == pytest.approx(12e3, rel=0.05) and event.points[0] == pytest.approx([-117.5, 35.7, 8e3])


def test_slip_spreads_from_the_hypocentre_and_is_tapered(tmp_path):
    event = read(tmp_path / "rupture.json", rupture_json())
    sources, rows = slip(tmp_path, event)
    away = np.linalg.norm(sources.location - [0.0, 0.0, -8e3], axis=1)
    assert sources.onset == pytest.approx((away - away.min()) / RUPTURE_SPEED, abs=2e-3)
    assert sources.onset.min() == 0.0
    depth = rows[:, 2]
    middle = rows[np.abs(depth - 6.0) < 0.7]
    along = middle[np.argsort(middle[:, 1])]
    slips = along[:, 3] / along[:, 3].max()
    assert slips[0] < 0.1 and slips[-1] < 0.1  # the ends of the rupture
    assert (slips[len(slips) // 4 : -len(slips) // 4] > 0.99).all()  # also at the bend between its planes
    column = rows[np.abs(rows[:, 1] + 117.55) < 0.01]
    assert column[np.argmin(column[:, 2]), 3] > 0.99 * column[:, 3].max()  # it reaches the surface
    assert column[np.argmax(column[:, 2]), 3] < 0.2 * column[:, 3].max()
    assert (
        set(rows[:, 4]) == {180.0} and set(rows[:, 6]) == {90.0} and (rows[:, 5] > 30).all() and (rows[:, 5] < 50).all()
    )
    assert rows[:, 8] + rows[:, 9] == pytest.approx(2.03e-9 * (1e7 * event.moment) ** (1 / 3), rel=1e-5)


def test_buried_planes_are_tapered_above_and_small_subfaults_are_limited(tmp_path):
    ring = [[lon, lat, depth / 2 + 3.0] for lon, lat, depth in RING]
    geometry = {"type": "MultiPolygon", "coordinates": [[[*ring, ring[0]]]]}
    event = read(tmp_path / "rupture.json", rupture_json(geometry))
    rows = slip(tmp_path, event, 1.0)[1]
    column = rows[np.abs(rows[:, 1] + 117.55) < 0.01]
    assert column[np.argmin(column[:, 2]), 3] < 0.3 * column[:, 3].max()
    assert 3.0 < rows[:, 2].min() < 3.5 and 8.5 < rows[:, 2].max() < 9.0  # km
    many, few = (len(slip(tmp_path, event, frequency)[1]) for frequency in (100.0, 0.25))
    assert many == pytest.approx(10_000, rel=0.05) and few < 60


def test_moduli_are_those_of_the_layers():
    found = shear_modulus_at(np.array([0.0, 19.9e3, 20e3, 34e3, 600e3]))
    assert found == pytest.approx(1e9 * np.array([2.72 * 3.36**2] * 2 + [2.92 * 3.75**2] * 2 + [3.3198 * 4.47**2]))


def test_rakes_of_request_metadata_and_mechanism(tmp_path):
    path = tmp_path / "rupture.json"
    cases = [
        ((-5.0,), {}, -5.0),
        (None, {"rake": 170.0}, 170.0),
        (None, {"rake": None, "mech": "RS"}, 90.0),
        (None, {"rake": None, "mech": "NM"}, -90.0),
    ]
    for mechanism, metadata, rake in cases:
        assert set(slip(tmp_path, read(path, rupture_json(**metadata), mechanism))[1][:, 4]) == {rake}
    assert set(slip(tmp_path, read(path, rupture_json(mech="ALL", rake=20.0)))[1][:, 4]) == {20.0}
    assert set(slip(tmp_path, read(path, rupture_json(rake=0.0), (0.0,)))[1][:, 4]) == {0.0}
    for metadata in (
        {"rake": None},
        {"rake": None, "mech": None},
        {"rake": 0.0},
        {"mech": "ALL", "rake": 45.0},
        {"rake": 999.0, "mech": None},
    ):
        with raises(InputError):
            read(path, rupture_json(**metadata))
    with raises(InputError):
        read(path, rupture_json(), (0.0, 90.0, 0.0))


def test_points_need_a_mechanism(tmp_path):
    text = rupture_json({"type": "Point", "coordinates": [-117.5, 35.7, 8.0]})
    event = read(tmp_path / "rupture.json", text, (320.0, 85.0, 178.0))
    assert isinstance(event, PointEvent) and event.place == (-117.5, 35.7, 8e3) and event.angles == (320.0, 85.0, 178.0)
    assert event.moment == moment_of_magnitude(6.4) and event.time.isoformat() == "2019-07-04T17:33:49+00:00"
    with raises(InputError):
        read(tmp_path / "rupture.json", text)


@pytest.mark.parametrize(
    "metadata",
    [
        {"mag": None, "lat": "north"},
        {"mag": 11.0, "depth": 9000.0},
        {"lat": -117.5, "lon": 35.7},
        {"mag": float("nan")},
    ],
)
def test_metadata_that_are_wrong(tmp_path, metadata):
    with raises(InputError):
        read(tmp_path / "rupture.json", rupture_json(**metadata))


def test_files_that_are_no_ruptures(tmp_path):
    path = tmp_path / "rupture.json"
    for text in (
        "{\n 1}",
        '{"type": "FeatureCollection"}',
        rupture_json().replace('"metadata": {', '"metadata": [["a", 1]], "b": {'),
        rupture_json({"type": "LineString", "coordinates": [[0.0, 0.0], [1.0, 0.0]]}),
    ):
        with raises(InputError):
            read(path, text)


def test_shallow_hypocentres_are_a_warning(tmp_path):
    warned = Problems()
    read(tmp_path / "rupture.json", rupture_json(depth=0.05), warned=warned)
    expect(warned.warnings)


DIPPING = Plane((20.0, 10.0), 40e3, 20e3, 0.0, 30.0, 5e3, "")  # strikes north, dips east


@pytest.mark.parametrize(
    "east, north, depth, expected",
    [
        (10e3 * np.cos(np.pi / 6), 12e3, 10e3, 0.0),  # in the plane
        (10e3 * np.cos(np.pi / 6), 26e3, 10e3, 6e3),  # beyond its end
        (10e3 * np.cos(np.pi / 6) - 3.5e3, 0.0, 10e3 + 3.5e3 * 3**0.5, 7e3),  # below it
        (25e3 * np.cos(np.pi / 6), 0.0, 17.5e3, 5e3),  # beyond the lower edge
        (-3e3, -24e3, 5e3 - 3e3 / 3**0.5, np.hypot(4e3, 3e3 / np.cos(np.pi / 6))),  # beyond a corner
    ],
)
def test_distances_from_a_dipping_rectangle(east, north, depth, expected):
    earth = Projection("+proj=tmerc +lat_0=10 +lon_0=20 +datum=WGS84 +units=m", (20.0, 10.0))
    (place,) = earth.to_continuous(np.array([[east, north]]))
    assert _distance(DIPPING, place[0], place[1], depth) == pytest.approx(expected, abs=2.0)


def test_hypocentres_far_from_the_rupture(tmp_path):
    path = tmp_path / "rupture.json"
    for metadata in ({"lon": -116.2}, {"depth": 102.0}, {"depth": 22.5}):
        with raises(InputError):
            read(path, rupture_json(**metadata))
    assert read(path, rupture_json(depth=21.5))  # 9.5 km below
    ring = [[lon + 150.0, lat, 5.0 * depth] for lon, lat, depth in RING]
    geometry = {"type": "MultiPolygon", "coordinates": [[[*ring, ring[0]]]]}
    with raises(InputError):
        read(path, rupture_json(geometry, lon=35.7, lat=32.5))
    ring = [[-117.5, 30.0, 0.0], [-117.5, 40.0, 0.0], [-117.5, 40.0, 20.0], [-117.5, 30.0, 20.0]]
    geometry = {"type": "MultiPolygon", "coordinates": [[[*ring, ring[0]]]]}
    assert read(path, rupture_json(geometry, depth=34.0))  # 14 km below: a tenth of the root of 22,000 km2
    with raises(InputError):
        read(path, rupture_json(geometry, depth=36.0))


def test_the_origin_of_numbers_is_named(tmp_path):
    event = read(tmp_path / "rupture.json", rupture_json())
    lines = rupture_json().splitlines()
    line = next(k for k, text in enumerate(lines, 1) if '"mag"' in text)
    assert event.fields["moment"] == f"rupture.json:{line}, metadata mag"
    assert json.loads(rupture_json())["metadata"]["mag"] == 6.4


@pytest.mark.parametrize("order", [("features", "metadata"), ("other", "metadata", "features")])
def test_lines_are_those_of_the_metadata(tmp_path, order):
    """Fields of the same name elsewhere in the file do not count."""
    data = json.loads(rupture_json(place={"mag": 1, "lat": [{}, "}"]}, mag=None, reference='"mag": {'))
    data["features"][0]["properties"] = {"mag": 3, "lat": 2, "metadata": {"mag": 5}}
    data["other"], data["metadata"]["mag"] = {"mag": 7, "lat": 0}, 6.4
    text = json.dumps({name: data[name] for name in order}, indent=1)
    event = read(tmp_path / "rupture.json", text)
    lines, words_of = text.splitlines(), {"mag": '"mag": 6.4', "lat": '"lat": 35.7'}
    number = {name: next(k for k, line in enumerate(lines, 1) if words in line) for name, words in words_of.items()}
    assert event.fields["moment"] == f"rupture.json:{number['mag']}, metadata mag"
    assert event.fields["place"].startswith(f"rupture.json:{number['lat']}, metadata lon, lat")
