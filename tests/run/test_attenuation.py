"""Runs with attenuating rock: natively and as a deck, over checkpoints, at faults and beside water, what is told and what is refused."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError, Interrupted
from faultwave.case.load import load_case
from faultwave.case.seissol.convert import load_deck
from faultwave.dg.planning.plan import make_plan
from faultwave.dg.report import plan_report
from faultwave.dg.solver import Solver
from faultwave.domain.tets import write_puml
from tests.backends.here import DEVICE, needs_device
from tests.run.rupture.setup import ROCK, settings, slip_weakening, small_mesh

SOFT = {"rho": 2600.0, "vp": 4000.0, "vs": 2000.0, "Qp": 60.0, "Qs": 30.0}


def box(path: Path, material: Any = None, **more: Any) -> dict[str, Any]:
    """A double couple in a box of rock of two layers, order 3; the lower one attenuates less."""
    mesh = {"shape": "box", "cells": [3, 3, 3], "lower": [-1500, -1500, -3000], "upper": [1500, 1500, 0],
            "boundaries": {"z+": "free-surface", "x-": "rigid", "x+": "symmetry"}, "perturb": 0.2}  # fmt: skip
    source = {"kind": "moment-tensor", "location": [10, 20, -1500], "tensor": {"xy": 1e15, "zz": 4e14},
              "time_function": {"kind": "gaussian", "duration": 0.04}}  # fmt: skip
    layered = {"constant": {k: v for k, v in SOFT.items() if k != "Qs"}, "expression": {"Qs": "30 - 0.01 * z"}}
    case = {
        "end_time": 0.5, "mesh": {"generate": mesh}, "material": material or layered, "attenuation": {"high": 8.0},
        "sources": [source], "numerics": {"order": 3, "threads": 1, **more.pop("numerics", {})},
        "output": {"folder": str(path / "out"), "receivers": {"points": [[600, 500, -300]], "interval": 0.02},
                   "energies": {"interval": 0.02}, "checkpoint": {"interval": 0.15}},
    }  # fmt: skip
    return case | more


def run(case: dict[str, Any]) -> Any:
    return fw.simulate(case, force=True).run()


@pytest.fixture(scope="module")
def shaken(tmp_path_factory: Any) -> Any:
    return run(box(tmp_path_factory.mktemp("shaken")))


def traces(sim: Any) -> np.ndarray:
    return np.stack([sim.receivers.quantity(f"v{i}")[:, 0] for i in (1, 2, 3)])


def test_a_case_that_attenuates_has_the_law(shaken: Any, tmp_path: Path) -> None:
    """Nine quantities are told, memories are not; waves are smaller than those of elastic rock."""
    law = shaken.solver.plan.law
    assert law.name == "viscoelastic" and law.elements == 3 and law.visible == 9
    assert not [name for name in shaken.receivers.quantities if "element" in name]
    elastic = run(box(tmp_path, {"constant": {k: SOFT[k] for k in ("rho", "vp", "vs")}}, attenuation=None))
    assert elastic.solver.plan.law.name == "elastic"
    assert 0.3 * np.abs(traces(elastic)).max() < np.abs(traces(shaken)).max() < 0.99 * np.abs(traces(elastic)).max()


def test_infinite_quality_is_elastic_rock(tmp_path: Path) -> None:
    lossless = run(box(tmp_path, {"constant": SOFT | {"Qp": "inf", "Qs": "inf"}}))
    elastic = run(box(tmp_path, {"constant": {k: SOFT[k] for k in ("rho", "vp", "vs")}}, attenuation=None))
    assert np.abs(traces(lossless) - traces(elastic)).max() < 1e-11 * np.abs(traces(elastic)).max()
    assert lossless.energies["attenuation_power"].max() == 0.0


def test_energy_falls_after_the_source(shaken: Any) -> None:
    """By what attenuation takes, and what leaves through absorbing sides."""
    e = shaken.energies
    total = e["elastic_energy"] + e["elastic_kinetic_energy"]
    after = e["time"] > 0.4  # the source is over
    assert after.sum() > 3 and (np.diff(total[after]) < 0).all()
    assert (e["attenuation_power"] >= 0).all() and (np.diff(e["attenuation_work"]) >= 0).all()
    lost = total[after][0] - total[after][-1]
    assert lost > e["attenuation_work"][after][-1] - e["attenuation_work"][after][0] > 0.1 * lost
    assert e.variables["attenuation_work"].unit == "J" and e.variables["attenuation_power"].unit == "W"


def test_stopped_and_resumed_to_the_bit(tmp_path: Path, shaken: Any) -> None:
    half = fw.simulate(box(tmp_path), force=True)
    with pytest.raises(Interrupted):
        half.run(progress=lambda p: signal.raise_signal(signal.SIGTERM) if p.time > 0.25 else None)
    again = fw.resume(tmp_path / "out").run()
    np.testing.assert_array_equal(again.solver.operator.state(), shaken.solver.operator.state())
    for name in ("attenuation_work", "elastic_energy"):
        np.testing.assert_array_equal(again.energies[name], shaken.energies[name])


def test_going_on_at_another_order_keeps_what_rock_remembers(tmp_path: Path) -> None:
    half = fw.simulate(box(tmp_path, {"constant": SOFT}), force=True)
    with pytest.raises(Interrupted):
        half.run(progress=lambda p: signal.raise_signal(signal.SIGTERM) if p.time > 0.25 else None)
    before = half.energy_now()
    again = fw.resume(tmp_path / "out", order=4)
    for name in ("elastic_energy", "attenuation_power"):
        assert again.energy_now()[name] == pytest.approx(before[name], rel=1e-9)


@pytest.mark.parametrize(
    "changes, near",
    [({"precision": "single"}, 1e-3), ({"clustering": {"rates": [1]}}, 0.05), ({"integrator": "rk4"}, 0.3)],
)
def test_other_ways_to_the_same(tmp_path: Path, shaken: Any, changes: dict[str, Any], near: float) -> None:
    """Single precision; one time step for all, and Runge-Kutta, which elastic runs on so coarse a mesh tell apart as well."""
    other = traces(run(box(tmp_path, numerics=changes)))
    assert 0 < np.abs(other - traces(shaken)).max() < near * np.abs(other).max()


@needs_device
def test_on_a_device(tmp_path: Path, shaken: Any) -> None:
    sim = run(box(tmp_path, numerics={"backend": DEVICE}))
    assert np.abs(traces(sim) - traces(shaken)).max() < 1e-9 * np.abs(traces(shaken)).max()


def test_a_fault_between_attenuating_rock_and_water_above(tmp_path: Path) -> None:
    """Rupture with unrelaxed impedances, local time steps, and an ocean without attenuation on top; rock may yield."""
    quality = {"Qp": 80.0, "Qs": 40.0}
    case = settings(tmp_path, slip_weakening(), end_time=0.5, attenuation={"high": 3.0})
    case["material"] = {"constant": ROCK | quality}
    case["output"] |= {"energies": {"interval": 0.1}}
    sim = fw.simulate(case, force=True).run(write=False)
    elastic = settings(tmp_path, slip_weakening(), end_time=0.5)
    elastic["output"] |= {"energies": {"interval": 0.1}}
    other = fw.simulate(elastic, force=True).run(write=False)
    found, known = sim.energy_now()["seismic_moment"], other.energy_now()["seismic_moment"]
    assert found > 1e16 and found != known and found == pytest.approx(known, rel=0.1)
    plan, medium = sim.solver.plan, sim.solver.plan.material
    assert len(plan.clustering.steps) > 1
    assert np.allclose(plan.law.impedance(medium)[1], np.sqrt(medium["rho"] * medium["mu"]))
    assert (medium["mu"] > 1.02 * ROCK["rho"] * ROCK["vs"] ** 2).all()
    sea = {
        "expression": {
            "rho": "if (z > -500.0) { return 1000.0; } return 2600.0;",
            "lambda": "if (z > -500.0) { return 2250000000.0; } return 20000000000.0;",
            "mu": "if (z > -500.0) { return 0.0; } return 10000000000.0;",
            "Qp": "if (z > -500.0) { return 100000.0; } return 60.0;",
        },
        "constant": {"Qs": 30.0},
    }
    wet = run(box(tmp_path, sea, numerics={"homogenise": False}))
    energy = wet.energies
    assert energy["acoustic_energy"].max() > 0 and np.isfinite(traces(wet)).all()
    assert wet.energies["attenuation_work"][-1] > 0


def test_yielding_rock_attenuates(tmp_path: Path) -> None:
    rest = {"s_xx": -60e6, "s_yy": -70e6, "s_zz": -65e6, "s_xy": 21e6, "s_yz": 0.0, "s_xz": 0.0}
    yields = {"parameters": {"constant": {"plastic_cohesion": 0.3e6, "bulk_friction": 0.35, **rest}},
              "constants": {"relaxation_time": 0.05}}  # fmt: skip
    case = settings(tmp_path, slip_weakening(), end_time=0.4, attenuation={"high": 3.0}, plasticity=yields)
    case["material"] = {"constant": ROCK | {"Qp": 80.0, "Qs": 40.0}}
    sim = fw.simulate(case, force=True).run(write=False)
    assert sim.energy_now()["plastic_moment"] > 1e13 and sim.energy_now()["attenuation_power"] > 0
    np.testing.assert_array_equal(sim.solver.parts["plasticity"].part.mu, sim.solver.plan.material["mu"])


def test_the_plan_tells_the_fit(tmp_path: Path) -> None:
    case, problems = load_case(box(tmp_path))
    assert case is not None and not problems.errors
    rows = dict(plan_report(make_plan(case), case, 0.01))["attenuation"]
    told = {row[0]: row[1] for row in rows}
    assert told["attenuation"] == "0.08 to 8 Hz, 3 mechanisms, speeds of 1 Hz"
    assert told["Qp = 60"] == "within 5 % over the band"


def test_a_deck_is_the_native_case(tmp_path: Path) -> None:
    write_puml(tmp_path / "mesh.h5", small_mesh())
    values = {"rho": 2670.0, "mu": 32e9, "lambda": 32.4e9, "Qp": 40.0, "Qs": 120.0}
    (tmp_path / "rock.yaml").write_text("!ConstantMap\nmap:\n" + "".join(f"  {k}: {v}\n" for k, v in values.items()))
    (tmp_path / "parameters.par").write_text(
        "&equations\nMaterialFileName = 'rock.yaml'\nFreqCentral = 2.5\nFreqRatio = 100\n/\n&MeshNml\n"
        "MeshFile = 'mesh.h5'\n/\n&Discretization\n/\n&Output\nOutputFile = 'out/run'\n/\n&AbortCriteria\nEndTime = 0.1\n/\n"
    )
    case, problems = load_deck(tmp_path / "parameters.par", {"order": 3})
    assert case is not None and not problems.errors
    plan = make_plan(case)
    native, _ = load_case(
        {"end_time": 0.1, "mesh": {"file": str(tmp_path / "mesh.h5")}, "material": {"constant": values},
         "attenuation": {"low": 0.25, "high": 25.0, "reference": 2.5}, "numerics": {"order": 3}}
    )  # fmt: skip
    assert native is not None
    other = make_plan(native)
    assert plan.law == other.law and plan.step.max() <= 0.01 * (1 + 1e-12)
    for name, value in plan.material.items():
        np.testing.assert_array_equal(value, other.material[name])
    Solver(plan)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"Qs": 4.0, "Qp": 6.0}, ("attenuation is stronger than Maxwell elements can represent", "at least 5", "(")),
        ({"Qp": 200.0}, ("compression would gain energy", "at most 3/4 (Vp/Vs)^2 Qs, there 90")),
        ({"Qp": None}, ("parameter Qp is missing",)),
    ],
)
def test_impossible_quality_is_refused_with_its_place(tmp_path: Path, change: dict[str, Any], words: Any) -> None:
    given = {k: v for k, v in (SOFT | change).items() if v is not None}
    case, _ = load_case(box(tmp_path, {"constant": given}))
    assert case is not None
    with pytest.raises(InputError) as found:
        make_plan(case)
    for word in words:
        assert word in str(found.value)


def test_it_can_be_limited(tmp_path: Path) -> None:
    wanted = {"constant": SOFT | {"Qp": 200.0, "Qs": 4.0}}
    case, _ = load_case(box(tmp_path, wanted, attenuation={"high": 8.0, "limit": True}))
    assert case is not None
    plan = make_plan(case)
    assert len([p for p in plan.warnings if "radiate" not in p.what]) == 2
    assert plan.material["Qs"].max() == 5.0 and plan.material["Qp"].max() == pytest.approx(15.0)


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"attenuation": {"low": 1.0}}, "high is missing"),
        ({"attenuation": None, "law": "viscoelastic"}, "needs the band"),
        ({"law": "acoustic", "material": {"constant": {"rho": 1e3, "lambda": 2e9}}}, "does not exist for the acoustic law"),
    ],
)  # fmt: skip
def test_what_a_case_must_say(tmp_path: Path, settings: dict[str, Any], words: str) -> None:
    case, problems = load_case(box(tmp_path) | settings)
    assert case is not None, problems
    with pytest.raises(InputError, match=words):
        make_plan(case)
