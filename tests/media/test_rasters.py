"""Elevations from rasters: every format gives the same ground at places of a case, and what is wrong is told."""

from types import SimpleNamespace

import netCDF4
import numpy as np
import pytest
import tifffile

from faultwave.base.errors import InputError
from faultwave.base.projection import Projection
from faultwave.media.rasters import load_ground
from faultwave.media.rasters.raster import ascending

PROJECTION = SimpleNamespace(crs="EPSG:32611", origin=(-117.3, 34.2), azimuth=20.0)
XY = np.random.default_rng(0).uniform(-2000, 2000, (40, 2))
EASTING, NORTHING = 466000.0 + 200.0 * np.arange(62), 3778000.0 + 200.0 * np.arange(60)


def height(east, north):
    """A smooth ground in coordinates of the projection."""
    return 900.0 + 300.0 * np.sin((east - 472000.0) / 3000.0) * np.cos((north - 3778000.0) / 2500.0)


def expected():
    flat = Projection(PROJECTION.crs, PROJECTION.origin, PROJECTION.azimuth).to_map(XY)
    return height(flat[:, 0], flat[:, 1])


def setting(file, **more):
    return SimpleNamespace(**{"file": file, "variable": None, "crs": None, **more})


def projected():
    return height(*np.meshgrid(EASTING, NORTHING))


def degrees():
    """Longitudes, latitudes and heights on them."""
    import pyproj

    transform = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:32611", always_xy=True)
    lon, lat = np.linspace(-117.35, -117.25, 121), np.linspace(34.15, 34.25, 111)
    return lon, lat, height(*transform.transform(*np.meshgrid(lon, lat)))


def write_tiff(path, values, x, y, code, missing=None, area=True, feet=False, metadata=None, linear=None):
    h = x[1] - x[0]
    shift = 0.5 * h if area else 0.0
    tie = (0.0, 0.0, 0.0, x[0] - shift, y[-1] + shift, 0.0)
    model = 1 if code > 5000 else 2
    keys = [1, 1, 0, 3, 1024, 0, 1, model, 1025, 0, 1, 1 if area else 2, 3072 if model == 1 else 2048, 0, 1, code]
    keys += [4099, 0, 1, 9002] if feet else []
    keys += [3076, 0, 1, linear] if linear else []
    keys[3] = len(keys) // 4 - 1
    tags = [(33550, 12, 3, (h, y[1] - y[0], 0.0), True), (33922, 12, 6, tie, True), (34735, 3, len(keys), keys, True)]
    tags += [(42112, 2, 0, metadata, True)] if metadata else []
    tags += [(42113, 2, 0, str(missing), True)] if missing is not None else []
    tifffile.imwrite(
        path, np.asarray(values[::-1], np.float32), photometric="minisblack", extratags=tags, metadata=None
    )
    return path


def write_netcdf(path, values, x, y, names=("x", "y"), units="m", extra=()):
    with netCDF4.Dataset(path, "w") as file:
        for name, axis in zip(names, (x, y), strict=True):
            file.createDimension(name, len(axis))
            file.createVariable(name, "f8", (name,))[:] = axis
            file[name].units = "degrees" if name in ("lon", "lat") else "m"
        for name in ("z", *extra):
            file.createVariable(name, "f8", names[::-1], fill_value=-32768.0)[:] = values
            file[name].units = units
    return path


def write_old_grid(path, values, x, y):
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("side", 2)
        file.createDimension("xysize", values.size)
        for name, axis in (("x_range", x), ("y_range", y)):
            file.createVariable(name, "f8", ("side",))[:] = axis[0], axis[-1]
        file.createVariable("dimension", "i4", ("side",))[:] = len(x), len(y)
        file.createVariable("z", "f8", ("xysize",))[:] = values[::-1].ravel()
    return path


def write_ascii(path, values, x, y, missing=-9999.0):
    head = f"ncols {len(x)}\nnrows {len(y)}\nxllcenter {x[0]}\nyllcenter {y[0]}\ncellsize {x[1] - x[0]}\nNODATA_value {missing}\n"
    path.write_text(head + "\n".join(" ".join(f"{v:.6f}" for v in row) for row in values[::-1]) + "\n")
    return path


