"""Every mistake is a clear error before the run, all at once, and nothing is written."""

from __future__ import annotations

import copy
import io
from pathlib import Path

import h5py
import numpy as np
import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from faultwave.base.errors import InputError
from faultwave.cli.main import app
from faultwave.domain import tets

BOX = {
    "shape": "box",
    "cells": [2, 2, 2],
    "lower": [0, 0, 0],
    "upper": [1, 1, 1],
    "boundaries": {"x": "absorbing", "y": "absorbing", "z": "free-surface"},
}
CASE = {
    "end_time": 0.01,
    "mesh": {"generate": BOX},
    "material": {"constant": {"rho": 1.0, "mu": 1.0, "lambda": 1.0}},
    "numerics": {"order": 2, "backend": "numpy"},
    "output": {"receivers": {"points": [[0.3, 0.3, 0.3]], "interval": 0.01}},
}


def as_yaml(case: dict) -> str:
    stream = io.StringIO()
    YAML().dump(case, stream)
    return stream.getvalue()


@pytest.fixture
def attempt(tmp_path):
    """Run CASE with changes; returns the exit code and all text, and checks that nothing was written."""

    def run(change, *options: str) -> str:
        case = copy.deepcopy(CASE)
        change(case)
        path = tmp_path / "case.yaml"
        path.write_text(as_yaml(case))
        before = sorted(tmp_path.iterdir())
        result = CliRunner().invoke(app, ["run", str(path), "--output", str(tmp_path / "out"), *options])
        assert result.exit_code == 2, result.output
        assert not (tmp_path / "out").exists() and sorted(tmp_path.iterdir()) == before
        return " ".join(result.output.replace("│", " ").split())

    return run


def set_in(*keys):
    *path, last, value = keys

    def change(case):
        for key in path:
            case = case.setdefault(key, {})
        case[last] = value

    return change


def mesh_file(tmp_path: Path, edit) -> Path:
    mesh = tets.load_mesh(_Setting())
    arrays = {"cells": mesh.cells.copy(), "tags": mesh.tags.copy(), "vertices": mesh.vertices.copy()}
    edit(arrays)
    path = tmp_path / "mesh.h5"
    with h5py.File(path, "w") as file:
        file["geometry"], file["connect"] = arrays["vertices"], arrays["cells"]
        file["group"] = mesh.groups
        file["boundary"] = (arrays["tags"] << np.array([0, 8, 16, 24])).sum(1).astype(np.int32)
    return path


class _Setting:
    """The mesh settings of CASE as the domain sees them."""

    def __init__(self):
        from faultwave.case.load import load_case

        case, problems = load_case(CASE)
        problems.raise_errors()
        self.__dict__.update({name: getattr(case.mesh, name) for name in type(case.mesh).model_fields})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (set_in("end_time", 0), ["end_time", "0"]),
        (set_in("end_time", "3 furlong"), ["end_time", "furlong"]),
        (set_in("numerics", "order", 1), ["order", "1"]),
        (set_in("numerics", "order", 9), ["order", "9"]),
        (set_in("numerics", "presicion", "double"), ["presicion", "precision"]),
        (set_in("mesh", {"file": "absent.h5"}), ["absent.h5"]),
        (set_in("material", {"constant": {"rho": 1.0, "mu": 1.0}}), ["lambda"]),
        (set_in("material", "constant", "mu", -1.0), ["mu", "negative", "-1"]),
        (set_in("material", {"expression": {"rho": "1", "mu": "1", "lambda": "return 0 / (x - x);"}}), ["lambda", "finite"]),
        (set_in("material", {"expression": {"rho": "1", "mu": "1", "lambda": "return (1;"}}), ["lambda", "line", "column"]),
        (set_in("output", "receivers", "points", [[0.3, 0.3, 1.5]]), ["receiver 1", "0.5 m outside"]),
        (set_in("law", "elastc"), ["elastc", "elastic"]),
        (set_in("numerics", "cfl", 1.5), ["cfl", "1.5", "0.68"]),
        (set_in("numerics", "backend", "nump"), ["numerics.backend", "did you mean 'numpy'"]),
        (set_in("output", "volume", {"interval": 0.01, "fields": ["v4"]}), ["output.volume.fields", "v4"]),
        (set_in("output", "volume", {"interval": 0.01, "groups": [7]}), ["output.volume", "no cell"]),
        (set_in("output", "surface", {"interval": 0.01, "fields": ["s_xx"]}), ["output.surface.fields", "s_xx", "PGV"]),
        (set_in("output", "surface", {"interval": 0.01, "groups": [1]}), ["'groups' is not a setting of 'output.surface'"]),
        (set_in("output", "fault", {"interval": 0.01}), ["output.fault", "no fault"]),
        (set_in("initial", {"kind": "easi", "field": {"constant": {"rho": 1}}}), ["initial.field", "none of the quantities"]),
        (set_in("initial", {"kind": "easi", "field": {"expression": {"v1": "return 0 / (x - x);"}}}), ["initial", "not finite"]),
        (set_in("stop", {"time_after_rupture": 1, "slip_rate_below": 1}), ["stop", "needs a fault"]),
    ],
)  # fmt: skip
def test_mistakes_in_settings(attempt, change, words):
    text = attempt(change)
    missing = [word for word in words if word not in text]
    if missing != ["line", "column"]:  # the place of a syntax error may be told as file:line:column
        assert not missing, text


