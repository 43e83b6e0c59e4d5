"""Every friction law on a grid: a uniform fault moves as the end of a string of points does, where the law is solved."""

from dataclasses import replace

import numpy as np
import pytest

import faultwave as fw
from faultwave.fd.fault import RUPTURE_RATE, parameter
from faultwave.fd.method.split_nodes import BACKWARD, FORWARD, INSIDE, INVERSE_SIDE_NORM, FaultPlane
from faultwave.physics import friction
from faultwave.physics.friction.initial_stress import smooth_step
from faultwave.physics.friction.law import Load
from faultwave.physics.friction.solvers import known_rates
from tests.physics.friction.sampling import sample_value

from .test_faults import ROCK, H, case

WEAK = {"mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": 0.0, "T_n": -120e6, "T_s": 81.6e6, "T_d": 0.0}
RATES = {"rs_a": 0.01, "rs_sl0": 0.2, "rs_b": 0.014, "T_n": -120e6, "T_s": 75e6, "T_d": 0.0}
REST = {"rs_f0": 0.6, "rs_sr0": 1e-6, "rs_ini_slip_rate": 1e-9}
SLIDES = {"strike_slip": 0.8, "dip_slip": 0.0, "rupture_onset": 0.1}
LAWS = {
    "linear-slip-weakening": (WEAK, {}, {}),
    "power-law-slip-weakening": (WEAK, {}, {}),
    "rate-and-state-ageing": (RATES, REST, {}),
    "rate-and-state-slip": (RATES, REST, {}),
    "severe-velocity-weakening": (RATES | {"T_s": 71e6}, REST, {}),
    "strong-velocity-weakening": (RATES | {"rs_srW": 0.1}, REST | {"rs_muw": 0.3}, {}),
    "imposed-delta": (SLIDES, {}, {}),
    "imposed-gaussian": (SLIDES | {"rupture_rise_time": 0.4}, {}, {}),
    "imposed-yoffe": (SLIDES | {"tau_S": 0.1, "tau_R": 0.3}, {}, {}),
}
"""Parameters, constants and settings of each."""
KNOWN = WEAK | RATES | SLIDES
for (
    _law
) in friction.laws().values():  # laws that were added: values by the names of their parameters, or from their ranges
    if _law.name not in LAWS:
        _stress = {n: WEAK[n] for n in ("T_n", "T_s", "T_d")} if _law.needs_stress else {}
        _values = {q.name: sample_value(q, KNOWN) for q in _law.parameters if q.default is None}
        _constants = {q.name: sample_value(q, REST) for q in _law.constants if q.default is None}
        LAWS[_law.name] = (_values | _stress, _constants, {})
MORE = {
    "forced": (
        "linear-slip-weakening",
        WEAK | {"T_s": 75e6, "forced_rupture_time": 0.1},
        {},
        {"forced_rupture_ramp": 0.2},
    ),
    "healing": ("linear-slip-weakening", WEAK, {}, {"healing_threshold": 0.5}),
    "pore-pressure": ("linear-slip-weakening", WEAK | {"T_n": -160e6, "p": 40e6}, {}, {"pore_pressure": True}),
    "prakash-clifton": (
        "linear-slip-weakening",
        WEAK,
        {"pc_reference_rate": 0.1, "pc_length": 0.2},
        {"modifiers": ["prakash-clifton"]},
    ),
}
NUCLEATION = {"duration": 0.3, "stress": {"constant": {"Tnuc_n": 0.0, "Tnuc_s": 30e6, "Tnuc_d": 0.0}}}


def uniform(law, parameters, constants, settings, **numerics):
    """A uniform fault; no wave from its edges or the sides (3.25 km away, there and back in 1 s) reaches its middle before the end."""
    made = case(end_time=0.6, numerics__precision="double", numerics__backend="numpy")
    made["grid"] |= {"lower": [-13000.0, -3250.0, -10500.0], "upper": [11000.0, 3250.0, 0.0], "absorbing": {"width": 5}}
    made["fault"] |= {"friction": law, "parameters": {"constant": parameters}, **settings}
    if constants:
        made["fault"]["constants"] = constants
    if "rs_a" in parameters:
        made["fault"]["nucleation"] = [NUCLEATION]
    made["output"] = {}
    made["numerics"] |= numerics
    return made


def ended(*given, **numerics):
    """A run of a ``uniform`` fault."""
    sim = fw.simulate(uniform(*given, **numerics))
    sim.run(write=False)
    return sim


