"""Cells that cost most are named before the run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from faultwave.domain.tets import write_puml
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.run.planned import check

ROCK = {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}


def told(tmp_path: Path, flat: float, rates: list[int]) -> list[str]:
    """Warnings of a box one of whose inner vertices lies ``flat`` of a cell's height above the face below it."""
    mesh = box_mesh(Box((5, 5, 5), (0, 0, 0), (1e3, 1e3, 1e3), {"z+": "free-surface"}, 0.0, 0))
    x = mesh.vertices.copy()
    inner = int(np.argmin(np.linalg.norm(x - 400.0, axis=1)))
    x[inner, 2] -= (1.0 - flat) * 200.0
    write_puml(tmp_path / "mesh.h5", replace(mesh, vertices=x))
    case = {
        "end_time": 1.0, "mesh": {"file": str(tmp_path / "mesh.h5")}, "material": {"constant": ROCK},
        "sources": [
            {"kind": "force", "location": [500, 500, 500], "force": [1, 0, 0], "time_function": {"kind": "brune", "duration": 0.1}}
        ],
        "numerics": {"order": 3, "clustering": {"rates": rates}}, "output": {"folder": str(tmp_path / "out")},
    }  # fmt: skip
    found = check(case)
    assert not found.errors, found
    return [str(p) for p in found.warnings]


@pytest.mark.parametrize("rates", [[1], [2]])
def test_slivers_are_named_with_what_they_cost(tmp_path: Path, rates: list[int]) -> None:
    (text,) = told(tmp_path, 0.01, rates)
    assert text.startswith("mesh: ") and "cells make the run" in text and "times as long as without" in text
    assert "at (4" in text and "sliver" in text and "Remesh there" in text
    if rates == [1]:
        times = float(text.split("make the run ")[1].split(" times")[0])
        assert times > 10


def test_even_meshes_have_none(tmp_path: Path) -> None:
    assert told(tmp_path, 0.9, [1]) == [] and told(tmp_path, 1.0, [2]) == []
