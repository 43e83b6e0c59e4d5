"""Random fields in runs: both engines read the same field, steps and resolution follow it, processes do not change a bit."""

from __future__ import annotations

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.case.load import load_case
from faultwave.case.settings.fields import FieldSetting
from faultwave.dg.planning.plan import make_plan as plan_dg
from faultwave.dg.report import plan_report as report_dg
from faultwave.fd.fault import parameter
from faultwave.fd.planning.plan import make_plan as plan_fd
from faultwave.fd.report import plan_report as report_fd
from faultwave.media import load_field
from faultwave.output.results import load_results
from tests.fd.test_fault_laws import LAWS
from tests.run.launch import launch
from tests.run.rupture.setup import ROCK, settings, slip_weakening

ROUGH = {"hurst": 0.2, "shortest_wavelength": 1500.0, "seed": 4}
MATERIAL = {
    "constant": ROCK,
    "random": {
        "rock": {**ROUGH, "relative": {"vp": 0.06, "vs": 0.06, "rho": 0.02}, "correlation_length": [3e3, 3e3, 1e3]}
    },
}
STRESS = {
    "stress": {**ROUGH, "absolute": {"T_s": 2e6}, "relative": {"d_c": 0.2}, "correlation_length": 1500.0, "limit": 2}
}


def ruptured(folder, engine):
    """A rupture of a fault with rough stress in rough rock."""
    fault = slip_weakening()
    fault["parameters"] |= {"random": STRESS}
    made = settings(folder, fault, material=MATERIAL, end_time=0.3, output={"energies": {"interval": 0.1}})
    made["numerics"] |= {"threads": 1}
    made["output"] |= {"receivers": {"points": [[100.0, 900.0, -300.0], [-2100.0, -1500.0, -2000.0]], "interval": 0.05}}
    if engine == "fd":
        mesh, numerics = made.pop("mesh"), made.pop("numerics")
        assert mesh and numerics
        plane = {"lower": [-3000.0, 0.0, -4500.0], "upper": [3000.0, 0.0, 0.0]}
        grid = {"lower": [-7125.0, -3375.0, -8000.0], "upper": [7125.0, 3375.0, 0.0], "spacing": 250.0, "fault": plane}
        made |= {"engine": "fd", "grid": grid, "numerics": {"precision": "double", "threads": 1}}
        made["output"]["fault_receivers"].pop("position")
    return made


def planned(folder, engine, **changes):
    case, problems = load_case(ruptured(folder, engine) | changes)
    assert case is not None, problems.items
    return case, {"dg": plan_dg, "fd": plan_fd}[engine](case)


@pytest.fixture(scope="module")
def field():
    return load_field(FieldSetting(**MATERIAL), "material")


def test_cells_and_steps_follow_the_field(tmp_path, field):
    numerics = {"order": 3, "homogenise": False}
    _, plan = planned(tmp_path, "dg", numerics=numerics)
    centres = plan.mesh.vertices[plan.topology.cells].mean(1)
    found = field.evaluate(centres, np.ones(len(centres), int), ["rho", "mu", "lambda", "vp"])
    for name in ("rho", "mu", "lambda"):
        np.testing.assert_allclose(plan.material[name], found[name], rtol=1e-12)
    _, smooth = planned(tmp_path, "dg", numerics=numerics, material={"constant": ROCK})
    np.testing.assert_allclose(plan.step / smooth.step, ROCK["vp"] / found["vp"], rtol=1e-9)


def test_grids_step_and_resolve_by_the_field(tmp_path, field):
    _, plan = planned(tmp_path, "fd")
    x = np.stack(
        np.meshgrid(
            *(np.arange(a + 62.5, b, 125.0) for a, b in zip(plan.lower, plan.upper, strict=True)), indexing="ij"
        ),
        -1,
    )
    speeds = field.evaluate(x.reshape(-1, 3), np.ones(x[..., 0].size, int), ["vp", "vs"])
    assert plan.medium.fastest == pytest.approx(speeds["vp"].max(), rel=0.01)
    assert plan.medium.slowest == pytest.approx(speeds["vs"].min(), rel=0.01)
    _, smooth = planned(tmp_path, "fd", material={"constant": ROCK})
    assert plan.scheme.step < 0.97 * smooth.scheme.step


def test_both_engines_have_the_same_stress_at_a_place(tmp_path):
    case, tets = planned(tmp_path, "dg")
    _, grid = planned(tmp_path, "fd")
    field = load_field(case.fault.parameters, "fault.parameters")
    rupture = tets.part("rupture")
    positions = rupture.positions.reshape(-1, 3)
    expected = field.evaluate(positions, np.full(len(positions), 3), ["T_s", "d_c"])
    shear = np.hypot(rupture.stress[..., 1], rupture.stress[..., 2]).ravel()
    np.testing.assert_allclose(shear, expected["T_s"], rtol=1e-10)
    np.testing.assert_allclose(rupture.parameters["d_c"].ravel(), expected["d_c"], rtol=1e-12)
    axis, values = next(iter(grid.parts["rupture"].given.items()))
    slips = values.slips.astype(bool)
    inside, places = values.values[parameter("d_c")][slips], values.places[slips]
    assert len(places) > 100, axis
    np.testing.assert_allclose(inside, field.evaluate(places, np.full(len(places), 3), ["d_c"])["d_c"], rtol=1e-12)


