"""Every format read back against the values that were written, and everything that may be wrong with a file."""

from __future__ import annotations

from types import SimpleNamespace

import h5py
import netCDF4
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faultwave.base.errors import InputError
from faultwave.media.homogenise import at_points
from faultwave.media.models import coverage, open_models
from tests.messages import raises

from . import files
from .files import CASE, truth

RNG = np.random.default_rng(5)


def hill(x, y):
    return 150.0 + 0.05 * x - 0.04 * y


def points(azimuth=0.0, sw4=True, count=60):
    """Points well inside of every file, and the case's x, y of them."""
    i, j = RNG.uniform(50, 3900, count), RNG.uniform(50, 3100, count)
    a = np.radians(azimuth)
    if sw4:
        x, y = i * np.sin(a) + j * np.cos(a), i * np.cos(a) - j * np.sin(a)
    else:
        x, y = i * np.cos(a) + j * np.sin(a), -i * np.sin(a) + j * np.cos(a)
    return np.stack([x, y, RNG.uniform(-1550, -250, count)], 1)


def values(setting, at, names=files.NAMES, case=CASE):
    at = np.atleast_2d(np.asarray(at, float))
    return open_models([setting], "material.models", case).evaluate(at, np.ones(len(at), np.int64), names)


def check(setting, at, names=files.NAMES, rtol=2e-6):
    found, expected = values(setting, at, names), truth(*at.T)
    for name in names:
        np.testing.assert_allclose(found[name], expected[name], rtol=rtol, err_msg=name)


@pytest.mark.parametrize("azimuth", [0.0, 37.0])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("precision", [4, 8])
def test_rfile(tmp_path, azimuth, order, precision):
    check(files.rfile(tmp_path / "m.rfile", azimuth, order=order, precision=precision), points(azimuth))


def test_rfile_without_attenuation_below_topography(tmp_path):
    made = files.rfile(tmp_path / "m.rfile", 20.0, attenuation=False, topography=hill)
    check(made, points(20.0), files.NAMES[:3])
    with raises(InputError):
        values(made, [[100, 100, -500]], ["Qp"])


@pytest.mark.parametrize("azimuth", [0.0, 37.0])
@pytest.mark.parametrize("name", ["z_values", "z_interface"])
def test_sfile(tmp_path, azimuth, name):
    check(files.sfile(tmp_path / "m.sfile", azimuth, topography=hill, name=name), points(azimuth))


@pytest.mark.parametrize("azimuth", [0.0, -25.0])
def test_geomodelgrids(tmp_path, azimuth):
    check(files.geomodelgrids(tmp_path / "m.h5", azimuth, hill), points(azimuth, sw4=False))


def test_units_of_geomodelgrids(tmp_path):
    """Speeds declared in km/s are a thousand times as fast."""
    plain = values(files.geomodelgrids(tmp_path / "a.h5"), [[500, 500, -300]])
    scaled = values(
        files.geomodelgrids(tmp_path / "b.h5", units=("g/cm**3", "km/s", "m/s", "none", "none")), [[500, 500, -300]]
    )
    assert scaled["vp"] == pytest.approx(1e3 * plain["vp"]) and scaled["rho"] == pytest.approx(1e3 * plain["rho"])
    assert scaled["vs"] == plain["vs"]


@pytest.mark.parametrize("count", [3, 5, 8])
@pytest.mark.parametrize("order", ["<", ">"])
def test_awp_mesh(tmp_path, count, order):
    made = files.awp_mesh(tmp_path / "mesh", count, order=order)
    made.byte_order = "little" if order == "<" else "big"
    at = np.stack([RNG.uniform(-100, 900, 50), RNG.uniform(50, 850, 50), RNG.uniform(-2000, 0, 50)], 1)
    check(made, at, files.NAMES[: 3 if count == 3 else 5])


def test_netcdf_in_metres(tmp_path):
    check(files.netcdf(tmp_path / "m.nc"), points(sw4=False) * [1, 0.9, 1], files.NAMES[:3])


def test_netcdf_whose_z_points_down(tmp_path):
    """CF's attribute ``positive`` counts, not the name of the axis alone."""
    made = files.netcdf(tmp_path / "m.nc")
    with netCDF4.Dataset(made.file, "a") as file:
        file["z"][:] = -file["z"][:]
        file["z"].positive = "down"
    check(made, points(sw4=False) * [1, 0.9, 1], files.NAMES[:3])


