"""Scholte and Snell: equations on both sides, conditions between them, and the published numbers."""

import numpy as np
import pytest

from faultwave.physics.initial.scholte import Scholte
from faultwave.physics.initial.snell import Snell
from faultwave.verify.exact import Medium
from tests.messages import raises

from .residual import elastic_residual

SEA = (Medium(1000.0, 2.25e9), Medium(2500.0, 1.2e10, 9e9))


@pytest.mark.parametrize("solution", [Scholte(), Snell(), Scholte(*SEA, w=3.0), Snell(*SEA, theta=0.1, w=3.0)])
def test_equations_and_interface(solution):
    shortest = 2 * np.pi * min(solution.fluid.cp, solution.solid.cs) / solution.w
    step, time_step = 2e-3 * shortest, 1e-3 * 2 * np.pi / solution.w
    points = np.random.default_rng(5).uniform(0.05, 0.5, (30, 3)) * shortest
    below = points * np.array([1, 1, -1])
    top = solution.fluid if isinstance(solution, Scholte) else solution.solid
    bottom = solution.solid if isinstance(solution, Scholte) else solution.fluid
    assert elastic_residual(solution, top, points, 0.3 / solution.w, step, time_step) < 1e-8
    assert elastic_residual(solution, bottom, below, 0.3 / solution.w, step, time_step) < 1e-8
    face = points * np.array([1, 1, 0])
    for t in np.array([0.0, 0.7, 2.0]) / solution.w:
        upper, lower = solution.field(face, t, 1.0), solution.field(face, t, -1.0)
        scale = np.abs(upper[:, :6]).max()
        assert np.abs((upper - lower)[:, 8]).max() < 1e-12
        assert np.abs((upper - lower)[:, 2]).max() < 1e-12 * scale
        assert np.abs(upper[:, 4:6]).max() < 1e-12 * scale
        assert np.abs(lower[:, 4:6]).max() < 1e-12 * scale
        # the tangential velocity may and does slip
        assert np.abs((upper - lower)[:, 6]).max() > 0.01


def test_scholte_numbers():
    wave = Scholte()
    k = wave.wavenumber
    assert k / wave.w == pytest.approx(1.406466352506808, abs=1e-14)
    fluid, p, s = np.array(wave.decays(k)) / wave.w
    assert fluid == pytest.approx(0.989013448, abs=1e-9)
    assert s == pytest.approx(0.989013448, abs=1e-9)
    assert p == pytest.approx(1.282503126, abs=1e-9)


def test_scholte_is_slower_than_every_body_wave_and_decays():
    wave = Scholte(*SEA, w=3.0, amplitude=0.2)
    assert wave.w / wave.wavenumber < min(SEA[0].cp, SEA[1].cs)
    heights = np.array([0.0, 1.0, 2.0]) / wave.decays(wave.wavenumber)[0]
    x = np.linspace(0, 2 * np.pi / wave.wavenumber, 64, endpoint=False)
    largest = [np.abs(wave(np.column_stack([x, 0 * x, 0 * x + z]), 0.1)[:, 8]).max() for z in heights]
    assert largest[0] == pytest.approx(0.2, rel=2e-3)
    np.testing.assert_allclose(np.array(largest) / largest[0], np.exp(-np.arange(3.0)), rtol=1e-12)


def test_snell_numbers():
    wave = Snell()
    assert np.sin(wave.theta) == pytest.approx(0.1987, abs=5e-5)
    assert wave.angles == pytest.approx((0.6385, 0.4086), abs=5e-5)
    assert wave.coefficients[0] == pytest.approx(0.480556, abs=5e-7)


def test_snell_conserves_vertical_energy_flux():
    wave = Snell(*SEA, theta=0.15)
    r, p, s = wave.coefficients
    angle_p, angle_s = wave.angles
    arriving = SEA[0].zp * np.cos(wave.theta)
    leaving = arriving * r**2 + SEA[1].zp * np.cos(angle_p) * p**2 + SEA[1].zs * np.cos(angle_s) * s**2
    assert leaving == pytest.approx(arriving, rel=1e-12)


def test_snell_beyond_the_critical_angle_is_refused():
    with raises(ValueError):
        Snell(theta=0.5)
