"""Files of cells of high degree: read back by us and by VTK, written by several processes, gone on with in another order of cells."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.cli.launch import mpiexec
from faultwave.observe.snapshots.pieces import lagrange_nodes
from faultwave.output.formats.vtkhdf import LagrangeTetrahedra, LagrangeTriangles, VtkHdfReader
from faultwave.output.results import snapshots
from tests.messages import raises

DEGREE = 3
CORNERS = {
    2: np.array([[[0.0, 0, 0], [2, 0, 1], [0, 1, 0]], [[2, 0, 1], [2, 2, 0], [0, 1, 0]]]),
    3: np.array([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[2.0, 0, 0], [3, 0, 1], [2, 1, 0], [2, 1, 1]]]),
}
KINDS = {2: LagrangeTriangles, 3: LagrangeTetrahedra}


def cubic(x: np.ndarray, step: int) -> np.ndarray:
    return 1.0 + step + x[..., 0] ** 3 - 2.0 * x[..., 1] * x[..., 2] + x[..., 2] ** 2 * x[..., 0]


def write(path: Path, dimension: int, steps: int = 2) -> np.ndarray:
    nodes = lagrange_nodes(dimension, DEGREE) @ CORNERS[dimension]
    numbers = np.arange(nodes.shape[0] * nodes.shape[1]).reshape(nodes.shape[:2])
    with KINDS[dimension](path, nodes.reshape(-1, 3), numbers, {"group": np.array([5, 6])}, ["v1"], np.float64) as file:
        for step in range(steps):
            file.append(0.5 * step, {"v1": cubic(nodes, step).reshape(-1)})
    return nodes


@pytest.mark.parametrize("dimension", [2, 3])
def test_read_back(tmp_path: Path, dimension: int) -> None:
    """Corners and means to those who draw cells; nodes to those who ask."""
    nodes = write(tmp_path / "run-volume.vtkhdf", dimension)
    fine = np.random.default_rng(1).dirichlet(np.ones(dimension + 1), 200_000) @ CORNERS[dimension]
    with VtkHdfReader(tmp_path / "run-volume.vtkhdf") as file:
        np.testing.assert_array_equal(file.points[file.cells], CORNERS[dimension])
        np.testing.assert_array_equal(file.field("group"), [5, 6])
        assert file.static == ("group",) and file.fields == ("v1",)
        np.testing.assert_array_equal(file.at_nodes("v1", 1), cubic(nodes, 1))
        np.testing.assert_allclose(file.field("v1", 1), cubic(fine, 1).mean(1), atol=0.02)
        file.choose(np.array([False, True]))
        np.testing.assert_array_equal(file.at_nodes("v1", 0), cubic(nodes, 0)[1:])
    (tmp_path / "run-manifest.json").write_text("{}")
    data = snapshots(tmp_path, "volume", prefix="run")
    assert data.variables["v1"].dims == ("time", "cell", "node")
    np.testing.assert_array_equal(data["v1"][1], cubic(data["points"][data["cells"]], 1))


@pytest.mark.parametrize("dimension", [2, 3])
def test_vtk_sees_the_polynomial(tmp_path: Path, dimension: int) -> None:
    reading = pytest.importorskip("vtkmodules.vtkIOHDF", reason="the vtk package is not installed")
    from vtkmodules.util.numpy_support import vtk_to_numpy

    write(tmp_path / "a.vtkhdf", dimension)
    reader = reading.vtkHDFReader()
    reader.SetFileName(str(tmp_path / "a.vtkhdf"))
    reader.UpdateInformation()
    for step in (1, 0):
        reader.SetStep(step)
        reader.Update()
        grid = reader.GetOutput()
        values = vtk_to_numpy(grid.GetPointData().GetArray("v1"))
        assert vtk_to_numpy(grid.GetCellData().GetArray("group")).tolist() == [5, 6]
        for i, corners in enumerate(CORNERS[dimension]):
            cell = grid.GetCell(i)
            assert cell.GetClassName() == {2: "vtkLagrangeTriangle", 3: "vtkLagrangeTetra"}[dimension]
            for local in ([0.2, 0.3, 0.1][:dimension], [0.6, 0.1, 0.25][:dimension]):
                at, weights = [*local, 0.0][:3], [0.0] * cell.GetNumberOfPoints()
                cell.InterpolateFunctions(at, weights)
                x = corners[0] + np.array(local) @ (corners[1:] - corners[0])
                mine = [cell.GetPointId(k) for k in range(cell.GetNumberOfPoints())]
                np.testing.assert_allclose(values[mine] @ np.array(weights), cubic(x, step), rtol=1e-12)


def test_a_file_that_tells_of_no_degree(tmp_path: Path) -> None:
    import h5py

    write(tmp_path / "a.vtkhdf", 2)
    with h5py.File(tmp_path / "a.vtkhdf", "r+") as file:
        file["VTKHDF/Types"][...] = (
            71  # tetrahedra have 4, 10, 20 ... nodes; 10 corners of a cubic triangle are a quadratic one's
        )
        file["VTKHDF/Offsets"][...] = [0, 9, 18]
    with raises(InputError):
        VtkHdfReader(tmp_path / "a.vtkhdf")


BODY = """
import sys
import numpy as np
from faultwave.comm import world
from faultwave.output.field_files.fields import ForeignContents
from faultwave.output.field_files.checksums import Earlier
from faultwave.output.formats.vtkhdf import LagrangeTetrahedra
from faultwave.output.field_files.shared import SharedFieldWriter
path = sys.argv[1]
places = np.arange(90.0).reshape(3, 10, 3)  # of three cells of degree 2; none of them on the first process, then two
def write(mine, done, room, steps):
    points, numbers = places[mine].reshape(-1, 3), 7 + np.array(mine, np.int32)
    def make(points, cells, static):
        elsewhere = ForeignContents(Earlier(done), mesh=True)
        return LagrangeTetrahedra(path, points, cells, static, ["v1"], np.float64, room, elsewhere)
    cells = np.arange(10 * len(mine)).reshape(-1, 10)
    with SharedFieldWriter(world(), make, points, cells, {"global-id": numbers}, goes_on=bool(done)) as writer:
        for k in range(len(done), steps):
            writer.append(0.5 * k, {"v1": 100.0 * k + points[:, 0]})
        writer.sync_for_checkpoint()
write([[], [2, 0, 1]][world().rank], [], 4, 2)
if sys.argv[2] == "again":
    write([[1, 2], [0]][world().rank], [0.0, 0.5], 3, 3)
"""


@pytest.mark.mpi
@pytest.mark.parametrize("again", ["once", "again"])
def test_several_processes(tmp_path: Path, again: str) -> None:
    """Also where the file goes on with its cells in another order."""
    path = tmp_path / "a.vtkhdf"
    command = [mpiexec(), "-n", "2", sys.executable, "-c", BODY, str(path), again]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    order = [2, 0, 1] if again == "once" else [1, 2, 0]
    with VtkHdfReader(path) as file:
        np.testing.assert_array_equal(file.field("global-id"), 7 + np.array(order))
        np.testing.assert_array_equal(file.points[file.nodes], np.arange(90.0).reshape(3, 10, 3)[order])
        assert len(file.times) == (2 if again == "once" else 3)
        for k in range(len(file.times)):
            np.testing.assert_array_equal(file.at_nodes("v1", k), 100.0 * k + file.points[file.nodes][..., 0])