@pytest.mark.parametrize("engine", ["dg", "fd"])
@pytest.mark.parametrize(
    ("law", "relative"),
    [
        ("imposed-yoffe", {"tau_R": 0.1, "strike_slip": 0.2}),
        ("rate-and-state-ageing", {"rs_a": 0.05, "rs_sl0": 0.1, "T_n": 0.02}),
    ],
)
def test_other_friction_laws_read_perturbed_parameters(tmp_path, engine, law, relative):
    made = ruptured(tmp_path, engine)
    constant, constants, _ = LAWS[law]
    random = {"slip": {**ROUGH, "relative": relative, "correlation_length": [3e3, 2e3], "strike": 90.0}}
    made["fault"] = {"friction": law, "reference": (0.0, -1000.0, 0.0), "constants": constants}
    made["fault"]["parameters"] = {"constant": constant, "random": random}
    made["output"].pop("fault_receivers")
    case, problems = load_case(made)
    assert case is not None, problems.items
    field = load_field(case.fault.parameters, "fault.parameters")
    plan = {"dg": plan_dg, "fd": plan_fd}[engine](case)
    name = next(iter(relative))
    if engine == "dg":
        rupture = plan.part("rupture")
        places, found = rupture.positions.reshape(-1, 3), rupture.parameters[name].ravel()
    else:
        given = next(iter(plan.parts["rupture"].given.values()))
        slips = given.slips.astype(bool)
        places, found = given.places[slips], given.values[parameter(name)][slips]
    expected = field.evaluate(places, np.full(len(places), 3), [name])[name]
    np.testing.assert_allclose(np.abs(found), np.abs(expected), rtol=1e-12)
    assert found.std() > 0.3 * relative[name] * np.abs(found.mean())


@pytest.mark.parametrize("engine", ["dg", "fd"])
def test_the_plan_shows_the_statistics(tmp_path, engine):
    case, plan = planned(tmp_path, engine)
    rows = dict({"dg": report_dg, "fd": report_fd}[engine](plan, case, 0.01))["random fields"]
    names = [row[0] for row in rows]
    assert {"rho", "vp", "vs", "T_s", "d_c", "rock", "stress"} == set(names) and len(names) == 7
    found = dict(rows)
    assert "standard deviation" in found["vs"] and "points" in found["vs"]
    assert "clipped to 2 standard deviations" in found["stress"]


@pytest.mark.parametrize("engine", ["dg", "fd"])
def test_impossible_values_stop_a_check(tmp_path, engine):
    random = {"rock": {**ROUGH, "relative": {"rho": 0.7}, "correlation_length": 1500.0}}
    with pytest.raises(InputError) as caught:
        planned(tmp_path, engine, material={"constant": ROCK, "random": random})
    assert "rho is not positive at" in str(caught.value) and " of " in str(caught.value)
    made = ruptured(tmp_path, engine)
    made["fault"]["parameters"]["random"] = {"a": {**ROUGH, "relative": {"d_c": 0.7}, "correlation_length": 1500.0}}
    with pytest.raises(InputError, match="d_c"):
        {"dg": plan_dg, "fd": plan_fd}[engine](load_case(made)[0])


@pytest.mark.parametrize("engine", ["dg", "fd"])
def test_perturbing_what_the_law_does_not_read_is_an_error(tmp_path, engine):
    made = ruptured(tmp_path, engine)
    unread = {**MATERIAL["random"]["rock"], "relative": {"Qs": 0.1}}
    made["material"] = {"constant": ROCK | {"Qs": 50.0, "Qp": 100.0}, "random": {"a": unread}}
    with pytest.raises(InputError, match="perturbs Qs, which the case does not read"):
        {"dg": plan_dg, "fd": plan_fd}[engine](load_case(made)[0])


@pytest.mark.mpi
@pytest.mark.parametrize("engine", ["dg", "fd"])
def test_processes_do_not_change_a_bit(tmp_path, engine):
    made = ruptured(tmp_path, engine)
    made["output"]["folder"] = str(tmp_path / "alone")
    fw.simulate(made).run()
    made["output"]["folder"] = str(tmp_path / "three")
    done = launch(3, made)
    assert done.returncode == 0, done.stderr
    alone, three = load_results(tmp_path / "alone"), load_results(tmp_path / "three")
    assert alone.traces.keys() == three.traces.keys() and len(alone.traces) == 2
    for kind, traces in alone.traces.items():
        for number, trace in traces.items():
            for name, values in trace.columns.items():
                np.testing.assert_array_equal(
                    three.traces[kind][number].columns[name], values, err_msg=f"{kind} {name}"
                )
    assert max(np.abs(v).max() for t in alone.traces.values() for one in t.values() for v in one.columns.values()) > 0
