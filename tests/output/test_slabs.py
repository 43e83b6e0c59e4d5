"""One file of cell fields, several processes: each writes its part of the mesh and of the snapshots; the first sees no more than that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from faultwave.cli.launch import mpiexec
from faultwave.output.formats.vtkhdf import VtkHdfReader

pytestmark = pytest.mark.mpi

BODY = """
import sys
import numpy as np
from faultwave.comm import world
from faultwave.output.field_files.fields import ForeignContents
from faultwave.output.field_files.checksums import Earlier
from faultwave.output.formats.vtkhdf import VtkHdfWriter
from faultwave.output.formats.xdmf import XdmfWriter
from faultwave.output.field_files.shared import SharedFieldWriter
folder = sys.argv[1]
corners = np.arange(36.0).reshape(3, 4, 3)  # of three cells; none of them on the first process, then two
def write(name, kind, mine, done, room, steps):
    points, numbers = corners[mine].reshape(-1, 3), 7 + np.array(mine, np.int32)
    def make(points, cells, static):
        assert not any(points.strides) and not any(cells.strides) and (done or not any(static["global-id"].strides))
        return kind(f"{folder}/{name}", points, cells, static, ["v1"], np.float64, room, ForeignContents(Earlier(done), mesh=True))
    cells = np.arange(4 * len(mine)).reshape(-1, 4)
    with SharedFieldWriter(world(), make, points, cells, {"global-id": numbers}, goes_on=bool(done)) as writer:
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
    command = [mpiexec(), "-n", "2", sys.executable, "-c", BODY, str(tmp_path), again]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
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


FULL = """
import errno, os, sys, time
from pathlib import Path
import numpy as np
from faultwave.base.errors import RunError
from faultwave.comm import world
from faultwave.output.field_files import shared as shared_file
from faultwave.output.field_files.fields import ForeignContents
from faultwave.output.field_files.checksums import Earlier
from faultwave.output.formats.vtkhdf import VtkHdfWriter
from faultwave.output.formats.xdmf import XdmfWriter
from faultwave.output.field_files.shared import SharedFieldWriter
folder, full, form = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
kind, name = {"vtkhdf": (VtkHdfWriter, "a.vtkhdf"), "xdmf": (XdmfWriter, "a.xdmf")}[form]
corners = np.arange(36.0).reshape(3, 4, 3)
mine = [[0], [1, 2]][world().rank]
def make(points, cells, static):
    return kind(folder / name, points, cells, static, ["v1"], np.float64, 8, ForeignContents(mesh=True))
put = shared_file.SharedFile.put
def no_room(self, *given):
    raise OSError(errno.ENOSPC, "no space")
try:
    cells = np.arange(4 * len(mine)).reshape(-1, 4)
    with SharedFieldWriter(world(), make, corners[mine].reshape(-1, 3), cells, {"global-id": np.array(mine)}) as writer:
        for k in range(5):
            if world().rank == full and k == 3:
                while not (folder / "written").exists():  # the other is ahead
                    time.sleep(0.01)
                shared_file.SharedFile.put = no_room
            writer.append(0.5 * k, {"v1": 100.0 * k + np.array(mine)})
        (folder / "written").touch()
except RunError as error:
    os.write(2, str(error).encode())
    world().abort(error)
"""


@pytest.mark.parametrize("form", ["vtkhdf", "xdmf"])
@pytest.mark.parametrize("full", [0, 1])
def test_what_all_have_written_stays_when_the_disk_fills_for_one(tmp_path: Path, full: int, form: str) -> None:
    """The other is further ahead, and is ended without a chance to close the file."""
    command = [mpiexec(), "-n", "2", sys.executable, "-c", FULL, str(tmp_path), str(full), form]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert (
        done.returncode == 1
        and "the disk is full; the snapshots that all processes have written are retained" in done.stderr
    )
    (tmp_path / "written").unlink()
    names = {"vtkhdf": ["a.vtkhdf"], "xdmf": ["a.h5", "a.xdmf"]}[form]
    assert sorted(p.name for p in tmp_path.iterdir()) == names
    if form == "vtkhdf":
        with VtkHdfReader(tmp_path / "a.vtkhdf") as file:
            np.testing.assert_array_equal(file.times, [0.0, 0.5, 1.0])
            np.testing.assert_array_equal(file.field("v1", 2), 200.0 + np.arange(3))
            np.testing.assert_array_equal(file.points[file.cells], np.arange(36.0).reshape(3, 4, 3))
    else:
        assert (tmp_path / "a.xdmf").read_text().count("<Time ") == 3
        with h5py.File(tmp_path / "a.h5") as file:
            np.testing.assert_array_equal(file["step_000002/v1"], 200.0 + np.arange(3))
