"""Child processes and the program itself import nothing from the folder that the user stands in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import h5py
import pytest

from faultwave.base.errors import InputError
from faultwave.base.files import probe as probing
from faultwave.base.files.probe import ReaderProcess, probe
from faultwave.base.processes.host import PYTHON, without_launcher
from tests.messages import raises

GUEST = "import pathlib; pathlib.Path(__file__).with_name('imported').touch()\n"


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder in which somebody left modules named like those that everybody imports."""
    for name in ("json", "select", "h5py", "numpy", "typer", "logging"):
        (tmp_path / f"{name}.py").write_text(GUEST)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_child_that_probes_files(guest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "READER", ReaderProcess())
    with h5py.File(guest / "a.h5", "w") as file:
        file["x"] = [1.0]
    probe(guest / "a.h5", "file")
    (guest / "b.h5").write_bytes((guest / "a.h5").read_bytes()[:200])
    with raises(InputError):
        probe(guest / "b.h5", "file")
    assert not (guest / "imported").exists()


def test_python_children(guest: Path) -> None:
    subprocess.run([*PYTHON, "-c", "import json, logging"], check=True, env=without_launcher())
    inner = [sys.executable, "-m", "json.tool", "--help"]
    subprocess.run([*PYTHON, "-c", f"import subprocess; subprocess.run({inner!r}, check=True, capture_output=True)"],
                   check=True, env=without_launcher())  # fmt: skip
    assert not (guest / "imported").exists()


def test_the_program_as_a_module(guest: Path) -> None:
    for name in ("typer", "numpy"):
        (guest / "imported").unlink(missing_ok=True)
        assert (guest / f"{name}.py").exists()
    done = subprocess.run([sys.executable, "-m", "faultwave", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("faultwave ") and not (guest / "imported").exists()


def test_children_know_of_no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "3")
    monkeypatch.setenv("SLURM_PROCID", "3")
    kept = without_launcher()
    assert "OMPI_COMM_WORLD_RANK" not in kept and "SLURM_PROCID" not in kept and kept["PATH"] == os.environ["PATH"]