def test_every_format_gives_the_same_ground(tmp_path):
    lon, lat, geographic = degrees()
    utm = {"crs": "EPSG:32611"}
    made = [
        (write_tiff(tmp_path / "area.tif", projected(), EASTING, NORTHING, 32611), {}),
        (write_tiff(tmp_path / "point.tif", projected(), EASTING, NORTHING, 32611, area=False), {}),
        (write_tiff(tmp_path / "feet.tif", projected() / 0.3048, EASTING, NORTHING, 32611, feet=True), {}),
        (write_netcdf(tmp_path / "degrees.nc", geographic, lon, lat, ("lon", "lat")), {}),
        (write_netcdf(tmp_path / "from360.nc", geographic, lon + 360, lat, ("lon", "lat")), {}),
        (write_netcdf(tmp_path / "downwards.nc", geographic[::-1], lon, lat[::-1], ("lon", "lat")), {}),
        (write_netcdf(tmp_path / "km.nc", projected() / 1000, EASTING, NORTHING, units="km"), utm),
        (write_netcdf(tmp_path / "two.nc", projected(), EASTING, NORTHING, extra=("w",)), {**utm, "variable": "z"}),
        (write_old_grid(tmp_path / "old.grd", projected(), EASTING, NORTHING), utm),
        (write_ascii(tmp_path / "ground.asc", projected(), EASTING, NORTHING), utm),
    ]
    for file, more in made:
        found = load_ground(setting(file, **more), PROJECTION, "grid.topography").elevation(XY, 10.0)
        assert np.abs(found - expected()).max() < 0.5, file.name


def test_units_and_axes_that_files_declare(tmp_path):
    """Scale, offset and units of bands, units of systems without a code, kilometres of projected axes, depths in place of heights."""
    utm = {"crs": "EPSG:32611"}
    band = '<GDALMetadata><Item name="{0}" sample="0" role="{0}">{1}</Item>{2}</GDALMetadata>'
    packed = band.format("scale", 0.5, '<Item name="OFFSET" sample="0" role="offset">100</Item>')
    km = EASTING / 1000, NORTHING / 1000
    own, tiff = (tmp_path / n for n in ("own.nc", "km.tif"))
    with netCDF4.Dataset(write_netcdf(own, projected(), *km), "a") as file:
        file.createVariable("crs", "i4").crs_wkt = __import__("pyproj").CRS("EPSG:32611").to_wkt()
        file["z"].grid_mapping = "crs"
        file["x"].units = file["y"].units = "km"
    with netCDF4.Dataset(write_netcdf(tmp_path / "down.nc", -projected(), EASTING, NORTHING), "a") as file:
        file["z"].positive = "down"
    with netCDF4.Dataset(write_old_grid(tmp_path / "old.grd", projected() / 1000, *km), "a") as file:
        file["x_range"].units = file["y_range"].units = file["z"].units = "km"
    made = [
        (write_tiff(tmp_path / "packed.tif", 2 * (projected() - 100), EASTING, NORTHING, 32611, metadata=packed), {}),
        (write_tiff(tmp_path / "ft.tif", projected() / 0.3048, EASTING, NORTHING, 32611,
                    metadata=band.format("unittype", "ft", "")), {}),
        (write_tiff(tiff, projected(), *km, 32767, linear=9036), utm),
        (own, {}),
        (tmp_path / "down.nc", utm),
        (tmp_path / "old.grd", utm),
    ]  # fmt: skip
    for file, more in made:
        found = load_ground(setting(file, **more), PROJECTION, "grid.topography").elevation(XY, 10.0)
        assert np.abs(found - expected()).max() < 0.5, file.name
    wrong = write_tiff(tmp_path / "w.tif", projected(), EASTING, NORTHING, 32611,
                       metadata=band.format("unittype", "fathom", ""))  # fmt: skip
    assert "heights are in the unit 'fathom'" in problem(wrong)


def test_a_raster_in_the_cases_own_coordinates(tmp_path):
    x = np.linspace(-3000, 3000, 61)
    file = write_ascii(tmp_path / "own.asc", 2.0 * x[None] + 0.5 * x[:, None], x, x)
    for more, projection in (({}, None), ({"crs": "local"}, PROJECTION)):
        found = load_ground(setting(file, **more), projection, "w").elevation(XY, 10.0)
        assert found == pytest.approx(2.0 * XY[:, 0] + 0.5 * XY[:, 1], abs=1e-3)


def test_means_over_cells_that_are_wider_than_the_rasters(tmp_path):
    """What is rough between points of the grid does not become an elevation at one of them."""
    x = np.linspace(-3000, 3000, 601)
    rough = 100.0 * (-1.0) ** np.add.outer(np.arange(601), np.arange(601))
    found = load_ground(setting(write_ascii(tmp_path / "r.asc", rough, x, x)), None, "w").elevation(XY, 100.0)
    assert np.abs(found).max() < 15


def problem(file, projection=PROJECTION, xy=XY, **more):
    with pytest.raises(InputError) as error:
        load_ground(setting(file, **more), projection, "grid.topography").elevation(xy, 10.0)
    return str(error.value)


