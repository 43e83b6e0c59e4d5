"""Cases with porous rock: injected fluid, energies, mistakes, precision, devices, several processes, checkpoints."""

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
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.output.results import load_results
from tests.backends.here import DEVICE, needs_device
from tests.physics.waves.pores import SANDSTONE

POINTS = [[110.0, 30.0, -40.0], [-180.0, 100.0, 50.0]]


def settings(folder: Path, **more: Any) -> dict[str, Any]:
    """Water under pressure in a box of sandstone with every kind of wall, in steps of several lengths."""
    numerics = {"order": 3, "backend": "cpu", "threads": 1, "clustering": {"rates": [2]}, **more.pop("numerics", {})}
    output = {
        "folder": str(folder), "prefix": "run", "receivers": {"points": POINTS, "interval": 0.004}, "energies": {"interval": 0.01},
        "volume": {"interval": 0.03, "fields": ["p", "v1", "v1_f"]}, "surface": {"interval": 0.03},
        **more.pop("output", {}),
    }  # fmt: skip
    box = {"shape": "box", "cells": [4, 4, 4], "lower": [-400.0] * 3, "upper": [400.0] * 3, "perturb": 0.3,
           "boundaries": {"x-": "absorbing", "x+": "rigid", "y-": "symmetry", "y+": "sealed-surface", "z": "free-surface"}}  # fmt: skip
    return {
        "law": "poroelastic", "end_time": 0.06, "mesh": {"generate": box}, "material": {"constant": SANDSTONE},
        "initial": {"kind": "pressure-injection", "pressure": "1 MPa", "width": 3e-5, "center": [20.0, -10.0, 30.0]},
        "numerics": numerics, "output": output, **more,
    }  # fmt: skip


def heard(folder: Path) -> np.ndarray:
    traces = load_results(folder).traces["receiver"]
    return np.stack([np.stack(list(t.columns.values())) for t in traces.values()])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("pores")
    fw.simulate(settings(folder / "run")).run()
    return folder / "run"


def test_injected_fluid_makes_waves_and_loses_energy(whole: Path) -> None:
    results = load_results(whole)
    trace = next(iter(results.traces["receiver"].values()))
    assert {"p", "v1_f", "v2_f", "v3_f", "s_xx", "v1"} <= set(trace.columns)
    first = {name: variable.data for name, variable in results.energies.variables.items()}
    total = np.asarray(first["elastic_energy"]) + np.asarray(first["elastic_kinetic_energy"])
    # p^2/2M and the work of -alpha p on the frame, at the start: sigma = 0, so that the frame bears alpha p.
    drained = SANDSTONE["lambda"] + 2 * SANDSTONE["mu"] / 3
    alpha = 1 - drained / SANDSTONE["bulk_solid"]
    storage = 6.0192616e9
    density = 0.5 * (1 / storage + alpha**2 / drained)
    assert total[0] == pytest.approx(density * 1e12 * (np.pi / 6e-5) ** 1.5, rel=0.1)
    assert (np.diff(total) < 0).all() and first["elastic_kinetic_energy"][-1] > 0
    assert (first["drag_power"][1:] > 0).all() and (np.diff(first["drag_work"]) > 0).all()
    with VtkHdfReader(whole / "run-volume.vtkhdf") as file:
        start = file.field("p", 0)
        corners = file.points[file.cells].mean(1)
    near = np.exp(-3e-5 * ((corners - [20.0, -10.0, 30.0]) ** 2).sum(1)) * 1e6
    assert np.abs(start - near).max() < 0.15e6 and start.max() > 0.7e6
    assert first["drag_work"][-1] < total[0] - total[-1]  # waves also leave the box


def test_stopped_and_resumed(tmp_path: Path, whole: Path) -> None:
    case = settings(tmp_path / "parts", output={"checkpoint": {"interval": 0.02}})
    fw.simulate(case).run(until=0.03)
    fw.resume(tmp_path / "parts").run()
    np.testing.assert_array_equal(heard(tmp_path / "parts"), heard(whole))


