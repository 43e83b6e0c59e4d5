"""Ensembles as processes: study files, commands, the processes of members, and comparison of results."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

from faultwave.ensemble.folder import EnsembleFolder
from tests.ensemble.case import study

xarray = pytest.importorskip("xarray")


def written(folder: Path, **more: Any) -> Path:
    """A study file next to its case."""
    settings = study(folder / "out", **more)
    with (folder / "case.yaml").open("w") as file:
        YAML(typ="safe").dump(settings["case"], file)
    with (folder / "study.yaml").open("w") as file:
        YAML(typ="safe").dump(settings | {"case": "case.yaml"}, file)
    return folder / "study.yaml"


def environment() -> dict[str, str]:
    programs = os.path.dirname(sys.executable)
    return os.environ | {"OMP_NUM_THREADS": "1", "PATH": f"{programs}:{os.environ['PATH']}"}


def contents(folder: Path) -> dict[str, np.ndarray]:
    """Every number of the results that does not depend on the time it took."""
    found = {}
    for name in ("ensemble.nc", "statistics.nc"):
        if (folder / name).exists():
            with xarray.open_dataset(folder / name, engine="netcdf4") as data:
                found |= {f"{name} {n}": data[n].values.copy() for n in (*data.data_vars, *data.coords)}
    return found


def assert_equal(one: Path, other: Path) -> None:
    first, second = contents(one), contents(other)
    assert first.keys() == second.keys() and first
    for name in first.keys() - {"ensemble.nc version"}:  # a base case in a file has another version than one without
        values = first[name]
        np.testing.assert_array_equal(values, second[name], err_msg=name)


def ends(folder: Path) -> dict[int, float]:
    return {r.member: r.finished for r in EnsembleFolder(folder).records()}


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [child, *children(child)]
    return found


def workers_of(pid: int) -> list[int]:
    named = []
    for child in children(pid):
        try:
            if b"faultwave.ensemble.worker" in Path(f"/proc/{child}/cmdline").read_bytes():
                named.append(child)
        except OSError:
            continue
    return named


def wait_for(condition: Any, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)
