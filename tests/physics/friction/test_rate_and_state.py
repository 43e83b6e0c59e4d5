"""Rate and state: golden sub-steps, round trips, balance at extremes, evolution and a spring-slider against an ODE solver.

Friction and state evolution are written here once more, so that a slip of the pen in a law is seen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from faultwave.base.errors import InputError
from faultwave.physics import friction as faults
from faultwave.physics.friction.law import COMMON_STATE, Load
from faultwave.physics.friction.modifiers import composed
from faultwave.physics.friction.solvers import SMALLEST_RATE, known_rates
from tests.messages import raises

STATE = [s.name for s in COMMON_STATE]
NAMES = ("rate-and-state-ageing", "rate-and-state-slip", "severe-velocity-weakening", "strong-velocity-weakening")
AGEING, SLIP, SEVERE, STRONG = (faults.law(name) for name in NAMES)
LAWS = pytest.mark.parametrize("law", [AGEING, SLIP, SEVERE, STRONG], ids=["ageing", "slip", "severe", "strong"])
SLOW = {"rs_a": 0.008, "rs_sl0": 0.02, "rs_f0": 0.6, "rs_b": 0.012, "rs_sr0": 1e-6}
TYPICAL: dict[Any, dict[str, float]] = {
    AGEING: SLOW,
    SLIP: SLOW,
    SEVERE: {"rs_a": 0.005, "rs_sl0": 0.2, "rs_f0": 0.6, "rs_b": 0.35, "rs_sr0": 0.1},
    STRONG: {"rs_a": 0.01, "rs_sl0": 0.4, "rs_f0": 0.6, "rs_b": 0.014, "rs_sr0": 1e-6, "rs_srW": 0.1, "rs_muw": 0.2},
}
ETA = 2670 * 3464 / 2
START = {"rs_ini_slip_rate": 1e-12}
TIGHT = {"rs_slip_rate_tolerance": 1e-14}


def made(law: Any, count: int = 1, constants: dict[str, float] | None = None, **changes: Any) -> tuple[dict, dict]:
    """Parameters of points and constants: the typical ones of a law but for ``changes``."""
    values = TYPICAL[law] | changes
    uniform = {k: values.pop(k) for k in ("rs_sr0",) if k in values}
    c = law.settings(START | uniform | (constants or {}))
    return law.prepare(law.given({k: np.asarray(v, float) for k, v in values.items()}, count), c, None), c


def resting(law: Any, psi: Any, rate: Any) -> dict[str, np.ndarray]:
    psi = np.atleast_1d(np.asarray(psi, float))
    zero = {name: np.zeros(len(psi)) for name in law.state_columns}
    return zero | {"state": psi, "slip_rate": np.zeros(len(psi)) + rate}


def load_of(tau: Any, sigma: Any, dt: float, **more: Any) -> Load:
    tau = np.atleast_1d(np.asarray(tau, float))
    return Load(0.6 * tau, -0.8 * tau, np.zeros(len(tau)) + sigma, ETA, dt, more.get("t", dt))


# ---- the laws written once more ------------------------------------------------------------------------------------


def friction(law: Any, p: dict, c: dict, v: Any, psi: Any) -> Any:
    """mu(V, psi)."""
    if law is SEVERE:
        return p["rs_f0"] + p["rs_a"] * v / (v + c["rs_sr0"]) - p["rs_b"] * psi / (psi + p["rs_sl0"])
    a = p["rs_a"]
    exponent = psi / a if law is STRONG else (p["rs_f0"] + p["rs_b"] * np.log(c["rs_sr0"] * psi / p["rs_sl0"])) / a
    y = np.log(v / (2 * c["rs_sr0"])) + exponent
    with np.errstate(over="ignore"):
        return a * np.where(y > 15, y + np.log(2) + np.exp(-2 * np.abs(y)) / 4, np.arcsinh(np.exp(np.minimum(y, 15))))


def steady(law: Any, p: dict, c: dict, v: Any) -> Any:
    """The state of steady slip."""
    length, v0 = p["rs_sl0"], c["rs_sr0"]
    if law is SEVERE:
        return v * length / v0
    if law is not STRONG:
        return length / v
    low = np.maximum(p["rs_f0"] - (p["rs_b"] - p["rs_a"]) * np.log(v / v0), 0)
    mu = p["rs_muw"] + (low - p["rs_muw"]) / (1 + (v / p["rs_srW"]) ** 8) ** 0.125
    return p["rs_a"] * np.log(2 * v0 / v * np.sinh(mu / p["rs_a"]))


def rate_of_state(law: Any, p: dict, c: dict, v: Any, psi: Any) -> Any:
    """psi'."""
    length = p["rs_sl0"]
    if law is AGEING:
        return 1 - v * psi / length
    if law is SLIP:
        return -(v * psi / length) * np.log(v * psi / length)
    return -((c["rs_sr0"] if law is SEVERE else v) / length) * (psi - steady(law, p, c, v))


# ---- golden sub-steps ----------------------------------------------------------------------------------------------

