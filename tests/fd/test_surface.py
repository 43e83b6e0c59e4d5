"""Snapshots of the surface and maps of intensity against seismograms at the same places, and their files."""

import xml.etree.ElementTree as ElementTree
from datetime import datetime

import netCDF4
import numpy as np
import pytest
from scipy import integrate, signal

from faultwave.observe.motions.measures import oscillator
from faultwave.output.formats.image import ImageReader
from faultwave.output.formats.maps_netcdf import read_maps
from faultwave.output.formats.maps_shakemap import instrumental_intensity, spectral_name, write_shakemap
from faultwave.run import simulate

from .test_grids import case, problems

PERIOD = 0.5
SHAKEMAP = "{http://earthquake.usgs.gov/eqcenter/shakemap}"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("surface") / "out"
    points = [[350.0, 650.0, 0.0], [1050.0, 1250.0, 0.0]]
    settings = case(
        end_time=1.6, output__receivers={"points": points, "interval": 0.004}, output__surface={"interval": 0.4},
        output__intensity={"periods": [PERIOD], "formats": ["geotiff", "shakemap"]},
        projection={"crs": "EPSG:32611", "origin": [-117.3, 34.2], "azimuth": "20 deg"}, title="a small one",
        output__origin_time="2019-07-06T03:19:53",
    )  # fmt: skip
    sim = simulate(settings, output=folder)
    sim.run()
    return sim, folder, points


def rotd50(a, b):
    """As it is defined: the median of all directions, degree by degree (Boore 2010)."""
    angles = np.radians(np.arange(180))
    return np.median([np.abs(np.cos(t) * a + np.sin(t) * b).max() for t in angles])


def newmark(a, t, period, damping):
    """Largest displacement of an oscillator by constant mean acceleration, a scheme of its own."""
    w, h = 2 * np.pi / period, t[1] - t[0]
    x = v = 0.0
    q, found = -a[0], []
    for force in a[1:]:
        ahead, fast = x + h * v + 0.25 * h * h * q, v + 0.5 * h * q
        q = (-force - 2 * damping * w * fast - w * w * ahead) / (1 + damping * w * h + 0.25 * w * w * h * h)
        x, v = ahead + 0.25 * h * h * q, fast + 0.5 * h * q
        found.append(x)
    return np.array(found)


def test_maps_are_those_of_the_seismograms(run):
    sim, folder, points = run
    maps, data = read_maps(folder / "run-intensity.nc"), sim.receivers
    for n, (x, y, _) in enumerate(points):
        j, i = np.argmin(np.abs(maps["y"] - y)), np.argmin(np.abs(maps["x"] - x))
        assert (maps["x"][i], maps["y"][j]) == (x, y)
        t = data["time"]
        v = np.stack([data.quantity(f"v{c}")[:, n] for c in (1, 2)])
        a, u = np.gradient(v, t, axis=1), integrate.cumulative_trapezoid(v, t, axis=1, initial=0)
        w = 2 * np.pi / PERIOD
        x_osc = [newmark(c, t, PERIOD, 0.05) for c in a]
        expected = {"PGA": rotd50(*a), "PGV": rotd50(*v), "PGD": rotd50(*u), "SA_0.5s": w * w * rotd50(*x_osc),
                    "PGV_max": np.hypot(*v).max()}  # fmt: skip
        arias = np.pi / (2 * 9.80665) * integrate.cumulative_trapezoid((a**2).sum(0), t, initial=0)
        begin, end = np.interp([0.05, 0.95], arias / arias[-1], t)
        expected |= {"arias": arias[-1], "D5_95": end - begin}
        for name, value in expected.items():
            assert maps[name][j, i] == pytest.approx(value, rel=0.03 if name == "D5_95" else 0.01), name


def test_maps_know_the_earthquake(run):
    sim, folder, _ = run
    maps = read_maps(folder / "run-intensity.nc")
    assert [maps[f"source_{a}"].tolist() for a in "xyz"] == [[750.0], [730.0], [-620.0]]
    assert (
        maps.attrs["resolved_frequency"] == pytest.approx(2000 / 600, rel=1e-6) and maps.attrs["case"] == "a small one"
    )


