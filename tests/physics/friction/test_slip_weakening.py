"""Linear slip weakening against numbers worked out by hand."""

import numpy as np
import pytest

from faultwave.physics import friction as faults
from faultwave.physics.friction.law import COMMON_STATE, Load

STATE = [s.name for s in COMMON_STATE]

LAW = faults.law("linear-slip-weakening")
ETA = 4.0e6


def parameters(n, **changes):
    values = {"mu_s": 0.6, "mu_d": 0.4, "d_c": 0.5, "cohesion": -1e6} | changes
    return LAW.prepare(LAW.given({k: np.full(n, v, float) for k, v in values.items()}, n), {}, None)


def state(n, **changes):
    return {name: np.zeros(n) for name in STATE} | {"friction": np.full(n, 0.6)} | changes


def load(tau1, tau2, sigma=-100e6, dt=0.01, t=1.0):
    return Load(np.atleast_1d(tau1), np.atleast_1d(tau2), np.atleast_1d(sigma), ETA, dt, t)


def constants(**changes):
    return LAW.settings(changes)


def step(p, s, forces, c=None, projected=None):
    c = c or constants()
    solved = LAW.solve(p, c, s, forces)
    return solved, LAW.advance(p, c, s, solved, solved.slip_rate if projected is None else projected, forces)


def test_sticks_below_strength():
    solved, new = step(parameters(1), state(1), load(48e6, -36e6))  # |tau| = 60 MPa < 61 MPa
    assert solved.strength == pytest.approx(61e6)
    assert solved.slip_rate == 0 and solved.slip_rate1 == 0 and new["friction"] == 0.6


def test_slips_above_strength_by_hand():
    solved, new = step(parameters(1), state(1), load(52e6, -39e6))  # |tau| = 65, strength 61 MPa: V = 4e6/4e6 = 1 m/s
    assert solved.slip_rate == pytest.approx(1.0)
    assert (solved.slip_rate1[0], solved.slip_rate2[0]) == pytest.approx((0.8, -0.6))
    # accumulated slip 0.01 m of 0.5 m: mu = 0.6 - 0.2 * 0.02
    assert new["friction"] == pytest.approx(0.596)
    assert (new["slip1"][0], new["slip2"][0], new["accumulated_slip"][0]) == pytest.approx((0.008, -0.006, 0.01))
    traction = np.hypot(52e6 - ETA * solved.slip_rate1, -39e6 - ETA * solved.slip_rate2)
    assert traction == pytest.approx(solved.strength)


def test_friction_follows_the_projected_rate_and_stops_at_dynamic():
    _, new = step(parameters(1), state(1), load(52e6, -39e6), projected=np.array([25.0]))
    assert new["accumulated_slip"] == pytest.approx(0.25) and new["friction"] == pytest.approx(0.5)
    _, new = step(parameters(1), state(1), load(52e6, -39e6), projected=np.array([80.0]))
    assert new["friction"] == pytest.approx(0.4)


@pytest.mark.parametrize("sigma", [0.0, 30e6])
def test_tension_leaves_only_cohesion(sigma):
    solved, _ = step(parameters(1), state(1), load(3e6, 0.0, sigma=sigma))
    assert solved.strength == pytest.approx(1e6)
    assert solved.slip_rate == pytest.approx(0.5)


def test_no_load_no_strength_gives_no_nan():
    solved, _ = step(parameters(1, cohesion=0.0), state(1), load(0.0, 0.0, sigma=1e6))
    assert solved.slip_rate1 == 0 and solved.slip_rate2 == 0


def test_forced_rupture_ramp_and_step():
    p, quiet = parameters(1, forced_rupture_time=0.8), load(0.0, 0.0, t=1.0)
    _, ramp = step(p, state(1), quiet, constants(forced_rupture_ramp=0.5))
    assert ramp["friction"] == pytest.approx(0.6 - 0.2 * 0.4)
    _, late = step(p, state(1), load(0.0, 0.0, t=5.0), constants(forced_rupture_ramp=0.5))
    assert late["friction"] == pytest.approx(0.4)
    _, jump = step(p, state(1), load(0.0, 0.0, t=0.8), constants())
    assert jump["friction"] == pytest.approx(0.4)
    _, before = step(p, state(1), load(0.0, 0.0, t=0.79), constants())
    assert before["friction"] == 0.6
    _, never = step(parameters(1), state(1), quiet, constants(forced_rupture_ramp=0.5))
    assert never["friction"] == 0.6


def test_slip_beats_a_smaller_forced_weakening():
    slipped = state(1, accumulated_slip=np.array([0.4]))
    _, new = step(parameters(1, forced_rupture_time=0.9), slipped, load(0.0, 0.0), constants(forced_rupture_ramp=1.0))
    assert new["friction"] == pytest.approx(0.6 - 0.2 * 0.8)


def test_heals_only_once_fast_and_only_if_asked():
    s = {"accumulated_slip": np.array([1.0, 1.0, 1.0]), "peak_slip_rate": np.array([2.0, 2.0, 0.05])}
    s = state(3, **s, friction=np.full(3, 0.4))
    forces = load([0.0, 60e6, 0.0], [0.0] * 3, sigma=[-100e6] * 3)  # strength 41 MPa: the second slips at 4.75 m/s
    _, healed = step(parameters(3), s, forces, constants(healing_threshold=0.1))
    assert healed["friction"] == pytest.approx([0.6, 0.4, 0.4])
    _, never = step(parameters(3), s, forces, constants())
    assert never["friction"] == pytest.approx([0.4] * 3)


def test_dynamic_stress_at_critical_slip():
    s = state(2, accumulated_slip=np.array([0.499, 0.5]))
    assert LAW.dynamic_stress_reached(parameters(2), constants(), s, s["friction"]).tolist() == [False, True]


def test_initial_friction_is_static_and_laws_flags():
    assert LAW.initial(parameters(2), {}, np.zeros(2), np.zeros(2))["friction"].tolist() == [0.6, 0.6]
    assert LAW.project and LAW.needs_stress and LAW.deck_number == 16 and [o.name for o in LAW.outputs] == ["Mud"]