GOLDEN = [
    # law, psi0, tau, V at the start -> V, psi, mu, T
    (STRONG, 0.5635918426327379, 75e6, 1e-16, 4.63604330813e-4, 0.563591785217, 0.624982099749, 74997856.0895),
    (STRONG, 0.5635918426327379, 85e6, 1.0, 0.411948642308, 0.563171528864, 0.692458068524, 83094968.2206),
    (AGEING, 1606238999.2134538, 95e6, 1e-12, 1.11049005845e-3, 1606149816.07, 0.791623871697, 94994864.6054),
    (SLIP, 1606238999.2134538, 95e6, 1e-12, 1.1120851219e-3, 1604604751.84, 0.791623805164, 94994857.229),
    (SEVERE, 0.01, 75e6, 0.5, 1.00416671566, 0.0109989169612, 0.586302427195, 70356291.2728),
]
IDS = ["strong-slow", "strong-fast", "ageing", "slip", "severe"]


def golden_step(law: Any, psi: float, tau: float, start: float, **changes: float) -> list[float]:
    p, c = made(law, constants={"rs_average": 1}, **changes)
    x = law.solve(p, c, resting(law, psi, start), load_of(tau, -120e6, 1e-3))
    assert x.state["unconverged"] == 0
    return [float(v[0]) for v in (x.slip_rate, x.state["state"], x.friction, x.strength)]


@pytest.mark.parametrize("law, psi, tau, start, v, psi_end, mu, traction", GOLDEN, ids=IDS)
def test_golden_sub_step(
    law: Any, psi: float, tau: float, start: float, v: float, psi_end: float, mu: float, traction: float
) -> None:
    """One sub-step as the reference code solves it, to the tolerance of 1e-8 m/s at which that one stops."""
    found = golden_step(law, psi, tau, start)
    assert found[0] == pytest.approx(v, rel=1e-7, abs=3e-9)
    assert found[1:] == pytest.approx([psi_end, mu, traction], rel=1e-7)


@pytest.mark.parametrize("law, psi, tau, start", [g[:4] for g in GOLDEN], ids=IDS)
def test_state_and_slip_rate_are_the_fixed_point_of_outer_passes(
    law: Any, psi: float, tau: float, start: float
) -> None:
    """State by the last rate, rate by the last state, again and again (Kaneko et al. 2008), ends where Newton's method does."""
    p, c = made(law)
    q = {k: float(x[0]) for k, x in p.items()}
    v = start
    for _ in range(60):
        new = float(law.relaxed(p, c, np.array([psi]), np.array([v]), 1e-3)[0][0])
        v = brentq(
            lambda x, s=new: (tau - 120e6 * friction(law, q, c, x, s)) / ETA - x,
            1e-30,
            tau / ETA,
            xtol=1e-17,
            rtol=1e-14,
        )
    assert golden_step(law, psi, tau, start)[:2] == pytest.approx([v, new], rel=1e-9)


@pytest.mark.parametrize("law, psi, tau, start", [g[:4] for g in GOLDEN[1:]], ids=IDS[1:])
def test_golden_sub_steps_see_every_parameter(law: Any, psi: float, tau: float, start: float) -> None:
    """A formula that leaves out a parameter, or has it a little wrong, does not pass."""
    right = golden_step(law, psi, tau, start)
    for name, value in TYPICAL[law].items():
        wrong = golden_step(law, psi, tau, start, **{name: value * 1.001})
        assert max(abs(a / b - 1) for a, b in zip(wrong, right, strict=True)) > 1e-6, name


# ---- start ---------------------------------------------------------------------------------------------------------


def test_published_initial_states() -> None:
    shear, normal = np.array([75e6]), np.array([-120e6])
    p, c = made(AGEING)
    s = AGEING.initial(p, c, shear, normal)
    assert s["state"] == pytest.approx(1.606238999e9, rel=1e-9)  # TPV101
    assert s["slip_rate"] == 1e-12
    p, c = made(STRONG, constants={"rs_ini_slip_rate": 1e-16})
    assert STRONG.initial(p, c, np.array([40e6]), normal)["state"] == pytest.approx(
        0.5635918426327379, rel=1e-12
    )  # TPV104


@LAWS
def test_initial_stress_drives_the_initial_slip_rate(law: Any) -> None:
    rate = 0.03 if law is SEVERE else 1e-9
    p, c = made(law, 4, {"rs_ini_slip_rate": rate}, rs_a=[0.004, 0.008, 0.016, 0.03], rs_f0=0.58)
    tau = np.array([70e6, 40e6, 45e6, 66e6])
    s = law.initial(p, c, tau, np.full(4, -120e6))
    assert friction(law, p, c, np.full(4, rate), s["state"]) == pytest.approx(tau / 120e6, rel=1e-12)
    now = resting(law, s["state"], rate)
    x = law.solve(p, c, now, Load(tau + ETA * rate, 0 * tau, np.full(4, -120e6), ETA, 1e-12, 0.0))
    assert x.slip_rate == pytest.approx(np.full(4, rate), rel=1e-7)