def middle(fault, name):
    """At the point of horizontal slip in the middle."""
    k = np.argmin(np.abs(fault.part.given["x"].places[:, 0, 0, 2] + 3500.0))
    i = np.argmin(np.abs(fault.part.given["x"].places[0, 0, :, 0]))
    return (k, 0, i) if name is None else fault.values(name, "x")[k, 0, i]


def string(fault, step, steps, mu=ROCK["rho"] * ROCK["vs"] ** 2, lost=None):
    """One side of the fault as points along a line, the other its mirror image: what the fault remembers after so many steps.

    The traction of a step is that of its middle; rate and state is solved there, for the mean of the slip rates before and after.
    ``lost`` returns the change of stress that attenuation adds to an elastic one."""
    part, at = fault.part, middle(fault, None)
    law, constants, given = part.law, part.constants, part.given["x"]
    values = {n: np.array([v[at]]) for n, v in given.values.items()}
    parameters = {n: values[parameter(n)] for n in law.kernel_parameters}
    names = law.state_columns.widths
    state = {n: np.zeros(1) for n in names} | {n: np.array([v[at]]) for n, v in given.state.items() if n in names}
    rho = ROCK["rho"]
    v, s = np.zeros(60), np.zeros(60)  # on points from the fault on, and half a spacing further
    freed = 2.0 * INVERSE_SIDE_NORM * step / (H * rho)
    for n in range(1, steps + 1):
        push = np.zeros(60)
        push[0] = INVERSE_SIDE_NORM * (25 / 24 * s[0] - 1 / 24 * s[1])
        push[1] = np.dot(BACKWARD[1][1:], s[:3])
        for k in range(2, 58):
            push[k] = np.dot(INSIDE, s[k - 2 : k + 2])
        v += step / (H * rho) * push
        now, locked = (n - 1) * step, 2.0 * v[0] / freed
        tau = values["stress1"] + locked
        for k, episode in enumerate(part.episodes):
            tau = tau + smooth_step(now - episode.start, episode.duration + 0.0 * tau) * values[f"nucleation{k}_1"]
        if law.solver == "newton":
            old = state["slip_rate1"]
            both = Load(tau + old / freed, 0.0 * tau, values["stress_n"], np.full(1, 2.0 / freed), 0.5 * step, n * step)
            x = law.solve(parameters, constants | {"rs_average": 1}, state, both)
            end = np.maximum(2.0 * x.slip_rate1 - old, 0.5 * x.slip_rate1)
            mean = 0.5 * (old + end)
            whole = replace(both, dt=step)
            x = known_rates(law, parameters, constants | {"rs_average": 1}, state, whole, (mean, 0.0 * mean))
            slip = {"slip1": state["slip1"] + step * end, "accumulated_slip": state["accumulated_slip"] + step * end}
            peak = np.maximum(state["peak_slip_rate"], end)
            state = state | law.advance(parameters, constants | {"rs_average": 1}, state, x, x.slip_rate, whole) | slip
            state |= {"slip_rate1": end, "slip_rate": end, "peak_slip_rate": peak}
        else:
            load = Load(tau, 0.0 * tau, values["stress_n"], np.full(1, 1.0 / freed), step, n * step)
            x = law.solve(parameters, constants, state, load)
            state = state | law.advance(parameters, constants, state, x, x.slip_rate, load)
        v[0] = 0.5 * state["slip_rate1"][0]
        pull = np.zeros(60)
        pull[0] = np.dot(FORWARD[0][1:], v[:3])
        for k in range(1, 57):
            pull[k] = np.dot(INSIDE, v[k - 1 : k + 3])
        s += mu * step / H * pull
        if lost is not None:
            s += lost(mu * step / H * pull)
    return state


@pytest.mark.parametrize("name", [*LAWS, *MORE])
def test_a_uniform_fault_moves_as_its_law_says(name):
    sim = ended(name, *LAWS[name]) if name in LAWS else ended(*MORE[name])
    fault, plan = sim.solver.parts["rupture"], sim.solver.plan
    assert isinstance(plan.scheme.fault, FaultPlane)
    wanted = string(fault, plan.scheme.step, plan.steps)
    assert abs(wanted["slip1"][0]) > 0.02, wanted["slip1"]
    if fault.part.law.needs_stress:  # what pores bear presses nothing
        assert fault.part.given["x"].values["stress_n"][middle(fault, None)] == -120e6
    for quantity in fault.part.law.state_columns.widths:
        expected = wanted[quantity][0]
        assert middle(fault, quantity) == pytest.approx(expected, rel=5e-3, abs=1e-6), quantity
    for axis in fault.plane.sliding:
        for quantity in ("traction1", "traction2", "traction_n", "slip_rate"):
            assert np.isfinite(fault.values(quantity, axis)).all(), quantity


