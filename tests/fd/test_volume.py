"""Snapshots of the volume against receivers at the same places, and what other programs see in the files."""

from __future__ import annotations

import netCDF4
import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.output.formats.awp_series import read_awp
from faultwave.output.formats.image import ImageReader
from faultwave.run import simulate
from tests.messages import expect, raises

from .test_grids import case, problems

FIELDS = ["v1", "v3", "s_xx", "s_xy", "s_yz"]
PROJECTION = {"crs": "EPSG:32611", "origin": [-117.3, 34.2], "azimuth": "20 deg"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Receivers stand at centres of cells that the snapshots hold."""
    folder = tmp_path_factory.mktemp("volume") / "out"
    points = [[950.0, 650.0, -350.0], [650.0, 950.0, -50.0], [350.0, 1250.0, -1250.0]]
    settings = case(
        end_time=0.9, output__receivers={"points": points, "interval": 0.002},
        output__volume={"interval": 0.3, "fields": FIELDS, "every": 3, "formats": ["vtkhdf", "netcdf", "awp"]},
        output__surface={"interval": 0.3, "every": 2, "formats": ["netcdf", "awp"], "fields": ["v1", "v2", "v3"]},
        projection=PROJECTION, numerics={"precision": "double"}, output__precision="double",
    )  # fmt: skip
    sim = simulate(settings, output=folder)
    sim.run()
    return sim, folder, points


def test_volume_is_what_receivers_record(run):
    sim, folder, points = run
    data = sim.receivers
    with ImageReader(folder / "run-volume.vtkhdf") as file:
        assert (len(file.x), len(file.y), len(file.z)) == (5, 6, 5)
        assert file.z[-1] == -50.0
        for n, (x, y, z) in enumerate(points):
            i, j, k = (int(np.argmin(np.abs(a - v))) for a, v in ((file.x, x), (file.y, y), (file.z, z)))
            assert (file.x[i], file.y[j], file.z[k]) == (x, y, z)
            for name in FIELDS:
                late = 0.5 * sim.plan.scheme.step if name.startswith("s") else 0.0
                trace = np.interp(file.times + late, data["time"], data.quantity(name)[:, n])
                found = [file.field(name, s)[k, j, i] for s in range(len(file.times))]
                scale = np.abs(data.quantity(name)[:, n]).max()
                assert np.abs(found - trace).max() < 0.01 * scale + 1e-12, (name, n)


def test_volume_is_netcdf_too(run):
    _, folder, _ = run
    for name in ("run-volume.vtkhdf", "run-volume.nc"):
        with netCDF4.Dataset(folder / name) as file, ImageReader(folder / name) as image:
            assert file["v1"].dimensions == ("time", "z", "y", "x")
            assert file["v1"].units == "m/s" and file["x"].units == "m" and file.Conventions == "CF-1.8"
            assert np.array_equal(file["s_xy"][2], image.field("s_xy", 2))
            assert np.array_equal(file["time"][:], image.times) and np.array_equal(file["x"][:], image.x)
            assert file["longitude"].dimensions == ("y", "x") and abs(float(file["latitude"][0, 0]) - 34.2) < 0.1


def test_xarray_opens_it(run):
    xarray = pytest.importorskip("xarray")
    _, folder, _ = run
    with xarray.open_dataset(folder / "run-surface.nc") as data:
        assert data.v3.dims == ("time", "y", "x") and float(data.time[1]) == pytest.approx(0.3, abs=0.01)
        assert {"x", "y", "time", "longitude", "latitude"} <= set(data.coords)


@pytest.mark.parametrize("kind", ["volume.vtkhdf", "surface.nc"])
def test_vtk_opens_it(run, kind):
    vtk = pytest.importorskip("vtkmodules.vtkIOHDF")
    from vtkmodules.util.numpy_support import vtk_to_numpy

    _, folder, _ = run
    path = folder / f"run-{kind}"
    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    with ImageReader(path) as file:
        assert reader.GetNumberOfSteps() == len(file.times) == 4
        for step in (1, 3):
            reader.SetStep(step)
            reader.Update()
            image = reader.GetOutput()
            assert image.GetOrigin() == pytest.approx((file.x[0], file.y[0], file.z[0]))
            assert image.GetSpacing()[0] == file.spacing
            found = vtk_to_numpy(image.GetPointData().GetArray("v3"))
            assert np.array_equal(found, file.field("v3", step).reshape(-1)) and np.abs(found).max() > 0


@pytest.mark.parametrize("kind", ["volume", "surface"])
def test_flat_files_of_awp(run, kind):
    _, folder, _ = run
    found, about = read_awp(folder / f"run-{kind}-S")
    with ImageReader(folder / f"run-{kind}.nc") as file:
        shape = (4, about["nz"], about["ny"], about["nx"])
        raw = np.fromfile(folder / f"run-{kind}-SZ", "<f4")
        assert raw.size == np.prod(shape) and found["v3"].shape == shape
        for step in range(4):
            values = file.field("v3", step).reshape(shape[1:])
            assert np.array_equal(raw.reshape(shape)[step], values[::-1].astype(np.float32))  # downwards
        assert about["times_s"] == file.times.tolist()
        assert about["first_point_m"] == [file.x[0], file.y[0], file.z[-1]]


def test_flat_files_cut_short(run, tmp_path):
    _, folder, _ = run
    for name in ("SX", "SY", "SZ", "S.json"):
        data = (folder / f"run-surface-{name}").read_bytes()
        (tmp_path / f"run-surface-{name}").write_bytes(data[:-4] if name == "SY" else data)
    with raises(InputError):
        read_awp(tmp_path / "run-surface-S")
    with raises(InputError):
        ImageReader(tmp_path / "run-surface-SX")


def test_a_region(tmp_path):
    """Next to a rigid and a periodic side, where the stencil has to stay inside or goes round."""
    k = 2 * np.pi / 1500.0
    sides = {"x": "periodic", "y": "periodic", "z": "periodic"}
    settings = case(
        grid={"lower": [0, 0, 0], "upper": [1500, 1500, 1500], "spacing": 50.0, "boundaries": sides}, sources=[],
        initial={"kind": "plane-wave", "wave": [{"mode": "S", "k": [k, 0, 0], "polarisation": [0, 0, 1]}]},
        output__volume={"interval": 0.1, "region": [0, 700, 100, 300, 0, 1500]}, end_time=0.2, numerics={"precision": "double"},
        output__precision="double", output__receivers=None,
    )  # fmt: skip
    sim = simulate(settings, output=tmp_path / "out")
    sim.run()
    with ImageReader(tmp_path / "out/run-volume.vtkhdf") as file:
        assert file.x.tolist() == np.arange(25, 700, 50).tolist() and file.y.tolist() == [125, 175, 225, 275]
        exact = np.cos(k * file.x - k * 2000.0 * file.times[-1])
        assert np.abs(file.field("v3") - exact).max() < 1e-3


def test_too_large_for_the_disk(monkeypatch, tmp_path):
    from types import SimpleNamespace

    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1e6))
    volume = {"interval": 0.01, "every": 1}
    text = problems(output__volume=volume)
    expect(text)
    assert "snapshots" not in problems(output__volume={**volume, "every": 5, "interval": 0.1})


def test_dg_has_no_such_formats():
    settings = case(engine="dg", output__surface={"interval": 0.1, "formats": ["awp"], "every": 2})
    settings["mesh"] = {"generate": {"shape": "box", "cells": [2, 2, 2], "lower": [0, 0, -1500], "upper": [1500, 1600, 0],
                                     "boundaries": {"z+": "free-surface"}}}  # fmt: skip
    from faultwave.case.load import load_case
    from faultwave.run.planned import check

    made, found = load_case(settings)
    text = "\n".join(map(str, found.errors if made is None else check(made).errors))
    expect(text)


def test_an_unknown_format_is_told_with_what_there_is():
    text = problems(output__volume={"interval": 0.1, "formats": ["netcfd"]})
    expect(text)
    assert "output.intensity.formats[1]: unknown format 'geotif'" in problems(
        output__intensity={"periods": [0.5], "formats": ["netcdf", "geotif"]}
    )
