"""What a plan tells of time and memory is what a run takes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from time import process_time
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest

import faultwave as fw
from faultwave.base.processes.host import PYTHON
from faultwave.dg import report, run_forecast
from faultwave.dg.capabilities import fault
from faultwave.dg.run_forecast import PartialBackend
from faultwave.domain.tets.formats.puml import write_puml
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.engine import forecast
from faultwave.engine.forecast import CountingFiles, RunTime
from tests.run.rupture.setup import settings, slip_weakening

LIMIT = 0.05
"""Share by which the memory of a run may differ from what its plan tells."""

PLAN = """
import json, sys
from faultwave.run.planned import plan
rows = dict(plan(json.loads(sys.argv[1])).sections["size"])
print("told", rows["memory of the process"].split()[0].replace(",", ""))
"""
RUN = """
import json, sys
import faultwave as fw
from faultwave.base.processes.host import peak_memory
fw.run(json.loads(sys.argv[1]), force=True)
print("told", peak_memory() / 2**20)
"""
ROCK = {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}
BOX = {"shape": "box", "lower": [0, 0, -1e4], "upper": [1e4, 1e4, 0], "boundaries": {"z+": "free-surface"}}
SOURCE = {
    "kind": "moment-tensor", "location": [5e3, 5e3, -3e3], "tensor": {"xy": 1e18}, "time_function": {"kind": "gaussian", "duration": 0.1},
}  # fmt: skip


def box(folder: Path, bricks: int, numerics: dict[str, Any], **output: Any) -> dict[str, Any]:
    return {
        "end_time": 0.1, "mesh": {"generate": BOX | {"cells": [bricks] * 3}}, "material": {"constant": ROCK}, "sources": [SOURCE],
        "numerics": {"threads": 1, **numerics}, "output": {"folder": str(folder), **output},
    }  # fmt: skip


def volumes(folder: Path) -> dict[str, Any]:
    return box(folder, 26, {"order": 3}, volume={"interval": 0.01}, receivers={"points": [[5e3, 5e3, 0]]})


def all_of_single(folder: Path) -> dict[str, Any]:
    more = {
        "volume": {"interval": 0.01, "refinement": 1},
        "surface": {"interval": 0.01},
        "energies": {"interval": 0.01},
    }
    return box(folder, 24, {"order": 4, "precision": "single"}, **more)


def faults(folder: Path) -> dict[str, Any]:
    folder.mkdir()
    more = {"fault": {"interval": 0.1, "refinement": 1}, "volume": {"interval": 0.1}}
    return settings(folder, slip_weakening(), end_time=0.3, output=more)


def grids(folder: Path) -> dict[str, Any]:
    grid = {"spacing": 60.0, "lower": [-4e3, -4e3, -4e3], "upper": [4e3, 4e3, 0.0]}
    output = {
        "folder": str(folder),
        "receivers": {"points": [[0, 0, 0]]},
        "volume": {"interval": 0.05},
        "surface": {"interval": 0.05},
    }
    source = SOURCE | {"location": [0, 0, -2e3]}
    return {
        "engine": "fd", "end_time": 0.2, "grid": grid, "material": {"constant": ROCK}, "sources": [source], "output": output,
        "numerics": {"threads": 1},
    }  # fmt: skip


@pytest.mark.parametrize(
    "case",
    [volumes, pytest.param(all_of_single, marks=pytest.mark.slow), faults, grids],
    ids=lambda made: made.__name__,
)
def test_memory_of_a_run_is_what_its_plan_tells(tmp_path: Path, case: Callable[[Path], dict[str, Any]]) -> None:
    asked = json.dumps(case(tmp_path / "out"))
    told, taken = (_of_a_child(text, asked) for text in (PLAN, RUN))
    assert told == pytest.approx(taken, rel=LIMIT), f"{told:.0f} MiB told, {taken:.0f} MiB taken"


def _of_a_child(text: str, asked: str) -> float:
    done = subprocess.run([*PYTHON, "-c", text, asked], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return float(next(line for line in done.stdout.splitlines() if line.startswith("told")).split()[1])


def test_a_large_mesh_is_stepped_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A share of the cells of each cluster; what the rest would take is counted."""
    plan = fw.simulate(settings(tmp_path, slip_weakening())).plan
    assert not isinstance(run_forecast.solver_to_try(plan).backend, PartialBackend)
    whole = run_forecast.run_time(run_forecast.solver_to_try(plan), CountingFiles(1.0), report.updates(plan), 0.3)
    monkeypatch.setattr(run_forecast, "UPDATES", 0.3 * _largest_step(plan))
    solver: Any = run_forecast.solver_to_try(plan)
    assert isinstance(solver.backend, PartialBackend)
    part = run_forecast.run_time(solver, CountingFiles(1.0), report.updates(plan), 0.3)
    assert whole.share == 1 and 0.3 <= part.share < 0.7, "vectors of cells are whole"
    assert part.rate == pytest.approx(whole.rate, rel=3), "of the order of it"
    told = run_forecast.whole_memory(solver)
    assert told is not None and 0 < told < 2**36
    rows = dict(report._cost(plan, solver, part))
    assert "% of each cluster" in rows["measured"] and "estimated run time" in rows


