"""Cases for events of every format: they can run, their region follows from the source, their waves are those of the file."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.base.projection import Projection
from faultwave.cli.main import app
from faultwave.physics.sources.load import load_sources
from faultwave.physics.sources.readers.cmtsolution import read_cmt
from faultwave.run.inputs import load_valid_case
from faultwave.run.new_case.event_case import new_event_case
from faultwave.run.new_case.event_source import EventRequest
from faultwave.run.new_case.options import NewCaseOptions
from tests.messages import expect, raises
from tests.physics.sources.test_fsp import model
from tests.run.new_case.events import CMT, NDK, PARTS, quake, rupture_json, write

SHARED = Path(__file__).resolve().parents[4] / "shared" / "defects"
NDK_AS_CMT = """\
PDE 2006 4 9 20 50 46.00 -20.45 -70.24 34.6 5.5 5.8 CHILE
event name: C200604092050A
time shift: 5.3
half duration: 1.8
latitude: -20.46
longitude: -70.73
depth: 39.0
Mrr: 4.18e+24
Mtt: -1.70e+24
Mpp: -2.48e+24
Mrt: -1.05e+24
Mrp: -2.41e+24
Mtp: -2.28e+24
"""


def typed(*words):
    """Return the exit code of a command, and its text."""
    done = CliRunner().invoke(app, list(map(str, words)))
    return done.exit_code, " ".join(done.output.split())


def made(tmp_path, text, name="event", mechanism=None, frequency=None, **options):
    """Write a case for the text of an event, and return it with its warnings."""
    file = text if isinstance(text, Path) else tmp_path / name
    if file is not text:
        file.write_text(text)
    folder = tmp_path / "case"
    found = new_event_case(
        EventRequest(file, mechanism=mechanism), NewCaseOptions(**{"engine": "fd", **options}), frequency, folder, True
    )
    return load_valid_case(folder / "case.yaml")[0], found


def side(case):
    return case.grid.upper[0] - case.grid.lower[0]


def sources_of(case):
    return load_sources(case.sources, projection=case.projection)


EVENTS = {
    "quake.xml": (), "month.ndk": (), "CMTSOLUTION": (), "rupture.json": (), "model.fsp": (), "rupture.param": (),
    "point.xml": ("--mechanism", "320,85,178"),
}  # fmt: skip


def event_file(tmp_path, name):
    path = tmp_path / name
    if name == "quake.xml":
        return write(path, quake(tensor={"parts": PARTS}))
    if name == "point.xml":
        return write(path, quake())
    texts = {"month.ndk": NDK, "CMTSOLUTION": CMT, "rupture.json": rupture_json(), "model.fsp": model()}
    if name == "rupture.param":
        (tmp_path / "rupture.json").write_text(rupture_json())
        typed("new", tmp_path / "first", "--event", tmp_path / "rupture.json", "--frequency", "0.2Hz")
        return tmp_path / "first" / name
    path.write_text(texts[name])
    return path


@pytest.mark.parametrize("name", EVENTS)
def test_a_case_of_every_format_can_run(tmp_path, name):
    path = event_file(tmp_path, name)
    code, text = typed("new", tmp_path / "case", "--event", path, "--frequency", "0.3Hz", *EVENTS[name])
    assert code == 0, text
    assert "event: " in text and "region: " in text and "up to 0.3 Hz, engine fd" in text
    content = (tmp_path / "case" / "case.yaml").read_text()
    assert f"of {path.name}, Mw" in content and f"#   place:     {path.name}:" in content and "+proj=tmerc" in content
    code, text = typed("check", tmp_path / "case" / "case.yaml")
    assert code == 0 and "this case can run" in text and "warning" not in text, text


@pytest.mark.parametrize("name", ["srf-dg/on.srf", "srf-header10/ten.srf", "cmt-latorutm/CMTSOLUTION"])
def test_cases_of_shared_files_can_run(tmp_path, name):
    if not SHARED.is_dir():
        pytest.skip("the shared files are absent")
    code, text = typed("new", tmp_path / "case", "--event", SHARED / name, "--frequency", "0.3Hz")
    assert code == 0, text
    assert (tmp_path / "case" / Path(name).name).read_bytes() == (SHARED / name).read_bytes()
    code, text = typed("check", tmp_path / "case" / "case.yaml")
    assert code == 0 and "this case can run" in text, text


def test_a_run_of_an_event(tmp_path):
    """East of the source only SH waves arrive, a node of P; to the north-east both horizontal components are the same."""
    (tmp_path / "CMTSOLUTION").write_text(CMT)
    (tmp_path / "stations.csv").write_text("station,longitude,latitude\nEAST,-116.93,34.0\nNE,-116.95,34.042\n")
    words = ("--stations", tmp_path / "stations.csv", "--frequency", "0.2Hz", "--until", "11s")
    code, text = typed("new", tmp_path / "case", "--event", tmp_path / "CMTSOLUTION", *words)
    assert code == 0, text
    code, text = typed("run", tmp_path / "case" / "case.yaml", "--output", tmp_path / "results")
    assert code == 0, text
    traces = fw.load(tmp_path / "results").traces["receiver"]
    peak = {
        name: [np.abs(traces[n].columns[v]).max() for v in ("v1", "v2", "v3")]
        for n, name in enumerate(("EAST", "NE"), 1)
    }
    assert peak["EAST"][1] > 5 * max(peak["EAST"][0], peak["EAST"][2])  # a node of P waves: only SH moves it
    assert peak["NE"][0] == pytest.approx(peak["NE"][1], rel=0.1)


@pytest.mark.parametrize("centre", [{}, {"lon": -68.0, "lat": -22.0, "size": 900e3}])
def test_tensors_are_those_of_the_same_event_as_a_cmtsolution(tmp_path, centre):
    """Also where y, north in the middle of the region, points elsewhere at the source."""
    case, _ = made(tmp_path, NDK, frequency=0.1, **centre)
    reference = tmp_path / "CMTSOLUTION"
    reference.write_text(NDK_AS_CMT)
    projection = Projection(case.projection.crs, case.projection.origin)
    (found,), (expected,) = sources_of(case), read_cmt(reference, projection)
    assert found.moment == pytest.approx(expected.moment, rel=1e-6, abs=1e-6 * np.abs(expected.moment).max())
    assert found.location == pytest.approx(expected.location, abs=0.5)
    assert ("rotated by" in (tmp_path / "case" / "case.yaml").read_text()) == bool(centre)


def test_time_functions_and_dates(tmp_path):
    """Where the half duration is resolved, the moment rate is that of a CMTSOLUTION, at the same date."""
    frequency = 1.0
    case, _ = made(tmp_path, NDK, frequency=frequency)
    (found,) = sources_of(case)
    begin = case.output.origin_time.timestamp()
    other, _ = made(tmp_path, NDK_AS_CMT, frequency=frequency)
    (expected,) = sources_of(other)
    assert other.numerics.source_lowpass is None  # the file radiates nothing above
    later = begin - other.output.origin_time.timestamp()
    t = np.linspace(0.0, 20.0, 201)
    assert found.function.width == pytest.approx(1.8 / 1.628, rel=1e-3)
    assert found.value(t) == pytest.approx(expected.value(t + later), abs=0.01 * expected.value(t).max())
    coarse, _ = made(tmp_path, NDK, frequency=0.1)
    assert sources_of(coarse)[0].function.width == pytest.approx(np.sqrt(2) * 0.39 / 0.1)
    assert coarse.output.origin_time.timestamp() + 6 * 0.39 / 0.1 == pytest.approx(
        begin + 6 * 1.8 / 1.628 / np.sqrt(2), abs=2e-3
    )
    filtered, _ = made(tmp_path, CMT, frequency=0.2)
    assert filtered.numerics.source_lowpass == pytest.approx(0.09)
    acts = 0.5 + 1.5 + 6 / 1.628 + 1 / 0.09  # the low-pass spreads the moment rate
    assert filtered.end_time == np.ceil(np.hypot(0.75 * side(filtered), 6e3) / 3360.0 + acts)
    date = filtered.output.origin_time.timestamp()
    assert date == pytest.approx(1577836810.0 - 1.5 - 0.416 / 0.09, abs=2e-3)  # 2020-01-01T00:00:10


def test_double_couples_have_the_angles_of_the_file(tmp_path):
    case, _ = made(tmp_path, write(tmp_path / "q.xml", quake()), mechanism=(320.0, 85.0, 178.0))
    source = case.sources[0]
    assert source.kind == "double-couple" and (source.strike, source.dip, source.rake) == (320.0, 85.0, 178.0)
    assert source.seismic_moment == pytest.approx(10 ** (1.5 * 5.0 + 9.1), rel=1e-5)
    assert sources_of(case)[0].location == pytest.approx([0.0, 0.0, -9e3], abs=0.5)


def test_the_region_follows_from_the_source(tmp_path):
    """Margins of 15 km, the depth or half a rupture length; 40 wavelengths, or as much as the source radiates."""
    small, _ = made(tmp_path, CMT)
    assert side(small) == 35e3 and small.grid.frequency == 0.9  # 0.551 * 1.628 / 1 s, the half duration
    quick, _ = made(tmp_path, CMT.replace("1.0\n", "0.1\n"))
    assert quick.grid.frequency == 1.0
    deep, made_deep = made(tmp_path, CMT.replace("1.0\n", "0.1\n").replace("6.0\n", "200.0\n"))
    assert side(deep) == 405e3 and deep.grid.frequency == pytest.approx(0.3) and deep.grid.lower[2] == -400e3
    assert deep.end_time > np.hypot(0.75 * 405e3, 200e3) / 3360.0  # waves from the source to the corners
    expect(made_deep.warnings)
    long, _ = made(tmp_path, CMT, frequency=0.05)
    assert side(long) == pytest.approx(2 * 3360 / 0.05, abs=10e3)  # a wavelength on each side
    rupture, _ = made(tmp_path, rupture_json())
    length = 10 ** (0.59 * 6.4 - 2.44 + 3)
    assert 2 * 15e3 + 15e3 < side(rupture) < 2 * 15e3 + length + 10e3


def test_the_region_holds_the_stations(tmp_path):
    stations = tmp_path / "stations.csv"
    stations.write_text("station,longitude,latitude\nFAR,-116.5,34.0\n")
    case, _ = made(tmp_path, CMT, stations=stations)
    assert side(case) == pytest.approx(2 * 1.1 * 46.2e3, abs=5e3)
    assert case.output.receivers.stations.name == "stations.csv" and not (tmp_path / "case" / "stations.txt").exists()
    with raises(InputError):
        made(tmp_path, CMT, stations=stations, size=40e3)


def test_warnings_on_the_source(tmp_path):
    _, found = made(tmp_path, CMT, frequency=2.0)
    expect(found.warnings)
    large = {name: 2e5 * value for name, value in PARTS.items()}
    _, found = made(tmp_path, write(tmp_path / "q.xml", quake(tensor={"parts": large})))
    expect([w for w in found.warnings if w.where == "--event"])


def test_events_across_the_antimeridian(tmp_path):
    ring = [[179.95, -20.0, 0.0], [-179.9, -20.0, 0.0], [-179.9, -20.0, 12.0], [179.95, -20.0, 12.0]]
    text = rupture_json({"type": "MultiPolygon", "coordinates": [[[*ring, ring[0]]]]}, lat=-20.0, lon=180.0)
    case, _ = made(tmp_path, text, frequency=0.3)
    assert case.projection.origin[0] == pytest.approx(-179.975, abs=5e-3) and side(case) < 60e3
    places = sources_of(case).location
    assert np.abs(places[:, :2]).max() < 10e3


def test_choices_that_contradict_each_other(tmp_path):
    (tmp_path / "CMTSOLUTION").write_text(CMT)
    for words in (
        ("--event", tmp_path / "CMTSOLUTION", "--srf", tmp_path / "a.srf", "--lon", "3", "--frequency", "-1Hz"),
        ("--event-id", "a", "--mechanism", "1,2,3"),
        ("--event", tmp_path / "CMTSOLUTION", "--mechanism", "north"),
        ("--event", tmp_path / "CMTSOLUTION", "--lon", "100", "--lat", "34", "--size", "50km"),
        ("--event", tmp_path / "CMTSOLUTION", "--dip", "30"),
        ("--event", tmp_path / "CMTSOLUTION", "--depth", "3km"),
    ):
        code, text = typed("new", tmp_path / "case", *words)
        assert code == 2 and not (tmp_path / "case").exists()
        expect(text.replace(str(tmp_path), "TMP"))


@pytest.mark.parametrize(
    "lon, lat, size",
    [
        (46.5, 8.0, None),  # exchanged
        (46.5, 8.0, 100e3),
        (60.0, 46.5, None),
        (8.0, 55.4, None),  # 990 km to the north, and the margin beyond the source
    ],
)
def test_centres_far_from_the_source(tmp_path, lon, lat, size):
    text = CMT.replace("34.0\nlong", "46.5\nlong").replace("-117.0\ndep", "8.0\ndep")
    with raises(InputError):
        made(tmp_path, text, lon=lon, lat=lat, size=size)
    assert not (tmp_path / "case").exists()


def test_sources_outside_of_a_region_of_given_size(tmp_path):
    text = CMT.replace("34.0\nlong", "46.5\nlong").replace("-117.0\ndep", "44.0\ndep")
    for centre in ({"lon": 46.5, "lat": 44.0}, {"lon": 46.5, "lat": 46.5}):
        with raises(InputError):
            made(tmp_path, text, size=100e3, **centre)


def test_positions_in_metres_have_no_place_on_earth(tmp_path):
    text = CMT.replace("34.0\nlong", "4000.0\nlong").replace("-117.0\ndep", "2000.0\ndep")
    with raises(InputError):
        made(tmp_path, text)


def test_sources_of_events_on_tetrahedra(tmp_path):
    case, _ = made(tmp_path, NDK, engine="dg", order=3, frequency=0.1)
    assert case.mesh.build.frequency == 0.1 and case.numerics.order == 3
    code, text = typed("new", tmp_path / "other", "--event", tmp_path / "event", "--sea")
    assert code == 2 and "--sea needs --topography" in text
