"""Rate and state: round trips, balance of forces at extremes, state evolution against an ODE solver."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from faultwave.physics import friction as faults
from faultwave.physics.friction.law import COMMON_STATE, Load
from faultwave.physics.friction.solvers import SMALLEST_RATE, newton_rate

STATE = [s.name for s in COMMON_STATE]

AGEING, SLIP = faults.law("rate-and-state-ageing"), faults.law("rate-and-state-slip")
LAWS = pytest.mark.parametrize("law", [AGEING, SLIP], ids=["ageing", "slip"])
ETA = 4.6e6


def parameters(law, c, **changes):
    values = {"rs_a": 0.008, "rs_sl0": 0.02} | changes
    values = {k: np.atleast_1d(np.asarray(v, float)) for k, v in values.items()}
    n = max(len(v) for v in values.values())
    return law.prepare(law.given(values, n), c, None)


def started(law, p, c, tau, sigma):
    n = len(p["rs_a"])
    return {name: np.zeros(n) for name in STATE} | law.initial(p, c, np.full(n, tau), np.full(n, sigma))


def test_tpv101_initial_state():
    c = AGEING.settings({})
    s = AGEING.initial(parameters(AGEING, c), c, np.array([75e6]), np.array([-120e6]))
    assert s["state"] == pytest.approx(1.606238999e9, rel=1e-9)  # the benchmark's published value
    assert s["slip_rate"] == 1e-12


@LAWS
def test_initial_state_round_trip(law):
    c = law.settings({"rs_ini_slip_rate": 1e-9, "rs_f0": 0.58, "rs_b": 0.014})
    p = parameters(law, c, rs_a=[0.004, 0.008, 0.016, 0.03])
    tau, sigma = np.array([70e6, 40e6, 5e6, 75e6]), np.full(4, -120e6)
    s = law.initial(p, c, tau, sigma)
    mu, _ = law.coefficient(p, c, np.full(4, 1e-9), s["state"])
    assert mu == pytest.approx(tau / 120e6, rel=1e-13)


def test_coefficient_is_the_formula_and_its_derivative():
    c = AGEING.settings({})
    p = parameters(AGEING, c, rs_a=[0.008, 0.02, 0.01, 0.05, 0.05])
    psi = np.array([1e9, 0.02, 1e-3, 1.0, 1.0])
    v = np.array([1e-12, 1.0, 1e-7, 2e-6 * np.exp(-9.6), 1e-12])  # asinh of something large, of about 1, and small
    mu, slope = AGEING.coefficient(p, c, v, psi)
    exponent = (0.6 + 0.012 * np.log(1e-6 * psi / 0.02)) / p["rs_a"]
    assert mu == pytest.approx(p["rs_a"] * np.arcsinh(v / 2e-6 * np.exp(exponent)), rel=1e-12)
    up, down = (AGEING.coefficient(p, c, v * f, psi)[0] for f in (1 + 1e-6, 1 - 1e-6))
    assert slope == pytest.approx((up - down) / (2e-6 * v), rel=1e-6)


def test_coefficient_does_not_overflow():
    c = AGEING.settings({})
    p = parameters(AGEING, c, rs_a=[1e-4, 1e-4])
    mu, slope = AGEING.coefficient(p, c, np.array([1e-12, 10.0]), np.array([1e12, 1e12]))
    exponent = 0.6 + 0.012 * np.log(1e-6 * 1e12 / 0.02)  # c = exponent/a is about 9000: exp overflows
    assert mu == pytest.approx(exponent + 1e-4 * np.log(np.array([1e-12, 10.0]) / 1e-6), rel=1e-12)
    assert np.all(np.isfinite(slope)) and np.all(slope > 0)


@LAWS
@pytest.mark.parametrize("v", [1e-12, 1e-3, 0.7, 12.0])
@pytest.mark.parametrize("dt", [1e-3, 0.3])
def test_state_evolution_against_ode(law, v, dt):
    c = law.settings({})
    p = parameters(law, c)
    length = 0.02
    for psi0 in (1e-3, 0.5, 1.6e9):
        if law is AGEING:
            rhs = lambda t, y: 1.0 - v * y / length  # noqa: E731
        else:
            rhs = lambda t, y: -(v * y / length) * np.log(v * y / length)  # noqa: E731
        exact = solve_ivp(rhs, (0, dt), [psi0], rtol=1e-11, atol=1e-14, method="LSODA").y[0, -1]
        assert law.relax(p, c, np.array([psi0]), np.array([v]), dt) == pytest.approx(exact, rel=2e-7)


def test_ageing_at_rest_grows_with_time():
    c = AGEING.settings({})
    p = parameters(AGEING, c)
    assert AGEING.relax(p, c, np.array([2.0]), np.array([SMALLEST_RATE]), 0.25) == pytest.approx(2.25, rel=1e-15)
    assert SLIP.relax(p, c, np.array([2.0]), np.array([SMALLEST_RATE]), 0.25) == pytest.approx(2.0, rel=1e-15)


@settings(max_examples=120, deadline=None)
@given(
    tau=st.floats(0.0, 5e8),
    normal=st.floats(0.0, 1e9),
    a=st.floats(1e-3, 0.05),
    b=st.floats(1e-3, 0.05),
    log_psi=st.floats(-12, 12),
    log_guess=st.floats(-45, 3),
    eta=st.floats(1e5, 5e7),
)
def test_newton_balances_forces_everywhere(tau, normal, a, b, log_psi, log_guess, eta):
    c = AGEING.settings({})
    p = parameters(AGEING, c, rs_a=a, rs_b=b)
    psi = np.array([10.0**log_psi])
    args = (lambda v: AGEING.coefficient(p, c, v, psi), *(np.array([x]) for x in (tau, normal, eta)))
    v = newton_rate(*args, np.array([10.0**log_guess]), 1e-14, 60)
    residual = (tau - normal * AGEING.coefficient(p, c, v, psi)[0]) / eta - v
    scale = max(tau, normal * AGEING.coefficient(p, c, v, psi)[0].item()) / eta
    assert np.isfinite(v) and v >= SMALLEST_RATE
    if v > 2 * SMALLEST_RATE:
        assert abs(residual) <= 1e-10 * max(1.0, 1e-4 * scale)
    else:  # at rest: friction holds the load
        assert residual <= 1e-14


def test_newton_is_quick_from_far_away():
    c = AGEING.settings({})
    p = parameters(AGEING, c)
    evaluations = []

    def coefficient(v):
        evaluations.append(v)
        return AGEING.coefficient(p, c, v, np.array([1.6e9]))

    tau, normal = np.array([110e6]), np.array([120e6])
    v = newton_rate(coefficient, tau, normal, ETA, np.array([1e-12]), 1e-14, 60)
    assert abs((tau - normal * coefficient(v)[0]) / ETA - v) < 1e-12 and 0.05 < v[0] < 20
    assert len(evaluations) < 15


@LAWS
@pytest.mark.parametrize("average", [0, 1])
def test_solve_satisfies_force_balance_and_direction(law, average):
    tight = {"rs_slip_rate_tolerance": 1e-14, "rs_state_tolerance": 1e-14, "rs_average": average}
    c = law.settings(tight | {"rs_state_updates": 60})
    p = parameters(law, c, rs_a=[0.008, 0.008, 0.016, 0.008])
    s = started(law, p, c, 75e6, -120e6)
    s["slip_rate"] = np.array([1e-12, 2.0, 1e-12, 1e-12])
    s["state"] = np.array([1.6e9, 0.05, 1.6e9, 1.6e9])
    tau = np.array([90e6, 60e6, 0.0, 3e6])
    forces = Load(0.6 * tau, -0.8 * tau, np.array([-120e6, -100e6, -120e6, 10e6]), ETA, 2e-3, 0.1)
    solved = law.solve(p, c, s, forces)
    traction1, traction2 = forces.tau1 - ETA * solved.slip_rate1, forces.tau2 - ETA * solved.slip_rate2
    assert np.hypot(traction1, traction2) == pytest.approx(solved.strength, rel=1e-9, abs=1e-2)
    assert traction1 * solved.slip_rate2 == pytest.approx(traction2 * solved.slip_rate1, rel=1e-9, abs=1e-9)
    assert np.all(traction1 * solved.slip_rate1 >= -1e-9)  # friction resists: V along the traction
    assert np.hypot(solved.slip_rate1, solved.slip_rate2)[:2] == pytest.approx(solved.slip_rate[:2])
    assert solved.slip_rate[3] == pytest.approx(3e6 / ETA)  # open fault: no strength left
    assert solved.state["unconverged"].tolist() == [0, 0, 0, 0]
    # The state used the mean rate asked for.
    mean = 0.5 * (s["slip_rate"] + solved.slip_rate) if average == 0 else solved.slip_rate
    assert solved.state["state"][:2] == pytest.approx(law.relax(p, c, s["state"], mean, 2e-3)[:2], rel=1e-9)


def test_failure_is_recorded_per_point():
    c = AGEING.settings({"rs_slip_rate_updates": 1, "rs_state_updates": 1})
    p = parameters(AGEING, c, rs_a=[0.008, 0.008])
    s = started(AGEING, p, c, 75e6, -120e6)
    tau = np.array([110e6, 75e6])  # the second point is in equilibrium already
    solved = AGEING.solve(p, c, s, Load(tau, 0.0 * tau, np.full(2, -120e6), ETA, 1e-4, 0.1))
    assert solved.state["unconverged"].tolist() == [1, 0]


def test_steady_state_is_reached():
    c = AGEING.settings({})
    p = parameters(AGEING, c)
    s = started(AGEING, p, c, 75e6, -120e6)
    s["state"] = np.array([0.05])
    # Load that keeps V at 1 m/s once friction is steady: tau = sigma mu_ss + eta V
    mu_steady = 0.008 * np.arcsinh(0.5e6 * np.exp((0.6 + 0.012 * np.log(1e-6)) / 0.008))
    tau = np.array([120e6 * mu_steady + ETA])
    for k in range(800):
        forces = Load(tau, 0 * tau, np.array([-120e6]), ETA, 1e-3, 1e-3 * (k + 1))
        solved = AGEING.solve(p, c, s, forces)
        s = AGEING.advance(p, c, s, solved, solved.slip_rate, forces)
    assert s["slip_rate"] == pytest.approx(1.0, rel=1e-6)
    assert s["state"] == pytest.approx(0.02, rel=1e-6)
    assert s["friction"] == pytest.approx(mu_steady, rel=1e-9) and s["unconverged"] == 0


def test_point_values_override_constants():
    c = AGEING.settings({"RS_f0": 0.7})
    p = AGEING.prepare(AGEING.given({"rs_a": 0.01, "RS_sl0": 0.3, "RS_b": np.array([0.02, 0.03])}, 2), c, None)
    assert p["rs_f0"].tolist() == [0.7, 0.7] and p["rs_b"].tolist() == [0.02, 0.03]
    assert p["rs_sl0"].tolist() == [0.3, 0.3]


def test_tensile_start_is_reported_with_coordinates():
    c = AGEING.settings({})
    p = AGEING.given({"rs_a": np.array([0.01, 0.01]), "rs_sl0": 0.1}, 2)
    points = np.array([[0.0, 0, 0], [1.0, 2, -3]])
    problems = AGEING.check(p, c, np.array([1e6, 1e6]), np.array([-1e6, 2e6]), points)
    assert [str(e) for e in problems.errors] == [
        "fault point (1, 2, -3): initial normal traction is 2e+06 (allowed: < 0 Pa (compression))"
    ]


def test_dynamic_stress_threshold():
    c = AGEING.settings({"rs_muw": 0.1})
    p = parameters(AGEING, c, rs_a=[0.01, 0.01])
    assert AGEING.dynamic_stress_reached(p, c, {}, np.array([0.124, 0.126])).tolist() == [True, False]