def test_severe_weakening_without_a_start_is_refused() -> None:
    p = SEVERE.given({**{k: v for k, v in TYPICAL[SEVERE].items() if k != "rs_sr0"}}, 3)
    c = SEVERE.settings({"rs_sr0": 0.1, "rs_ini_slip_rate": 1e-12})
    points, normal = np.arange(9.0).reshape(3, 3), np.full(3, -100e6)
    assert not SEVERE.check(p, c, np.array([60e6, 40e6, 26e6]), normal, points).items
    problems = SEVERE.check(p, c, np.array([60e6, 80e6, 24e6]), normal, points)
    assert len(problems.errors) == 1
    text = str(problems.errors[0])
    assert (
        text.startswith("fault point (3, 4, 5): no state balances the initial stress")
        and "(and at 1 more points)" in text
    )


def test_weakened_friction_above_the_reference_is_doubted() -> None:
    p = STRONG.given(
        {k: v for k, v in TYPICAL[STRONG].items() if k != "rs_sr0"} | {"rs_muw": np.array([0.2, 0.9, 0.6])}, 3
    )
    points = np.arange(9.0).reshape(3, 3)
    found = STRONG.check(p, STRONG.settings(START | {"rs_sr0": 1e-6}), np.full(3, 4e7), np.full(3, -1.2e8), points)
    (warning,) = found.items
    assert "rs_muw is larger than rs_f0 at 1 of 3 fault points, first at (3, 4, 5)" in str(warning)


@LAWS
def test_what_cannot_start_is_told_with_its_place(law: Any) -> None:
    p = law.given({k: v for k, v in TYPICAL[law].items() if k != "rs_sr0"}, 3)
    c = law.settings(START | {"rs_sr0": TYPICAL[law]["rs_sr0"]})
    points = np.arange(9.0).reshape(3, 3)
    for sigma in (0.0, 2e6, np.nan):
        found = law.check(p, c, np.full(3, 50e6), np.array([-1e8, sigma, -1e8]), points)
        assert any(str(e).startswith("fault point (3, 4, 5): initial normal traction is") for e in found.errors)
    found = law.check(p, c, np.array([50e6, 50e6, 0.0]), np.full(3, -1e8), points)
    assert [str(w) for w in found.warnings] == [
        "fault point (6, 7, 8): no initial shear traction (at 1 points): in balance with it, friction starts at zero"
    ]


# ---- parameters ----------------------------------------------------------------------------------------------------


@LAWS
def test_point_values_win_over_constants_in_any_spelling(law: Any) -> None:
    rates = START | {"rs_sr0": TYPICAL[law]["rs_sr0"]}
    c = law.settings(rates | {"RS_f0": 0.7, "RS_b": 0.5})
    needed = {"rs_a": 0.01, "RS_sl0": 0.3} | ({"rs_srW": 0.1} if law is STRONG else {})
    p = law.prepare(law.given(needed | {"RS_b": np.array([0.02, 0.03])}, 2), c, None)
    assert (
        p["rs_f0"].tolist() == [0.7, 0.7] and p["rs_b"].tolist() == [0.02, 0.03] and p["rs_sl0"].tolist() == [0.3, 0.3]
    )
    p = law.prepare(law.given(needed | {"RS_f0": 0.4}, 2), c, None)
    assert p["rs_f0"].tolist() == [0.4, 0.4] and p["rs_b"].tolist() == [0.5, 0.5]
    if law is STRONG:
        for name in ("rs_muw", "RS_muw", "RS_muW", "mu_w", "muW"):
            p = law.prepare(
                law.given(needed | {name: np.array([0.1, 0.3])}, 2), law.settings(rates | {"RS_muW": 0.2}), None
            )
            assert p["rs_muw"].tolist() == [0.1, 0.3]
        p = law.prepare(
            law.given({"RS_a": 0.01, "rs_sl0": 0.3, "RS_srW": 0.1}, 2), law.settings(rates | {"RS_muW": 0.25}), None
        )
        assert p["rs_muw"].tolist() == [0.25, 0.25]
        with raises(InputError):
            law.given({"rs_a": 0.01, "rs_sl0": 0.3}, 2)


@LAWS
def test_parameters_out_of_bounds(law: Any) -> None:
    c = law.settings(START | {"rs_sr0": 0.1})
    for name in TYPICAL[law]:
        if name == "rs_sr0":
            with raises(InputError):
                law.settings(START | {name: 0.0})
            continue
        p = law.given({k: v for k, v in TYPICAL[law].items() if k != "rs_sr0"} | {name: -1.0}, 1)
        texts = [str(e) for e in law.check(p, c, np.array([7e7]), np.array([-1.2e8]), np.zeros((1, 3))).errors]
        assert any(f"{name} is -1" in t for t in texts), texts


