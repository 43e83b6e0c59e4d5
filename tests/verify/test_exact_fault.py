"""Plane shear on a bimaterial fault: characteristics, continuity, energy balance."""

import numpy as np
import pytest

from faultwave.verify.exact import Medium
from faultwave.verify.exact.bimaterial_fault import BimaterialFault, Step

STIFF, SOFT = Medium(2670.0, 3.2e10, 3.2e10), Medium(2400.0, 1.1e10, 1.2e10)


def test_overstress_slips_at_the_impedance_rate():
    fault = BimaterialFault(STIFF, SOFT, 60e6, Step(70e6))
    t = np.array([0.1, 1.0, 2.0])
    eta = 1 / (1 / STIFF.zs + 1 / SOFT.zs)
    np.testing.assert_allclose(fault.slip_rate(t), 10e6 / eta)
    np.testing.assert_allclose(fault.traction(t), 60e6)
    np.testing.assert_allclose(fault.slip(t, 0.1), 10e6 / eta * t)


def test_below_strength_an_arriving_wave_is_transmitted():
    fault = BimaterialFault(STIFF, SOFT, 100e6, Step(0.0), lambda t: np.where(np.asarray(t) > 0, 0.5, 0.0))
    t = np.array([0.2])
    assert fault.slip_rate(t) == pytest.approx(0.0, abs=1e-12)
    velocity = fault(np.array([[0.0, 1e-6, 0.0]]), 0.5)[0, 6]
    assert velocity == pytest.approx(0.5 * 2 * SOFT.zs / (SOFT.zs + STIFF.zs))


@pytest.mark.parametrize("sign", [1, -1])
def test_fields_on_both_sides_match_the_fault(sign):
    load = Step(sign * 40e6, sign * 30e6, 0.8)
    wave = lambda t: -sign * 0.4 * np.exp(-(((np.asarray(t) - 1.2) / 0.3) ** 2)) * (np.asarray(t) > 0)  # noqa: E731
    fault = BimaterialFault(STIFF, SOFT, 60e6, load, wave)
    slipped = 0.0
    for t in np.linspace(0.3, 2.0, 9):
        near = fault(np.array([[0, 1e-7, 0], [0, -1e-7, 0.0]]), t)
        assert near[0, 3] == pytest.approx(near[1, 3], abs=10.0)
        assert near[0, 3] + load(np.array(t)) == pytest.approx(float(fault.traction(np.array(t))), abs=10.0)
        assert near[0, 6] - near[1, 6] == pytest.approx(float(fault.slip_rate(np.array(t))), abs=1e-6)
        assert abs(fault.traction(np.array(t))) <= 60e6
        slipped = max(slipped, sign * float(fault.slip_rate(np.array(t))))
    assert slipped > 0.5


def test_fields_travel_without_change():
    fault = BimaterialFault(STIFF, SOFT, 60e6, Step(50e6, 20e6, 0.7))
    for y, medium in ((2000.0, STIFF), (-2000.0, SOFT)):
        later = fault(np.array([[5.0, y, 3.0]]), 1.5)
        travel = 2000.0 / medium.cs
        earlier = fault(np.array([[0.0, np.sign(y) * 1e-9, 0.0]]), 1.5 - travel)
        np.testing.assert_allclose(later, earlier, rtol=1e-9)
        assert np.abs(later[0, 6]) > 0.01


def test_work_of_friction_and_radiation_balance_the_background():
    """Both half-spaces gain Z v^2 per area and time each (half strain, half kinetic): total eta V^2."""
    fault = BimaterialFault(STIFF, SOFT, 60e6, Step(50e6, 20e6, 0.7))
    t = np.linspace(0.01, 2, 50)
    rate = fault.slip_rate(t)
    up = np.array([fault(np.array([[0, 1e-9, 0]]), s)[0, 6] for s in t])
    down = np.array([fault(np.array([[0, -1e-9, 0]]), s)[0, 6] for s in t])
    radiated = STIFF.zs * up**2 + SOFT.zs * down**2
    np.testing.assert_allclose((fault.background(t) - fault.traction(t)) * rate, radiated, atol=1e-6 * radiated.max())


def test_smooth_step():
    load = Step(1.0, 2.0, 0.5)
    np.testing.assert_allclose(load(np.array([-1.0, 0.0, 0.5, 0.7])), [1.0, 1.0, 3.0, 3.0])
    assert np.all(np.diff(load(np.linspace(0, 0.5, 50))) >= 0)
    np.testing.assert_allclose(Step(1.0, 2.0)(np.array([0.0, 1e-9])), [1.0, 3.0])
