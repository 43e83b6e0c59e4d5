"""Histories on a fault in a plane of a grid: values of its points and between them, times, restarts, places off the fault."""

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import RunError
from faultwave.case.load import load_case
from faultwave.output.results import load_results
from faultwave.run.planned import check

from .test_faults import FRICTION, case
from .test_restart import Stopped

NODE, DOWN, BETWEEN = [2000.0, 0.0, -4250.0], [1750.0, 0.0, -4500.0], [2125.0, 0.0, -4000.0]
"""A point of horizontal slip, one of vertical slip, and a place between the four of horizontal slip around it."""
FIELDS = ["SRs", "SRd", "u_n", "Ts0", "Td0", "Pn0", "T_s", "P_n", "Mud", "Sls", "Sld", "Vr", "ASl", "PSR", "RT", "DS"]


def recorded(axis="y", **changes):
    """A rupture that also slips along dip; the points are those of a fault along x."""
    made = case(axis, end_time=0.9, **changes)

    def turn(p):  # with the direction of strike
        return p if axis == "y" else [p[1], -p[0], p[2]]

    made["fault"]["parameters"]["constant"] = FRICTION | {"T_d": 2e7}
    setting = {"points": [turn(p) for p in (NODE, DOWN, BETWEEN)], "fields": FIELDS}
    made["output"]["fault_receivers"] = setting | made["output"].get("fault_receivers", {})
    return made


def ended(made):
    sim = fw.simulate(made)
    sim.run(write=False)
    return sim


def column(sim, name):
    found = sim.fault_receivers
    return found["values"][..., found.attrs["quantities"].index(name)]


@pytest.fixture(scope="module")
def run():
    return ended(recorded())


def test_histories_are_those_of_the_points(run):
    """What a point remembers at the end is what its history adds up to; slip is that of the times of the slip rates."""
    fault, step = run.solver.parts["rupture"], run.solver.plan.scheme.step
    time = run.fault_receivers["time"]
    assert time[0, 0] == 0.0
    np.testing.assert_allclose(time[1:, 0], (np.arange(1, len(time)) - 0.5) * step)
    for receiver, axis, rate, slip, sign in ((0, "x", "SRs", "Sls", 1.0), (1, "z", "SRd", "Sld", -1.0)):
        places = fault.part.given[axis].places
        at = tuple(np.argwhere(np.linalg.norm(places - [NODE, DOWN][receiver], axis=-1) < 1.0)[0])
        now, rates = sign * fault.values("slip1" if axis == "x" else "slip2", axis)[at], column(run, rate)[:, receiver]
        assert abs(now) > 0.01
        assert rates.sum() * step == pytest.approx(now, rel=1e-5)
        middle = (np.cumsum(rates) - 0.5 * rates) * step
        np.testing.assert_allclose(column(run, slip)[:, receiver], middle, atol=1e-5 * abs(now))
        if axis == "x":
            for field, name in (("RT", "ruptured"), ("PSR", "peak_slip_rate"), ("DS", "weakened")):
                assert column(run, field)[-1, receiver] == pytest.approx(fault.values(name, axis)[at], rel=1e-6)


def test_between_points_all_but_times_is_bilinear(run):
    """A quarter of the way along, half of the way up: the other position is the nearest point."""
    fault = run.solver.parts["rupture"]
    places, slip = fault.part.given["x"].places[:, 0], fault.values("slip1", "x")[:, 0]
    k, i = np.argwhere((np.abs(places - [2000.0, 0.0, -4250.0]) < 1.0).all(-1))[0]
    corners, weights = slip[k : k + 2, i : i + 2], np.array([[0.375, 0.125], [0.375, 0.125]])
    late = 0.5 * run.solver.plan.scheme.step * column(run, "SRs")[-1, 2]
    assert column(run, "Sls")[-1, 2] + late == pytest.approx((corners * weights).sum(), rel=1e-5)
    near = ended(recorded(output__fault_receivers={"position": "nearest"}))
    late = 0.5 * near.solver.plan.scheme.step * column(near, "SRs")[-1, 2]
    assert column(near, "Sls")[-1, 2] + late == pytest.approx(corners[0, 0], rel=1e-5)


def test_a_fault_that_slides_bears_its_strength(run):
    """Traction along the slip, of the friction that there is, opposite to nothing; changes are those from rest."""
    sliding = column(run, "SRs")[:, 0] > 0.1
    assert sliding.sum() > 5
    shear = np.hypot(column(run, "Ts0"), column(run, "Td0"))[sliding, 0]
    strength = -(column(run, "Mud") * column(run, "Pn0"))[:, 0]
    np.testing.assert_allclose(
        shear[:-1], strength[sliding][:-1], rtol=6e-3
    )  # traction along dip is that of points around
    rest = run.fault_receivers["initial_traction"]
    np.testing.assert_allclose(column(run, "Ts0") - rest[:, 1], column(run, "T_s"), atol=20.0)
    np.testing.assert_allclose(column(run, "Pn0") - rest[:, 0], column(run, "P_n"), atol=20.0)
    assert (rest == [[-120e6, 70e6, 2e7]]).all(0)[[0, 2]].all()


