"""Thermal pressurisation against the closed form for constant heating, the diffusion equations themselves, and with every law."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.sparse import bmat, diags

from faultwave.base.errors import InputError
from faultwave.physics import friction as faults
from faultwave.physics.friction.law import Load
from faultwave.physics.friction.modifiers import composed, modifier
from faultwave.physics.friction.modifiers import thermal_pressurisation as tp
from tests.messages import raises

from .sampling import required_values

THERMAL = modifier("thermal-pressurisation")
ROCK = {"tp_thermalDiffusivity": 1e-6, "tp_heatCapacity": 2.7e6, "tp_undrainedTPResponse": 1e5, "tp_iniTemp": 483.15,
        "tp_iniPressure": 0.0}  # fmt: skip
ETA, HEATING = 4e6, 40e6
LAWS = pytest.mark.parametrize("name", [n for n, law in faults.laws().items() if law.solver != "imposed"])


def parameters(thermal, hydraulic, width=0.02, **more):
    values = {
        "tp_half_width": width,
        "tp_hydraulic_diffusivity": hydraulic,
        "tp_thermal_diffusivity": thermal,
        "tp_heat_capacity": 2.7e6,
        "tp_undrained_response": 1e5,
        "tp_initial_temperature": 483.15,
        "tp_initial_pressure": 0.0,
    }
    return {k: np.array([v]) for k, v in (values | more).items()}


def heated(p, lengths, heating=None, times=1):
    """State after sub-steps at constant heating [W/m^2], or one for each; ``times`` of them make a step."""
    p = THERMAL.prepare(p, {k: v[0] for k, v in p.items()})
    s = THERMAL.initial(p, {}, np.zeros(1), np.zeros(1)) | {
        "past_heating": [np.zeros(1)] * tp.COUNT,
        "heating": np.zeros(1),
    }
    heats = np.broadcast_to(HEATING if heating is None else heating, len(lengths))
    for i, (dt, heat) in enumerate(zip(lengths, heats, strict=True)):
        step = lengths[i // times * times :][:times]
        if i % times == 0:
            s |= THERMAL.begin_step(p, {}, s, step)
        rate = 2.0
        load = Load(np.array([heat / rate + ETA * rate]), np.zeros(1), np.array([-1e8]), ETA, dt, 0.0)
        s |= THERMAL.evolve(p, {}, s, np.array([rate]), load)
        s |= THERMAL.end_substep(p, {}, s)
        if i % times == len(step) - 1:
            s |= THERMAL.end_step(p, {}, s, step)
    return s


def stepped(law, p, c, s, load):
    """State after a step that is one sub-step, and what the friction solve found."""
    s = s | law.begin_step(p, c, s, [load.dt])
    solved = law.solve(p, c, s, load)
    s |= law.advance(p, c, s, solved, solved.slip_rate, load)
    s |= law.end_substep(p, c, s)
    return s | law.end_step(p, c, s, [load.dt]), solved


def rises(s):
    return np.array([s["temperature"][0] - 483.15, -s["tp_pressure"][0]])


def closed_form(p, t):
    """Rises of temperature and fluid pressure at constant heating (Noda & Lapusta 2010, for a Gaussian shear zone)."""
    w, thermal, hydraulic = (p[f"tp_{n}"][0] for n in ("half_width", "thermal_diffusivity", "hydraulic_diffusivity"))
    warming = HEATING / p["tp_heat_capacity"][0]

    def far(a):  # a F(a)
        return (np.sqrt(w * w + 2 * a * t) - w) / np.sqrt(2 * np.pi)

    if thermal == hydraulic:
        spread = t / np.sqrt(2 * np.pi * (w * w + 2 * thermal * t))  # the derivative of a F(a)
    else:
        spread = (far(hydraulic) - far(thermal)) / (hydraulic - thermal)
    return np.array([warming * far(thermal) / thermal, warming * p["tp_undrained_response"][0] * spread])


DIFFUSIVITIES = {"TPV105": (1e-6, 4e-4), "permeable": (1e-6, 1.0), "equal": (1e-6, 1e-6), "heat faster": (4e-4, 1e-6)}


@pytest.mark.parametrize("count", [1, 7, 300])
@pytest.mark.parametrize("t", [0.1, 1.0, 10.0, 400.0])
@pytest.mark.parametrize("thermal, hydraulic", DIFFUSIVITIES.values(), ids=list(DIFFUSIVITIES))
def test_constant_heating(thermal, hydraulic, t, count):
    p = parameters(thermal, hydraulic)
    steps = np.random.default_rng(0).uniform(0.2, 1.0, count)
    found = rises(heated(p, steps * t / steps.sum()))
    # Where both diffusivities are the same, errors of the rule do not cancel in the difference of the two.
    assert found == pytest.approx(closed_form(p, t), rel=1e-7 if thermal != hydraulic else 1e-6)


@pytest.mark.parametrize("width", [1e-4, 2e-3, 0.2, 5.0])
def test_shear_zones_of_any_width(width):
    p = parameters(1e-6, 1e-4, width)
    assert rises(heated(p, np.full(40, 0.05))) == pytest.approx(closed_form(p, 2.0), rel=1e-7)


def test_golden_numbers():
    found = rises(heated(parameters(1e-6, 4e-4), [1.0]))
    assert found == pytest.approx([295.144330, 21.6132856e6], rel=1e-6)


def test_almost_equal_diffusivities_tend_to_equal_ones():
    equal = rises(heated(parameters(1e-6, 1e-6), np.full(50, 0.02)))
    for share in (1e-15, 1e-12, 1e-9, -1e-9):
        found = rises(heated(parameters(1e-6, 1e-6 * (1.0 + share)), np.full(50, 0.02)))
        assert found == pytest.approx(equal, rel=1e-8)


@pytest.mark.parametrize("thermal, hydraulic", [(1e-4, 4e-4), (2e-4, 2e-4)], ids=["different", "equal"])
def test_changing_heat_solves_the_diffusion_equations(thermal, hydraulic):
    """Against finite differences in space and a stiff integrator in time, with heating that comes and goes."""
    p, n, width = parameters(thermal, hydraulic), 600, 0.02
    y = np.linspace(-0.4, 0.4, 2 * n + 1)
    source = np.exp(-(y**2) / (2 * width**2)) / (width * np.sqrt(2 * np.pi)) / 2.7e6
    heating = np.array([40e6, 5e6, 0.0, 30e6])

    def curved(f):
        return np.concatenate([[0.0], np.diff(f, 2), [0.0]]) / (y[1] - y[0]) ** 2

    second = diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(len(y), len(y))) / (y[1] - y[0]) ** 2
    jacobian = bmat([[thermal * second, None], [1e5 * thermal * second, hydraulic * second]]).tocsc()
    state = np.zeros(2 * len(y))
    for heat in heating:

        def change(t, f, heat=heat):
            hot = thermal * curved(f[: len(y)]) + heat * source
            return np.concatenate([hot, hydraulic * curved(f[len(y) :]) + 1e5 * hot])

        state = solve_ivp(change, (0, 0.5), state, method="BDF", rtol=1e-8, atol=1e-4, jac=jacobian).y[:, -1]
    found = rises(heated(p, np.full(40, 0.05), np.repeat(heating, 10)))
    assert found == pytest.approx([state[n], state[len(y) + n]], rel=2e-4)


@pytest.mark.parametrize("times", [2, 3, 5])
def test_steps_of_several_substeps(times):
    """The pressure that friction reads in every sub-step, and all that is kept, whatever sub-steps make up a step."""
    rng = np.random.default_rng(3)
    lengths, heating = rng.uniform(1e-3, 3e-3, 30), rng.uniform(0.0, 60e6, 30)
    one = [heated(parameters(1e-6, 4e-4), lengths[:n], heating[:n]) for n in range(1, 31)]
    for n, alone in enumerate(one, 1):
        s = heated(parameters(1e-6, 4e-4), lengths[:n], heating[:n], times)
        assert s["tp_pressure"] == pytest.approx(alone["tp_pressure"], rel=1e-12)
    assert s["temperature"] == pytest.approx(alone["temperature"], rel=1e-12)
    np.testing.assert_allclose(np.ravel(s["past_heating"]), np.ravel(alone["past_heating"]), rtol=1e-12)


SEVERE = {"rs_b": 0.6, "rs_f0": 0.7}
SLOW = {"rs_sr0": 1e-6, "rs_ini_slip_rate": 1e-12}


def settings(law, constants=()):
    rate_and_state = SLOW | ({"rs_sr0": 0.1} if "severe" in law.name else {}) if law.solver == "newton" else {}
    return law.settings({**dict(constants), **rate_and_state})


def started(law, n, c, shear=75e6, sigma=-120e6, **more):
    given = {"mu_s": 0.6, "mu_d": 0.55, "d_c": 0.4, "cohesion": 0.0, "rs_a": 0.01, "rs_sl0": 0.4, "rs_srW": 0.1,
             "rs_f0": 0.6, "rs_b": 0.014, "rs_muw": 0.2,
             "tp_half_width": 0.02, "tp_hydraulicDiffusivity": 4e-4} | (SEVERE if "severe" in law.name else {}) | more  # fmt: skip
    given |= required_values(law, given)
    names = {x for q in law.parameters for x in (q.name, *q.aliases)}
    p = law.prepare(law.given({k: np.asarray(v, float) for k, v in given.items() if k in names}, n), c, None)
    first = law.initial(p, c, np.full(n, shear), np.full(n, sigma))
    state = {x: np.zeros(n) for x in law.state_columns}
    for x in law.state:
        if x.size:
            first[x.name] = list(np.moveaxis(first[x.name], -1, 0))
    return p, state | first


@LAWS
def test_composed_with_every_law(name):
    """Slip under a load above strength heats the fault; pressure rises; the strength found is that under the pressure found."""
    law = composed(name, ["thermal-pressurisation"])
    c = settings(law, ROCK)
    p, s = started(law, 3, c)
    alone = faults.law(name)
    ca = settings(alone)
    pa, sa = started(alone, 3, ca)
    heat = np.zeros(3)
    for i in range(60):
        load = Load(np.full(3, 110e6), np.zeros(3), np.array([-120e6, -110e6, -100e6]), ETA, 1e-3, 1e-3 * (i + 1))
        s, solved = stepped(law, p, c, s, load)
        solved_alone = alone.solve(pa, ca, sa, load)
        sa = {**sa, **alone.advance(pa, ca, sa, solved_alone, solved_alone.slip_rate, load)}
        heat += (load.shear() - ETA * solved.slip_rate) * solved.slip_rate * load.dt
    assert (heat > 1e4).all() and (s["temperature"] > 483.15).all() and (s["tp_pressure"] < -1e3).all()
    # Early on nothing has diffused: heat stays where it was made, and fluid too.
    near = heat / (2.7e6 * 0.02 * np.sqrt(2 * np.pi))
    assert s["temperature"] - 483.15 == pytest.approx(near, rel=0.1)
    assert (s["slip_rate"] > sa["slip_rate"]).all()
    effective = load.sigma - s["tp_pressure"]
    assert solved.strength == pytest.approx(-solved.friction * effective, rel=0.02)
    assert law.all_outputs["P_f"].formula(p, c, s) is s["tp_pressure"]
    assert law.all_outputs["Tmp"].formula(p, c, s) is s["temperature"]


@LAWS
def test_without_response_it_is_the_law_alone(name):
    law, alone = composed(name, ["thermal-pressurisation"]), faults.law(name)
    c, ca = settings(law, {**ROCK, "tp_undrainedTPResponse": 0.0}), settings(alone)
    (p, s), (pa, sa) = started(law, 2, c), started(alone, 2, ca)
    for i in range(5):
        load = Load(np.full(2, 90e6), np.zeros(2), np.full(2, -115e6), ETA, 1e-3, 1e-3 * (i + 1))
        s, _ = stepped(law, p, c, s, load)
        sa = {**sa, **alone.advance(pa, ca, sa, (x := alone.solve(pa, ca, sa, load)), x.slip_rate, load)}
    for key, values in sa.items():
        np.testing.assert_allclose(s[key], values, rtol=1e-7, err_msg=key)


def test_the_law_starts_from_the_effective_normal_traction():
    """Total stress with the initial pressure, or effective stress without: the same start."""
    law = composed("rate-and-state-ageing", ["thermal-pressurisation"])
    starts = []
    for sigma, pressure in ((-120e6, 0.0), (-200e6, -80e6)):
        c = settings(law, {**ROCK, "tp_iniPressure": pressure})
        starts.append(started(law, 2, c, sigma=sigma)[1])
    assert starts[0]["state"] == pytest.approx(starts[1]["state"], rel=1e-12)
    assert starts[1]["tp_pressure"].tolist() == [-80e6, -80e6]


def test_the_law_is_checked_with_the_effective_normal_traction():
    """Total compression of 50 MPa is none where the fluid takes 80 MPa of it."""
    law = composed("rate-and-state-slip", ["thermal-pressurisation"])
    given = {
        "rs_a": 0.01,
        "rs_sl0": 0.4,
        "rs_f0": 0.6,
        "rs_b": 0.012,
        "tp_half_width": 0.02,
        "tp_hydraulic_diffusivity": 1e-4,
    }
    p = law.given({k: np.array([v]) for k, v in given.items()}, 1)
    for pressure, problems in ((0.0, 0), (-80e6, 1)):
        c = settings(law, {**ROCK, "tp_iniPressure": pressure})
        assert len(law.check(p, c, np.array([1e6]), np.array([-50e6]), np.zeros((1, 3))).errors) == problems


def test_laws_of_imposed_slip_are_refused():
    for name, law in faults.laws().items():
        if law.solver == "imposed":
            with raises(InputError):
                composed(name, ["thermal-pressurisation"])


def test_every_parameter_missing_or_out_of_bounds_is_told():
    law, points = composed("rate-and-state-slip", ["thermal-pressurisation"]), np.arange(6.0).reshape(2, 3)
    rate_and_state = {"rs_a": np.array([0.01, 0.01]), "rs_sl0": np.array([0.4, 0.4])}
    with raises(InputError):
        law.given(rate_and_state, 2)
    given = rate_and_state | {
        "tp_half_width": np.array([0.02, -0.02]),
        "tp_hydraulic_diffusivity": np.array([0.0, np.nan]),
    }
    found = law.check(law.given(given, 2), settings(law), np.full(2, 1e6), np.full(2, -1e8), points).errors
    texts = [str(e) for e in found]
    assert any("fault point (3, 4, 5): tp_half_width is -0.02 (allowed: > 0 m)" in t for t in texts)
    assert any("fault point (0, 1, 2): tp_hydraulic_diffusivity is 0 (and at 1 more points)" in t for t in texts)
    for q in THERMAL.constants:
        assert any(f"fault.parameters.{q.name}: missing: {q.description}" in t for t in texts), q.name
        for bad in (q.lower - 1.0, q.upper + 1.0, 0.0 if q.positive else np.nan):
            if np.isfinite(bad) and not q.accepts(bad):
                with pytest.raises(InputError, match=rf"fault.constants.{q.name}: is "):
                    settings(law, {q.name: bad})


def test_constants_of_another_law_are_told():
    with raises(InputError):
        faults.law("rate-and-state-slip").settings(ROCK)
