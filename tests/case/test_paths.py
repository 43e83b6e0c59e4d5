"""A relative name of a file means the file beside the case, wherever the program is started, for every setting that names one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from ruamel.yaml import YAML

import faultwave as fw
from faultwave.case.load import load_case
from faultwave.case.settings.model import Case

NAME = "input.txt"
NO_INPUTS = ("source_files", "folder")
"""Paths that name no input: where the case was read from, and where its results go."""
TIME_FUNCTION = {"kind": "brune", "duration": 0.1}
MATERIAL = {"constant": {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}}
BOX = {"generate": {"shape": "box", "cells": [2, 2, 2], "lower": [-1e3, -1e3, -2e3], "upper": [1e3, 1e3, 0.0]}}
BUILD = {"lower": [0, 0], "upper": [1e4, 1e4], "depth": 1e4}
GRID = {"spacing": 100.0, "lower": [0, 0, -1e3], "upper": [1e3, 1e3, 0]}
SOIL = {"slower_than": 400.0, "parameters": {"constant": {"reference_strain": 1e-3}}}
PLACES: dict[tuple[str, str], tuple[tuple[Any, ...], Any]] = {
    ("Mesh", "file"): (("mesh", "file"), {"mesh": {"file": NAME}}),
    ("FieldSetting", "easi"): (("material", "easi"), {"material": {"easi": NAME}}),
    ("FieldSetting", "layers"): (("material", "layers"), {"material": {"layers": NAME}}),
    ("GroundModel", "file"): (
        ("material", "models", 0, "file"), {"material": {"models": [{"kind": "netcdf", "file": NAME}]}}
    ),
    ("Source", "file"): (("sources", 0, "file"), {"sources": [{"kind": "srf", "file": NAME}]}),
    ("Receivers", "file"): (("output", "receivers", "file"), {"output": {"receivers": {"file": NAME}}}),
    ("Receivers", "geographic_file"): (
        ("output", "receivers", "geographic_file"), {"output": {"receivers": {"geographic_file": NAME}}}
    ),
    ("HeightFile", "file"): (
        ("mesh", "build", "topography", "file"), {"mesh": {"build": {**BUILD, "topography": {"file": NAME}}}}
    ),
    ("Surface", "file"): (
        ("mesh", "build", "layers", 0, "file"), {"mesh": {"build": {**BUILD, "layers": [{"file": NAME}]}}}
    ),
    ("BuildFault", "trace"): (
        ("mesh", "build", "faults", 0, "trace"), {"mesh": {"build": {**BUILD, "faults": [{"trace": NAME}]}}}
    ),
    ("BuildFault", "surface"): (
        ("mesh", "build", "faults", 0, "surface"), {"mesh": {"build": {**BUILD, "faults": [{"surface": NAME}]}}}
    ),
    ("Topography", "file"): (
        ("grid", "topography", "file"), {"engine": "fd", "mesh": None, "grid": {**GRID, "topography": {"file": NAME}}}
    ),
    ("BuildFault", "planes"): (
        ("mesh", "build", "faults", 0, "planes"), {"mesh": {"build": {**BUILD, "faults": [{"planes": NAME}]}}}
    ),
    ("Injection", "file"): (("injection", "file"), {"engine": "fd", "mesh": None, "grid": GRID, "injection": {"file": NAME}}),
    ("Receivers", "stations"): (("output", "receivers", "stations"), {"output": {"receivers": {"stations": NAME}}}),
    ("FaultReceivers", "file"): (("output", "fault_receivers", "file"), {"output": {"fault_receivers": {"file": NAME}}}),
    ("SoilOutput", "file"): (
        ("output", "soil", "file"),
        {"engine": "fd", "mesh": None, "grid": GRID, "soil": SOIL, "output": {"soil": {"file": NAME}}},
    ),
}  # fmt: skip
"""Group and name of every setting that is a path: where one stands, and a case with it."""


def paths(kind: type[BaseModel], seen: tuple[Any, ...] = ()) -> Iterator[tuple[str, str]]:
    """Every (group, name) below a group of settings whose value is a path."""
    for name, field in kind.model_fields.items():
        parts = list(parts_of(field.annotation))
        if Path in parts and name not in NO_INPUTS:
            yield kind.__name__, name
        for part in parts:
            if isinstance(part, type) and issubclass(part, BaseModel) and part not in seen:
                yield from paths(part, (*seen, part))


def parts_of(annotation: Any) -> Iterator[Any]:
    yield annotation
    for part in get_args(annotation):
        yield from parts_of(part)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A case's folder with a file; the program stands in another that has a file of the same name."""
    for name in ("case", "elsewhere"):
        (tmp_path / name).mkdir()
        (tmp_path / name / NAME).write_text(name)
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path


@pytest.mark.parametrize("setting", sorted(set(paths(Case))), ids=".".join)
def test_every_path_is_found_beside_the_case(setting: tuple[str, str], folders: Path) -> None:
    where, part = PLACES[setting]  # a new setting that names a file belongs there
    document = {"end_time": 1.0, "mesh": BOX, "material": MATERIAL, **part}
    YAML().dump(document, folders / "case" / "case.yaml")
    for name in (folders / "case" / "case.yaml", Path("..") / "case" / "case.yaml"):
        case, problems = load_case(name)
        assert case is not None, problems
        found = reduce(lambda at, key: at[key] if isinstance(key, int) else getattr(at, key), where, case)
        assert found.resolve() == folders / "case" / NAME


def test_files_that_models_name_are_found_beside_them_or_the_case(folders: Path) -> None:
    """An easi model in a folder of its own includes another: first beside itself, then beside the case, last where one stands."""
    (folders / "case" / "models").mkdir()
    (folders / "case" / "models" / "rock.yaml").write_text("!Include parts/rock.yaml\n")
    rock = "!ConstantMap\nmap: {{rho: 2700, mu: {}, lambda: 3e10}}\n"
    document = {
        "end_time": 0.1,
        "mesh": BOX,
        "material": {"easi": "models/rock.yaml"},
        "numerics": {"backend": "numpy"},
    }
    YAML().dump(document, folders / "case" / "case.yaml")
    found = []
    for place, mu in ((folders / "elsewhere", 1e10), (folders / "case", 2e10), (folders / "case" / "models", 4e10)):
        (place / "parts").mkdir()
        (place / "parts" / "rock.yaml").write_text(rock.format(mu))
        found.append(float(fw.plan(folders / "case" / "case.yaml").plan.material["mu"][0]))
    assert found == [1e10, 2e10, 4e10]