def test_oscillator_is_exact_for_linear_acceleration():
    step, period, damping = 0.01, 0.3, 0.05
    a, b = oscillator(period, damping, step)
    w = 2 * np.pi / period
    t = np.arange(200) * step
    force = np.interp(t, [0, 0.5, 1.0, 2.0], [0.0, 3.0, -1.0, 0.5])
    state, found = np.zeros(2), [0.0]
    for old, new in zip(force[:-1], force[1:], strict=True):
        state = a @ state + b @ [old, new]
        found.append(state[0])
    _, expected, _ = signal.lsim(([-1], [1, 2 * damping * w, w * w]), force, t)
    assert found == pytest.approx(expected, abs=1e-12)


def test_snapshots(run):
    _, folder, _ = run
    with ImageReader(folder / "run-surface.vtkhdf") as file:
        assert file.times == pytest.approx([0, 0.4, 0.8, 1.2, 1.6], abs=0.01)
        assert file.field("v3").shape == (16, 15)
        assert np.abs(file.field("v3", 0)).max() == 0 < np.abs(file.field("v3")).max()
        assert np.abs(file.field("u3")).max() > 0


UNITS = {"PGA": "m/s^2", "PGV": "m/s", "PGD": "m", "SA_0.5s": "m/s^2", "PGV_max": "m/s", "arias": "m/s", "D5_95": "s"}


def test_every_file_says_its_units(run):
    import tifffile

    _, folder, _ = run
    maps = read_maps(folder / "run-intensity.nc")
    assert {n: maps.variables[n].unit for n in UNITS} == UNITS
    with netCDF4.Dataset(folder / "run-intensity.nc") as file:
        assert (file["longitude"].units, file["latitude"].units) == ("degrees_east", "degrees_north")
        assert file["longitude"].dtype == np.float64 and file["PGA"].coordinates == "longitude latitude"
        assert file.crs == "EPSG:32611" and file.origin.tolist() == [-117.3, 34.2] and file.azimuth == 20.0
    with tifffile.TiffFile(folder / "run-intensity.tif") as file:
        items = ElementTree.fromstring(file.pages[0].tags[42112].value)
    bands = {int(i.get("sample")): i.text for i in items if i.get("role") == "description"}
    found = {bands[int(i.get("sample"))]: i.text for i in items if i.get("role") == "unittype"}
    assert found == UNITS and sorted(bands) == list(range(len(UNITS)))
    root = ElementTree.parse(folder / "run-grid.xml").getroot()
    fields = {f.get("name"): f.get("units") for f in root.findall(f"{SHAKEMAP}grid_field")}
    assert fields == {"LON": "dd", "LAT": "dd", "MMI": "intensity", "PGA": "pctg", "PGV": "cms", "PSA05": "pctg"}


def test_xarray_knows_where(run):
    xarray = pytest.importorskip("xarray")
    _, folder, _ = run
    with xarray.open_dataset(folder / "run-intensity.nc") as maps:
        assert {"x", "y", "longitude", "latitude"} <= set(maps.coords) and maps.PGA.dims == ("y", "x")


def test_geotiff_upright(tmp_path):
    """In the projection's own directions, by the tags that every reader understands."""
    import tifffile

    from faultwave.observe.dataset import Dataset, Variable
    from faultwave.output.formats.maps_geotiff import write_geotiff

    x, y = Variable(np.arange(4) * 50.0, ("x",), "m"), Variable(np.arange(3) * 50.0, ("y",), "m")
    maps = Dataset(
        "m", {"x": x, "y": y, "PGA": Variable(np.arange(12.0).reshape(3, 4), ("y", "x"), "m/s^2", "<peak>")}, {}
    )
    path = write_geotiff(tmp_path / "m.tif", maps, 32611, np.array([[1.0, 0, 5e5], [0, 1, 37e5]]))
    with tifffile.TiffFile(path) as file:
        found = file.geotiff_metadata
        assert found["ModelPixelScale"] == [50.0, 50.0, 0.0] and found["ProjectedCSTypeGeoKey"] == 32611
        assert found["ModelTiepoint"] == [0.0, 0.0, 0.0, 5e5 - 25, 37e5 + 125, 0.0]
        assert file.asarray()[0, 0] == 8.0


