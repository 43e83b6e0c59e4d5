"""Writers of cell fields: what they write is read back, by us and by VTK; what fails leaves nothing."""

from __future__ import annotations

import errno
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultwave.base.errors import InputError, RunError
from faultwave.output.formats.vtkhdf import VtkHdfReader, VtkHdfWriter
from faultwave.output.formats.xdmf import XdmfWriter
from tests.messages import raises

POINTS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
TETS = np.array([[0, 1, 2, 3], [1, 2, 3, 4]])
TRIANGLES = np.array([[0, 1, 2], [1, 2, 4], [0, 2, 3]])
WRITERS = (VtkHdfWriter, XdmfWriter)


def suffix(writer: type) -> str:
    return ".vtkhdf" if writer is VtkHdfWriter else ".xdmf"


def values(cells: np.ndarray, step: int) -> dict[str, np.ndarray]:
    return {"v1": np.arange(len(cells)) + 10.0 * step, "v2": -np.arange(len(cells)) * (step + 1.0)}


def write(path: Path, writer: type, cells: np.ndarray, steps: int, dtype: type = np.float32) -> None:
    with writer(path, POINTS, cells, {"group": np.arange(len(cells)) + 5}, ["v1", "v2"], dtype) as file:
        for step in range(steps):
            file.append(0.5 * step, values(cells, step))


