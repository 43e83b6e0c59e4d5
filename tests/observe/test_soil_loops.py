"""Stiffness and damping of records of stress and strain."""

import numpy as np
import pytest

from faultwave.observe.soil_loops import half_loops, largest, strain_reversals
from faultwave.physics.rheology.iwan import masing_damping
from faultwave.verify.exact.soil_column import MasingPoint


def cycles(ratio, samples=4000):
    strain = 1e-3 * ratio * np.sin(np.linspace(0, 5 * np.pi, samples))
    point = MasingPoint(1e8, 1e-3)
    return strain, np.array([point.to(x) for x in strain])


@pytest.mark.parametrize("ratio", [0.3, 1.0, 3.0])
def test_loops_of_a_hyperbola_have_its_stiffness_and_damping(ratio):
    strain, stress = cycles(ratio)
    found = half_loops(strain, stress)
    assert len(found) == 4
    for loop in found:
        assert loop.amplitude == pytest.approx(1e-3 * ratio, rel=1e-4)
        assert loop.modulus == pytest.approx(1e8 / (1 + ratio), rel=1e-3)
        assert loop.damping == pytest.approx(masing_damping(ratio), rel=1e-3)


def test_a_linear_record_has_no_damping_and_small_turns_do_not_count():
    x = np.linspace(0, 6 * np.pi, 3000)
    strain = np.sin(x) * x + 0.3 * np.sin(40 * x)
    assert len(strain_reversals(strain)) < 12
    loop = largest(strain, 5.0 * strain)
    assert loop.modulus == pytest.approx(5.0) and abs(loop.damping) < 1e-12
    assert loop.amplitude > 10


def test_first_loading_is_no_loop():
    strain, stress = cycles(1.0)
    before = 1e-6 * np.sin(np.linspace(np.pi, 2 * np.pi, 50))  # a little the other way, as numbers have it
    found = half_loops(np.r_[before, strain], np.r_[1e8 * before, stress])
    assert len(found) == 4 and found[0].amplitude == pytest.approx(1e-3, rel=1e-3)


def test_without_two_turns_nothing_is_told():
    assert np.isnan(largest(np.linspace(0, 1, 10), np.linspace(0, 2, 10)).damping)
    assert np.isnan(largest(np.zeros(10), np.zeros(10)).modulus)
