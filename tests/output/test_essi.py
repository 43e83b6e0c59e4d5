"""Files as SW4 writes them for soil and structures."""

import h5py
import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError, RunError
from faultwave.observe.snapshots.lattice import Lattice
from faultwave.output.field_files.checksums import Earlier
from faultwave.output.formats.essi import EssiWriter
from tests.fd.test_grids import case
from tests.messages import raises

LATTICE = Lattice((100.0, 2000.0, -350.0), 50.0, (8, 3, 2))


def snapshot(k):
    return {f"v{i}": np.arange(48.0).reshape(8, 3, 2) + 100 * i + 1000 * k for i in (1, 2, 3)}


def test_axes_are_north_east_and_down(tmp_path):
    with EssiWriter(tmp_path / "run", LATTICE, 3) as writer:
        for k in range(3):
            writer.append(0.1 + 0.2 * k, snapshot(k))
    with h5py.File(tmp_path / "run.essi") as file:
        assert file["vel_0 ijk layout"].shape == (3, 3, 2, 8)
        given = snapshot(1)
        for name, field, sign in (("vel_0", "v2", 1), ("vel_1", "v1", 1), ("vel_2", "v3", -1)):
            found = file[f"{name} ijk layout"][1]
            assert found[2, 1, 0] == sign * given[field][7, 2, 1] and found[0, 1, 7] == sign * given[field][0, 0, 1]
        assert file["z coordinates"][1, 1].tolist() == list(range(0, 400, 50))
        assert file["ESSI xyz origin"][()].tolist() == [2000, 100, 0] and file["ESSI xyz grid spacing"][0] == 50
        assert file["timestep"][0] == pytest.approx(0.2) and file["time start"][0] == pytest.approx(0.1)
        assert file["cycle start, end"][()].tolist() == [0, 2]


def test_a_killed_run_goes_on(tmp_path):
    writer = EssiWriter(tmp_path / "run", LATTICE, 4)
    writer.append(0.1, snapshot(0))
    writer.append(0.2, snapshot(1))
    assert writer.sync_for_checkpoint() == [0.1, 0.2]
    writer.append(0.3, snapshot(7))  # behind the checkpoint, then killed
    with EssiWriter(tmp_path / "run", LATTICE, 2, earlier=Earlier([0.1, 0.2])) as again:
        again.append(0.3, snapshot(2))
        again.append(0.4, snapshot(3))
        with pytest.raises(ValueError, match="does not follow"):
            again.append(0.4, snapshot(3))
    with h5py.File(tmp_path / "run.essi") as file:
        assert file["vel_1 ijk layout"][:, 0, 0, 7].tolist() == [100, 1100, 2100, 3100]


def test_room_for_what_was_asked_only(tmp_path):
    with raises(RunError), EssiWriter(tmp_path / "run", LATTICE, 1) as writer:
        writer.append(0.1, snapshot(0))
        writer.append(0.2, snapshot(1))
    assert not list(tmp_path.iterdir())
    with raises(InputError):
        EssiWriter(tmp_path / "run", Lattice((0.0, 0.0, 0.0), 1.0, (3, 2)), 1)


def test_of_a_run(tmp_path):
    made = case(end_time=0.1, output__folder=str(tmp_path))
    made["output"]["volume"] = {"interval": 0.05, "every": 4, "formats": ["essi", "vtkhdf"]}
    fw.simulate(made).run()
    with h5py.File(tmp_path / "run-volume.essi") as file:
        assert file["vel_0 ijk layout"].shape[0] == 3 and np.abs(file["vel_2 ijk layout"][2]).max() > 0