def test_geotiff_places_its_pixels(run):
    import tifffile

    sim, folder, _ = run
    maps = sim.result("intensity")
    with tifffile.TiffFile(folder / "run-intensity.tif") as file:
        bands = file.asarray()
        tags = file.pages[0].tags
        matrix = np.reshape(tags[34264].value, (4, 4))
        assert tags[34735].value[-1] == 32611
        names = [part.split(" ")[0] for part in tags["ImageDescription"].value.split("; ")]
    assert np.allclose(bands[names.index("PGV")][::-1], maps["PGV"], rtol=1e-6)
    from faultwave.base.projection import Projection

    where = Projection("EPSG:32611", (-117.3, 34.2), 20.0).to_map(np.array([[maps["x"][4], maps["y"][-3]]]))[0]
    assert (matrix @ [4.5, 2.5, 0, 1])[:2] == pytest.approx(where, abs=1e-6)


def test_shakemap_grid(run):
    sim, folder, _ = run
    root = ElementTree.parse(folder / "run-grid.xml").getroot()
    fields = [f.get("name") for f in root.findall(f"{SHAKEMAP}grid_field")]
    assert fields == ["LON", "LAT", "MMI", "PGA", "PGV", "PSA05"]
    rows = np.array(root.find(f"{SHAKEMAP}grid_data").text.split(), float).reshape(-1, len(fields))
    spec = root.find(f"{SHAKEMAP}grid_specification")
    assert len(rows) == int(spec.get("nlon")) * int(spec.get("nlat"))
    assert rows[1, 0] > rows[0, 0] and rows[-1, 1] < rows[0, 1]  # from north-west, longitude fastest
    assert np.isfinite(rows).all() and root.get("map_status") == "AUTOMATIC"  # though the box is turned against north
    inside = rows
    ny, nx = sim.result("intensity")["PGV"].shape
    assert len(rows) > 0.3 * ny * nx
    event, (source,) = root.find(f"{SHAKEMAP}event"), sim.plan.sources
    reached = np.abs(source.integral(0, np.linspace(0, 1.6, 2000))).max()
    moment = reached * np.sqrt((2 * 4e14**2 + 2 * 1e15**2) / 2)
    assert float(event.get("magnitude")) == pytest.approx((np.log10(moment) - 9.1) / 1.5, abs=0.01)
    assert float(event.get("depth")) == 0.62 and event.get("event_description") == "a small one"
    assert abs(float(event.get("lat")) - 34.2) < 0.02 and abs(float(event.get("lon")) + 117.3) < 0.02
    near = inside[np.argmax(inside[:, 4])]
    assert near[4] == pytest.approx(100 * sim.result("intensity")["PGV"].max(), rel=0.1)
    assert near[2] == pytest.approx(float(instrumental_intensity(near[4:5] / 100)[0]), rel=1e-3)


def test_the_largest_rectangle_of_a_mask():
    from faultwave.output.formats.maps_shakemap import largest_rectangle

    mask = np.zeros((6, 7), bool)
    mask[1:5, 2:5] = mask[3, :] = True
    assert largest_rectangle(mask) == (slice(1, 5), slice(2, 5))
    mask[3:5, :] = True
    assert largest_rectangle(mask) == (slice(3, 5), slice(0, 7))
    assert largest_rectangle(np.ones((3, 4), bool)) == (slice(0, 3), slice(0, 4))
    assert largest_rectangle(np.zeros((3, 4), bool)) == (slice(None), slice(None))


def test_shakemap_counts_in_percent_of_gravity(run):
    """1 %g is 0.0980665 m/s^2; values are the maps' at the same longitude and latitude."""
    from faultwave.base.projection import Projection

    sim, folder, _ = run
    text = ElementTree.parse(folder / "run-grid.xml").getroot().find(f"{SHAKEMAP}grid_data").text
    rows = np.array(text.split(), float).reshape(-1, 6)
    rows = rows[np.isfinite(rows[:, 4])]
    maps = sim.result("intensity")
    xy = Projection("EPSG:32611", (-117.3, 34.2), 20.0).to_local(rows[:, 0], rows[:, 1])
    near = [np.abs(maps[a][None] - xy[:, k, None]).argmin(1) for k, a in ((1, "y"), (0, "x"))]
    for column, name, unit in ((3, "PGA", 0.0980665), (4, "PGV", 0.01), (5, "SA_0.5s", 0.0980665)):
        ratio = rows[:, column] * unit / maps[name][tuple(near)]
        assert np.median(ratio) == pytest.approx(1.0, abs=0.02), name


