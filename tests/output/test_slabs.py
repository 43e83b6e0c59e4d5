"""One file of cell fields, several processes: each writes its part of the mesh and of the snapshots; the first sees no more than that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from faultwave.base.errors import BackendError
from faultwave.cli.launch import mpiexec
from faultwave.output.formats.vtkhdf import VtkHdfReader

pytestmark = pytest.mark.mpi
pytest.importorskip("mpi4py")

BODY = """
import sys
import numpy as np
from faultwave.comm import world
from faultwave.output.fields import WrittenElsewhere
from faultwave.output.formats.vtkhdf import VtkHdfWriter
from faultwave.output.formats.xdmf import XdmfWriter
from faultwave.output.slabs import SlabWriter
folder = sys.argv[1]
corners = np.arange(36.0).reshape(3, 4, 3)  # of three cells; none of them on the first process, then two
def write(name, kind, mine, done, room, steps):
    points, numbers = corners[mine].reshape(-1, 3), 7 + np.array(mine, np.int32)
    def make(points, cells, static):
        assert not any(points.strides) and not any(cells.strides) and (done or not any(static["global-id"].strides))
        return kind(f"{folder}/{name}", points, cells, static, ["v1"], np.float64, room, WrittenElsewhere(done, mesh=True))
    cells = np.arange(4 * len(mine)).reshape(-1, 4)
    with SlabWriter(world(), make, points, cells, {"global-id": numbers}, goes_on=bool(done)) as writer:
        for k in range(len(done), steps):
            writer.append(0.5 * k, {"v1": 100.0 * k + numbers})
        writer.sync_for_checkpoint()
for name, kind in (("a.vtkhdf", VtkHdfWriter), ("b.xdmf", XdmfWriter)):
    write(name, kind, [[], [2, 0, 1]][world().rank], [], 4, 2)  # with more room than is needed: it is copied at the end
    if name == "a.vtkhdf" and sys.argv[2] == "again":
        write(name, kind, [[1, 2], [0]][world().rank], [0.0, 0.5], 3, 3)
"""


@pytest.mark.parametrize("again", ["once", "again"])
def test_every_cell_at_its_place(tmp_path: Path, again: str) -> None:
    """Also where a file goes on with its cells in another order."""
    try:
        command = [mpiexec(), "-n", "2", sys.executable, "-c", BODY, str(tmp_path), again]
    except BackendError:
        pytest.skip("no mpiexec")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    order = [2, 0, 1] if again == "once" else [1, 2, 0]
    corners, numbers = np.arange(36.0).reshape(3, 4, 3)[order], 7 + np.array(order)
    with VtkHdfReader(tmp_path / "a.vtkhdf") as file:
        np.testing.assert_array_equal(file.points[file.cells], corners)
        np.testing.assert_array_equal(file.field("global-id"), numbers)
        np.testing.assert_array_equal(file.times, [0.0, 0.5, 1.0][: len(file.times)])
        assert len(file.times) == (2 if again == "once" else 3)
        for k in range(len(file.times)):
            np.testing.assert_array_equal(file.field("v1", k), 100.0 * k + numbers)
    with h5py.File(tmp_path / "a.vtkhdf") as file:
        np.testing.assert_array_equal(file["VTKHDF/Offsets"], [0, 4, 8, 12])
        np.testing.assert_array_equal(file["VTKHDF/Types"], [10, 10, 10])
        assert file["VTKHDF/CellData/global-id"].dtype == np.int32
    with h5py.File(tmp_path / "b.h5") as file:
        np.testing.assert_array_equal(
            file["mesh/points"][:][file["mesh/cells"][:]], np.arange(36.0).reshape(3, 4, 3)[[2, 0, 1]]
        )
        np.testing.assert_array_equal(file["static/global-id"], [9, 7, 8])
        np.testing.assert_array_equal(file["step_000001/v1"], [109.0, 107.0, 108.0])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.vtkhdf", "b.h5", "b.xdmf"]