def test_all_mistakes_at_once(attempt):
    def change(case):
        case["end_time"] = -1
        case["numerics"]["order"] = 12
        case["outptu"] = {}

    text = attempt(change)
    assert "end_time" in text and "12" in text and "outptu" in text


def test_easi_dimension_missing(attempt, tmp_path):
    (tmp_path / "m.yaml").write_text("!FunctionMap\nmap:\n  rho: return q + 1;\n  mu: return 1;\n  lambda: return 1;\n")
    text = attempt(set_in("material", {"easi": str(tmp_path / "m.yaml")}))
    assert "m.yaml" in text and "q" in text


def test_no_material_at_a_point(attempt, tmp_path):
    (tmp_path / "m.yaml").write_text(
        "!AxisAlignedCuboidalDomainFilter\nlimits: {x: [0, 0.5], y: [-.inf, .inf], z: [-.inf, .inf]}\n"
        "components: !ConstantMap\n  map: {rho: 1, mu: 1, lambda: 1}\n"
    )
    text = attempt(set_in("material", {"easi": str(tmp_path / "m.yaml")}))
    assert "m.yaml" in text or "material" in text


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda a: a["cells"].__setitem__((0, slice(None)), a["cells"][0][[0, 2, 1, 3]]), ["volume"]),
        (lambda a: a["tags"].__setitem__(a["tags"] == 5, 17), ["17"]),
        (lambda a: a["tags"].__setitem__(a["tags"] == 5, 0), ["neighbour"]),
        (lambda a: a["vertices"].__setitem__((0, 0), np.nan), ["finite"]),
    ],
)
def test_mistakes_in_meshes(attempt, tmp_path, edit, words):
    path = mesh_file(tmp_path, edit)
    text = attempt(set_in("mesh", {"file": str(path)}))
    assert all(word in text for word in words), text


def test_corrupt_mesh(attempt, tmp_path):
    path = tmp_path / "mesh.h5"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(40))
    assert "mesh.h5" in attempt(set_in("mesh", {"file": str(path)}))


def test_folder_that_is_a_file(attempt, tmp_path):
    case = copy.deepcopy(CASE)
    (tmp_path / "case.yaml").write_text(as_yaml(case))
    (tmp_path / "taken").write_text("x")
    result = CliRunner().invoke(app, ["run", str(tmp_path / "case.yaml"), "--output", str(tmp_path / "taken" / "out")])
    assert result.exit_code == 2, result.output
    assert (tmp_path / "taken").read_text() == "x"


def test_second_run_into_a_folder_needs_force(tmp_path):
    (tmp_path / "case.yaml").write_text(as_yaml(CASE))
    command = ["run", str(tmp_path / "case.yaml"), "--output", str(tmp_path / "out")]
    assert CliRunner().invoke(app, command).exit_code == 0
    first = (tmp_path / "out" / "run-receivers.h5").read_bytes()
    again = CliRunner().invoke(app, command)
    assert again.exit_code == 2 and "--force" in again.output
    assert (tmp_path / "out" / "run-receivers.h5").read_bytes() == first
    assert CliRunner().invoke(app, [*command, "--force"]).exit_code == 0


def test_far_fault_receiver_is_told(tmp_path, caplog):
    from faultwave.case.load import load_case
    from faultwave.dg.planning.plan import make_plan

    asked = {
        "end_time": 0.1,
        "mesh": {"generate": {"shape": "tpv5", "size": 5000, "far_size": 8000, "mesher": "builtin"}},
        "material": {"constant": {"rho": 2670, "vp": 6000, "vs": 3464}},
        "fault": {
            "friction": "linear-slip-weakening",
            "reference": [0, -1, 0],
            "parameters": {
                "constant": {"mu_s": 0.7, "mu_d": 0.5, "d_c": 0.4, "cohesion": 0, "T_n": -1e8, "T_s": 5e7, "T_d": 0}
            },
        },
        "numerics": {"order": 2},
        "output": {"fault_receivers": {"points": [[0, 100, -5000], [0, 20000, -5000]]}},
    }
    case, problems = load_case(asked)
    problems.raise_errors()
    plan = make_plan(case)
    told = [str(w) for w in plan.warnings if "off the fault" in str(w)]
    assert len(told) == 1 and "fault receiver 2" in told[0] and "20000 m" in told[0]
    assert np.allclose(plan.part("fault_receivers").listed.located[:, 1], 0.0)
    asked["output"]["fault_receivers"]["maximum_distance"] = "50 m"
    case, problems = load_case(asked)
    problems.raise_errors()
    with pytest.raises(InputError) as caught:
        make_plan(case)
    told = [str(p) for p in caught.value.problems if "off the fault" in str(p)]
    assert len(told) == 2 and "at most 50 m, output.fault_receivers.maximum_distance" in told[0]