def test_netcdf_in_degrees(tmp_path):
    at = np.array([[100.0, 200.0, -50.0], [9000.0, 11000.0, -1500.0], [-3000.0, -4000.0, -250.0]])
    lonlat = files.PROJECTION.to_geographic(at[:, :2])
    expected = truth(*(1e5 * (lonlat - files.ORIGIN)).T, at[:, 2])
    found = values(files.netcdf(tmp_path / "m.nc", degrees=True), at, files.NAMES[:3])
    for name in files.NAMES[:3]:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-6)


def test_names_of_netcdf_variables(tmp_path):
    made = files.netcdf(tmp_path / "m.nc")
    made.names = {"vs": "vp"}
    both = values(made, [[1000, 1000, -500]], ["vs", "vp"])
    assert both["vs"] == both["vp"]


def flat(x, y):
    return 200.0 + 0 * x


@pytest.mark.parametrize("make", [files.rfile, files.sfile, files.geomodelgrids])
def test_heights_may_count_from_the_ground(tmp_path, make):
    made = make(tmp_path / "m", topography=flat)
    made.vertical = "ground"
    found = values(made, [[1000, 1000, -700.0]], ["vs"])
    assert found["vs"] == pytest.approx(truth(1000, 1000, -500.0)["vs"], rel=1e-5)


@pytest.mark.parametrize("make", [files.rfile, files.sfile, files.geomodelgrids])
def test_air_is_told_with_its_places(tmp_path, make):
    made = make(tmp_path / "m", topography=hill)
    field = open_models([made], "m", CASE)
    at = np.array([[1000.0, 1000.0, -400.0], [1000.0, 1000.0, 600.0], [500.0, 700.0, 700.0]])
    with pytest.raises(InputError) as caught:
        at_points(field, ["vs"], at, np.ones(3, np.int64))
    text = str(caught.value)
    assert str(tmp_path / "m") in text and "in the air" in text and "2 of" in text and "(1000, 1000, 600)" in text


@pytest.mark.parametrize("make", [files.rfile, files.sfile, files.geomodelgrids, files.awp_mesh, files.netcdf])
def test_outside_is_told_or_taken_from_the_edge(tmp_path, make):
    made = make(tmp_path / "m")
    with raises(InputError):
        values(made, [[-9000.0, 100.0, -500.0]], ["vs"])
    with raises(InputError):
        values(made, [[500.0, 500.0, -1e5]], ["vs"])
    made.outside = "nearest"
    assert np.isfinite(values(made, [[-9000.0, 100.0, -500.0], [500.0, 500.0, -1e5]], ["vs"])["vs"]).all()


@pytest.mark.parametrize("make", [files.rfile, files.sfile, files.geomodelgrids])
def test_degrees_without_projection(tmp_path, make):
    with raises(InputError):
        values(make(tmp_path / "m"), [[100, 100, -500]], case=None)


@pytest.mark.parametrize("value", [np.nan, -999.0, 0.0, np.inf])
def test_poison_is_told_where_it_is_felt(tmp_path, value):
    """One bad node: whatever touches a cell of it is told; a mean of -999 and rock would pass as rock."""

    def spoil(data):
        data[5, 4, 3, :3] = value

    made = files.awp_mesh(tmp_path / "mesh", spoil=spoil)
    near = np.array([[201.0, 450.0, -501.0], [250.0, 401.0, -550.0]])
    far = np.array([[301.0, 450.0, -500.0], [-100.0, 50.0, 0.0]])
    check(made, far)
    field = open_models([made], "m", None)
    with raises(InputError):
        at_points(field, ["rho", "vs"], np.concatenate([far, near]), np.ones(4, np.int64))


def test_poison_in_other_formats(tmp_path):
    def rows(number, data):
        if number == 2:
            data[3, 3, 3] = -999.0

    def block(file):
        file["blocks/bottom"][3, 3, 3] = -1e20

    def grid(file):
        file["Material_model/grid_1/Rho"][3, 3, 3] = np.nan

    def variable(name, data):
        data[8, 4, 3] = 99999.0

    for make, spoil, at in (
        (files.rfile, rows, (1201.0, 1201.0, -701.0)), (files.geomodelgrids, block, (601.0, 601.0, -801.0)),
        (files.sfile, grid, (601.0, 601.0, -801.0)), (files.netcdf, variable, (601.0, 1001.0, -1201.0)),
    ):  # fmt: skip
        made = make(tmp_path / "m", spoil=spoil)
        with raises(InputError):
            values(made, [at], ["vs"])


