"""Cases with anisotropic rock: ways to give it, mistakes, sources, SeisSol decks, several processes, checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.case.load import load_case
from faultwave.dg.planning.plan import make_plan
from faultwave.domain.tets import write_puml
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.output.results import load_results
from faultwave.physics.waves.anisotropic import CONSTANTS, isotropic
from tests.physics.waves.tensors import TRANSVERSE, rotation, turned

TILTED = {k: float(v) for k, v in turned(TRANSVERSE, rotation(1)).items()}
ROCK = {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}
POINTS = [[700.0, 300.0, -400.0], [-800.0, 100.0, 50.0]]


def settings(folder: Path, material: dict[str, Any], **more: Any) -> dict[str, Any]:
    numerics = {"order": 3, "backend": "cpu", "threads": 1, **more.pop("numerics", {})}
    output = {
        "folder": str(folder), "prefix": "run", "receivers": {"points": POINTS, "interval": 0.02}, "energies": {"interval": 0.1},
        **more.pop("output", {}),
    }  # fmt: skip
    box = {"shape": "box", "cells": [4, 4, 4], "lower": [-2000.0] * 3, "upper": [2000.0] * 3,
           "boundaries": {"x": "absorbing", "y": "symmetry", "z": "free-surface"}}  # fmt: skip
    return {
        "law": "anisotropic", "end_time": 0.3, "mesh": {"generate": box}, "material": material, "numerics": numerics, "output": output,
        "sources": [{"kind": "moment-tensor", "location": [10.0, 20.0, 30.0], "tensor": {"xx": 1e14, "yy": 2e14, "xy": 3e14, "xz": 1e14},
                     "time_function": {"kind": "ricker", "frequency": 8.0}}], **more,
    }  # fmt: skip


def planned(case: dict[str, Any]) -> Any:
    read, problems = load_case(case)
    problems.raise_errors()
    assert read is not None
    return make_plan(read)


def heard(folder: Path) -> np.ndarray:
    traces = load_results(folder).traces["receiver"]
    return np.stack([np.stack(list(t.columns.values())) for t in traces.values()])


def test_isotropic_rock_may_be_given_by_its_speeds(tmp_path: Path) -> None:
    given = planned(settings(tmp_path / "a", {"constant": ROCK})).material
    mu = ROCK["rho"] * ROCK["vs"] ** 2
    want = isotropic({"rho": 2700.0, "mu": mu, "lambda": ROCK["rho"] * ROCK["vp"] ** 2 - 2 * mu})
    for name, value in want.items():
        np.testing.assert_allclose(given[name], value, rtol=1e-14)


def test_regions_may_be_isotropic_or_not(tmp_path: Path) -> None:
    mesh = box_mesh(Box((2, 2, 2), (-1e3,) * 3, (1e3,) * 3, {}))
    groups = 1 + (mesh.vertices[mesh.cells].mean(1)[:, 0] > 0)
    file = tmp_path / "mesh.h5"
    write_puml(file, type(mesh)(**{**vars(mesh), "groups": groups.astype(mesh.groups.dtype)}))
    case = settings(tmp_path / "out", {"regions": {1: ROCK, 2: TILTED}}, mesh={"file": str(file)}, sources=[])
    case["output"].pop("receivers")
    found = planned(case).material
    assert np.unique(found["c14"]).tolist() == sorted({0.0, TILTED["c14"]})


@pytest.mark.parametrize(
    "change, words",
    [
        ({"c44": -1e9}, ("material", "eigenvalues -", "Pa at (", "in 383 other cells", "> 0")),
        ({"c14": None}, ("material.constant: parameter c14 is missing",)),
        ({"c77": 1.0}, ("c77", "c66")),
    ],
)
def test_mistakes(tmp_path: Path, change: dict[str, Any], words: tuple[str, ...]) -> None:
    material = {k: v for k, v in (TILTED | change).items() if v is not None}
    with pytest.raises(InputError) as error:
        planned(settings(tmp_path / "out", {"constant": material}))
    for word in words:
        assert word in str(error.value)


def test_water_beside_anisotropic_rock_is_refused_by_its_name(tmp_path: Path) -> None:
    water = {"constant": {"rho": 1000.0, "vp": 1500.0, "vs": 0.0}}
    with pytest.raises(InputError, match=r"water, which this law does not have .* lies at \("):
        planned(settings(tmp_path / "out", water))


def test_slip_in_a_source_has_the_moment_of_the_whole_stiffness(tmp_path: Path) -> None:
    """A double couple in the plane of the first two axes, turned with the rock."""
    from faultwave.physics.waves import law

    strain = np.array([0.1, -0.2, 0.3, 0.4, 0.5, -0.6])
    found = law("anisotropic").stress_of(strain, TILTED)
    names = {(i, j): TILTED[f"c{min(i, j)}{max(i, j)}"] for i in range(1, 7) for j in range(1, 7)}
    voigt = [0.1, -0.2, 0.3, 2 * 0.5, 2 * -0.6, 2 * 0.4]
    want = [sum(names[i, j + 1] * voigt[j] for j in range(6)) for i in (1, 2, 3, 6, 4, 5)]
    np.testing.assert_allclose(found, want, rtol=1e-14)


def test_a_deck_with_21_constants_is_anisotropic(tmp_path: Path) -> None:
    write_puml(tmp_path / "mesh.h5", box_mesh(Box((2, 2, 2), (-1e3,) * 3, (1e3,) * 3, {})))
    body = "\n".join(f"    {name}: {TILTED[name]!r}" for name in ("rho", *CONSTANTS))
    (tmp_path / "rock.yaml").write_text(f"!ConstantMap\n  map:\n{body}\n")
    (tmp_path / "material.yaml").write_text("!Any\ncomponents:\n  - !Include rock.yaml\n")
    (tmp_path / "parameters.par").write_text(
        "&equations\nMaterialFileName = 'material.yaml'\n/\n&IniCondition\n/\n&MeshNml\nMeshFile = 'mesh.h5'\n"
        "meshgenerator = 'PUML'\n/\n&Discretization\n/\n&Output\nOutputFile = 'output/run'\n/\n&AbortCriteria\nEndTime = 0.1\n/\n"
    )
    case, problems = load_case(tmp_path / "parameters.par")
    problems.raise_errors()
    assert case is not None and case.law == "anisotropic"
    found = make_plan(case).material
    np.testing.assert_array_equal(found["c25"], TILTED["c25"])


def test_stopped_and_resumed(tmp_path: Path) -> None:
    case = settings(tmp_path / "whole", {"constant": TILTED})
    fw.simulate(case).run()
    case = settings(tmp_path / "parts", {"constant": TILTED}, output={"checkpoint": {"interval": 0.1}})
    fw.simulate(case).run(until=0.15)
    fw.resume(tmp_path / "parts").run()
    np.testing.assert_array_equal(heard(tmp_path / "parts"), heard(tmp_path / "whole"))


FAULT = {
    "friction": "linear-slip-weakening", "reference": [0.0, -1e3, 0.0],
    "parameters": {"constant": {"mu_s": 0.6, "mu_d": 0.2, "d_c": 0.1, "cohesion": 0.0, "T_n": -100e6, "T_s": 61e6, "T_d": 0.0}},
}  # fmt: skip


def broken(folder: Path, material: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A fault that breaks at once, in rock that differs from cell to cell."""
    case = settings(folder, material, fault=FAULT, sources=[], **more)
    case["mesh"]["generate"] |= {"boundaries": dict.fromkeys("xyz", "absorbing"), "fault": ["y", 0]}
    case["output"]["fault_receivers"] = {"points": [[150.0, 0.0, 220.0]], "position": "exact"}
    return case