def test_what_is_wrong_is_told(tmp_path):
    lon, lat, geographic = degrees()
    tiff = write_tiff(tmp_path / "a.tif", projected(), EASTING, NORTHING, 32611)
    assert "does not cover the box" in problem(tiff, xy=XY * 20) and "% of it lies outside" in problem(tiff, xy=XY * 20)
    assert "(allowed: a case with a projection, or '" in problem(tiff, None) and "Add projection" in problem(tiff, None)
    swapped = write_netcdf(tmp_path / "s.nc", geographic.T, lat, lon, ("lon", "lat"))
    assert "seem to be exchanged" in problem(swapped)
    km = write_ascii(tmp_path / "km.asc", projected(), EASTING / 1000, NORTHING / 1000)
    assert "kilometres" in problem(km, crs="EPSG:32611")
    assert "does not state" in problem(km)
    holes = projected()
    holes[20:40, 20:40] = np.nan
    missing = write_tiff(tmp_path / "h.tif", np.nan_to_num(holes, nan=-9999), EASTING, NORTHING, 32611, missing=-9999)
    assert "NoData" in problem(missing) and "gdal_fillnodata" in problem(missing) and "e.g. (" in problem(missing)
    for filler in (-9999, 32767):
        undeclared = write_tiff(tmp_path / "u.tif", np.nan_to_num(holes, nan=filler), EASTING, NORTHING, 32611)
        assert f"has 400 heights of {filler} m in the box" in problem(undeclared)
        assert f"gdal_edit -a_nodata {filler} declares it;" in problem(undeclared)
    deep = projected() - projected()[30, 31] - 9999  # a trench that is so deep at one point
    trench = load_ground(setting(write_tiff(tmp_path / "d.tif", deep, EASTING, NORTHING, 32611)), PROJECTION, "w")
    assert (trench.elevation(XY, 10.0) < -9000).all()
    assert "'w'" in problem(write_netcdf(tmp_path / "w.nc", geographic, lon, lat, ("lon", "lat")), variable="w")
    assert "2 variables" in problem(write_netcdf(tmp_path / "v.nc", geographic, lon, lat, ("lon", "lat"), extra=("b",)))
    (tmp_path / "ground.png").write_bytes(b"")
    assert ".asc" in problem(tmp_path / "ground.png")
    assert "gdal_translate ground.png ground.tif" in problem(tmp_path / "ground.png")
    (tmp_path / "b.tif").write_bytes(b"no picture")
    assert "TIFF" in problem(tmp_path / "b.tif")
    (tmp_path / "b.asc").write_text("ncols 3\nnrows x\n")
    assert "b.asc:2" in problem(tmp_path / "b.asc")
    (tmp_path / "b.asc").write_text("ncols 3\nnrows 3\nxllcorner 1,5\n")
    assert "b.asc:3" in problem(tmp_path / "b.asc") and "Use a decimal point, not a comma" in problem(
        tmp_path / "b.asc"
    )
    (tmp_path / "c.asc").write_text("ncols 3\nnrows 3\nxllcorner 0\nyllcorner 0\ncellsize 5\n1 2 3\n")
    assert "holds 3 heights" in problem(tmp_path / "c.asc")
    tifffile.imwrite(tmp_path / "plain.tif", np.zeros((5, 5), np.float32))
    assert "not georeferenced" in problem(tmp_path / "plain.tif")


@pytest.mark.parametrize("size", [2, 3, 4, 5, 24, 51])
def test_means_over_wide_cells_are_centred_and_depend_on_no_other_place(size):
    """The mean of a plane over any cell is its value in the middle; of a wavy ground it is the plain mean of its points."""
    x, y = 10.0 * np.arange(200), 10.0 * np.arange(180)
    places = np.array([[905.0, 855.0], [900.0, 850.0], [933.0, 871.0]])
    width = (10.0 * size, 10.0 * size)
    plane = ascending("plane", x, y, 3.0 * x + 2.0 * y[:, None], None)
    np.testing.assert_allclose(plane.at(places, width), places @ [3.0, 2.0], rtol=1e-12)
    values = np.random.default_rng(1).normal(size=(180, 200))
    wavy = ascending("wavy", x, y, values, None)
    middle = np.array([[900.0, 850.0]]) + (0.0 if size % 2 else 5.0)
    first = np.rint((middle[0] - 0.5 * width[0] + 5.0) / 10.0).astype(int)
    mean = values[first[1] : first[1] + size, first[0] : first[0] + size].mean()
    np.testing.assert_allclose(wavy.at(middle, width), mean, rtol=1e-10)
    both = wavy.at(np.concatenate([middle, [[100.0, 1500.0]]]), width)
    np.testing.assert_allclose(both[:1], wavy.at(middle, width), rtol=1e-10)