@pytest.mark.parametrize("cells", [TETS, TRIANGLES], ids=["tets", "triangles"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_vtkhdf_round_trip(tmp_path: Path, cells: np.ndarray, dtype: type, steps: int) -> None:
    path = tmp_path / "run-volume.vtkhdf"
    write(path, VtkHdfWriter, cells, steps, dtype)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    with VtkHdfReader(path) as file:
        np.testing.assert_array_equal(file.points, POINTS)
        np.testing.assert_array_equal(file.cells, cells)
        np.testing.assert_array_equal(file.times, 0.5 * np.arange(steps))
        np.testing.assert_array_equal(file.field("group"), np.arange(len(cells)) + 5)
        for step in range(steps):
            for name, expected in values(cells, step).items():
                np.testing.assert_array_equal(file.field(name, step), expected)
                assert file.field(name, step).dtype == dtype
        if steps > 1:
            assert file.static == ("group",)
        with raises(InputError):
            file.field("v9")


def test_vtkhdf_stores_the_mesh_once(tmp_path: Path) -> None:
    path = tmp_path / "a.vtkhdf"
    write(path, VtkHdfWriter, TETS, 4)
    with h5py.File(path) as file:
        root = file["VTKHDF"]
        assert root["Points"].shape == (5, 3)
        assert root["Connectivity"].shape == (8,)
        assert root["CellData/group"].shape == (2,)
        assert root["CellData/v1"].shape == (8,)
        assert root.attrs.get_id("Type").dtype == np.dtype("S16")  # VTK refuses variable-length text
        assert root["Steps"].attrs["NSteps"] == 4
        for name in ("PartOffsets", "PointOffsets", "CellOffsets", "ConnectivityIdOffsets"):
            assert not root["Steps"][name][:].any()
        np.testing.assert_array_equal(root["Steps/CellDataOffsets/v1"][:], [0, 2, 4, 6])


def test_a_field_of_other_shape_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.vtkhdf"
    write(path, VtkHdfWriter, TETS, 1)
    with h5py.File(path, "r+") as file:
        del file["VTKHDF/CellData/v1"]
        file["VTKHDF/CellData/v1"] = np.zeros((2, 3))
    with raises(InputError):
        VtkHdfReader(path)


@pytest.mark.parametrize("cells, kind", [(TETS, 10), (TRIANGLES, 5)], ids=["tets", "triangles"])
def test_vtk_reads_vtkhdf(tmp_path: Path, cells: np.ndarray, kind: int) -> None:
    reading = pytest.importorskip("vtkmodules.vtkIOHDF", reason="the vtk package is not installed")
    from vtkmodules.util.numpy_support import vtk_to_numpy

    path = tmp_path / "a.vtkhdf"
    write(path, VtkHdfWriter, cells, 3)
    reader = reading.vtkHDFReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    assert reader.GetNumberOfSteps() == 3
    for step in (2, 0, 1):
        reader.SetStep(step)
        reader.Update()
        grid = reader.GetOutput()
        assert grid.GetNumberOfCells() == len(cells)
        assert {grid.GetCellType(i) for i in range(len(cells))} == {kind}
        np.testing.assert_array_equal(vtk_to_numpy(grid.GetPoints().GetData()), POINTS)
        corners = [[grid.GetCell(i).GetPointId(k) for k in range(cells.shape[1])] for i in range(len(cells))]
        np.testing.assert_array_equal(corners, cells)
        data = grid.GetCellData()
        for name, expected in {**values(cells, step), "group": np.arange(len(cells)) + 5}.items():
            np.testing.assert_array_equal(vtk_to_numpy(data.GetArray(name)), expected)


@pytest.mark.parametrize("cells, topology", [(TETS, "Tetrahedron"), (TRIANGLES, "Triangle")])
def test_xdmf_describes_its_arrays(tmp_path: Path, cells: np.ndarray, topology: str) -> None:
    path = tmp_path / "a-surface.xdmf"
    write(path, XdmfWriter, cells, 3, np.float64)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a-surface.h5", "a-surface.xdmf"]
    root = ET.parse(path).getroot()
    assert root.get("Version") == "3.0"
    grids = root.findall("./Domain/Grid/Grid")
    assert [float(g.find("Time").get("Value")) for g in grids] == [0.0, 0.5, 1.0]
    for step, grid in enumerate(grids):
        assert grid.find("Topology").get("TopologyType") == topology
        np.testing.assert_array_equal(resolved(grid.find("Topology/DataItem"), tmp_path), cells)
        np.testing.assert_array_equal(resolved(grid.find("Geometry/DataItem"), tmp_path), POINTS)
        found = {a.get("Name"): resolved(a.find("DataItem"), tmp_path) for a in grid.findall("Attribute")}
        assert set(found) == {"v1", "v2", "group"}
        for name, expected in values(cells, step).items():
            np.testing.assert_array_equal(found[name], expected)


@pytest.mark.parametrize("cells", [TETS, TRIANGLES], ids=["tets", "triangles"])
def test_vtk_reads_xdmf(tmp_path: Path, cells: np.ndarray) -> None:
    reading = pytest.importorskip("vtkmodules.vtkIOXdmf2", reason="the vtk package is not installed")
    from vtkmodules.util.numpy_support import vtk_to_numpy

    write(tmp_path / "a.xdmf", XdmfWriter, cells, 3)
    reader = reading.vtkXdmfReader()
    reader.SetFileName(str(tmp_path / "a.xdmf"))
    for step in (2, 0):
        reader.UpdateTimeStep(0.5 * step)
        data = reader.GetOutputDataObject(0).GetCellData()
        for name, expected in {**values(cells, step), "group": np.arange(len(cells)) + 5}.items():
            np.testing.assert_array_equal(vtk_to_numpy(data.GetArray(name)), expected)


def resolved(item: ET.Element, folder: Path) -> np.ndarray:
    """The array a DataItem names, after checking that its description of it is true."""
    name, inside = item.text.split(":")
    with h5py.File(folder / name) as file:
        array = file[inside][()]
    assert array.shape == tuple(map(int, item.get("Dimensions").split()))
    assert array.dtype.itemsize == int(item.get("Precision"))
    assert (array.dtype.kind == "f") == (item.get("NumberType") == "Float")
    return array


@pytest.mark.parametrize("writer", WRITERS)
def test_abort_leaves_nothing(tmp_path: Path, writer: type) -> None:
    path = tmp_path / f"a{suffix(writer)}"
    file = writer(path, POINTS, TETS, {}, ["v1", "v2"])
    file.append(0.0, values(TETS, 0))
    assert not path.exists()  # only whole files carry their name
    file.abort()
    assert list(tmp_path.iterdir()) == []
    file.abort()
    file.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("writer", WRITERS)
def test_error_inside_keeps_the_earlier_file(tmp_path: Path, writer: type) -> None:
    path = tmp_path / f"a{suffix(writer)}"
    write(path, writer, TETS, 2)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    with pytest.raises(KeyboardInterrupt), writer(path, POINTS, TETS, {}, ["v1", "v2"]) as file:
        file.append(0.0, values(TETS, 0))
        raise KeyboardInterrupt
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


@pytest.mark.parametrize("writer", WRITERS)
def test_misuse_is_told(tmp_path: Path, writer: type) -> None:
    path = tmp_path / f"a{suffix(writer)}"
    with pytest.raises(ValueError, match=r"expected \(n, 3\) or \(n, 4\)"):
        writer(path, POINTS, np.zeros((2, 5), dtype=int), {}, ["v1"])
    with pytest.raises(ValueError, match="both static and in time: v1"):
        writer(path, POINTS, TETS, {"v1": np.zeros(2)}, ["v1"])
    with writer(path, POINTS, TETS, {}, ["v1"]) as file:
        file.append(1.0, {"v1": np.zeros(2)})
        with pytest.raises(ValueError, match=r"got fields \['v2'\], expected \['v1'\]"):
            file.append(2.0, {"v2": np.zeros(2)})
        with pytest.raises(ValueError, match=r"shape \(3,\), expected \(2,\)"):
            file.append(2.0, {"v1": np.zeros(3)})
        with pytest.raises(ValueError, match=r"time 1.0 does not follow 1.0"):
            file.append(1.0, {"v1": np.zeros(2)})
        file.append(2.0, {"v1": np.ones(2)})
    with pytest.raises(ValueError, match="is closed"):
        file.append(3.0, {"v1": np.ones(2)})
    assert file.times == [1.0, 2.0]


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("moment", ["_write_mesh", "_write_step", "_finish"])
def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: type, moment: str) -> None:
    def full(*_: object) -> None:
        # as h5py reports it: the number stands in the text only
        raise OSError(f"Can't write data (file write failed: errno = {errno.ENOSPC}, error message = 'No space left')")

    monkeypatch.setattr(writer, moment, full)
    path = tmp_path / f"a{suffix(writer)}"
    with raises(RunError) as caught:
        write(path, writer, TETS, 2)
    assert str(path) in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("copy", [True, False], ids=["a copy fits", "no copy fits"])
@pytest.mark.parametrize("writer", WRITERS)
def test_snapshots_before_a_full_disk_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: type, copy: bool
) -> None:
    path, points, cells = tmp_path / f"a{suffix(writer)}", np.zeros((3, 3)), np.array([[0, 1, 2]])
    put, resize = writer._write_step, writer._resize

    def write_step(self: Any, step: int, *more: Any) -> None:
        if step == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        put(self, step, *more)

    def copied(self: Any, steps: int) -> None:
        if not copy:
            raise OSError(errno.ENOSPC, "No space left on device")
        resize(self, steps)

    monkeypatch.setattr(writer, "_write_step", write_step)
    monkeypatch.setattr(writer, "_resize", copied)
    with raises(RunError):
        with writer(path, points, cells, {}, ["v1"], np.float64, 10) as file:
            for step in range(10):
                file.append(float(step), {"v1": np.array([10.0 + step])})
    assert not list(tmp_path.glob(".*"))
    if writer is VtkHdfWriter:
        with VtkHdfReader(path) as read:
            assert read.times.tolist() == [0.0, 1.0, 2.0]
            assert [read.field("v1", n)[0] for n in range(3)] == [10.0, 11.0, 12.0]
    else:
        assert path.read_text().count("<Time ") == 3


