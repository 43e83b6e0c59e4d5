"""An answer belongs to its question, whatever comes between, and a file that ends the process that reads it is refused."""

from __future__ import annotations

from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.base.files import netcdf, probe_child
from faultwave.base.files import probe as probing
from faultwave.base.files.netcdf import open_netcdf
from faultwave.base.files.probe import ReaderCrashed, ReaderProcess, probe
from tests.messages import raises

GREETS = "import struct, sys\nsend = lambda b: sys.stdout.buffer.write(struct.pack('<I', len(b)) + b)\nsend(b'')\n"
DIES = GREETS + "sys.stdout.flush(); sys.stdin.readline()\n"
ANSWERS_ANOTHER = GREETS + "sys.stdout.flush(); sys.stdin.readline(); send(b''); send(b'[0, \"\"]')\n"
NEVER_STARTS = "raise SystemExit(1)\n"


class Interrupted(ReaderProcess):
    """Interrupted once, after it has sent ``after`` pieces of an answer."""

    after = -1

    def _piece(self) -> bytes:
        self.after -= 1
        if self.after == -1:
            raise KeyboardInterrupt
        return super()._piece()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    with netCDF4.Dataset(tmp_path / "model.nc", "w") as file:
        file.createDimension("x", 3)
        for name, value in (("vp", 6000.0), ("vs", 3464.0)):
            file.createVariable(name, "f8", ("x",))[:] = value
    return tmp_path / "model.nc"


def child(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ReaderProcess:
    """One that runs ``code`` in place of the program that reads files."""
    (folder / "child.py").write_text(code)
    monkeypatch.setattr(probe_child, "__file__", str(folder / "child.py"))
    reader = ReaderProcess()
    monkeypatch.setattr(netcdf, "READER", reader)
    monkeypatch.setattr(probing, "READER", reader)
    return reader


@pytest.mark.parametrize("after", [0, 1])
def test_an_interruption_leaves_no_answer_behind(model: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    reader = Interrupted()
    monkeypatch.setattr(netcdf, "READER", reader)
    variables = open_netcdf(model, "model").variables
    reader.after = after
    with pytest.raises(KeyboardInterrupt):
        variables["vp"].numbers()
    np.testing.assert_array_equal(variables["vs"].numbers(), 3464.0)


def test_an_interrupted_look_says_nothing_of_the_next_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Interrupted()
    monkeypatch.setattr(probing, "READER", reader)
    good, cut = tmp_path / "good.h5", tmp_path / "cut.h5"
    for path in (good, cut):
        with h5py.File(path, "w") as file:
            file["x"] = np.arange(600.0)
    cut.write_bytes(cut.read_bytes()[:1500])
    reader.ask("probe HDF5", str(good))
    reader.after = 0
    with pytest.raises(KeyboardInterrupt):
        probe(good, "mesh")
    with raises(InputError):
        probe(cut, "mesh")


def test_the_answer_to_another_question_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ReaderCrashed):
        child(ANSWERS_ANOTHER, tmp_path, monkeypatch).ask("probe HDF5", str(tmp_path))


def test_a_file_that_ends_the_process_is_refused(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child(DIES, tmp_path, monkeypatch)
    for look in (open_netcdf, probe):
        with raises(InputError):
            look(model, "model")


def test_a_process_that_never_starts_is_no_fault_of_the_file(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child(NEVER_STARTS, tmp_path, monkeypatch)
    probe(model, "model")
    assert open_netcdf(model, "model").variables["vs"].numbers()[0] == 3464.0
