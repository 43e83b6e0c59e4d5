"""Delayed strength: exponential in time and slip, replaces the law's strength, starts from it, works with laws of slip weakening only."""

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.physics import friction as faults
from faultwave.physics.friction.law import COMMON_STATE, Load
from faultwave.physics.friction.modifiers import composed
from tests.messages import raises

from .sampling import required_values

CLOSED_FORM = [law for law in faults.laws().values() if law.solver == "closed-form"]
WEAKENING = pytest.mark.parametrize(
    "name", [law.name for law in CLOSED_FORM if "cohesion" in {q.name for q in law.parameters}]
)
GIVEN = {"mu_s": 0.6, "mu_d": 0.4, "d_c": 0.5, "cohesion": -1e6}
ETA = 4e6


def started(name, tau, sigma, **constants):
    law = composed(name, ["prakash-clifton"])
    n = len(tau)
    c = law.settings({"pc_vStar": 1.0, "pc_prakashLength": 0.01} | constants)
    values = GIVEN | required_values(faults.law(name), GIVEN)
    p = law.prepare(law.given({k: np.full(n, v) for k, v in values.items()}, n), c, None)
    return law, p, c, {x.name: np.zeros(n) for x in COMMON_STATE} | law.initial(p, c, tau, sigma)


def step(law, p, c, s, load):
    solved = law.solve(p, c, s, load)
    return solved, {**s, **law.advance(p, c, s, solved, solved.slip_rate, load)}


def load(tau, sigma, dt=1e-3, t=1.0):
    tau = np.atleast_1d(tau)
    return Load(0.8 * tau, -0.6 * tau, np.broadcast_to(sigma, tau.shape), ETA, dt, t)


@WEAKENING
def test_starts_from_the_static_strength(name):
    tau, sigma = np.array([50e6, 50e6]), np.array([-100e6, 5e6])
    assert started(name, tau, sigma)[3]["regularised_strength"] == pytest.approx([61e6, 1e6], rel=1e-15)


@WEAKENING
def test_relaxes_exponentially_at_rest_and_in_slip(name):
    """The golden sub-step: S_p 81.24 MPa, S 60 MPa, V 0.5 m/s, V* 1 m/s, L 1 cm, 1 ms."""
    law, p, c, s = started(name, np.array([50e6]), np.array([-100e6]))
    s = s | {"regularised_strength": np.array([81.24e6]), "slip_rate": np.array([0.5])}
    sigma = -(60e6 - 1e6) / 0.6
    solved, new = step(law, p, c, s, load(90e6, sigma))
    assert solved.strength == pytest.approx(78.28143741926822e6, rel=1e-14)
    assert new["regularised_strength"] == solved.strength
    assert solved.slip_rate == pytest.approx((90e6 - solved.strength) / ETA, rel=1e-12)
    # at rest the time scale is L/V*, whatever the steps
    s = s | {"slip_rate": np.zeros(1)}
    for dt in (0.003, 0.001, 0.006):
        _, s = step(law, p, c, s, load(0.0, sigma, dt))
    assert s["regularised_strength"] == pytest.approx(60e6 + 21.24e6 * np.exp(-1.0), rel=1e-12)


def test_strength_asked_for_outside_a_step_is_the_delayed_one():
    law, p, c, s = started("linear-slip-weakening", np.array([50e6]), np.array([-100e6]))
    s = s | {"regularised_strength": np.array([70e6])}
    assert law.strength(p, c, s, load(50e6, -40e6, dt=0.0)) == 70e6


def test_a_short_length_is_the_law_alone():
    law, p, c, s = started("linear-slip-weakening", np.array([50e6]), np.array([-100e6]), pc_vStar=1e6)
    alone = faults.law("linear-slip-weakening")
    pure = {k: v for k, v in s.items() if k != "regularised_strength"}
    for tau, sigma in ((62e6, -100e6), (66e6, -103e6), (60e6, -90e6), (0.0, 1e6)):
        _, s = step(law, p, c, s, load(tau, sigma))
        _, pure = step(alone, p, c, pure, load(tau, sigma))
    for key, values in pure.items():
        assert s[key] == pytest.approx(values, rel=1e-12), key


def test_slip_is_not_projected_and_other_laws_are_refused():
    assert (
        faults.law("linear-slip-weakening").project
        and not composed("linear-slip-weakening", ["prakash-clifton"]).project
    )
    for name, law in faults.laws().items():
        if law.solver != "closed-form":
            with raises(InputError):
                composed(name, ["prakash-clifton"])


def test_no_load_no_strength_gives_no_nan():
    law, p, c, s = started("linear-slip-weakening", np.zeros(1), np.ones(1))
    p = p | {"cohesion": np.zeros(1)}
    s = s | {"regularised_strength": np.zeros(1)}
    solved, new = step(law, p, c, s, load(0.0, 1e6))
    assert all(np.isfinite(v).all() for v in new.values()) and solved.slip_rate == 0


def test_missing_and_wrong_numbers_are_told():
    law = composed("linear-slip-weakening", ["prakash-clifton"])
    p, points = law.given(GIVEN, 3), np.arange(9.0).reshape(3, 3)
    found = [str(e) for e in law.check(p, law.settings({}), np.zeros(3), np.zeros(3), points).errors]
    assert any("pc_reference_rate: missing: " in e and "fault.constants.pc_reference_rate" in e for e in found)
    assert any("pc_length: missing: " in e and "allowed: > 0 m" in e for e in found) and len(found) == 2
    with raises(InputError):
        law.settings({"pc_length": 0.0})