def test_maps_go_on_beyond_the_180th_meridian(tmp_path):
    """One region, not two at the ends of the world."""
    made = case(
        end_time=0.05, projection={"crs": "EPSG:32660", "origin": [180.0, 34.0]}, output__intensity={"formats": ["shakemap"]},
        output__surface={"interval": 1.0}, grid__lower=[-700, -800, -1500], grid__upper=[800, 800, 0],
        sources=[{"kind": "force", "location": [100, 0, -500], "force": [0, 0, 1e12],
                  "time_function": {"kind": "ricker", "duration": 0.5}}],
        output__receivers={"points": [[0, 0, 0]], "interval": 0.01},
    )  # fmt: skip
    simulate(made, output=tmp_path / "out").run()
    root = ElementTree.parse(tmp_path / "out/run-grid.xml").getroot()
    spec = root.find(f"{SHAKEMAP}grid_specification")
    assert 179.99 < float(spec.get("lon_min")) < 180 < float(spec.get("lon_max")) < 180.01
    assert float(spec.get("lon_min")) < float(root.find(f"{SHAKEMAP}event").get("lon")) < float(spec.get("lon_max"))
    rows = np.array(root.find(f"{SHAKEMAP}grid_data").text.split(), float).reshape(
        int(spec.get("nlat")), int(spec.get("nlon")), -1
    )
    assert np.isfinite(rows[..., 4]).mean() > 0.8
    for found in (read_maps(tmp_path / "out/run-intensity.nc")["longitude"], rows[..., 0]):
        assert np.ptp(found) < 0.02 and (np.diff(found, axis=1) > 0).all()
    with netCDF4.Dataset(tmp_path / "out/run-surface.vtkhdf") as file:
        assert np.ptp(file["longitude"][:]) < 0.02


def test_the_date_of_an_event_is_that_of_the_case(run, tmp_path):
    """Without one it must still be a date, and a comment says that it is none."""
    sim, folder, _ = run
    event = ElementTree.parse(folder / "run-grid.xml").getroot().find(f"{SHAKEMAP}event")
    assert (
        event.get("event_timestamp") == "2019-07-06T03:19:53GMT"
        and "no date" not in (folder / "run-grid.xml").read_text()
    )
    corners = np.array([[-117.31, 34.19], [-117.29, 34.21]])
    path = write_shakemap(tmp_path / "grid.xml", sim.result("intensity"), sim.plan.projection.to_local, corners, {})
    undated = ElementTree.parse(path).getroot().find(f"{SHAKEMAP}event")
    assert undated.get("event_timestamp") == "1970-01-01T00:00:00GMT" and "no date" in path.read_text()


def test_attributes_that_readers_of_shakemap_need(run):
    """Those that ShakeMap's own reader converts to numbers and times, in its order of rows and steps."""
    _, folder, _ = run
    root = ElementTree.parse(folder / "run-grid.xml").getroot()
    event, spec = root.find(f"{SHAKEMAP}event"), root.find(f"{SHAKEMAP}grid_specification")
    for owner, key in ((root, "process_timestamp"), (event, "event_timestamp")):
        datetime.strptime(owner.get(key)[:19], "%Y-%m-%dT%H:%M:%S")
    assert int(root.get("shakemap_version")) == 1 and root.get("shakemap_event_type") == "SCENARIO"
    assert {"event_id", "shakemap_id", "code_version", "shakemap_originator", "map_status"} <= set(root.attrib)
    assert set(event.attrib) == {
        "event_id", "magnitude", "depth", "lat", "lon", "event_timestamp", "event_network", "event_description"
    }  # fmt: skip
    west, east, south, north, dx, dy, nx, ny = (
        float(spec.get(k))
        for k in (
            "lon_min",
            "lon_max",
            "lat_min",
            "lat_max",
            "nominal_lon_spacing",
            "nominal_lat_spacing",
            "nlon",
            "nlat",
        )
    )
    assert (east - west) == pytest.approx(dx * (nx - 1), abs=2e-6) and (north - south) == pytest.approx(
        dy * (ny - 1), abs=2e-6
    )


@pytest.mark.parametrize(
    ("period", "name"),
    [
        (0.3, "PSA03"),
        (1.0, "PSA10"),
        (3.0, "PSA30"),
        (7.5, "PSA75"),
        (10.0, "PSA10p0"),
        (0.25, "PSA0p25"),
        (0.05, "PSA0p05"),
        (0.2, "PSA02"),
        (12.0, "PSA12p0"),
        (0.00001, "PSA0p00001"),
    ],
)
def test_names_of_spectral_accelerations(period, name):
    assert spectral_name(period) == name


