"""Faults in a plane of a grid: ruptures from settings to energies, restarts, and what is told before a run."""

import tracemalloc
import warnings

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import RunError
from faultwave.case.load import load_case
from faultwave.fd.method.split_nodes import high
from faultwave.fd.method.stencils import FIELDS
from faultwave.run.planned import check
from tests.messages import expect

from .test_restart import Stopped

H = 500.0
ROCK = {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}
PUSHED = "if (abs({}) < 1500) {{ if (z > -6000) {{ if (z < -3000) {{ return 81600000.0; }} }} }} return 70000000.0;"
FRICTION = {"mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": 0.0, "T_n": -120e6, "T_d": 0.0}


def case(axis="y", **changes):
    """A rupture of a fault that breaks the ground, along x or y."""
    along = "x" if axis == "y" else "y"

    def turned(corner):
        return corner if axis == "y" else [corner[1], corner[0], corner[2]]

    settings = {
        "engine": "fd",
        "end_time": 1.2,
        "grid": {
            "lower": turned([-11000.0, -11250.0, -12000.0]), "upper": turned([11000.0, 11250.0, 0.0]), "spacing": H,
            "fault": {"lower": turned([-4500.0, 0.0, -7500.0]), "upper": turned([4500.0, 0.0, 0.0])},
        },
        "material": {"constant": ROCK},
        "fault": {
            "friction": "linear-slip-weakening", "reference_method": "direction", "reference": turned([0.0, 1.0, 0.0]),
            "parameters": {"constant": FRICTION, "expression": {"T_s": PUSHED.format(along)}},
        },
        "numerics": {"threads": 1},
        "output": {"energies": {"interval": 0.4}, "rupture": {"interval": 0.1}},
    }  # fmt: skip
    for key, value in changes.items():
        group = settings
        *path, last = key.split("__")
        for part in path:
            group = group.setdefault(part, {})
        group[last] = value
    return settings


def problems(**changes):
    settings, found = load_case(case(**changes))
    listed = found.errors if settings is None else check(settings).errors
    return "\n".join(map(str, listed))


def ended(made):
    sim = fw.simulate(made)
    sim.run(write=False)
    return sim


def seismograms(made):
    sim = fw.simulate(made)
    return sim.run(write=False).receivers["values"][..., 6:], sim


def fault_of(sim):
    return sim.solver.parts["rupture"]


def fault_maps(sim):
    return sim.solver.parts["rupture_maps"]


@pytest.fixture(scope="module")
def run():
    return ended(case())


def test_a_rupture_runs_the_same_both_ways(run):
    fault = fault_of(run)
    times = fault.values("ruptured", "x")[:, 0]
    slips = fault.part.given["x"].slips[:, 0]
    x, z = (fault.part.given["x"].places[:, 0, :, k] for k in (0, 2))
    assert not times[~slips].any()
    pushed = (np.abs(x) < 1500) & (z > -6000) & (z < -3000)
    assert (times[pushed] > 0).all() and (times[pushed] < 0.1).all()
    apart = slips & (times > 0) & (np.abs(x) > 2000)
    assert apart.any()
    here = times[:, slips.any(0)]
    both = (here > 0) & (here[:, ::-1] > 0)
    assert (both == (here > 0)).mean() > 0.98
    np.testing.assert_allclose(here[both], here[:, ::-1][both], atol=2.1 * run.solver.plan.scheme.step)
    speed = np.abs(np.abs(x[apart]) - 1500) / times[apart]
    assert speed.max() < ROCK["vp"]


def test_points_rupture_when_they_slip_themselves(run):
    """Not when those around them do, whose slip along the other axis they share."""
    fault = fault_of(run)
    times, own, shared = (fault.values(name, "x") for name in ("ruptured", "slip1", "slip2"))
    ahead = (own == 0) & (shared != 0)  # of the front
    assert ahead.any() and not times[ahead].any() and (own[times > 0] != 0).all()
    found = {result.kind: result.data for result in fault_maps(run).results()}
    assert np.nanmin(found["rupture_map"]["rupture_time"]) > 0


def test_choosing_how_to_step_takes_no_time_of_the_fault(run, tmp_path, monkeypatch):
    """Tiles are measured on the first run of a large grid, by steps of its own arrays, which count steps though nothing moves."""
    monkeypatch.setattr("faultwave.backends.cpu.stencil.WORTH_TUNING", 0.0)
    monkeypatch.setattr("faultwave.backends.cpu.stencil.cache_folder", lambda: tmp_path)
    tuned = ended(case())
    assert list((tmp_path / "blocking").iterdir())
    for name in ("ruptured", "steps_done", "slip1"):
        np.testing.assert_array_equal(fault_of(tuned).values(name, "x"), fault_of(run).values(name, "x"))


def test_slip_releases_what_waves_carry(run):
    """The fault gives what waves in the box hold; little has left it."""
    found = run.solver.energies()
    carried = found["elastic_energy"] + found["elastic_kinetic_energy"]
    assert found["total_frictional_work"] == pytest.approx(carried, rel=0.01)
    assert found["seismic_moment"] == pytest.approx(found["potency"] * ROCK["rho"] * ROCK["vs"] ** 2, rel=1e-6)