def test_water(tmp_path):
    """No S speed above 100 m of depth, the sea."""

    def sea(number, data):
        if number == 1:
            data[:, :, :2, 2:] = -999.0

    made = files.rfile(tmp_path / "m", spoil=sea)
    with raises(InputError):
        values(made, [[100, 100, -10], [100, 100, -500]], ["vs"])
    made.water = "fluid"
    at = np.array([[100.0, 100, -10], [100.0, 100, -70], [100.0, 100, -80], [100.0, 100, -500]])
    found = values(made, at)
    assert (found["vs"][:2] == 0).all() and np.isinf(found["Qs"][:2]).all()
    assert found["vs"][2] == pytest.approx(
        truth(100, 100, -100)["vs"], rel=1e-3
    )  # rock begins where the nearest node is
    np.testing.assert_allclose(found["vp"], truth(*at.T)["vp"], rtol=2e-2)


@pytest.mark.parametrize("water", ["error", "fluid"])
def test_a_hole_in_rock_is_no_water(tmp_path, water):
    def spoil(name, data):
        if name == "vs":
            data[8, 4, 3] = np.nan

    made = files.netcdf(tmp_path / "m", spoil=spoil)
    made.water = water
    told = r"a hole in the model \(vs is missing, around it vs is 22\d\d to 23\d\d[.\d]* m/s.*at 1 point.*\(601, 1001, -1201\)"
    with pytest.raises(InputError, match=told) as error:
        values(made, [[601.0, 1001.0, -1201.0]], ["vs"])
    assert "water: fluid" not in str(error.value)


def test_water_is_zero_or_missing_from_the_top_down(tmp_path):
    def spoil(name, data):
        if name == "vs":
            data[8, 4, 3] = 0.0
            data[-4:] = np.nan

    made = files.netcdf(tmp_path / "m", spoil=spoil)
    made.water = "fluid"
    found = values(made, [[600.0, 1000.0, -1200.0], [600.0, 1000.0, -100.0], [600.0, 1000.0, -500.0]], ["vs"])["vs"]
    assert found[:2].tolist() == [0.0, 0.0] and found[2] > 2000


def test_first_model_that_reaches_a_point(tmp_path):
    fine, wide = files.awp_mesh(tmp_path / "a", spoil=lambda d: d.__imul__(2)), files.netcdf(tmp_path / "b")
    field = open_models([fine, wide], "m", None)
    at = np.array([[500.0, 500.0, -500.0], [3000.0, 2000.0, -500.0]])
    found = field.evaluate(at, np.ones(2, np.int64), ["vs"])["vs"]
    np.testing.assert_allclose(found, np.array([2, 1]) * truth(*at.T)["vs"], rtol=1e-6)
    with raises(InputError) as caught:
        field.evaluate(np.array([*at, [9e9, 0, 0]]), np.ones(3, np.int64), ["vs"])
    assert caught.value.rows.tolist() == [2]


def test_columns_are_read_as_they_are_needed(tmp_path):
    """A walk across the model gives the same as all points at once, and reads a few times only."""
    field = open_models([files.geomodelgrids(tmp_path / "m.h5")], "m", CASE)
    at = points(sw4=False)
    together = field.evaluate(at, np.ones(len(at), np.int64), ["vs"])["vs"]
    again = open_models([files.geomodelgrids(tmp_path / "m.h5")], "m", CASE)
    lattice, reads = again.blocks[0].lattice, []
    real = lattice._read
    lattice._read = lambda i, j: reads.append((i, j)) or real(i, j)
    apart = [float(again.evaluate(p[None], np.ones(1, np.int64), ["vs"])["vs"][0]) for p in at]
    assert apart == together.tolist()
    assert 1 < len(reads) < 15


MAKERS = {
    "rfile": files.rfile,
    "sfile": files.sfile,
    "geomodelgrids": files.geomodelgrids,
    "awp": files.awp_mesh,
    "netcdf": files.netcdf,
}


_WHOLE: dict = {}


def written(folder, kind):
    """Setting of a new file of a kind, and its bytes when whole."""
    if kind not in _WHOLE:
        made = MAKERS[kind](folder / "whole")
        _WHOLE[kind] = made, made.file.read_bytes()
    made, data = _WHOLE[kind]
    number = len(list(folder.iterdir()))
    return SimpleNamespace(**{**vars(made), "file": folder / f"{kind}{number}"}), data