@LAWS
def test_what_decks_must_give_is_required_here_too(law: Any) -> None:
    with pytest.raises(InputError) as caught:
        law.settings({})
    text = str(caught.value)
    assert "fault.constants.rs_sr0: missing: " in text and "fault.constants.rs_ini_slip_rate: missing: " in text
    assert ("at which friction weakens" in text) == (law is SEVERE)
    p = law.given({"rs_a": 0.01, "rs_sl0": 0.3} | ({"rs_srW": 0.1} if law is STRONG else {}), 2)
    c = law.settings(START | {"rs_sr0": TYPICAL[law]["rs_sr0"]})
    found = [str(e) for e in law.check(p, c, np.full(2, 7e7), np.full(2, -1.2e8), np.zeros((2, 3))).errors]
    assert [e.split(":")[0].split(".")[-1] for e in found] == ["rs_f0", "rs_b"] + ["rs_muw"] * (law is STRONG)
    assert all("Define it there or as fault.constants.rs_" in e for e in found)


def test_switches_and_counts_are_whole_numbers() -> None:
    needed = START | {"rs_sr0": 1e-6}
    for name, bad, allowed in (
        ("rs_average", 0.5, "0 or 1"),
        ("rs_slip_rate_updates", 2.5, "a whole number, 1 to 10000"),
    ):
        with pytest.raises(InputError, match=rf"fault.constants.{name}: is {bad} \(allowed: {allowed}\)"):
            AGEING.settings(needed | {name: bad})
        assert AGEING.settings(needed | {name: 1})[name] == 1
    with raises(InputError):
        faults.law("imposed-yoffe").settings({"rate_at_end": 0.5})


def test_dynamic_stress_threshold() -> None:
    p, c = made(AGEING, 2, {"rs_muw": 0.1})
    assert AGEING.dynamic_stress_reached(p, c, {}, np.array([0.124, 0.126])).tolist() == [True, False]
    p, c = made(STRONG, 2, rs_muw=[0.1, 0.2])
    assert STRONG.dynamic_stress_reached(p, c, {}, np.array([0.126, 0.219])).tolist() == [False, True]


@pytest.mark.parametrize("law", [AGEING, SLIP, SEVERE], ids=["ageing", "slip", "severe"])
def test_without_a_weakened_friction_it_is_that_of_steady_slip(law: Any) -> None:
    """At a rate of 1 m/s, from the state of a fault at rest on: reached where a few percent of the fall are left."""
    p, c = made(law)
    start = np.array([0.0 if law is SEVERE else 1e9])
    v, end = np.array([1.0]), steady(law, p, c, np.array([1.0]))
    times = np.linspace(0.0, 40.0 * float(p["rs_sl0"][0]) * (10.0 if law is SEVERE else 1.0), 4001)[1:]
    states = np.array([law.relaxed(p, c, start, v, t)[0] for t in times])
    falls = friction(law, p, c, v, start) - friction(law, p, c, v, end)
    left = (friction(law, p, c, v, states) - friction(law, p, c, v, end)) / falls
    reached = law.dynamic_stress_reached(p, c, {"slip_rate": v, "state": states}, None)
    assert not reached[0].any() and reached[-1].all() and (np.diff(reached[:, 0].astype(int)) >= 0).all()
    first = left[np.argmax(reached[:, 0])]
    assert 0.03 < first < 0.06


@pytest.mark.parametrize("law", [AGEING, SLIP, SEVERE], ids=["ageing", "slip", "severe"])
def test_dynamic_stress_is_not_reached_where_slip_begins(law: Any) -> None:
    """With the state that balances an initial stress below f0."""
    p, c = made(law)
    tau, sigma = np.array([0.55 * 120e6]), np.array([-120e6])
    state = law.initial(p, c | {"rs_ini_slip_rate": 1e-12}, tau, sigma)["state"]
    for rate in (1e-3, 1e-2, 0.1):
        assert not law.dynamic_stress_reached(p, c, {"slip_rate": np.array([rate]), "state": state}, None).any()


@pytest.mark.parametrize("average", [0, 1])
@pytest.mark.parametrize("law", [AGEING, SLIP, SEVERE, STRONG], ids=["ageing", "slip", "severe", "strong"])
def test_known_slip_rates_leave_what_the_solution_leaves(law: Any, average: int) -> None:
    """Grids solve for the slip rate where it is, and let the state around follow from it."""
    p, c = made(law, 3, {"rs_average": average})
    tau, sigma = np.array([65e6, 75e6, 90e6]), np.full(3, -120e6)
    s = resting(law, law.initial(p, c, np.full(3, 62e6), sigma)["state"], 0.3)
    load = load_of(tau, sigma, 1e-3)
    solved = law.solve(p, c, s, load)
    known = known_rates(law, p, c, s, load, (solved.slip_rate1, solved.slip_rate2))
    for name in ("slip_rate", "strength", "friction"):
        np.testing.assert_allclose(getattr(known, name), getattr(solved, name), rtol=1e-12)
    assert (np.abs(solved.state["state"] / s["state"] - 1.0) > 1e-6).any()
    np.testing.assert_allclose(known.state["state"], solved.state["state"], rtol=1e-9)


# ---- evolution of the state ----------------------------------------------------------------------------------------