def test_the_normal_velocity_is_that_of_the_plane():
    """To which those of either side tend; across the plane itself they have a kink, as the sides are stretched unlike each other."""
    made = recorded()
    smooth = "return 2.0*exp(-(x*x + (z + 4000.0)*(z + 4000.0))/(2.0*1500.0*1500.0));"
    made["fault"] |= {"friction": "imposed-gaussian", "parameters": {
        "constant": {"dip_slip": 0.0, "rupture_rise_time": 1.2, "rupture_onset": 0.0}, "expression": {"strike_slip": smooth},
    }}  # fmt: skip
    del made["output"]["rupture"]
    run = ended(made)
    beside = [
        run.solver.sample(np.array(NODE) + np.outer([250.0, 750.0, 1250.0], [0, side, 0]))[:, 7] for side in (-1, 1)
    ]
    tending = [side @ [15 / 8, -10 / 8, 3 / 8] for side in beside]
    assert column(run, "u_n")[-1, 0] == pytest.approx(np.mean(tending), rel=0.08)


def test_rupture_speed_is_told_where_the_front_has_passed(run):
    speed, times = column(run, "Vr")[-1], column(run, "RT")[-1]
    assert (times > 0).all() and ((speed > 500) & (speed < 20000)).all()
    assert not column(run, "Vr")[0].any()


def test_faults_along_y_tell_what_those_along_x_do(run):
    other = ended(recorded("x"))
    for field in ("Sls", "Sld", "Pn0"):
        a, b = np.abs(column(run, field)), np.abs(column(other, field))
        np.testing.assert_allclose(b, a, atol=2e-3 * a.max())


def test_every_third_step(run):
    few = ended(recorded(output__fault_receivers={"every": 3}))
    found, whole = few.fault_receivers, run.fault_receivers
    np.testing.assert_array_equal(found["values"][1:], whole["values"][3::3])
    np.testing.assert_array_equal(found["time"][1:], whole["time"][3::3])


def test_histories_go_on_from_a_checkpoint(tmp_path, run):
    folder = tmp_path / "run"
    sim = fw.simulate(recorded(output__folder=str(folder), output__checkpoint={"interval": 0.3}))
    with pytest.raises(RunError, match=r"faultwave\.resume"):
        sim.run(progress=Stopped(sim, 0.5))
    sim = fw.resume(folder)
    sim.run()
    for name in ("time", "values"):
        np.testing.assert_array_equal(sim.fault_receivers[name], run.fault_receivers[name])
    found = load_results(folder)
    assert any("faultreceiver" in str(kind) for kind in found.traces), found


def test_points_off_the_fault(run):
    made = recorded(output__fault_receivers={"points": [[0.0, 700.0, -2000.0], [0.0, 100.0, -2000.0]]})
    settings, _ = load_case(made)
    told = [str(p) for p in check(settings).warnings if "fault receiver" in str(p)]
    assert len(told) == 1 and "lies 700 m off the fault, whose nearest point is (" in told[0]
    made["output"]["fault_receivers"]["maximum_distance"] = 50.0
    settings, _ = load_case(made)
    told = [str(p) for p in check(settings).errors]
    assert len(told) == 2 and "at most 50 m, output.fault_receivers.maximum_distance" in told[1]
    made["output"]["fault_receivers"] |= {"maximum_distance": 1000.0, "fields": ["SRx"]}
    settings, _ = load_case(made)
    assert "'SRx' does not exist" in str(check(settings).errors[0])


def test_a_state_of_many_decades_is_interpolated_by_its_logarithm():
    """Where friction at rest differs from point to point, so do states, by factors."""
    corners = [[x, 0.0, z] for x in (2000.0, 2500.0) for z in (-4250.0, -3750.0)]
    made = case(end_time=0.1, numerics__precision="double")
    values = {"rs_a": 0.01, "rs_sl0": 0.2, "rs_b": 0.014, "T_n": -120e6, "T_d": 0.0}
    given = {"constant": values, "expression": {"T_s": "return 75000000 + 10000 * (x + z) + 2 * x * z;"}}
    constants = {"rs_f0": 0.6, "rs_sr0": 1e-6, "rs_ini_slip_rate": 1e-9}
    made["fault"] |= {"friction": "rate-and-state-ageing", "parameters": given, "constants": constants}
    made["output"]["fault_receivers"] = {"points": [*corners, BETWEEN], "fields": ["StV"]}
    found = column(ended(made), "StV")[0]
    assert found[:4].max() > 50.0 * found[:4].min()
    weights = np.array([0.75 * 0.5, 0.75 * 0.5, 0.25 * 0.5, 0.25 * 0.5])
    assert np.log(found[4]) == pytest.approx(weights @ np.log(found[:4]), rel=1e-6)
