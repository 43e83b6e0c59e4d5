"""From a place to results and pictures, as a user types it; what cannot be is told before anything is written."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import faultwave as fw
from faultwave.cli.main import app
from faultwave.physics.friction.frame import plus_side
from faultwave.physics.sources.load import load_sources
from faultwave.run.inputs import load_valid_case
from faultwave.run.new_case import write

TENSOR = ("--moment-tensor", "0,90,0,5,3", "--lon", "9", "--lat", "46", "--size", "9km")
TRACE = [[-117.54, 35.66], [-117.50, 35.70], [-117.46, 35.74]]


def typed(*words):
    """What the program answers, and its exit code."""
    done = CliRunner().invoke(app, list(map(str, words)))
    return done.exit_code, " ".join(done.output.split())


def well(*words):
    code, text = typed(*words)
    assert code == 0, text
    return text


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "trace.geojson"
    line = {"type": "LineString", "coordinates": TRACE}
    path.write_text(json.dumps({"type": "Feature", "properties": {"name": "demo"}, "geometry": line}))
    return path


def write_dem(path):
    """Hills, and the sea in the south-west, by longitude and latitude."""
    lon, lat = np.linspace(-117.8, -117.2, 61), np.linspace(35.4, 36.0, 61)
    x, y = np.meshgrid(lon, lat)
    z = 6000.0 * (x + y + 81.9) + 300.0 * np.sin(60 * x) * np.cos(50 * y)
    header = f"ncols 61\nnrows 61\nxllcenter {lon[0]}\nyllcenter {lat[0]}\ncellsize {lon[1] - lon[0]}"
    np.savetxt(path, z[::-1], fmt="%.2f", header=header, comments="")
    return path


def test_a_rupture_from_its_trace_to_a_report(tmp_path, trace, monkeypatch):
    pytest.importorskip("gmsh", exc_type=ImportError)
    folder = tmp_path / "case"
    well(
        "new", folder, "--fault", trace, "--dip", 70, "--fault-depth", "8km", "--frequency", "0.15Hz", "--order", 3, "--until", "4s",
        "--topography", write_dem(tmp_path / "dem.asc"), "--topography-crs", "EPSG:4326", "--sea",
    )  # fmt: skip
    monkeypatch.chdir(folder)
    assert "this case can run" in well("check", "case.yaml")
    well("run", "case.yaml")
    pictures = well("plot", "results")
    assert "run-rupture-maps.png" in pictures and "run-surface-peak-velocity.png" in pictures
    assert "run-report.html" in well("report", "results")
    results = fw.load("results")
    assert len(results.traces["receiver"]) == 36
    heights = [t.location[2] for t in results.traces["receiver"].values()]
    assert "the sea surface above water" in (folder / "stations.txt").read_text()
    assert min(heights) < 1e-3 and max(heights) > 500.0  # on the sea and on the hills
    assert results.energies["total_frictional_work"][-1] > 0


def test_a_moment_tensor_on_a_grid_to_a_report(tmp_path, monkeypatch):
    folder = tmp_path / "case"
    well("new", folder, "--lon", -117.5, "--lat", 35.7, "--size", "10km", "--frequency", "0.5Hz", "--engine", "fd",
         "--moment-tensor", "320,85,178,5.2,3", "--until", "9s")  # fmt: skip
    monkeypatch.chdir(folder)
    assert "this case can run" in well("check", "case.yaml")
    well("run", "case.yaml")
    assert "run-intensity.png" in well("plot", "results")
    assert "run-report.html" in well("report", "results")


@pytest.mark.slow
def test_both_engines_record_the_same_beside_a_source(tmp_path):
    """Far sides: a box of 0.6 wavelengths, as small as it was asked for, would disturb what stations record by 76 %."""
    pytest.importorskip("gmsh", exc_type=ImportError)
    place = (
        "--lon",
        -117.5,
        "--lat",
        35.7,
        "--size",
        "10km",
        "--frequency",
        "0.2Hz",
        "--moment-tensor",
        "320,85,178,5.2,3",
    )
    traces = {}
    for engine in ("dg", "fd"):
        well("new", tmp_path / engine, *place, "--engine", engine)
        well("run", tmp_path / engine / "case.yaml", "--output", tmp_path / f"{engine}-results")
        traces[engine] = fw.load(tmp_path / f"{engine}-results").traces["receiver"]
    misfits = []
    for name, trace in traces["dg"].items():
        other = traces["fd"][name]
        dg = np.stack([trace.columns[v] for v in ("v1", "v2", "v3")])
        fd = np.stack([np.interp(trace.time, other.time, other.columns[v]) for v in ("v1", "v2", "v3")])
        misfits.append(np.linalg.norm(dg - fd) / np.linalg.norm(fd))
    assert np.median(misfits) < 0.05 and max(misfits) < 0.5  # largest where little moves


def test_a_grid_follows_the_topography(tmp_path, monkeypatch):
    folder = tmp_path / "case"
    where = ("--lon", -117.5, "--lat", 35.7, "--size", "10km", "--moment-tensor", "320,85,178,5.2,3")
    relief = ("--topography", write_dem(tmp_path / "dem.asc"), "--topography-crs", "EPSG:4326")
    well("new", folder, *where, *relief, "--engine", "fd", "--frequency", "0.5Hz")
    monkeypatch.chdir(folder)
    assert "this case can run" in well("check", "case.yaml")


def write_mountains(path, lowest):
    """Five kilometres of relief."""
    lon, lat = np.linspace(-117.8, -117.2, 61), np.linspace(35.4, 36.0, 61)
    x, y = np.meshgrid(lon, lat)
    z = lowest + 2500.0 * (1 + np.sin(60 * x) * np.cos(50 * y))
    header = f"ncols 61\nnrows 61\nxllcenter {lon[0]}\nyllcenter {lat[0]}\ncellsize {lon[1] - lon[0]}"
    np.savetxt(path, z[::-1], fmt="%.2f", header=header, comments="")
    return path


@pytest.mark.parametrize("lowest", [500.0, -4000.0])
def test_a_grid_reaches_deep_enough_below_mountains(tmp_path, monkeypatch, lowest):
    """Its planes bend down to twice the relief below the lowest ground."""
    folder = tmp_path / "case"
    where = ("--lon", -117.5, "--lat", 35.7, "--size", "20km", "--moment-tensor", "320,85,178,5.2,3", "--engine", "fd")
    relief = ("--topography", write_mountains(tmp_path / "dem.asc", lowest), "--topography-crs", "EPSG:4326")
    well("new", folder, *where, *relief, "--frequency", "0.3Hz")
    monkeypatch.chdir(folder)
    assert "this case can run" in well("check", "case.yaml")
    code, told = typed("new", tmp_path / "shallow", *where, *relief, "--frequency", "0.3Hz", "--depth", "10km")
    assert (
        code == 2
        and "--depth" in told
        and "too small for a curvilinear grid" in told
        and not (tmp_path / "shallow").exists()
    )


def test_the_case_holds_the_tensor_that_was_asked_for(tmp_path):
    folder = tmp_path / "case"
    well("new", folder, "--lon", 9.0, "--lat", 46.0, "--size", "10km", "--moment-tensor", "0,90,0,5,3")
    case = load_valid_case(folder / "case.yaml")[0]
    assert case.sources[0].kind == "double-couple"
    (source,) = load_sources(case.sources, projection=case.projection)
    moment = 10 ** (1.5 * 5 + 9.1)
    np.testing.assert_allclose(
        source.moment, [0, 0, 0, moment, 0, 0], atol=1e-6 * moment
    )  # left-lateral on a northward plane
    np.testing.assert_allclose(source.location, [0, 0, -3e3], atol=1e-3)


def test_files_of_sources_are_taken_along(tmp_path):
    cmt = tmp_path / "CMTSOLUTION"
    cmt.write_text(
        "PDE 2003 9 2 18 16 34.5 46.0 9.0 10.0 5.4 5.4 PLACE\nevent name: A\ntime shift: 0.0\nhalf duration: 1.0\nlatitude: 46.0\n"
        "longitude: 9.0\ndepth: 4.0\nMrr: 1.0e+23\nMtt: -1.0e+23\nMpp: 0.0\nMrt: 0.0\nMrp: 0.0\nMtp: 0.0\n"
    )
    well("new", tmp_path / "case", "--lon", 9.0, "--lat", 46.0, "--size", "20km", "--moment-tensor", cmt)
    case = load_valid_case(tmp_path / "case" / "case.yaml")[0]
    assert case.title.startswith("Moment tensor at")
    assert case.sources[0].kind == "cmtsolution" and case.sources[0].file == tmp_path / "case" / "CMTSOLUTION"


@pytest.mark.parametrize(
    "words, expected",
    [
        ((), "0 of --fault, --moment-tensor, --srf and --event"),
        (("--moment-tensor", "0,90,0,5,3"), "--lon, --lat are missing"),
        (("--moment-tensor", "0,90,0,5,3", "--lon", "46", "--lat", "127", "--size", "9km"), "seem to be exchanged"),
        (("--moment-tensor", "0,90,0,5,3", "--lon", "9", "--lat", "46"), "--size is missing"),
        (("--moment-tensor", "0,95,0,5,3", "--lon", "9", "--lat", "46", "--size", "9km"), "dip 0 to 90"),
        (("--moment-tensor", "0,90", "--lon", "9", "--lat", "46", "--size", "9km"), "neither a file nor five numbers"),
        (("--fault", "nowhere.csv"), "the file does not exist"),
        (("--fault", "TRACE", "--engine", "fd"), "none can follow a trace"),
        (("--fault", "TRACE", "--size", "2km"), "lie outside of the region"),
        (("--fault", "TRACE", "--size", "40 s"), "--size"),
        (("--fault", "TRACE", "--size", "20"), "--size 20 m is far less than the shortest wavelength"),
        (("--fault", "TRACE", "--depth", "-5km"), "--depth -5000"),
        (("--fault", "TRACE", "--depth", "12km"), "--depth 12000 m: the fault reaches 15000 m"),
        (("--fault", "TRACE", "--fault-depth", "15"), "--fault-depth 15 m is far too small"),
        (("--fault", "TRACE", "--until", "-3s"), "--until -3"),
        (("--fault", "TRACE", "--rake", "nan"), "--rake nan"),
        (("--fault", "TRACE", "--fault", "TRACE"), "listed twice"),
        (
            ("--moment-tensor", "nan,90,0,5,3", "--lon", "9", "--lat", "46", "--size", "9km"),
            "--moment-tensor nan,90,0,5,3",
        ),
        (("--fault", "TRACE", "--sea"), "--sea needs --topography"),
        ((*TENSOR[:-1], "9000km"), "--size the region is 9000 km wide"),
        ((*TENSOR, "--engine", "fd", "--sea"), "a grid has no sea"),
        ((*TENSOR, "--engine", "fd", "--order", "6"), "--order has no effect with --engine fd"),
        ((*TENSOR, "--dip", "30"), "--dip has no effect without --fault"),
        ((*TENSOR, "--rake", "10"), "--rake has no effect without --fault"),
        ((*TENSOR, "--fault-depth", "5km"), "--fault-depth has no effect without --fault"),
        ((*TENSOR, "--topography-crs", "EPSG:4326"), "--topography-crs has no effect without --topography"),
    ],
)
def test_what_cannot_be_is_told_and_nothing_written(tmp_path, trace, words, expected):
    code, text = typed("new", tmp_path / "case", *[str(trace) if w == "TRACE" else w for w in words])
    assert code == 2 and expected in text, text
    drawn = ["case-problems"] if "outside of the region" in expected else []
    assert sorted(p.name for p in tmp_path.iterdir()) == [*drawn, "trace.geojson"]


def test_nobody_is_sent_to_draw_a_case_that_is_not_there(tmp_path, trace):
    turned = json.loads(trace.read_text())
    line = turned.get("geometry", turned)
    line["coordinates"] = [[lat, -abs(lon) - 100.0] for lon, lat in line["coordinates"]]
    trace.write_text(json.dumps(turned))
    code, text = typed("new", tmp_path / "case", "--fault", trace)
    assert code == 2 and "They seem to be exchanged" in text and "faultwave plot" not in text


def test_the_region_holds_a_fault_that_dips_little(tmp_path, trace):
    well("new", tmp_path / "case", "--fault", trace, "--dip", "20", "--fault-depth", "8km", "--until", "10s")
    built = load_valid_case(tmp_path / "case" / "case.yaml")[0].mesh.build
    assert built.upper[0] > 8e3 / np.tan(np.radians(20.0))


def test_a_run_shorter_than_its_source_is_told(tmp_path, trace):
    assert "--until 3 s is less than the 3.9 s that the source acts" in well(
        "new", tmp_path / "a", *TENSOR, "--until", "3s"
    )
    assert "less than" not in well("new", tmp_path / "b", *TENSOR, "--until", "5s")
    told = well("new", tmp_path / "c", "--fault", trace, "--until", "3s")
    assert "--until 3 s is less than the 4" in told and "that the rupture takes, about" in told


def test_a_slow_source_of_a_file_is_waited_for(tmp_path):
    cmt = tmp_path / "CMTSOLUTION"
    cmt.write_text(
        "PDE 2003 9 2 18 16 34.5 46.0 9.0 10.0 5.4 5.4 PLACE\nevent name: A\ntime shift: 0.0\nhalf duration: 20.0\nlatitude: 46.0\n"
        "longitude: 9.0\ndepth: 4.0\nMrr: 1.0e+23\nMtt: -1.0e+23\nMpp: 0.0\nMrt: 0.0\nMrp: 0.0\nMtp: 0.0\n"
    )
    well("new", tmp_path / "case", "--lon", 9.0, "--lat", 46.0, "--size", "20km", "--moment-tensor", cmt)
    assert load_valid_case(tmp_path / "case" / "case.yaml")[0].end_time >= 40.0


def test_sides_are_as_far_as_reflections_want(tmp_path):
    well("new", tmp_path / "case", *TENSOR)
    case = load_valid_case(tmp_path / "case" / "case.yaml")[0]
    assert case.mesh.build.reflections_after == case.end_time
    told = well("new", tmp_path / "long", *TENSOR, "--until", "1000s")
    built = load_valid_case(tmp_path / "long" / "case.yaml")[0].mesh.build
    assert built.reflections_after < 300.0 and "may return after" in told
    assert "BEFORE the end" in (tmp_path / "long" / "case.yaml").read_text()


def test_a_grid_is_fine_enough_for_a_shallow_source(tmp_path):
    words = ("--frequency", "0.2Hz", "--engine", "fd")
    well("new", tmp_path / "case", *TENSOR, *words)
    frequency = load_valid_case(tmp_path / "case" / "case.yaml")[0].grid.frequency
    np.testing.assert_allclose(3360.0 / 6.0 / frequency, 3000.0 / 4.0, rtol=1e-3)
    deep = ("--moment-tensor", "0,90,0,5,30", *TENSOR[2:])
    well("new", tmp_path / "deep", *deep, *words)
    assert load_valid_case(tmp_path / "deep" / "case.yaml")[0].grid.frequency == 0.2


def test_a_case_that_proves_unsound_leaves_nothing(tmp_path, trace, monkeypatch):
    monkeypatch.setattr(write, "_numerics", lambda *_: "numerics: { order: 99 }\n")
    code, text = typed("new", tmp_path / "more" / "case", "--fault", trace)
    assert code == 2 and "numerics.order" in text and "more/case/case.yaml" in text, text
    assert [p.name for p in tmp_path.iterdir()] == ["trace.geojson"]


def test_a_trace_in_kilometres_without_a_unit_is_told(tmp_path):
    path = tmp_path / "km.csv"
    path.write_text("x,y\n-4,-5\n0,0\n5,6\n")
    code, text = typed("new", tmp_path / "case", "--lon", 10.0, "--lat", 46.0, "--fault", path)
    assert code == 2 and "x[km], y[km]" in text and "lon, lat" in text, text
    assert not (tmp_path / "case").exists()
    path.write_text("x,y\n996,995\n1000,1000\n1005,1006\n")
    code, text = typed("new", tmp_path / "case", "--lon", 10.0, "--lat", 46.0, "--fault", path)
    assert code == 2 and "x[km], y[km]" in text and "lon, lat" not in text, text


def test_files_are_not_written_over_unasked(tmp_path, trace):
    (tmp_path / "case").mkdir()
    (tmp_path / "case" / "mine.txt").write_text("mine")
    code, text = typed("new", tmp_path / "case", "--fault", trace)
    assert code == 2 and "contains files" in text
    well("new", tmp_path / "case", "--fault", trace, "--force")
    assert (tmp_path / "case" / "mine.txt").read_text() == "mine"


def test_files_of_one_name_are_all_taken_along(tmp_path):
    paths = []
    for number, name in enumerate(("trace.csv", "trace.csv", "layers.txt", "Stations.txt")):
        paths.append(tmp_path / str(number) / name)
        paths[-1].parent.mkdir()
        paths[-1].write_text(f"lon,lat\n-117.5{number},35.66\n-117.4{number},35.74\n")
    well("new", tmp_path / "case", *[w for path in paths for w in ("--fault", path)])
    case = load_valid_case(tmp_path / "case" / "case.yaml")[0]
    files = [fault.trace for fault in case.mesh.build.faults]
    assert [file.read_text() for file in files] == [path.read_text() for path in paths]
    assert "IASP91" in (tmp_path / "case" / "layers.txt").read_text()
    assert "and a code" in (tmp_path / "case" / "stations.txt").read_text()


def test_any_name_of_a_file_is_written_so_that_it_is_read(tmp_path, trace):
    odd = tmp_path / 'my, "fault\'s": {a} # 1.geojson'
    odd.write_bytes(trace.read_bytes())
    well("new", tmp_path / "case", "--fault", odd)
    case = load_valid_case(tmp_path / "case" / "case.yaml")[0]
    assert case.mesh.build.faults[0].trace == tmp_path / "case" / odd.name
    assert odd.stem in case.title


def two_traces(folder):
    """Parallel faults 10 km apart, the second one drawn from north to south."""
    path = folder / "two.csv"
    path.write_text("x[km],y[km]\n-5,-6\n-5,6\n> two\n5,5\n5,-5\n")
    return path


AT = ("--lon", 10.0, "--lat", 46.0)


def test_faults_drawn_in_opposite_directions_have_their_hanging_walls_on_one_side(tmp_path):
    folder = tmp_path / "case"
    well("new", folder, *AT, "--fault", two_traces(tmp_path), "--dip", 60, "--rake", 90)
    fault = load_valid_case(folder / "case.yaml")[0].fault
    for right in (1.0, -1.0):  # the one dips to the east, the other one to the west
        hanging_wall = np.array([[-right * np.sin(np.pi / 3), 0.0, -np.cos(np.pi / 3)]])
        on_face, above = np.zeros((1, 3)), -hanging_wall
        assert plus_side(fault.reference_method, fault.reference, hanging_wall, on_face, above).all()


@pytest.mark.parametrize("dip, rake, fits", [(90, 180, True), (90, 90, False), (88, 100, False)])
def test_steep_faults_drawn_in_opposite_directions_only_slip_along_strike(tmp_path, dip, rake, fits):
    words = ("new", tmp_path / "case", *AT, "--fault", two_traces(tmp_path), "--dip", dip, "--rake", rake)
    if fits:
        well(*words)
        return
    code, text = typed(*words)
    assert code == 2 and "two.csv:4" in text and "dips in the opposite direction to the longest trace" in text, text
    assert not (tmp_path / "case").exists()


def test_properties_of_a_trace_are_used_unless_options_say_otherwise(tmp_path, trace):
    """Dip, side, depth and rake as GEM's database writes them."""
    data = json.loads(trace.read_text())
    data["properties"] |= {
        "average_dip": "(50,40,60)",
        "dip_dir": "NW",
        "lower_seis_depth": "(12,,)",
        "average_rake": "(90,,)",
    }
    trace.write_text(json.dumps(data))
    short = ("--frequency", "0.15Hz", "--order", 3)
    told = well("new", tmp_path / "a", "--fault", trace, *short)
    assert "are used: dip 50 deg, dips to 315 deg, lower edge 12 km deep, rake 90 deg" in told
    text = (tmp_path / "a" / "case.yaml").read_text()
    assert 'trace: "trace.geojson" }' in text and "the rake is 90 degrees" in text
    east, north = map(float, text.split("A patch of")[1].split("about (")[1].split(",")[:2])
    assert east < -1e3 and north > 1e3, "the hypocentre lies on the side that the file names"
    well("new", tmp_path / "b", "--fault", trace, "--dip", 70, "--fault-depth", "8km", *short)
    assert 'trace: "trace.geojson", dip: 70 deg, depth: 8 km }' in (tmp_path / "b" / "case.yaml").read_text()