def test_intensity_of_worden():
    assert instrumental_intensity(np.array([0.0338, 0.5, 1e-9])) == pytest.approx([4.56, 8.26, 1.0], abs=0.02)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"output__intensity": {"formats": ["shakemap"]}}, "shakemap need longitude and latitude"),
        ({"output__intensity": {}, "grid__boundaries": {"z": "absorbing"}}, "the grid has no free surface"),
        (
            {"output__intensity": {"formats": ["geotiff"]}, "projection": {"crs": "+proj=utm +zone=11 +ellps=bessel"}},
            "EPSG number",
        ),
        ({"output__intensity": {}, "projection": {"crs": "nonsense"}}, "'nonsense' is not a projection"),
        ({"output__surface": {"interval": 1, "fields": ["v4"]}}, "'v4' does not exist"),
        ({"output__volume": {"interval": 1, "groups": [1]}}, "a grid has no groups"),
        ({"output__volume": {"interval": 1, "region": [0, 1, 0, 1, 0, 1]}}, "holds no cell"),
        ({"output__volume": {"interval": 1, "fields": ["E1"]}}, "'E1' does not exist"),
        ({"output__surface": {"interval": 1, "refinement": 1}}, "a grid is not refined"),
        ({"output__surface": {"interval": 1, "every": 2}, "output__xdmf": True}, "writes the whole surface only"),
        ({"output__intensity": {"periods": [1.0, 1.0]}}, "a period occurs twice"),
        ({"output__intensity": {"periods": [0.5, 1.0000001, 1.0]}}, "a period occurs twice"),
    ],
)
def test_reported_before_the_run(changes, words):
    assert words in problems(**changes)


def test_maps_do_not_depend_on_blocking():
    from faultwave.backends.cpu.stencil import Blocking

    maps = []
    for blocking, threads in ((Blocking(1, 1000), 1), (Blocking(4, 5), 2), (Blocking(3, 7), 1)):
        sim = simulate(case(output__intensity={"periods": [0.3]}), threads=threads)
        sim.solver.operator.runner.blocking = blocking
        maps.append(sim.run(write=False).result("intensity"))
    for name in ("PGA", "PGV", "PGD", "SA_0.3s", "arias", "PGV_max"):
        assert maps[0][name].max() > 0
        for other in maps[1:]:
            assert np.array_equal(maps[0][name], other[name]), name


@pytest.mark.parametrize("backend", ["cpu", "numpy"])
def test_a_periodic_grid_is_the_same_everywhere(backend):
    """Also below the free surface where it goes round: source, receiver and maps may be moved along by whole cells."""
    sides = {"x": "periodic", "y": "periodic", "z+": "free-surface"}
    grid = {
        "lower": [0, 0, -1200],
        "upper": [1200, 1000, 0],
        "spacing": 100.0,
        "boundaries": sides,
        "absorbing": {"width": 5},
    }

    def run(dx, dy):
        source = {"kind": "force", "location": [(610 + dx) % 1200, (505 + dy) % 1000, -180], "force": [1e12, 2e12, 3e12],
                  "time_function": {"kind": "ricker", "duration": 0.4}}  # fmt: skip
        points = [[(660 + dx) % 1200, (555 + dy) % 1000, z] for z in (0.0, -230.0)]
        made = case(
            end_time=0.7, grid=grid, sources=[source], numerics={"precision": "double", "backend": backend},
            output__receivers={"points": points, "interval": 0.05}, output__intensity={"periods": [0.5]},
        )  # fmt: skip
        sim = simulate(made)
        sim.run(write=False)
        return sim.receivers["values"], sim.result("intensity")

    (here, maps), (there, moved) = run(0, 0), run(600, 500)
    scale = np.abs(here).max((0, 1))
    assert (np.abs(there - here).max((0, 1)) < 1e-11 * scale + 1e-12 * scale.max()).all()
    for name in ("PGV", "PGA", "PGD", "arias", "SA_0.5s"):
        assert np.allclose(np.roll(maps[name], (5, 6), (0, 1)), moved[name], rtol=1e-9, atol=1e-12), name