@pytest.mark.parametrize("writer", WRITERS)
def test_another_file_of_a_run_whose_disk_is_full_is_kept(tmp_path: Path, writer: type) -> None:
    path, points, cells = tmp_path / f"a{suffix(writer)}", np.zeros((3, 3)), np.array([[0, 1, 2]])
    with pytest.raises(RunError), writer(path, points, cells, {}, ["v1"], np.float64, 10) as file:
        file.append(0.0, {"v1": np.array([1.0])})
        raise RunError("the disk is full elsewhere")
    assert path.exists()
    with pytest.raises(KeyError), writer(tmp_path / "b", points, cells, {}, ["v1"], np.float64, 10) as file:
        file.append(0.0, {"v1": np.array([1.0])})
        raise KeyError("a mistake of the program")
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("writer", WRITERS)
def test_file_size_limit_of_the_system(tmp_path: Path, writer: type) -> None:
    """A true failure of write(2) deep in HDF5, in a process of its own whose files may not grow beyond 200 kB."""
    pytest.importorskip("resource")
    script = f"""
        import resource, sys
        import numpy as np
        from pathlib import Path
        from faultwave.base.errors import RunError
        from {writer.__module__} import {writer.__name__} as Writer
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        points = np.random.default_rng(1).random((3000, 3))
        cells = np.arange(3000).reshape(-1, 3)
        try:
            with Writer(Path(sys.argv[1]), points, cells, {{}}, ["v1"], np.float64) as writer:
                for step in range(100):
                    writer.append(step, {{"v1": np.arange(1000.0)}})
        except RunError as error:
            print(error)
        else:
            print("nothing happened")
    """
    path = tmp_path / f"a{suffix(writer)}"
    command = [sys.executable, "-c", textwrap.dedent(script), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "exceeds the size limit" in done.stdout and "before it are retained" in done.stdout
    count = int(done.stdout.split(" before it are retained")[0].rsplit("the ", 1)[1])
    assert 0 < count < 100 and not list(tmp_path.glob(".*"))
    if writer is VtkHdfWriter:
        with VtkHdfReader(path) as file:
            assert file.times.tolist() == list(range(count))
            assert np.array_equal(file.field("v1", count - 1), np.arange(1000.0))
    else:
        assert path.read_text().count("<Time ") == count


@pytest.mark.parametrize("writer", WRITERS)
def test_folder_that_is_not_there(tmp_path: Path, writer: type) -> None:
    path = tmp_path / "absent" / f"a{suffix(writer)}"
    with raises(InputError):
        writer(path, POINTS, TETS, {}, ["v1"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"no HDF5 at all", None])
def test_reading_something_else(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "a.vtkhdf"
    if content is None:
        with h5py.File(path, "w") as file:
            file["other"] = 1
    else:
        path.write_bytes(content)
    with raises(InputError):
        VtkHdfReader(path)


@settings(max_examples=15, deadline=None)
@given(
    steps=st.lists(st.lists(st.floats(width=32), min_size=3, max_size=3), max_size=5),
    start=st.floats(-1e3, 1e3),
)
def test_vtkhdf_keeps_every_number(
    tmp_path_factory: pytest.TempPathFactory, steps: list[list[float]], start: float
) -> None:
    path = tmp_path_factory.mktemp("any") / "a.vtkhdf"
    with VtkHdfWriter(path, POINTS, TRIANGLES, {}, ["ep_xx"]) as file:
        for i, row in enumerate(steps):
            file.append(start + i, {"ep_xx": np.array(row)})
    with VtkHdfReader(path) as file:
        np.testing.assert_array_equal(file.times, start + np.arange(len(steps)))
        for i, row in enumerate(steps):
            np.testing.assert_array_equal(file.field("ep_xx", i), np.array(row, dtype=np.float32))