def test_single_precision_keeps_its_digits(tmp_path: Path, whole: Path) -> None:
    """Although the drag is 10^5 times faster than the waves."""
    fw.simulate(settings(tmp_path / "single", numerics={"precision": "single"})).run()
    double, single = heard(whole), heard(tmp_path / "single")
    scale = np.abs(double).max((0, 2))[:, None] + 1e-30
    assert (np.abs(single - double) / scale).max() < 2e-3


@pytest.mark.parametrize("backend", ["numpy", pytest.param(DEVICE, marks=needs_device)])
def test_every_backend_says_the_same(tmp_path: Path, whole: Path, backend: str) -> None:
    small = {"end_time": 0.012, "numerics": {"order": 2, "backend": backend}}
    fw.simulate(settings(tmp_path / "other", **small)).run()
    fw.simulate(settings(tmp_path / "cpu", end_time=0.012, numerics={"order": 2})).run()
    one, other = heard(tmp_path / "cpu"), heard(tmp_path / "other")
    scale = np.abs(one).max((0, 2))[:, None] + 1e-30
    assert (np.abs(other - one) / scale).max() < 1e-11


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [2, 3])
def test_any_number_of_processes_gives_the_same(tmp_path: Path, whole: Path, ranks: int) -> None:
    from tests.run.launch import launch

    done = launch(ranks, settings(tmp_path / "several"))
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(heard(tmp_path / "several"), heard(whole))


