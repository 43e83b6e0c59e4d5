"""How far single precision is from double, and ``precision: auto``: the estimate bounds what is measured, by no more than ``LOOSE``."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError, Problems
from faultwave.case.load import load_case
from faultwave.dg.checks import accuracy as of_meshes
from faultwave.domain.tets import BoundaryKind
from faultwave.engine.precision import PERMANENT_ERROR, PERMANENT_ERROR_OF_FAULTS, Estimate, choose_precision
from faultwave.fd.checks import accuracy as of_grids
from faultwave.physics.friction import laws
from tests.run.rupture.setup import settings, slip_weakening, small_mesh

LOOSE = 60.0
"""Times that the estimate may be above the truth."""
LOOSE_CLOSED = 400.0
"""The same in boxes that keep what a source leaves behind, which depends on its place in a cell."""

STATIONS = {"points": [[1010.0, 820.0, -5.0], [-1210.0, 730.0, -450.0], [100.0, -900.0, -1930.0]], "interval": 0.02}


def shaken(folder: Path, **more: Any) -> dict[str, Any]:
    """A double couple in a box of 4 x 4 x 3 km whose sides reflect, so that waves stay: S waves cross it four times."""
    sides = {"x": "periodic", "y": "periodic", "z": "free-surface"}
    box = {
        "shape": "box",
        "cells": [5, 5, 4],
        "lower": [-2e3, -2e3, -3e3],
        "upper": [2e3, 2e3, 0.0],
        "boundaries": sides,
    }
    source = {"kind": "moment-tensor", "location": [30.0, 40.0, -1050.0], "tensor": {"xy": 1e16, "zz": 5e15}}
    source["time_function"] = {"kind": "gaussian", "duration": 1.0}
    source["onset"] = 2.0
    return {
        "end_time": 5.0, "mesh": {"generate": box}, "sources": [source],
        "material": {"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
        "output": {"folder": str(folder / "out"), "receivers": STATIONS}, **more,
    }  # fmt: skip


def on_grid(folder: Path) -> dict[str, Any]:
    case = shaken(folder, engine="fd", grid={"spacing": 200.0})
    del case["mesh"]
    sides = {"x": "periodic", "y": "periodic", "z+": "free-surface", "z-": "rigid"}
    case["grid"] |= {"lower": [-2e3, -2e3, -3e3], "upper": [2e3, 2e3, 0.0], "boundaries": sides}
    return case


def broken(folder: Path, order: int) -> dict[str, Any]:
    """A rupture of 1.5 s."""
    case = settings(folder, slip_weakening(), numerics={"order": order}, end_time=1.5)
    case["output"]["receivers"] = {"points": [[100.0, 900.0, -300.0], [-2100.0, -1500.0, -2000.0]], "interval": 0.02}
    return case


CASES = {
    "order 2": lambda path: shaken(path, numerics={"order": 2}),
    "order 3": lambda path: shaken(path, numerics={"order": 3}),
    "order 4": lambda path: shaken(path, numerics={"order": 4}),
    "compensated": lambda path: shaken(path, numerics={"order": 4, "compensated": True}),
    "attenuation": lambda path: shaken(
        path, numerics={"order": 3}, attenuation={"high": 2.0},
        material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0, "Qp": 100.0, "Qs": 50.0}},
    ),
    "rk4": lambda path: shaken(path, numerics={"order": 3, "integrator": "rk4"}),
    "rupture": lambda path: broken(path, 3),
    "grid": on_grid,
}  # fmt: skip


def run(case: dict[str, Any], precision: str, folder: Path) -> Any:
    numerics = {**case.get("numerics", {}), "precision": precision, "threads": 1}
    numerics["compensated"] = numerics.get("compensated", False) and precision == "single"
    numerics = {k: v for k, v in numerics.items() if k != "compensated" or v}
    return fw.simulate({**case, "numerics": numerics, "output": {**case["output"], "folder": str(folder)}}).run()


def farthest(single: Any, double: Any) -> float:
    """Largest difference of seismograms, and of slip where there is a fault, of the largest of each: of one kind of quantity."""
    found = []
    for kind, wanted in (("receivers", ("v1", "v2", "v3")), ("fault_receivers", ("ASl",))):
        if double.result(kind) is not None:
            a, b = (np.stack([s.result(kind).quantity(name) for name in wanted]) for s in (single, double))
            found.append(np.nanmax(np.abs(a - b)) / np.nanmax(np.abs(b)))
    return float(max(found))


def closed(sim: Any) -> bool:
    """Whether it is a mesh of which no side absorbs waves."""
    return sim.plan.case.engine == "dg" and not (sim.plan.topology.kinds == BoundaryKind.ABSORBING).any()


def estimated(sim: Any) -> float:
    plan = sim.plan
    if plan.case.engine == "fd":
        return of_grids.estimate_rounding_error(plan).error
    found = of_meshes.estimate_single_precision_error(
        plan.case, plan.law, plan.case.end_time / plan.clustering.steps[0], closed(sim)
    )
    return (found.compensated() if plan.case.numerics.compensated else found).error


@pytest.mark.parametrize("name", CASES)
def test_the_estimate_bounds_what_is_measured(tmp_path: Path, name: str) -> None:
    single, double = (run(CASES[name](tmp_path), p, tmp_path / p) for p in ("single", "double"))
    measured, bound = farthest(single, double), estimated(single)
    print(f"{name}: {measured:.2e} of at most {bound:.2e}, {bound / measured:.0f} times")
    assert 0 < measured <= bound <= (LOOSE_CLOSED if closed(single) else LOOSE) * measured


def test_what_lasts_in_a_closed_box_counts_every_step(tmp_path: Path) -> None:
    """At order 2, in a box of few cells, 100,000 steps change 3.8e-4 and 7.8e-4 with compensated sums: docs/theory/single-precision.md."""
    plan = planned(shaken(tmp_path))
    closed, open_ = (
        of_meshes.estimate_single_precision_error(plan.case, plan.law, 1e5, closed) for closed in (True, False)
    )
    assert 3.8e-4 < closed.error < 65 * 3.8e-4 and closed.compensated().error > 7.8e-4 > 3.8e-4 > open_.error
    assert "no side absorbs static" in str(closed) and "no side absorbs static" not in str(open_)
    twice = of_meshes.estimate_single_precision_error(plan.case, plan.law, 2e5, True)
    assert twice.error == pytest.approx(2 * closed.error)
    without = plan.case.model_copy(update={"sources": []})
    assert (
        of_meshes.estimate_single_precision_error(without, plan.law, 1e5, True).error == open_.error
    )  # waves alone leave nothing
    sides = shaken(tmp_path, end_time=2000.0)
    told = [planned(case, precision="auto").notes[0] for case in (sides, _absorbing(sides))]
    assert "no side absorbs static" in told[0] and "no side absorbs static" not in told[1]


@pytest.mark.parametrize("order, place", [(3, [1561.0, -1091.0, -1130.0]), (4, [47.0, 1802.0, -2568.0])])
def test_what_an_explosion_leaves_in_a_closed_box_is_bounded(tmp_path: Path, order: int, place: list[float]) -> None:
    """Of the sources and places that were tried these are the ones whose stress, once it lasts, single precision moves most."""
    case = shaken(tmp_path, numerics={"order": order})
    case["mesh"]["generate"]["cells"] = [3, 3, 2]
    case["sources"][0] |= {"location": place, "tensor": {"xx": 1e16, "yy": 1e16, "zz": 1e16}}
    case["end_time"] = 3000 * float(fw.plan(case).plan.clustering.steps[0])
    single, double = (run(case, p, tmp_path / p) for p in ("single", "double"))
    measured, bound = farthest(single, double), estimated(single)
    print(f"order {order}: {measured:.2e} of at most {bound:.2e}")
    assert 0.2 * bound < measured < 0.75 * bound


def test_what_a_fault_leaves_in_a_closed_box_is_bounded(tmp_path: Path) -> None:
    """Its slip lasts, and errors of it grow as the number of steps."""
    mesh = small_mesh()
    case = settings(tmp_path, slip_weakening(), replace(mesh, tags=np.where(mesh.tags == 5, 1, mesh.tags)))
    case["numerics"] |= {"order": 2, "clustering": {"rates": [1]}}
    case["output"] |= {"receivers": {"points": [[-2500.0, 900.0, -300.0], [700.0, -1500.0, -2000.0]], "interval": 0.2}}
    case["output"]["fault_receivers"]["every"] = 50
    case["end_time"] = 7500 * float(fw.plan(case).plan.clustering.steps[0])
    single, double = (run(case, p, tmp_path / p) for p in ("single", "double"))
    measured, bound = farthest(single, double), estimated(single)
    print(f"{measured:.2e} of at most {bound:.2e}, {bound / measured:.0f} times")
    assert closed(single) and 0 < measured < bound < LOOSE * measured
    alone = single.plan.case
    sourced = alone.model_copy(update={"sources": [None]})  # what a point leaves may be more
    least, most = (
        of_meshes.estimate_single_precision_error(c, single.plan.law, 1e6, True).error for c in (alone, sourced)
    )
    assert most == pytest.approx(least * PERMANENT_ERROR / PERMANENT_ERROR_OF_FAULTS)


def _absorbing(case: dict[str, Any]) -> dict[str, Any]:
    box = case["mesh"]["generate"]
    sides = {"x": "absorbing", "y": "absorbing", "z-": "absorbing", "z+": "free-surface"}
    return {**case, "mesh": {"generate": {**box, "boundaries": sides}}}


def planned(case: dict[str, Any], **numerics: Any) -> Any:
    return fw.plan({**case, "numerics": {"order": 2, "threads": 1, **case.get("numerics", {}), **numerics}}).plan


def test_auto_takes_single_where_it_is_enough(tmp_path: Path) -> None:
    case = _absorbing(shaken(tmp_path))
    made = planned(case, precision="auto")
    assert (made.case.numerics.precision, made.case.numerics.compensated) == ("single", False)
    (note,) = made.notes
    assert note.startswith("precision auto: single, which changes results by up to ") and "steps" in note
    same = planned(case, precision="single")
    assert same.notes == () and same.warnings == made.warnings and same.time_unit == made.time_unit


def test_auto_takes_double_where_single_is_not_enough(tmp_path: Path) -> None:
    made = planned(shaken(tmp_path), precision="auto", precision_error=1e-8)
    assert made.case.numerics.precision == "double" and not made.case.numerics.compensated
    (note,) = made.notes
    assert note.startswith("precision auto: double, as single may change results by up to ")
    assert note.endswith("numerics.precision_error is 1e-08")


def test_single_that_is_not_enough_is_told_with_what_to_expect(tmp_path: Path) -> None:
    made = planned(shaken(tmp_path), precision="single", precision_error=1e-8)
    (told,) = [str(w) for w in made.warnings if w.where == "numerics.precision"]
    assert "single may change results by up to" in told and "--precision double" in told or "precision='double'" in told
    assert not [
        w for w in planned(shaken(tmp_path), precision="double", precision_error=1e-8).warnings if "single" in str(w)
    ]


def test_a_run_of_auto_is_that_of_what_it_takes(tmp_path: Path) -> None:
    case = shaken(tmp_path, end_time=0.3)
    auto, single = (run({**case, "numerics": {"order": 2}}, p, tmp_path / p) for p in ("auto", "single"))
    np.testing.assert_array_equal(auto.receivers["values"], single.receivers["values"])
    told = json.loads((tmp_path / "auto" / "run-manifest.json").read_text())
    assert "'precision': 'single'" in str(told) or '"precision": "single"' in json.dumps(told)


def test_check_tells_what_auto_takes(tmp_path: Path) -> None:
    found = fw.check({**shaken(tmp_path), "numerics": {"order": 2, "precision": "auto"}})
    assert not found.errors and [n for n in found.notes if n.startswith("precision auto: single")]


def test_grids_know_auto(tmp_path: Path) -> None:
    """Their coefficients in sixteen bits count."""
    case = on_grid(tmp_path)
    exact = fw.plan({**case, "numerics": {"precision": "auto"}}).plan
    assert exact.case.numerics.precision == "double" and "material in sixteen bits" in exact.notes[0]
    rough = fw.plan({**case, "numerics": {"precision": "auto", "precision_error": 0.01}}).plan
    assert rough.case.numerics.precision == "single" and rough.notes[0].startswith("precision auto: single")
    assert not [w for w in fw.plan(case).plan.warnings if "single" in w.what]
    told = fw.plan({**case, "numerics": {"precision_error": 1e-5}}).plan.warnings
    assert [w for w in told if "single may change results" in w.what]


def test_friction_that_needs_double_on_a_grid_gets_it() -> None:
    names = [name for name, law in laws().items() if law.double]
    assert names
    for name in names:
        assert of_grids.needs_double(SimpleNamespace(fault=SimpleNamespace(friction=name)))  # type: ignore[arg-type]
    for fault in (None, SimpleNamespace(friction="linear-slip-weakening")):
        assert not of_grids.needs_double(SimpleNamespace(fault=fault))  # type: ignore[arg-type]


class Asked:
    """Settings of numerics, as far as the choice wants them."""

    def __init__(self, **values: Any):
        self.precision, self.compensated, self.precision_error = "auto", False, 1e-4
        self.__dict__ |= values

    def model_copy(self, update: dict[str, Any]) -> Any:
        return Asked(**{**self.__dict__, **update})


@pytest.mark.parametrize(
    "steps, can, compensated, want",
    [
        (1e4, True, False, ("single", False)),
        (3e5, True, False, ("single", True)),
        (3e5, False, False, ("double", False)),
        (1e7, True, False, ("double", False)),
        (1e4, True, True, ("single", True)),
        (1e7, True, True, ("double", False)),
    ],
)
def test_the_cheapest_that_is_enough(steps: float, can: bool, compensated: bool, want: tuple[str, bool]) -> None:
    limit = Estimate(2e5, 4.0, {}).error
    chosen = choose_precision(
        Asked(compensated=compensated, precision_error=limit), Estimate(steps, 4.0, {}), can, Problems()
    ).numerics
    assert (chosen.precision, chosen.compensated) == want


def test_what_cannot_be_compensated_is_told(tmp_path: Path) -> None:
    rock = {"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0, "Qp": 100.0, "Qs": 50.0}}
    lossy = shaken(tmp_path, attenuation={"high": 2.0}, material=rock)
    with pytest.raises(InputError, match="compensated.*not supported for the viscoelastic law"):
        planned(lossy, precision="single", compensated=True)
    for numerics in ({"compensated": True}, {"compensated": True, "precision": "single", "integrator": "rk4"}):
        _, problems = load_case({**shaken(tmp_path), "numerics": numerics})
        assert [p for p in problems.errors if "compensated is for precision single" in str(p)]


def test_an_error_without_a_precision_is_told(tmp_path: Path) -> None:
    for numerics, told in (({}, True), ({"precision": "double"}, False), ({"precision": "single"}, False)):
        found = fw.check({**shaken(tmp_path), "numerics": {"order": 2, "precision_error": 1e-3, **numerics}})
        assert any(p.where == "numerics.precision_error" for p in found.warnings) == told


def test_compensated_runs_go_on_in_double(tmp_path: Path) -> None:
    """``auto`` may have chosen to compensate; nobody has asked for it who now asks for double precision."""
    case = shaken(tmp_path, numerics={"order": 2, "precision": "single", "compensated": True}, end_time=1.0)
    case["output"]["checkpoint"] = {"interval": 0.4}
    fw.run(case)
    again = fw.resume(tmp_path / "out", precision="double", until=1.2)
    assert (again.case.numerics.precision, again.case.numerics.compensated) == ("double", False)
    assert again.run().time == pytest.approx(1.2)


def test_overrides_know_auto(tmp_path: Path) -> None:
    case, problems = load_case(shaken(tmp_path), {"precision": "auto"})
    assert case is not None and not problems.errors and case.numerics.precision == "auto"
    _, problems = load_case(shaken(tmp_path), {"precision": "half"})
    assert "double, single, auto" in str(problems.errors[0]) or "'double', 'single' or 'auto'" in str(
        problems.errors[0]
    )