@LAWS
@pytest.mark.parametrize("v", [1e-12, 1e-3, 0.7, 12.0])
@pytest.mark.parametrize("dt", [1e-3, 0.3])
def test_state_evolution_against_ode(law: Any, v: float, dt: float) -> None:
    p, c = made(law)
    for psi0 in {SEVERE: (1e-4, 0.3), STRONG: (0.2, 0.56)}.get(law, (1e-3, 0.5, 1.6e9)):
        rhs = lambda t, y: rate_of_state(law, p, c, v, y)  # noqa: E731
        exact = solve_ivp(rhs, (0, dt), [psi0], rtol=1e-11, atol=1e-14, method="LSODA").y[0, -1]
        found, slope = law.relaxed(p, c, np.array([psi0]), np.array([v]), dt)
        assert found == pytest.approx(exact, rel=2e-7)
        up, down = (law.relaxed(p, c, np.array([psi0]), np.array([v * f]), dt)[0] for f in (1 + 1e-5, 1 - 1e-5))
        assert slope == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-10 * abs(exact))


@LAWS
def test_state_of_steady_slip_is_reached(law: Any) -> None:
    for v in (1e-9, 1e-3, 0.05, 3.0):
        p, c = made(law)
        long = 60 * p["rs_sl0"] / (c["rs_sr0"] if law is SEVERE else v)
        wanted = steady(law, p, c, np.array([v]))
        assert law.relaxed(p, c, 0.7 * wanted, np.array([v]), long)[0] == pytest.approx(wanted, rel=1e-12)


def test_at_rest_the_ageing_law_ages_only() -> None:
    (p, c), rest = made(AGEING), np.array([SMALLEST_RATE])
    assert AGEING.relaxed(p, c, np.array([2.0]), rest, 0.25)[0] == pytest.approx(2.25, rel=1e-15)
    assert SLIP.relaxed(p, c, np.array([2.0]), rest, 0.25)[0] == pytest.approx(2.0, rel=1e-15)
    p, c = made(STRONG)
    assert STRONG.relaxed(p, c, np.array([0.5]), rest, 0.25)[0] == pytest.approx(0.5, rel=1e-15)


def test_steady_friction_of_strong_weakening_never_vanishes() -> None:
    """Where a > b friction at tiny slip rates would turn negative."""
    p, c = made(STRONG, rs_a=0.03, rs_b=0.014, rs_muw=0.0)
    for v in (SMALLEST_RATE, 1e-30, 1e-6, 1e3):
        psi, change = STRONG.steady(p, c, np.array([v]))
        assert np.isfinite(psi).all() and np.isfinite(change).all()
        assert friction(STRONG, p, c, np.array([v]), psi) >= 0.99e-3


# ---- balance of forces ---------------------------------------------------------------------------------------------


@LAWS
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_forces_balance_everywhere(law: Any, data: Any) -> None:
    """The strength is friction at the slip rate and state found; load less damping is the strength. At rest friction holds the load."""
    n = 4

    def draw(low: float, high: float) -> np.ndarray:
        return np.array(data.draw(st.lists(st.floats(low, high), min_size=n, max_size=n)))

    tau, normal = draw(0.0, 5e8), draw(0.0, 1e9)
    changes = {"rs_a": draw(1e-3, 0.05), "rs_b": draw(1e-3, 0.05)} if law is not SEVERE else {"rs_b": draw(0.01, 0.5)}
    p, c = made(law, n, TIGHT | {"rs_average": data.draw(st.sampled_from([0, 1]))}, **changes)
    psi = {SEVERE: lambda: 10 ** draw(-8, 1), STRONG: lambda: draw(-0.5, 1.2)}.get(law, lambda: 10 ** draw(-12, 12))()
    dt, start = 10 ** data.draw(st.floats(-6, -2)), 10 ** draw(-45, 3)
    x = law.solve(p, c, resting(law, psi, start), load_of(tau, -normal, dt))
    v = x.slip_rate
    for values in (v, x.slip_rate1, x.slip_rate2, x.strength, x.friction, x.state["state"]):
        assert np.isfinite(values).all()
    assert (v >= SMALLEST_RATE).all() and x.state["unconverged"].tolist() == [0] * n
    assert tau - ETA * v == pytest.approx(x.strength, rel=1e-9, abs=1e-6 + 1e-12 * tau.max())
    mean = v if c["rs_average"] else 0.5 * (np.maximum(start, SMALLEST_RATE) + v)
    psi_end = law.relaxed(p, c, psi, mean, dt)[0]
    assert x.state["state"] == pytest.approx(psi_end, rel=1e-10)
    wanted = normal * friction(law, p, c, v, psi_end)
    moving = v > 2 * SMALLEST_RATE
    scale = 1e-9 * np.maximum(tau, wanted) + 1e-3
    assert (np.abs(tau - ETA * v - wanted) <= scale)[moving].all()
    held = normal * friction(law, p, c, np.full(n, 2.1 * SMALLEST_RATE), psi_end)
    assert (held >= tau - scale)[~moving].all()