@pytest.mark.parametrize(
    "change, words",
    [
        ({"permeability": -6e-13}, ("material.constant.permeability", "not above 0")),
        ({"porosity": 1.2}, ("porosity is 1.2 at (", "<= 0.999999")),
        ({"porosity": 0.0}, ("porosity is 0 at (", "383 other cells")),
        ({"tortuosity": 0.5}, ("tortuosity is 0.5", ">= 1")),
        ({"bulk_solid": 1e10}, ("drained frame", "9.547e+09 Pa", "6e+09 Pa", "(1 - porosity) bulk_solid")),
        ({"bulk_fluid": None}, ("material.constant: parameter bulk_fluid is missing",)),
        ({"porsity": 0.4}, ("porsity", "did you mean 'porosity'")),
    ],
)
def test_mistakes_in_the_material(tmp_path: Path, change: dict[str, Any], words: tuple[str, ...]) -> None:
    material = {k: v for k, v in (SANDSTONE | change).items() if v is not None}
    with pytest.raises(InputError) as error:
        planned(settings(tmp_path / "out", material={"constant": material}))
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"law": "elastic", "material": {"constant": {"rho": 2700, "vp": 6000, "vs": 3464}}}, ("no pore fluid", "law: poroelastic")),
        ({"initial": {"kind": "pressure-injection", "pressure": 1e6}}, ("needs a width",)),
        ({"numerics": {"integrator": "rk4", "clustering": {"rates": [1]}}}, ("rk4 is not supported for the poroelastic law",)),
        ({"plasticity": {"parameters": {"constant": {"bulk_friction": 0.1, "plastic_cohesion": 1e6, "s_xx": 0, "s_yy": 0,
          "s_zz": 0, "s_xy": 0, "s_yz": 0, "s_xz": 0}}}}, ("plasticity", "not supported for the poroelastic law")),
    ],
)  # fmt: skip
def test_what_does_not_go_with_pores(tmp_path: Path, change: dict[str, Any], words: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as error:
        planned(settings(tmp_path / "out", **change))
    for word in words:
        assert word in str(error.value)


def planned(case: dict[str, Any]) -> Any:
    read, problems = load_case(case)
    problems.raise_errors()
    assert read is not None
    return make_plan(read)


DECK = """&equations
MaterialFileName = 'material.yaml'
/
&IniCondition
cICType = 'PressureInjection'
origin = 20. -10. 30.
magnitude = 1e6
width = 3e-5
/
&MeshNml
MeshFile = 'mesh.h5'
meshgenerator = 'PUML'
/
&Discretization
/
&Output
OutputFile = 'output/run'
WavefieldOutput = 1
TimeInterval = 0.1
iOutputMask = 0 0 0 0 0 0 1 0 0 1 0 0 1
/
&AbortCriteria
EndTime = 0.01
/
"""


def test_a_deck_of_porous_rock(tmp_path: Path) -> None:
    """Its law shows in the material file, its mask has thirteen places."""
    write_puml(tmp_path / "mesh.h5", box_mesh(Box((2, 2, 2), (-400.0,) * 3, (400.0,) * 3, {})))
    body = "\n".join(f"    {name}: {value!r}" for name, value in SANDSTONE.items())
    (tmp_path / "material.yaml").write_text(f"!ConstantMap\nmap:\n{body}\n")
    (tmp_path / "parameters.par").write_text(DECK)
    case, problems = load_case(tmp_path / "parameters.par", {"order": 2})
    problems.raise_errors()
    assert case is not None and case.law == "poroelastic" and case.output.volume is not None
    assert list(case.output.volume.fields or ()) == ["v1", "p", "v3_f"]
    state = make_plan(case).part("initial").solution(np.array([[20.0, -10.0, 30.0], [120.0, -10.0, 30.0]]), 0.0)
    assert state[:, 9] == pytest.approx([1e6, 1e6 * np.exp(-0.3)]) and not np.delete(state, 9, 1).any()


FSRM = """moment tensor
1. 0. 0.
0. 2. 0.
0. 0. 3.
velocity components
4. 5. 6.
pressure component
7.
fluid velocity components
8. 9. 10.
number of sources
1
x y z strike dip rake area onset
10. 20. 30. 0. 0. 0. 2. 0.
dt and samples
0.01 3
samples
0. 1. 0.
"""


def test_a_source_file_acts_on_rock_and_fluid(tmp_path: Path) -> None:
    """In a periodic box without drag the integral of each quantity grows by area times what the file says times the integral of S."""
    (tmp_path / "s.dat").write_text(FSRM)
    box = {"shape": "box", "cells": [4, 4, 4], "lower": [-400.0] * 3, "upper": [400.0] * 3,
           "boundaries": dict.fromkeys("xyz", "periodic")}  # fmt: skip
    sim: Any = fw.simulate({
        "law": "poroelastic", "end_time": 0.02, "mesh": {"generate": box}, "material": {"constant": SANDSTONE | {"viscosity": 0.0}},
        "sources": [{"kind": "fsrm", "file": str(tmp_path / "s.dat")}], "numerics": {"order": 2, "backend": "numpy"},
        "output": {"folder": str(tmp_path / "out")},
    }).run(write=False)  # fmt: skip
    cells = sim.plan.geometry.volume
    mean = sim.solver.operator.dofs()[:, 0] * np.sqrt(6.0)  # the first basis function is a constant
    found = (cells[:, None] * mean).sum(0)
    np.testing.assert_allclose(found, 2.0 * 0.01 * np.array([1, 2, 3, 0, 0, 0, 4, 5, 6, 7, 8, 9, 10]), atol=1e-9)


def test_elastic_rock_has_no_pores_to_push(tmp_path: Path) -> None:
    (tmp_path / "s.dat").write_text(FSRM)
    case = settings(
        tmp_path / "out", law="elastic", material={"constant": {"rho": 2700, "vp": 6000, "vs": 3464}}, initial={}
    )
    case["sources"] = [{"kind": "fsrm", "file": str(tmp_path / "s.dat")}]
    with pytest.raises(InputError, match="s.dat source 0 acts on the pore fluid, but the elastic law has none"):
        planned(case)
