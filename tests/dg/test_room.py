"""A mesh too large for the machine is told before it is read or made."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError, Problem
from faultwave.base.processes.host import machine_memory
from faultwave.case.load import load_case
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.dg.checks import memory
from faultwave.dg.checks.memory import check_fits_memory, minimum_memory
from faultwave.dg.mesh.distributed_mesh import WholeMesh
from faultwave.dg.planning.plan import make_plan
from faultwave.dg.planning.process_partition import process_plan
from faultwave.domain import tets
from faultwave.engine.checks import OUTPUT_OVERHEAD
from faultwave.run.engines import engine_of
from tests.domain.test_gmsh_reader import CONTENTS


def case(mesh: dict[str, Any], **numerics: Any) -> Case:
    given = {
        "law": "elastic",
        "mesh": mesh,
        "material": {"constant": {"rho": 1.0, "vp": 2.0, "vs": 1.0}},
        "end_time": 1.0,
    }
    found, problems = load_case(given | {"numerics": {"order": 4, "backend": "cpu", **numerics}})
    problems.raise_errors()
    assert found is not None
    return found


def box(*cells: int) -> dict[str, Any]:
    return {"generate": {"shape": "box", "cells": list(cells), "lower": [0, 0, 0], "upper": [1, 1, 1]}}


def test_cells_of_a_box_and_of_a_file_are_known_ahead(tmp_path: Path) -> None:
    assert tets.cells_ahead(case(box(4, 5, 6)).mesh) == 720
    assert tets.cells_ahead(case(box(*[10**7] * 3)).mesh) == 6 * 10**21, "more than 64 bits count"
    five = box(4, 6, 2)
    five["generate"]["tetrahedra"] = 5
    assert tets.cells_ahead(case(five).mesh) == 240
    path = tmp_path / "mesh.h5"
    with h5py.File(path, "w") as file:
        file["connect"] = np.zeros((17, 4), np.int64)
    assert tets.cells_ahead(case({"file": str(path)}).mesh) == 17
    (tmp_path / "mesh.msh").write_text("$MeshFormat\n")  # of other Gmsh files: tests/domain/test_gmsh_ahead.py
    assert tets.cells_ahead(case({"file": str(tmp_path / "mesh.msh")}).mesh) is None


def test_a_mesh_that_fits_nowhere_is_refused_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    large = case(box(20000, 20000, 20000))
    with pytest.raises(InputError) as caught:
        process_plan(large, World())
    text = str(caught.value)
    assert "48,000,000,000,000 cells at order 4" in text and "this machine has" in text
    check_fits_memory(case(box(4, 4, 4)))
    monkeypatch.setattr(memory, "machine_memory", lambda: 384 * 3359)  # a cell has 20 x 9 and twice 4 x 10 x 3 numbers
    with pytest.raises(InputError):
        check_fits_memory(case(box(4, 4, 4)))
    monkeypatch.setattr(memory, "machine_memory", lambda: 384 * 3360)
    check_fits_memory(case(box(4, 4, 4)))
    check_fits_memory(case(box(4, 4, 4), precision="single"))


def test_a_plan_is_refused_as_a_run_is_and_a_mesh_that_cannot_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs on several machines may be checked on a small one."""

    def unmade(*given: Any) -> Any:
        raise AssertionError("the mesh was made")

    large = case(box(300, 300, 300))
    monkeypatch.setattr(memory, "machine_memory", lambda: 8 * 2**30)
    monkeypatch.setattr("faultwave.dg.planning.plan.load_or_build", unmade)
    for ask in (lambda: fw.plan(large), lambda: engine_of(large).plan(large)):
        with pytest.raises(InputError, match=r"162,000,000 cells.* more than [0-9.]+ GiB, and this machine has 8"):
            ask()
    monkeypatch.setattr(memory, "machine_memory", lambda: 64 * 2**30)
    assert any("need more than" in p.what for p in told(lambda: fw.plan(large)))
    with pytest.raises(AssertionError, match="was made"):
        engine_of(large).plan(large)


@pytest.mark.parametrize("version", ["2.2", "4.1", "4.1 binary"])
def test_a_gmsh_file_too_large_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    path = tmp_path / "mesh.msh"
    path.write_bytes(CONTENTS[version])
    asked = case({"file": str(path)})
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail("the mesh was read"))
    needed = minimum_memory(asked, 2)
    monkeypatch.setattr(memory, "machine_memory", lambda: int(needed) - 1)
    assert any("2 cells at order 4 need more than" in p.what for p in told(lambda: process_plan(asked, World())))
    monkeypatch.setattr(memory, "machine_memory", lambda: int(needed))
    check_fits_memory(asked)


def told(ask: Callable[[], Any]) -> Sequence[Problem]:
    with pytest.raises(InputError) as caught:
        ask()
    return caught.value.problems


def test_memory_asked_for_grows_with_cells_and_order() -> None:
    assert minimum_memory(case(box(4, 4, 4)), 10) == 10 * 8 * (20 * 9 + 2 * 4 * 10 * 3)
    assert minimum_memory(case(box(4, 4, 4), order=6, precision="single"), 10) == 10 * 4 * (56 * 9 + 2 * 4 * 21 * 3)
    by_lines = case(box(4, 4, 4), integrator="rk4")
    assert minimum_memory(by_lines, 10) == 10 * 8 * (20 * 9 + 4 * 10 * 3)
    memory = machine_memory()
    assert memory is None or memory > 2**28


def test_processes_that_read_parts_of_a_mesh_sum_what_they_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each knows only what its part writes; together that does not fit on the disk."""
    asked = case(box(2, 2, 2) | {}, order=2)
    kept = {"checkpoint": {"interval": 0.1, "keep": 3}, "folder": str(tmp_path)}
    asked = asked.model_copy(update={"output": type(asked.output).model_validate(kept)})
    written = 4 * 2 * 48 * (4 * 9 * 8 + 8)  # three checkpoints and the next, of 48 cells
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=1.5 * written + OUTPUT_OVERHEAD))
    make_plan(asked)

    class Two(WholeMesh):
        def everywhere(self, value: Any) -> list[Any]:
            return [value, value]

    with pytest.raises(InputError, match="snapshots, seismograms and checkpoints need"):
        make_plan(asked, whole=Two())
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=written + 0.9 * OUTPUT_OVERHEAD))
    with pytest.raises(InputError, match="snapshots, seismograms and checkpoints need"):  # files have tables, too
        make_plan(asked)
