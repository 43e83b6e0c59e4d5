"""Runs that are killed at any write, or find no room: what they leave is sound, and going on gives what an undisturbed run gives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.cli.launch import mpiexec
from faultwave.output.results import load_results

SOURCE = {
    "kind": "force", "location": [310.0, 210.0, -900.0], "force": [0.0, 1e10, 1e10], "time_function": {"kind": "ricker", "duration": 0.1},
}  # fmt: skip
OUTPUT = {
    "checkpoint": {"interval": 0.04},
    "receivers": {"points": [[100.0, 250.0, -150.0]], "interval": 0.01},
    "surface": {"interval": 0.03},
    "volume": {"interval": 0.05},
    "energies": {"interval": 0.05},
}
ENGINES: dict[str, dict[str, Any]] = {
    "dg": {
        "mesh": {
            "generate": {
                "shape": "box", "cells": [4, 3, 3], "lower": [-2e3, -2e3, -3e3], "upper": [2e3, 2e3, 0.0],
                "boundaries": {"z+": "free-surface"},
            }
        },
        "numerics": {"order": 2, "threads": 1, "cfl": 0.1},
    },
    "fd": {
        "engine": "fd",
        "grid": {"spacing": 250.0, "lower": [-2e3, -2e3, -2.5e3], "upper": [2e3, 2e3, 0.0], "step": 5e-3},
        "numerics": {"threads": 1},
    },
}  # fmt: skip


def case_of(engine: str, folder: Path) -> dict[str, Any]:
    rock = {"constant": {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}}
    output = {**OUTPUT, "folder": str(folder)}
    if engine == "fd":
        output = {k: v for k, v in output.items() if k != "energies"}
    return {"end_time": 0.2, "material": rock, "sources": [SOURCE], "output": output, **ENGINES[engine]}


def contents(folder: Path) -> dict[Any, np.ndarray]:
    """Every number of every result."""
    found: dict[Any, np.ndarray] = {}
    for kind in ("surface", "volume"):
        with h5py.File(folder / f"run-{kind}.vtkhdf") as file:
            names: list[str] = []
            file.visit(names.append)
            found |= {(kind, name): file[name][()] for name in names if isinstance(file[name], h5py.Dataset)}
    for number, trace in load_results(folder).traces["receiver"].items():
        found |= {(number, name): values for name, values in trace.columns.items()} | {(number, "time"): trace.time}
    return found


def assert_same(folder: Path, whole: dict[Any, np.ndarray]) -> None:
    ours = contents(folder)
    assert ours.keys() == whole.keys()
    for key, values in whole.items():
        np.testing.assert_array_equal(ours[key], values, err_msg=str(key))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    made: dict[str, dict[Any, np.ndarray]] = {}

    def of(engine: str) -> dict[Any, np.ndarray]:
        if engine not in made:
            folder = tmp_path_factory.mktemp(engine) / "out"
            fw.simulate(case_of(engine, folder)).run()
            made[engine] = contents(folder)
        return made[engine]

    return of


SCRIPT = """
    import json, os, resource, signal, sys
    import faultwave as fw
    case, kill, rank = json.loads(sys.argv[1]), json.loads(sys.argv[2]), int(os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK", 0)))
    left = kill["after"]
    def counting(name):
        plain = getattr(os, name)
        def call(*words, **more):
            global left
            left -= rank == kill["rank"]
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return plain(*words, **more)
        setattr(os, name, call)
    if kill["after"]:
        for name in ("fsync", "replace", "pwrite", "write", "mkdir"):
            counting(name)
    if kill["limit"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (kill["limit"], kill["limit"]))
    sim = fw.simulate(case, force=True) if isinstance(case, dict) else fw.resume(case)
    try:
        sim.run()
    except fw.base.errors.FaultwaveError as error:
        sys.stderr.write(str(error))
        sys.exit(error.code)
"""  # noqa: E501


def started(
    case: Any, ranks: int = 1, after: int = 0, rank: int = 0, limit: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run a case, or go on in a folder, in processes of their own; one is killed at its write number ``after``."""
    how = {"after": after, "rank": rank, "limit": limit}
    script = [sys.executable, "-c", textwrap.dedent(SCRIPT), json.dumps(case), json.dumps(how)]
    command = script if ranks == 1 else [mpiexec(), "-n", str(ranks), *script]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=600, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )


def go_on(folder: Path, case: dict[str, Any]) -> None:
    """What a user does after a crash: resume where there is a checkpoint, else begin again."""
    try:
        sim = fw.resume(folder)
    except InputError as error:
        assert "checkpoint" in str(error)
        sim = fw.simulate(case, force=True)
    sim.run()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("engine", ENGINES)
def test_killed_at_any_write(tmp_path, undisturbed, engine, seed):
    folder = tmp_path / "out"
    case = case_of(engine, folder)
    after = int(np.random.default_rng([seed, len(engine) + (engine == "fd")]).integers(5, 60))
    done = started(case, after=after)
    assert done.returncode == -signal.SIGKILL, done.stderr
    go_on(folder, case)
    assert_same(folder, undisturbed(engine))
    assert not [p.name for p in folder.rglob("*") if "partial" in p.name]


@pytest.mark.parametrize("engine", ENGINES)
def test_one_of_two_processes_is_killed(tmp_path, undisturbed, engine):
    pytest.importorskip("mpi4py", reason="the mpi4py package is not installed")
    folder = tmp_path / "out"
    case = case_of(engine, folder)
    done = started(case, ranks=2, after=40, rank=1)
    assert done.returncode != 0 or (folder / "run-surface.vtkhdf").exists(), done.stderr
    go_on(folder, case)  # on one process
    whole = undisturbed(engine)
    assert_same_values(contents(folder), whole)


def assert_same_values(ours: dict[Any, np.ndarray], whole: dict[Any, np.ndarray]) -> None:
    """The same to the bit but for the order of cells, which follows the processes that began the file."""
    for key, values in whole.items():
        if key[0] in ("surface", "volume"):
            assert ours[key].shape == values.shape, key
            np.testing.assert_array_equal(np.sort(ours[key], axis=None), np.sort(values, axis=None), err_msg=str(key))
        else:
            np.testing.assert_array_equal(ours[key], values, err_msg=str(key))


@pytest.mark.parametrize("engine", ENGINES)
def test_no_room_for_files(tmp_path, undisturbed, engine):
    """Every file may grow to half of the largest that the run needs; what is there stays sound."""
    folder = tmp_path / "out"
    case = case_of(engine, folder)
    fw.simulate(case).run()
    largest = max(p.stat().st_size for p in folder.rglob("*") if p.is_file())
    done = started(case, limit=largest // 2)
    assert done.returncode in (0, 1, 2) and "Traceback" not in done.stderr, done.stderr
    go_on(folder, case)
    assert_same(folder, undisturbed(engine))


@pytest.mark.skipif(os.access("/", os.W_OK), reason="this user may write everywhere: permissions are not checked")
def test_a_folder_that_cannot_be_written(tmp_path):
    folder = tmp_path / "out"
    fw.simulate(case_of("dg", folder)).run()
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    folder.chmod(0o500)
    try:
        with pytest.raises(InputError, match="cannot be written"):
            fw.resume(folder, until=0.3).run()
    finally:
        folder.chmod(0o700)
    assert before == {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
