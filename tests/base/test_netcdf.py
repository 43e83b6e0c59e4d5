"""NetCDF files are read by a process of its own: nothing that is in them harms this one."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import netCDF4
import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.base.files import netcdf, probe, probe_child
from faultwave.base.files.netcdf import open_netcdf
from tests.messages import raises

ROOT = Path(__file__).resolve().parents[2]
READERS = ("netcdf", "asagi", "maps", "netcdf-raster", "gmt-grid")
"""Of tools/fuzz.py: all that read NetCDF."""


@pytest.fixture(params=["NETCDF4", "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET"])
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w", format=request.param) as file:
        file.title, file.count = "A title", np.int32(3)
        file.createDimension("x", 4)
        v = file.createVariable("v", "i2", ("x",), fill_value=-9)
        v.units, v.scale_factor = "km", 0.5
        v.set_auto_maskandscale(False)
        v[:] = [2, -9, 4, 6]
    return path


def test_a_file_says_what_it_holds(path: Path) -> None:
    file = open_netcdf(path, "model")
    assert file.attributes == {"title": "A title", "count": 3}
    found = file.variables["v"]
    assert (found.dimensions, found.shape, found.kind) == (("x",), (4,), "i")
    assert found.attributes["units"] == "km"
    np.testing.assert_array_equal(found.numbers(), [1.0, np.nan, 2.0, 3.0])
    np.testing.assert_array_equal(found.numbers(slice(2, 4), dtype="f4"), np.array([2, 3], "f4"))
    np.testing.assert_array_equal(found.stored(), [1.0, -4.5, 2.0, 3.0])


def test_compound_types_arrive_as_they_are(tmp_path: Path) -> None:
    path, kind = tmp_path / "a.nc", np.dtype([("rho", "f4"), ("mu", "f8")])
    values = np.array([(1.0, 2.0), (3.0, 4.0)], kind)
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 2)
        file.createVariable("data", file.createCompoundType(kind, "material"), ("x",))[:] = values
    found = open_netcdf(path, "grid").variables["data"].stored()
    np.testing.assert_array_equal(found["mu"], [2.0, 4.0])


def test_answers_larger_than_a_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).random(300_000)
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("x", len(values))
        file.createVariable("v", "f8", ("x",))[:] = values
    np.testing.assert_array_equal(open_netcdf(tmp_path / "a.nc", "grid").variables["v"].numbers(), values)


def test_files_that_are_none(tmp_path: Path, path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])
    for wrong in (tmp_path / "nowhere.nc", tmp_path, path):
        with pytest.raises(InputError) as error:
            open_netcdf(wrong, "model").variables["v"].numbers()
        assert str(wrong) in str(error.value)


def test_a_crash_while_values_are_read_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        import faulthandler

        faulthandler.disable()
        os.kill(os.getpid(), signal.SIGSEGV)

    monkeypatch.setitem(probe_child.TASKS, "read NetCDF", ("netCDF4", crash))
    wrong = probe_child.answer("read NetCDF", str(path), {}, len)
    assert wrong == "it makes the library netCDF4 crash (SIGSEGV)"


def test_without_a_child_the_file_is_read_here(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "PYTHON", ("/nowhere/python",))
    monkeypatch.setattr(netcdf, "READER", probe.ReaderProcess())
    kinds = (resource.RLIMIT_CPU, resource.RLIMIT_AS)
    before = [resource.getrlimit(kind) for kind in kinds]
    try:
        assert open_netcdf(path, "model").variables["v"].numbers()[0] == 1.0
        assert [resource.getrlimit(kind) for kind in kinds] == before, "limits are the child's"
    finally:
        for kind, limits in zip(kinds, before, strict=True):
            resource.setrlimit(kind, limits)


def test_no_reader_lets_the_library_into_this_process(tmp_path: Path) -> None:
    """A file that netCDF's library reads may damage the library's own state, so that a sound file crashes afterwards."""
    code = f"""
import sys
from pathlib import Path
from tools.fuzz_readers import READERS
folder = Path({str(tmp_path)!r})
for name in {READERS}:
    (folder / name).mkdir()
paths = {{name: [*READERS[name].seeds(folder / name)] for name in {READERS}}}
for name in [n for n in sys.modules if n.partition(".")[0] == "netCDF4"]:
    del sys.modules[name]
sys.modules["netCDF4"] = None
for name in paths:
    path = folder / f"read{{READERS[name].suffix}}"
    path.write_bytes(paths[name][0].read_bytes())
    READERS[name].read(path)
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(["src", ".", os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_values_of_other_files_are_not_read(tmp_path):
    """HDF5 can keep values in any file, of passwords too, link to other files and join them."""
    import h5py
    import netCDF4

    secret = tmp_path / "secret"
    secret.write_bytes(b"s3cr3tda" * 8)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = np.arange(8.0)
    layout = h5py.VirtualLayout((8,), "f8")
    layout[:] = h5py.VirtualSource(tmp_path / "other.h5", "x", (8,))

    def made(name, change):
        with netCDF4.Dataset(tmp_path / name, "w") as file:
            file.createDimension("x", 8)
            file.createVariable("x", "f8", ("x",))[:] = np.arange(8)
        with h5py.File(tmp_path / name, "a") as file:
            change(file)
        return tmp_path / name

    changes = {
        "external.nc": lambda f: f.create_dataset("vp", (8,), "f8", external=[(str(secret), 0, 64)]),
        "virtual.nc": lambda f: f.create_virtual_dataset("vp", layout),
        "link.nc": lambda f: f.__setitem__("vp", h5py.ExternalLink("other.h5", "x")),
    }
    for name, change in changes.items():
        with raises(InputError):
            open_netcdf(made(name, change), "model")
    assert set(open_netcdf(made("sound.nc", lambda f: None), "model").variables) == {"x"}