@pytest.mark.parametrize("kind", MAKERS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(part=st.floats(0.0, 0.999))
def test_a_file_cut_short_is_told(tmp_path, kind, part):
    """Wherever it ends: the file's name and what is wrong, when opened or when read."""
    made, whole = written(tmp_path, kind)
    path = made.file
    path.write_bytes(whole[: int(part * len(whole))])
    with pytest.raises(InputError) as caught:
        values(made, points(), ["vs"])
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("kind", MAKERS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(place=st.integers(0, 700), value=st.integers(0, 255))
def test_a_damaged_file_is_told_or_read(tmp_path, kind, place, value):
    """A wrong byte in the first part: InputError or numbers, never another error."""
    made, data = written(tmp_path, kind)
    path, whole = made.file, bytearray(data)
    whole[place] = value
    path.write_bytes(bytes(whole))
    try:
        found = values(made, points(), ["vs"])
    except InputError as error:
        assert str(path) in str(error)
    else:
        assert np.isfinite(found["vs"]).all()


def wrong(change, make=files.geomodelgrids):
    def run(tmp_path):
        with pytest.raises(InputError) as caught:
            values(make(tmp_path / "m", spoil=change), points(), ["vs"])
        assert str(tmp_path / "m") in str(caught.value)
        return str(caught.value)

    return run


def without(name):
    return lambda file: file.attrs.__delitem__(name)


def test_what_a_model_lacks(tmp_path):
    assert "has no attribute 'crs'" in wrong(without("crs"))(tmp_path)
    assert "has no blocks" in wrong(lambda f: f.__delitem__("blocks"))(tmp_path)
    assert "has no attribute 'resolution_vert'" in wrong(
        lambda f: f["blocks/top"].attrs.__delitem__("resolution_vert")
    )(tmp_path)
    assert "no vs" in wrong(lambda f: f.attrs.__setitem__("data_values", ["density", "Vp", "X", "Qp", "Qs"]))(tmp_path)
    assert "'nonsense' is not known" in wrong(lambda f: f.attrs.__setitem__("crs", "nonsense"))(tmp_path)
    assert "has no dataset 'Material_model/grid_1/Cs'" in wrong(
        lambda f: f.__delitem__("Material_model/grid_1/Cs"), files.sfile
    )(tmp_path)
    assert "has no attribute 'ngrids'" in wrong(without("ngrids"), files.sfile)(tmp_path)


def test_what_an_awp_mesh_is_told_wrong(tmp_path):
    made = files.awp_mesh(tmp_path / "mesh")
    made.shape = (11, 9, 20)
    with raises(InputError):
        values(made, [[0, 100, -100]])
    made.shape, made.byte_order = (11, 9, 21), "big"
    with pytest.raises(InputError, match="no valid value of the model"):
        values(made, points()[:, :3] * [0.1, 0.1, 1] + [0, 60, 0])
    made.byte_order, made.variables = "little", ["vp", "rho", "vs", "vs", "Qs"]
    with raises(InputError):
        values(made, [[0, 100, -100]])


def test_units_of_netcdf(tmp_path):
    with raises(InputError):
        values(files.netcdf(tmp_path / "m", units=("kg", "km/s", "kg m-3")), [[100, 100, -500]], ["vs"])


def test_hdf5_without_a_model(tmp_path):
    path = tmp_path / "empty.h5"
    h5py.File(path, "w").close()
    for kind in ("sfile", "geomodelgrids", "netcdf", "rfile"):
        with pytest.raises(InputError, match=str(path)):
            values(files.setting(kind, path), [[100, 100, -500]])


def test_coverage_tells_what_is_where(tmp_path):
    def spoil(data):
        data[5, 4, 5, 1] = np.nan  # no S speed at (400, 450, -500)
        data[10, 4, 5, 0] = -1.0

    made = files.awp_mesh(tmp_path / "m.bin", spoil=spoil)
    at = np.array(
        [[400, 850, -300], [400, 450, -500], [400, 450, -1000], [5000, 450, -500], [400, 450, -9000], [400, 450, 0]],
        float,
    )
    kinds, look = coverage([made])
    assert [kinds[k] for k in look(at)] == ["model", "hole", "no values", "outside", "outside", "model"]
    nearest = SimpleNamespace(**{**vars(made), "outside": "nearest"})
    kinds, look = coverage([nearest])
    assert [kinds[k] for k in look(at)][3:] == ["model goes on", "model goes on", "model"]
    both = SimpleNamespace(**{**vars(made), "origin": (4700.0, 50.0, 0.0)})
    kinds, look = coverage([made, both])
    assert [kinds[k] for k in look(at)][3] == "model"
    assert coverage([]) is None


def test_coverage_and_values_agree(tmp_path):
    made = files.rfile(tmp_path / "m.rfile", topography=hill)
    at = np.random.default_rng(2).uniform([-800, -4500, -3000], [4500, 800, 600], (300, 3))
    kinds, look = coverage([made], CASE)
    for point, kind in zip(at, look(at), strict=True):
        try:
            values(made, point)
            told = "model"
        except InputError as error:
            told = "air" if "in the air" in str(error) else "outside" if "outside" in str(error) else "other"
        assert kinds[kind] == told