def on_fault(folder: Path) -> np.ndarray:
    traces = load_results(folder).traces["faultreceiver"]
    return np.stack([np.stack(list(t.columns.values())) for t in traces.values()])


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [2, 3])
def test_any_number_of_processes_gives_the_same(tmp_path: Path, ranks: int) -> None:
    """Waves and a fault, whose faces may lie between two processes."""
    from tests.run.launch import launch

    expression = {name: f"{TILTED[name]!r} * (1 + 0.0001 * abs(x))" for name in CONSTANTS}
    material = {"constant": {"rho": 2700.0}, "expression": expression}
    fw.simulate(broken(tmp_path / "one", material)).run()
    done = launch(ranks, broken(tmp_path / "several", material))
    assert done.returncode == 0, done.stderr
    for found in (heard, on_fault):
        np.testing.assert_array_equal(found(tmp_path / "several"), found(tmp_path / "one"))
        assert np.abs(found(tmp_path / "one")).max() > 0.1


def test_plasticity_caps_the_stress(tmp_path: Path) -> None:
    """Elastic at the last bit where nothing yields, less stress where all does."""
    found = []
    for name, cohesion in (("elastic", None), ("strong", 1e15), ("weak", 1e3)):
        more: dict[str, Any] = {}
        if cohesion is not None:
            at_rest = dict.fromkeys(("s_xx", "s_yy", "s_zz", "s_xy", "s_yz", "s_xz"), 0.0)
            parameters = {"bulk_friction": 0.0, "plastic_cohesion": cohesion, **at_rest}
            more = {"plasticity": {"rheology": "drucker-prager", "parameters": {"constant": parameters},
                                   "constants": {"relaxation_time": 0.0}}}  # fmt: skip
        fw.simulate(settings(tmp_path / name, {"constant": TILTED}, **more)).run()
        found.append(heard(tmp_path / name))
    np.testing.assert_array_equal(found[1], found[0])
    assert np.abs(found[2] - found[0]).max() > 1e-3 * np.abs(found[0]).max()