def test_maps_of_a_rupture(run):
    """The map holds what points remember; the moment rate adds up to the moment."""
    found = {result.kind: result.data for result in fault_maps(run).results()}
    assert {"rupture_map", "moment_rate", "source_parameters"} <= found.keys()
    fault, maps = fault_of(run), found["rupture_map"]
    assert np.nanmax(maps["slip"]) == pytest.approx(
        np.hypot(fault.values("slip1", "x"), fault.values("slip2", "x")).max(), rel=0.2
    )
    corners = maps["points"].reshape(-1, 3, 3)
    np.testing.assert_array_equal(corners[..., 1], 0.0)
    assert corners[..., 2].max() == 0.0 and np.abs(corners[..., 0]).max() == 4000.0
    rate = found["moment_rate"]
    assert rate["seismic_moment"][-1] == pytest.approx(run.solver.energies()["seismic_moment"])
    told = found["source_parameters"]
    assert 0 < told["rupture_speed"] < ROCK["vp"] and told["stress_drop"] > 0
    assert 0 < told["fracture_energy"] < told["frictional_heat_and_fracture"]


def test_faults_along_y_are_those_along_x(run):
    other = ended(case("x"))
    one, two = fault_of(run).values("slip1", "x"), fault_of(other).values("slip1", "y")
    np.testing.assert_allclose(np.abs(two[:, :, 0]), np.abs(one[:, 0]), atol=1e-3 * np.abs(one).max())


def test_goes_on_from_a_checkpoint(tmp_path, run):
    folder = tmp_path / "run"
    made = case(output__folder=str(folder), output__checkpoint={"interval": 0.5})

    sim = fw.simulate(made)
    with pytest.raises(RunError, match=r"faultwave\.resume"):
        sim.run(progress=Stopped(sim, 0.7))
    sim = fw.resume(folder)
    sim.run(write=False)
    for name in FIELDS:
        np.testing.assert_array_equal(sim.solver.operator.values(name), run.solver.operator.values(name), err_msg=name)
    for name in ("slip1", "ruptured", "work", "steps_done"):
        np.testing.assert_array_equal(fault_of(sim).values(name, "x"), fault_of(run).values(name, "x"), err_msg=name)


def test_a_fault_that_holds_is_no_fault():
    """Waves of a source cross a locked fault as they cross rock."""
    source = {
        "kind": "moment-tensor", "location": [-2000, -2700, -4000], "tensor": {"xy": 1e16, "xx": 1e16},
        "time_function": {"kind": "ricker", "duration": 2.0},
    }  # fmt: skip
    receivers = {"points": [[1500, 2600, -3000], [0, 1700, 0]], "interval": 0.1}
    made = case(end_time=3.0, sources=[source], output={"receivers": receivers})
    made["fault"]["parameters"]["constant"] = FRICTION | {"cohesion": -1e12}
    a, split = seismograms(made)
    del made["fault"], made["grid"]["fault"]
    b, _ = seismograms(made)
    assert not fault_of(split).values("slip1", "x").any()
    assert np.abs(a - b).max() < 0.02 * np.abs(b).max()


def crossed_by_waves(axis, **changes):
    """A case with a plane wave that fills the box and a fault that holds."""
    waves = [{"mode": "S", "k": [6e-4, 6e-4, 6e-4], "polarisation": [1, 1, -2], "amplitude": 0.1}]
    made = case(axis, initial={"kind": "plane-wave", "wave": waves}, **changes)
    made["fault"]["parameters"]["constant"] = FRICTION | {"cohesion": -1e12}
    return made


@pytest.mark.parametrize("axis", ["x", "y"])
def test_initial_waves_are_on_both_sides_of_a_fault(axis):
    start = fw.simulate(crossed_by_waves(axis, numerics__backend="numpy")).solver.operator
    plane = start.scheme.fault
    for name in plane.doubled:
        lower = np.take(np.array(start.runner.view(name)), plane.index, axis="zyx".index(plane.axis))
        upper = np.array(start.runner.view(high(name))).squeeze("zyx".index(plane.axis))
        assert upper.any()
        np.testing.assert_array_equal(upper, lower, err_msg=name)


def test_initial_waves_cross_a_fault_that_holds():
    made = crossed_by_waves("y", end_time=0.4, output={"receivers": {"points": [[900, 900, -4000]], "interval": 0.1}})
    a, split = seismograms(made)
    del made["fault"], made["grid"]["fault"]
    b, _ = seismograms(made)
    assert not fault_of(split).values("slip1", "x").any()
    assert np.abs(b).max() > 0 and np.abs(a - b).max() < 0.02 * np.abs(b).max()