@LAWS
def test_every_point_finds_its_balance(law: Any) -> None:
    """Tens of thousands of points of any kind, with next to no compression, strength or load among them."""
    rng, n = np.random.default_rng(7), 20000

    def mixed(high: float, special: float) -> np.ndarray:
        kind = rng.integers(0, 6, n)
        small = 10 ** rng.uniform(-3, np.log10(high), n)
        return np.where(kind == 0, special, np.where(kind == 1, small, rng.uniform(0, high, n)))

    tau, normal = mixed(5e8, 0.0), mixed(1e9, 1.0)
    a, b = 10 ** rng.uniform(-3, -1.3, (2, n))
    p, c = made(law, n, TIGHT, **({"rs_b": 10 * b} if law is SEVERE else {"rs_a": a, "rs_b": b}))
    psi = {SEVERE: 10 ** rng.uniform(-8, 1, n), STRONG: rng.uniform(-0.5, 1.2, n)}.get(
        law, 10 ** rng.uniform(-12, 12, n)
    )
    x = law.solve(p, c, resting(law, psi, 10 ** rng.uniform(-45, 3, n)), load_of(tau, -normal, 1e-3))
    assert x.state["unconverged"].sum() == 0
    v, wanted = x.slip_rate, normal * friction(law, p, c, x.slip_rate, x.state["state"])
    error = np.abs(tau - ETA * v - wanted) / (1e-9 * np.maximum(tau, wanted) + 1e-3)
    assert error[v > 2 * SMALLEST_RATE].max() <= 1


@LAWS
def test_the_slip_rate_is_as_exact_as_asked_for(law: Any) -> None:
    """Newton stops by an estimate of what its last step leaves: it must hold for points of any kind, nearly for those without strength."""
    rng, n = np.random.default_rng(11), 20000
    tau, normal = rng.uniform(0, 5e8, n) * 10 ** rng.uniform(-12, 0, n), rng.uniform(0, 1e9, n)
    a, b = 10 ** rng.uniform(-3, -1.3, (2, n))
    changes = {"rs_b": 10 * b} if law is SEVERE else {"rs_a": a, "rs_b": b}
    psi = {SEVERE: 10 ** rng.uniform(-8, 1, n), STRONG: rng.uniform(0.0, 1.2, n)}.get(law, 10 ** rng.uniform(-6, 12, n))
    start, load = 10 ** rng.uniform(-30, 2, n), load_of(tau, -normal, 1e-3)

    def rate(constants: dict[str, float]) -> np.ndarray:
        p, c = made(law, n, constants, **changes)
        x = law.solve(p, c, resting(law, psi, start), load)
        assert x.state["unconverged"].sum() == 0
        return np.asarray(x.slip_rate)

    error = np.abs(rate({}) / rate(TIGHT) - 1.0)
    assert error.max() < 5e-8 and np.quantile(error, 0.99) < 1e-8


def test_a_point_at_rest_takes_one_round() -> None:
    """While waves pass: its load changes by a tenth of what direct effect and compression resist with."""
    p, c = made(STRONG, constants={"rs_slip_rate_updates": 1})
    for change in (0.9, 1.1):
        tau = 50e6 + (change - 1.0) * 1.2e6
        before = STRONG.solve(
            p, c | {"rs_slip_rate_updates": 60}, resting(STRONG, 0.5636, 1e-16), load_of(50e6, -120e6, 1e-3)
        )
        assert before.slip_rate < 1e-12
        x = STRONG.solve(p, c, after(STRONG, before), load_of(tau, -120e6, 1e-3))
        assert x.state["unconverged"] == 0


def after(law: Any, solved: Any) -> dict[str, Any]:
    """The state that a sub-step leaves."""
    return resting(law, 0.0, solved.slip_rate) | solved.state | {"friction": solved.friction}


@pytest.mark.parametrize("law", [AGEING, SLIP, STRONG])
@pytest.mark.parametrize("average", [0, 1])
def test_where_slip_goes_on_one_round_is_enough(law: Any, average: int) -> None:
    """Under a load that changes evenly the guess is so near that one step leaves less than a millionth."""
    p, c = made(law, constants={"rs_average": average, "rs_slip_rate_tolerance": 1e-6})
    few = c | {"rs_slip_rate_updates": 1}
    s, tau = resting(law, 0.45 if law is STRONG else 2.0, 1.0), 60e6
    for i in range(12):
        tau *= 1.001
        x = law.solve(p, few if i > 2 else c, s, load_of(tau, -120e6, 1e-4))
        assert x.state["unconverged"] == 0, i
        s = after(law, x)


@LAWS
def test_newton_is_quick(law: Any) -> None:
    """From far away in a dozen rounds, from the rate of the last sub-step in a few."""
    p, c = made(law, constants={"rs_average": 1})
    psi, slow, fast = {SEVERE: (1e-3, 76e6, 100e6), STRONG: (0.5636, 68e6, 110e6)}.get(law, (1.6e9, 80e6, 110e6))
    for rounds, begin, tau in ((2, None, slow), (3, None, fast), (14, 1e-12, fast), (14, 1e-3, slow), (14, 10.0, slow)):
        if begin is None:  # the same sub-step once more
            before = law.solve(p, c, resting(law, psi, 1e-6), load_of(tau, -120e6, 1e-3))
            s = after(law, before) | {"state": np.array([psi])}
        else:
            s = resting(law, psi, begin)
        few = c | {"rs_slip_rate_updates": rounds}
        x = law.solve(p, few, s, load_of(tau * 1.0001, -120e6, 1e-3))
        assert x.state["unconverged"] == 0, (rounds, begin, tau)


