"""The picture of intensity maps."""

import numpy as np
from PIL import Image

from faultwave.base.errors import InputError
from faultwave.observe.dataset import Dataset, Variable
from faultwave.output.formats.maps_netcdf import read_maps, write_maps
from faultwave.plot import plot_run
from faultwave.plot.intensity import plot_intensity, shades
from tests.messages import raises


def maps(spectra=True):
    x, y = np.arange(40) * 500.0, np.arange(30) * 500.0
    r = np.hypot(x - 9e3, (y - 6e3)[:, None])
    names = ["PGA", "PGV", *(["SA_1s", "SA_3s"] if spectra else []), "D5_95"]
    variables = {"x": Variable(x, ("x",), "m", "x"), "y": Variable(y, ("y",), "m", "y")}
    variables |= {n: Variable(np.exp(-r / 4e3) * (k + 1), ("y", "x"), "m/s", n) for k, n in enumerate(names)}
    return Dataset("maps", variables, {"end_time": 3.0})


def test_maps_come_back(tmp_path):
    back = read_maps(write_maps(tmp_path / "a.nc", maps()))
    assert np.allclose(back["PGV"], maps()["PGV"], rtol=1e-6) and back.variables["PGV"].unit == "m/s"
    assert back.name == "maps" and back.attrs["end_time"] == 3.0


def test_picture(tmp_path):
    for spectra in (True, False):
        source = write_maps(tmp_path / "a.nc", maps(spectra))
        with Image.open(plot_intensity(source, np.array([[3.0, 4.0]]), tmp_path / "a.png")) as picture:
            pixels = np.asarray(picture.convert("RGB"))
        assert pixels.shape[1] == 1440
        assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 500


def test_picture_with_a_fault(tmp_path):
    """The trace of a vertical fault, the outline of one that dips, and the star where it begins."""
    plain = maps()
    i = np.arange(24)
    drawn = []
    for dip in (0.0, 400.0):
        where = {"source_x": 3e3 + 500.0 * (i % 12), "source_y": 4e3 + 700.0 * (i % 12) + dip * (i // 12)}
        sources = {n: Variable(v, ("source",), "m", n) for n, v in where.items()}
        attrs = {"end_time": 3.0, "resolved_frequency": 1.5, "case": "made up"}
        source = write_maps(tmp_path / "a.nc", Dataset("maps", plain.variables | sources, attrs))
        with Image.open(plot_intensity(source, np.zeros((0, 2)), tmp_path / "a.png")) as picture:
            drawn.append(np.asarray(picture.convert("RGB")).copy())
    assert drawn[0].shape == drawn[1].shape and (drawn[0] != drawn[1]).any()


def test_picture_with_degrees(tmp_path):
    """Meridians and parallels of a turned box are on the map of intensity, and what the marks are is said."""
    plain = maps()
    x, y = np.meshgrid(plain["x"], plain["y"])
    degrees = {"longitude": -117 + 1e-5 * (x + 0.3 * y), "latitude": 34 + 1e-5 * (y - 0.3 * x)}
    known = {n: Variable(v, ("y", "x"), "degree", n) for n, v in degrees.items()}
    drawn = []
    for variables in (plain.variables, plain.variables | known):
        source = write_maps(tmp_path / "a.nc", Dataset("maps", variables, {"end_time": 3.0}))
        with Image.open(plot_intensity(source, np.array([[3.0, 4.0]]), tmp_path / "a.png")) as picture:
            drawn.append(np.asarray(picture.convert("L")).astype(int))
    height, width = drawn[0].shape
    changed = np.abs(drawn[0] - drawn[1]) > 60
    assert changed[: height // 2, : width // 2].sum() > 200 and not changed[height // 2 :].any()


def test_shades_leave_level_ground_as_it_is():
    """Light from north-west: a ridge is bright on that side, black on the other, and a plain has the colours of its bar."""
    x = y = np.linspace(-5.0, 5.0, 41)
    east, north = np.meshgrid(x, y)
    across = (east - north) / np.sqrt(2.0)  # towards south-east
    ridge = np.clip(1.0 - np.abs(across), 0.0, None)
    shade = shades(ridge, x, y)
    level, lit, dark = np.abs(across) > 1.5, np.abs(across + 0.5) < 0.2, np.abs(across - 0.5) < 0.2
    assert (shade[level][:, 3] < 1e-9).all()
    assert (shade[lit][:, :3] == 1.0).all() and (shade[lit][:, 3] > 0.03).all()
    assert (shade[dark][:, :3] == 0.0).all() and (shade[dark][:, 3] > 0.2).all()
    assert shade[..., 3].max() <= 0.45


def test_a_field_of_the_maps_is_drawn_by_its_name(tmp_path):
    source = tmp_path / "run-intensity.nc"
    write_maps(source, maps())
    (tmp_path / "run-manifest.json").write_text('{"manifest": 1, "case": {}}')
    (path,) = plot_run(tmp_path, tmp_path / "pictures", field="PGV", dpi=40)
    assert path.name == "run-intensity-PGV.png" and path.stat().st_size > 1000
    with raises(InputError):
        plot_run(tmp_path, tmp_path / "pictures", field="PGX")
    source.unlink()
    with raises(InputError):
        plot_run(tmp_path, tmp_path / "pictures", field="PGV")