BASIN = "if (z > -1500) {{ if (y > 2000) {{ return {}; }} }} return {};"
WATER = {
    "expression": {
        "rho": BASIN.format("1000.0", "2670.0"), "vp": BASIN.format("1500.0", "6000.0"), "vs": BASIN.format("0.0", "3464.0"),
    }
}  # fmt: skip
BESIDE = {
    "kind": "moment-tensor", "location": [2000, 400, -4000], "tensor": {"xy": 1e16},
    "time_function": {"kind": "ricker", "duration": 2.0},
}  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [
        {"grid__fault": None},
        {"grid__fault": {"lower": [-4500, 100, -7500], "upper": [4500, 100, 0]}},
        {"grid__fault": {"lower": [-4500, 0, -7500], "upper": [4500, 900, 0]}},
        {"grid__fault": {"lower": [-9000, 0, -7500], "upper": [4500, 0, 0]}},
        {"grid__fault": {"lower": [-4500, 0, -7500], "upper": [4500, 0, -500]}},
        {"grid__order": 8},
        {"fault__friction": "rate-and-state-ageing"},
        {"fault__modifiers": ["thermal-pressurisation"]},
        {"fault__parameters": {"constant": {"mu_s": 0.6}}},
        {"fault": None},
        {"grid__boundaries": {"z+": "rigid"}},
        {"output__receivers": {"points": [[300, 100, -3000]], "interval": 0.1}},
        {"sources": [BESIDE]},
        {"material": WATER},
        {"output__fault": {"interval": 0.1}},
    ],
    ids=str,
)
def test_told_before_a_run(changes):
    expect(problems(**changes))


WEAK_SPOT = "if (abs(x) < 400) { if (z > -4800) { if (z < -4200) { return 81600000.0; } } } return 70000000.0;"


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"T_s": 9e7},
        {"T_s": 7e7},
        {"T_s": WEAK_SPOT},
        {"T_s": 6e7},
        {"T_n": 120e6},
        {"T_n": -120.0, "T_s": 81.0},
        {"mu_d": 0.7},
    ],
    ids=str,
)
def test_doubted_before_a_run(changed):
    """As on tetrahedra: what will probably not run as meant."""
    made = case()
    parameters = made["fault"]["parameters"]
    for name, value in changed.items():
        kind = "expression" if isinstance(value, str) else "constant"
        parameters["expression"] = {n: v for n, v in parameters["expression"].items() if n != name}
        parameters[kind] = parameters[kind] | {name: value}
    settings, _ = load_case(made)
    found = "\n".join(map(str, check(settings).warnings))
    expect(found)


@pytest.mark.parametrize("depth", [100.0, 200.0])
def test_a_fault_of_less_than_half_a_spacing_has_no_forecast(depth):
    """Of its points only those on the ground may slip, which have no cells; nothing is divided by their number."""
    made = case()
    made["grid"]["fault"]["lower"][2] = -depth
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        settings, _ = load_case(made)
        found = check(settings)
    assert not found.errors, found.errors
    plan = fw.simulate(made).plan
    part = plan.parts["rupture"]
    assert sum(int(g.slips.sum()) for g in part.given.values()) > 0
    assert part.forecast is None and part.shapes(plan) == () and list(part.report(plan)) == ["size"]


def test_what_the_plan_tells_of_a_fault():
    """The patch of 3 by 3 km, by the cells of its points."""
    made = case()
    made["grid"]["spacing"] = 250.0
    made["grid"]["lower"][1], made["grid"]["upper"][1] = -11125.0, 11125.0
    plan = fw.simulate(made).plan
    part = plan.parts["rupture"]
    rows = dict(part.report(plan)["fault"])
    assert rows["normal stress on the fault"].startswith("-120 MPa")
    assert rows["S ratio, strength excess over stress drop"].startswith("median 1.6")
    patch = part.forecast.points.area[part.forecast.patch].sum()
    assert patch == pytest.approx(11 * 12 * 250.0**2)  # points on the edges along strike have the stress around
    assert part.forecast.points.area.sum() == pytest.approx(35 * 30 * 250.0**2)
    (sheet,) = part.shapes(plan)
    assert sheet.values["breaks"].sum() == 2 * 11 * 12 and sheet.points[:, 2].max() == 0.0


@pytest.mark.parametrize("end", [1e10, 1e21])
def test_faults_far_beyond_the_box_are_told_before_their_points_take_memory(end):
    made = case()
    made["grid"]["fault"]["upper"][0] = end
    settings, found = load_case(made)
    assert settings is not None and not found.errors
    tracemalloc.start()
    listed = check(settings).errors
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert any("from the side x+ of the box" in str(p) for p in listed)
    assert most < 2e8


def test_unknown_names_of_nucleation_are_errors():
    """As on tetrahedra: an episode reads its own names, not those of the initial traction."""
    told = problems(fault__nucleation=[{"duration": 0.4, "stress": {"constant": {"Tnuc_s": 1e6, "Tnuc_x": 2e6}}}])
    assert told.count("'Tnuc_x' is not a parameter of an episode of nucleation, so it would have no effect") == 1
    expect(told)