@LAWS
def test_a_point_does_not_depend_on_its_neighbours(law: Any) -> None:
    """Each point stops by itself: together or alone, the same bits."""
    rng, n = np.random.default_rng(5), 40
    p, c = made(law, n, rs_a=rng.uniform(0.004, 0.02, n))
    psi = {SEVERE: rng.uniform(0.0, 0.3, n), STRONG: rng.uniform(0.3, 0.6, n)}.get(law, 10 ** rng.uniform(-2, 9, n))
    tau, start = rng.uniform(0, 110e6, n), 10 ** rng.uniform(-14, 1, n)
    tau[3], sigma = 0.0, rng.uniform(-150e6, 10e6, n)
    x = law.solve(p, c, resting(law, psi, start), load_of(tau, sigma, 2e-3))
    for i in range(n):
        one = law.solve(
            {k: v[i : i + 1] for k, v in p.items()}, c, resting(law, psi[i], start[i]), load_of(tau[i], sigma[i], 2e-3)
        )
        assert (one.slip_rate[0], one.state["state"][0], one.friction[0]) == (
            x.slip_rate[i],
            x.state["state"][i],
            x.friction[i],
        )


@LAWS
def test_open_and_unloaded_points(law: Any) -> None:
    """Tension, zero normal traction, zero shear traction: numbers, and the right ones."""
    p, c = made(law, 5)
    psi = 0.01 if law is SEVERE else 0.5
    s = resting(law, np.full(5, psi), np.array([0.0, 1e-12, 1.0, 0.5, 0.0]))
    tau, sigma = np.array([3e6, 3e6, 0.0, 0.0, 3e6]), np.array([10e6, 0.0, -120e6, 5e6, -1e-8])
    x = law.solve(p, c, s, load_of(tau, sigma, 1e-3))
    assert x.slip_rate[[0, 1, 4]] == pytest.approx(np.full(3, 3e6 / ETA), rel=1e-9)  # nothing holds it but damping
    assert x.slip_rate1[2:4].tolist() == [0.0, 0.0] and x.slip_rate2[2:4].tolist() == [0.0, 0.0]
    assert np.isfinite(np.stack([x.strength, x.friction, x.state["state"]])).all()
    assert x.strength[:4] == pytest.approx(np.zeros(4), abs=1e-6)
    assert x.state["unconverged"].tolist() == [0] * 5


def test_failure_is_counted_per_point() -> None:
    p, c = made(AGEING, 2, {"rs_slip_rate_updates": 1})
    psi = AGEING.initial(p, c, np.full(2, 75e6), np.full(2, -120e6))["state"]
    tau = np.array([110e6, 75e6])  # the second point is in balance already
    s = resting(AGEING, psi, 1e-12) | {"friction": np.full(2, 75 / 120), "balanced": psi}
    x = AGEING.solve(p, c, s, load_of(tau, -120e6, 1e-4))
    assert x.state["unconverged"].tolist() == [1, 0]
    assert set(AGEING.counted) == {"unconverged"}


@LAWS
def test_steady_slip_stays_steady(law: Any) -> None:
    p, c = made(law)
    v = np.array([0.8])
    psi = steady(law, p, c, v)
    mu = friction(law, p, c, v, psi)
    s = resting(law, psi, 0.8)
    for k in range(50):
        load = replace(load_of(120e6 * mu + ETA * 0.8, -120e6, 1e-3), t=1e-3 * (k + 1))
        solved = law.solve(p, c, s, load)
        s = {**s, **law.advance(p, c, s, solved, solved.slip_rate, load)}
    assert s["slip_rate"] == pytest.approx(v, rel=1e-6) and s["state"] == pytest.approx(psi, rel=1e-6)
    assert s["friction"] == pytest.approx(mu, rel=1e-9) and s["unconverged"] == 0
    assert s["slip1"] == pytest.approx(0.6 * 0.05 * v, rel=1e-6) and s["slip2"] == pytest.approx(
        -0.8 * 0.05 * v, rel=1e-6
    )


# ---- a spring-slider -----------------------------------------------------------------------------------------------

STIFFNESS, SIGMA, DRIVEN = 2e8, 50e6, 0.4  # Pa/m, Pa, m/s


def duration(law: Any) -> float:
    """Time [s] in which the state is on its way."""
    return TYPICAL[law]["rs_sl0"] / DRIVEN