def test_a_fault_without_strength_radiates_what_its_impedance_takes():
    """V = 2 T vs/mu once the fault has lost its strength."""
    sim = ended("linear-slip-weakening", WEAK | {"d_c": 0.05}, {}, {})
    fault = sim.solver.parts["rupture"]
    drop = 81.6e6 - 0.525 * 120e6
    assert middle(fault, "slip_rate") == pytest.approx(2.0 * drop / (ROCK["rho"] * ROCK["vs"]), rel=0.02)
    assert middle(fault, "traction1") == pytest.approx(-drop, rel=1e-3)


def test_a_fault_that_has_weakened_has_taken_its_fracture_energy():
    """By the traction of a step and the slip rates before and after it: with those after it alone they would be 5 and 1 % off."""
    lowest = WEAK["mu_d"] * 120e6
    energy = 0.5 * (WEAK["mu_s"] * 120e6 - lowest) * WEAK["d_c"]
    sim = ended("linear-slip-weakening", WEAK, {}, {})
    found = {q: float(middle(sim.solver.parts["rupture"], q)) for q in ("breakdown", "dissipated", "slip1", "weakened")}
    assert 0.0 < found["weakened"] < 0.5
    assert found["breakdown"] == pytest.approx(energy, rel=0.03)
    assert found["dissipated"] == pytest.approx(energy + lowest * found["slip1"], rel=2e-3)


def test_slip_rates_asked_for_at_the_end_of_a_step_are_those_of_their_time():
    slips = []
    for at_end in (0, 1):
        law = SLIDES | {"tau_S": 0.1, "tau_R": 0.6}
        sim = ended("imposed-yoffe", law, {"rate_at_end": at_end}, {})
        slips.append(float(middle(sim.solver.parts["rupture"], "slip1")))
    assert slips[1] == pytest.approx(slips[0], rel=5e-3)


def test_halved_steps_change_a_rupture_of_rate_and_state_by_their_square():
    """Slip after nucleation, with steps of 1, 1/2 and 1/4: friction that is half a step early would err by the step itself."""
    law, constants, given = "strong-velocity-weakening", REST | {"rs_muw": 0.3}, RATES | {"rs_srW": 0.1}
    slips = []
    for n in (1, 2, 4):
        sim = ended(law, given, constants, {}, cfl=0.8 / n)
        slips.append(float(middle(sim.solver.parts["rupture"], "slip1")))
    assert abs(slips[1] - slips[2]) < 0.35 * abs(slips[0] - slips[1]), slips


@pytest.mark.parametrize("law", ["linear-slip-weakening", "strong-velocity-weakening"])
def test_ruptures_are_told_at_the_time_of_the_slip_rate_that_tells_them(law):
    """After a step slip rates are those half a step before its end; rate and state is solved for their mean, half a step earlier still."""
    sim = fw.simulate(uniform(law, *LAWS[law]))
    solver, rates = sim.solver, [0.0]
    fault, step = solver.parts["rupture"], solver.plan.scheme.step
    while rates[-1] < 10 * RUPTURE_RATE:
        solver.operator.advance(1)
        rates.append(float(middle(fault, "slip_rate")))
    seen, late = np.array(rates[1:]), 0.5
    if law != "linear-slip-weakening":
        seen, late = 0.5 * (np.array(rates[1:]) + rates[:-1]), 0.0
    expected = (np.flatnonzero(seen > RUPTURE_RATE)[0] + late) * step
    assert middle(fault, "ruptured") == pytest.approx(expected, abs=1e-9)


def test_numbers_given_at_points_go_on_from_a_checkpoint(tmp_path):
    """Constants that the case leaves out are the same ones in the run that goes on."""
    made = case(
        end_time=0.2, numerics__precision="double", numerics__backend="numpy", output__folder=str(tmp_path / "run")
    )
    made["fault"] |= {"friction": "rate-and-state-ageing", "parameters": {"constant": RATES | {"rs_f0": 0.6}}}
    made["fault"]["constants"] = {k: v for k, v in REST.items() if k != "rs_f0"}
    made["output"]["checkpoint"] = {"interval": 0.05}
    fw.simulate(made, force=True).run(until=0.1)
    again = fw.resume(tmp_path / "run", until=0.2)
    assert 0.0 < again.time < 0.15
    again.run(write=False)
    whole = fw.simulate(made, force=True).run(write=False)
    for name in ("slip1", "slip_rate", "state"):
        np.testing.assert_array_equal(
            again.solver.parts["rupture"].values(name, "x"), whole.solver.parts["rupture"].values(name, "x")
        )
