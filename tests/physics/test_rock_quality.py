"""Strength of rock masses: published constants, and the line against the curve that it is fitted to."""

import numpy as np
import pytest

from faultwave.physics.rheology import drucker_prager


def test_constants_of_an_average_rock_mass():
    """GSI 50, m_i 12, of Hoek & Brown (1997, Int. J. Rock Mech. 34, 1165-1186, table 8): m_b 2.01, s 0.004, a 0.5."""
    found = drucker_prager.rock_mass(np.array(50.0), 12.0, np.array(80e6))
    assert found.slope == pytest.approx(2.01, abs=0.005)
    assert found.offset == pytest.approx(0.004, abs=0.0005)
    assert found.power == pytest.approx(0.5, abs=0.01)


def test_intact_rock_has_its_own_constants():
    found = drucker_prager.rock_mass(np.array(100.0), 15.0, np.array(1e8), disturbance=0.7)
    assert (found.slope, found.offset) == (15.0, 1.0) and found.power == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("confinement", sorted(drucker_prager.CONFINEMENTS))
@pytest.mark.parametrize("index", [30.0, 60.0, 90.0])
def test_cohesion_and_friction_lie_as_much_above_the_curve_as_below(index, confinement):
    """sigma_1 over sigma_3 of both criteria, from tension to the largest confining stress of the fit."""
    rock, vertical = drucker_prager.rock_mass(np.array(index), 12.0, np.array(80e6)), np.array(25e6)
    cohesion, friction = drucker_prager.mohr_coulomb(rock, vertical, confinement)
    m_b, s, a = float(rock.slope), float(rock.offset), float(rock.power)
    factor, exponent = drucker_prager.CONFINEMENTS[confinement]
    both = (1 + a) * (2 + a)
    whole = 80e6 * (m_b + 4 * s - a * (m_b - 8 * s)) * (m_b / 4 + s) ** (a - 1) / (2 * both)
    largest = factor * whole * float(whole / vertical) ** -exponent
    confining = np.linspace(-s * 80e6 / m_b, largest, 4001)
    curve = confining + 80e6 * np.maximum(m_b * confining / 80e6 + s, 0.0) ** a
    phi = np.arctan(friction)
    line = 2 * cohesion * np.cos(phi) / (1 - np.sin(phi)) + (1 + np.sin(phi)) / (1 - np.sin(phi)) * confining
    above = np.trapezoid(line - curve, confining)
    assert abs(above) < 0.03 * np.trapezoid(np.abs(curve), confining)
    assert 15 < np.rad2deg(phi) < 65


def test_better_rock_is_stronger():
    index = np.linspace(20.0, 100.0, 9)
    cohesion, friction = drucker_prager.mohr_coulomb(
        drucker_prager.rock_mass(index, 12.0, np.full(9, 8e7)), np.full(9, 1e7)
    )
    assert (np.diff(cohesion) > 0).all() and (np.diff(cohesion + 5e6 * friction) > 0).all()


def test_strength_of_intact_rock_by_speed():
    """304.8 / 100 km/s is a slowness of 100 us/ft: 14.1 MPa, and 20.2 MPa."""
    vp = np.array(3048.0)
    assert drucker_prager.INTACT["sandstone"](vp) == pytest.approx(1.4138e7, rel=2e-3)
    assert drucker_prager.INTACT["shale"](vp) == pytest.approx(0.77e6 * 3.048**2.93, rel=1e-12)