def slider_exactly(law: Any, p: dict, c: dict, v0: float, psi0: float) -> tuple[float, float, float]:
    """ln V, psi and slip of tau0 + k (V_p t - slip) - eta V = sigma mu(V, psi), differentiated in time."""
    q = {k: float(x[0]) for k, x in p.items()}

    def slope(of: Any, x: float) -> float:  # by complex step: exact
        return float(np.imag(of(x + 1e-30j)) / 1e-30)

    def smooth(v: Any, psi: Any) -> Any:
        if law is SEVERE:
            return friction(law, q, c, v, psi)
        a = q["rs_a"]
        e = psi / a if law is STRONG else (q["rs_f0"] + q["rs_b"] * np.log(c["rs_sr0"] * psi / q["rs_sl0"])) / a
        y = np.log(v / (2 * c["rs_sr0"])) + e
        return a * (y + np.log(1 + np.sqrt(1 + np.exp(-2 * y))))

    def rhs(t: float, y: Any) -> list[float]:
        v, psi = np.exp(y[0]), y[1]
        ageing = float(rate_of_state(law, q, c, v, psi))
        by_rate, by_state = v * slope(lambda x: smooth(x, psi), v), slope(lambda x: smooth(v, x), psi)
        return [(STIFFNESS * (DRIVEN - v) - SIGMA * by_state * ageing) / (ETA * v + SIGMA * by_rate), ageing, v]

    found = solve_ivp(rhs, (0, duration(law)), [np.log(v0), psi0, 0.0], rtol=1e-10, atol=1e-13, method="Radau").y[:, -1]
    return float(np.exp(found[0])), float(found[1]), float(found[2])


def slider_by_steps(law: Any, p: dict, c: dict, v0: float, psi0: float, count: int) -> tuple[float, float, float]:
    dt = duration(law) / count
    s = resting(law, psi0, v0)
    start = SIGMA * friction(law, p, c, np.array([v0]), np.array([psi0])) + ETA * v0
    for k in range(count):
        t, slip, v = (k + 1) * dt, s["accumulated_slip"], s["slip_rate"]
        for _ in range(5):  # the spring feels the slip of this very step
            load = load_of(start + STIFFNESS * (DRIVEN * t - slip - 0.5 * dt * (s["slip_rate"] + v)), -SIGMA, dt, t=t)
            solved = law.solve(p, c, s, load)
            v = solved.slip_rate
        s = {**s, **law.advance(p, c, s, solved, 0.5 * (s["slip_rate"] + v), load)}
    assert s["unconverged"] == 0
    return float(s["slip_rate"][0]), float(s["state"][0]), float(s["accumulated_slip"][0])


@LAWS
@pytest.mark.parametrize("average, order", [(0, 2), (1, 1)])
def test_spring_slider_against_ode(law: Any, average: int, order: int) -> None:
    """Of second order with the mean rate of a step, of first order with the rate at its end."""
    p, c = made(law, constants=TIGHT | {"rs_average": average})
    v0 = 0.05
    psi0 = 0.8 * float(steady(law, p, c, np.array([v0]))[0])
    exact = slider_exactly(law, p, c, v0, psi0)
    assert abs(exact[0] / v0 - 1) > 0.3  # something happens
    errors = []
    for count in (50, 100):
        found = slider_by_steps(law, p, c, v0, psi0, count)
        errors.append(max(abs(a / b - 1) for a, b in zip(found, exact, strict=True)))
    assert errors[1] < {0: 1e-3, 1: 3e-2}[average] and errors[0] > 0.8 * 2**order * errors[1], errors


@pytest.mark.parametrize("asked, found", [(1e-8, 1e-6), (1e-4, 1e-4)])
def test_single_precision_asks_for_no_more_than_it_knows(asked, found):
    for name, mods in (("rate-and-state-ageing", []), ("strong-velocity-weakening", ["thermal-pressurisation"])):
        law = composed(name, mods)
        assert law.in_single({"rs_slip_rate_tolerance": asked, "rs_f0": 0.6}) == {
            "rs_slip_rate_tolerance": found,
            "rs_f0": 0.6,
        }
    assert composed("linear-slip-weakening", []).in_single({"healing": 0.0}) == {"healing": 0.0}


def test_the_slip_law_asks_for_two_newton_steps() -> None:
    with raises(InputError):
        made(SLIP, constants={"rs_slip_rate_updates": 1})
    assert made(SLIP, constants={"rs_slip_rate_updates": 2})[1]["rs_slip_rate_updates"] == 2
    assert made(AGEING, constants={"rs_slip_rate_updates": 1})[1]["rs_slip_rate_updates"] == 1


@pytest.mark.parametrize("law", [AGEING, SLIP])
def test_a_state_that_is_a_time_stays_one_before_balance(law: Any) -> None:
    """A step of the rate that is far too long would take the state along below zero."""
    p, c = made(law)
    s = resting(law, 2.0, 1.0)
    x = law.solve(p, c | {"rs_slip_rate_updates": 1}, s, load_of(110e6, -120e6, 1e-2))
    balanced = law.solve(p, c, s, load_of(110e6, -120e6, 1e-2))
    assert x.state["unconverged"] == 1 and x.state["state"] > 0.0 and balanced.state["unconverged"] == 0


def test_only_laws_that_guess_keep_what_a_guess_wants() -> None:
    for law in (AGEING, SLIP, STRONG):
        assert {"balanced", "drift"} < set(law.state_columns)
    assert not {"balanced", "drift"} & set(SEVERE.state_columns)