def test_a_largest_step_of_minutes_is_left_unfinished(tmp_path: Path) -> None:
    """A vertex a millimetre beside a face: a largest step holds thousands of smallest ones; some of them give the rate."""
    mesh = box_mesh(Box((4, 4, 4), (0, 0, -1e4), (1e4, 1e4, 0), {"z+": "free-surface"}))
    inner = int(np.flatnonzero((mesh.vertices == (5e3, 5e3, -5e3)).all(1))[0])
    cell = next(c for c in mesh.cells if inner in c)
    opposite = mesh.vertices[cell[cell != inner]].mean(axis=0)
    mesh.vertices[inner] += (1 - 1e-7) * (opposite - mesh.vertices[inner])
    write_puml(tmp_path / "sliver.h5", mesh)
    asked = box(tmp_path / "out", 4, {"order": 2}) | {"mesh": {"file": str(tmp_path / "sliver.h5")}, "end_time": 1.0}
    plan = fw.simulate(asked).plan
    often = plan.clustering.steps.max() / plan.clustering.steps.min()
    assert often > 5e3
    solver: Any = run_forecast.solver_to_try(plan)
    began = process_time()
    found = run_forecast.run_time(solver, CountingFiles(1.0), report.updates(plan), 0.1)
    assert process_time() - began < 1.5, "tenths of a second where the whole largest step takes several"
    assert run_forecast.unfinished(solver) and found.rate > 0
    assert found.steps == pytest.approx(report.updates(plan) / found.rate, rel=0.5)
    rows = dict(report._stepping(plan))
    shares = [float(v.split(", ")[1].split(" %")[0]) for k, v in rows.items() if k.startswith("cluster")]
    assert sum(shares) == pytest.approx(100, abs=1)


def _largest_step(plan: Any) -> float:
    often = np.rint(plan.clustering.steps.max() / plan.clustering.steps)
    return float((plan.clustering.histogram * often).sum())


def test_a_share_of_every_launch() -> None:
    done: list[tuple[int, int]] = []
    inner = SimpleNamespace(
        lanes=4, fixed_lanes=8, compile=lambda kernels: {"k": lambda buffers: lambda a, b: done.append((a, b))}
    )
    backend = PartialBackend(inner, 0.25)  # type: ignore[arg-type]
    launch = backend.compile([])["k"]({})
    launch(16, 16 + 128), launch(0, 16), launch(0, 4)
    assert done == [(16, 48), (0, 8), (0, 4)] and (backend.requested, backend.done) == (148, 44)


def test_the_time_of_a_run_and_what_it_is_spent_on() -> None:
    found = RunTime(1e6, 1.0, setup=12.0, touch=10.0, steps=40.0, output=0.5)
    assert found.whole == 62.5
    rows = dict(found.rows())
    assert rows["estimated time stepping"] == "40 s"
    assert rows["estimated run time"] == "1 min 02 s, of it set-up 12 s, first touch of memory 10 s"
    assert dict(RunTime(1.0, 1.0, 0.0, 0.0, 7200.0, 0.0).rows())["estimated run time"] == "2 h 00 min"


def test_snapshots_count_until_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = CountingFiles(1.0)
    (one,) = files.cells("volume", None, None, None, ["a"], 0.1)
    other = files.lattice("surface", SimpleNamespace(count=5, fields=("b",)))  # type: ignore[arg-type]
    for time in (0.0, 0.1):
        one.append(time, {"a": np.zeros(100)})
        other.append(time, {"b": np.zeros(10, np.float32)})
    assert (files.first, files.whole) == (840, 11 * 800 + 5 * 40)
    assert forecast.writing_time(tmp_path, 1e6) == 0.0
    monkeypatch.setattr(forecast, "WRITTEN", 1 << 16)
    assert forecast.writing_time(tmp_path / "not" / "there", 1e9) > 0.0 and not list(tmp_path.iterdir())


def test_a_fault_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same snapshots, to the last bit."""
    found: list[dict[str, np.ndarray]] = []
    for most in (10**6, 7):
        monkeypatch.setattr(fault, "PIECE", most)
        folder = tmp_path / str(most)
        folder.mkdir()
        case = settings(folder, slip_weakening(), end_time=0.3, output={"fault": {"interval": 0.1, "refinement": 1}})
        fw.simulate(case).run()
        with h5py.File(next((folder / "out").glob("*-fault.vtkhdf"))) as file:
            found.append({name: data[()] for name, data in file["VTKHDF/CellData"].items()})
    whole, pieces = found
    assert "SRs" in whole and np.abs(whole["SRs"]).max() > 0 and whole.keys() == pieces.keys()
    assert all(np.array_equal(whole[name], pieces[name], equal_nan=True) for name in whole)
