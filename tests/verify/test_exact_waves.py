"""Plane waves and standing waves solve the equations and meet their boundary conditions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultwave.verify.exact import Medium, strain_energy
from faultwave.verify.exact.cavity import Cavity, LameMode, PressureRelease, SymmetryBox
from faultwave.verify.exact.plane_waves import (
    CONVERGENCE_FLUID,
    CONVERGENCE_MEDIUM,
    Wave,
    acoustic,
    acoustic_convergence,
    elastic,
    elastic_convergence,
)
from tests.messages import raises

from .residual import acoustic_residual, elastic_residual, maxwell_residual

ROCK = Medium(rho=2.7, lam=3.0, mu=1.3)


@pytest.fixture
def points():
    return np.random.default_rng(3).uniform(-1, 1, (40, 3))


def test_convergence_waves_solve_the_equations(points):
    assert elastic_residual(elastic_convergence(), CONVERGENCE_MEDIUM, points, 0.3, 5e-3, 2e-3) < 1e-8
    assert acoustic_residual(acoustic_convergence(), CONVERGENCE_FLUID, points, 0.3, 5e-3, 2e-3) < 1e-8


@pytest.mark.parametrize("solution", [elastic_convergence(), acoustic_convergence()])
def test_convergence_waves_are_periodic_in_the_cube(points, solution):
    for shift in 2 * np.eye(3):
        np.testing.assert_allclose(solution(points + shift, 0.2), solution(points, 0.2), atol=1e-12)


def test_convergence_waves_have_unit_amplitude_each():
    p, s = elastic_convergence().waves
    assert p.amplitude == s.amplitude == 1.0
    np.testing.assert_allclose(p.direction(), np.ones(3) / np.sqrt(3))
    np.testing.assert_allclose(s.direction(), np.array([1, -1, 0]) / np.sqrt(2))
    assert p.frequency(CONVERGENCE_MEDIUM) == pytest.approx(2 * np.pi * np.sqrt(3))
    assert s.frequency(CONVERGENCE_MEDIUM) == pytest.approx(np.pi * np.sqrt(3))
    np.testing.assert_allclose(s.wavevector, -np.array(p.wavevector))


def test_convergence_waves_are_sines_of_position(points):
    phase, speed = points @ np.full(3, np.pi), np.pi * np.sqrt(3)
    p, s = np.sin(phase - 2 * speed * 0.3), np.sin(phase + speed * 0.3)
    expected = p[:, None] * np.ones(3) / np.sqrt(3) + s[:, None] * np.array([1, -1, 0]) / np.sqrt(2)
    np.testing.assert_allclose(elastic_convergence()(points, 0.3)[:, 6:], expected, atol=1e-13)


vectors = st.tuples(*[st.floats(-3, 3)] * 3).filter(lambda v: np.linalg.norm(v) > 0.3)


@settings(max_examples=30, deadline=None)
@given(k=vectors, d=vectors, phase=st.floats(0, 6), lam=st.floats(0.1, 5), mu=st.floats(0.2, 5), rho=st.floats(0.3, 4))
def test_any_plane_waves_solve_the_equations(k, d, phase, lam, mu, rho):
    medium = Medium(rho, lam, mu)
    waves = [Wave("P", k, 0.7, phase=phase)]
    if np.linalg.norm(np.cross(k, d)) > 1e-2 * np.linalg.norm(k) * np.linalg.norm(d):
        waves.append(Wave("S", k, 1.2, d, phase))
    where = np.random.default_rng(1).uniform(-2, 2, (10, 3))
    assert elastic_residual(elastic(medium, waves), medium, where, 0.1, 1e-2, 5e-3) < 1e-7


def test_impossible_waves_are_refused():
    with raises(ValueError):
        elastic(ROCK, [Wave("S", (0, 0, 1), polarisation=(0, 0, 2))])(np.zeros((1, 3)), 0.0)
    with raises(ValueError):
        Wave("S", (0, 0, 1)).direction()
    with raises(ValueError):
        acoustic(Medium(1, 1), [Wave("S", (0, 0, 1), polarisation=(1, 0, 0))])


def test_pressure_release_box(points):
    box = PressureRelease(Medium(1.2, 3.0), (1, 2, 3), (-1, 0, 0.5), (1, 1.5, 2.0), 2.0)
    inside = 0.5 * (points + 1) * np.array([2, 1.5, 1.5]) + np.array([-1, 0, 0.5])
    assert acoustic_residual(box, box.medium, inside, 0.37, 2e-3, 1e-3) < 1e-8
    for axis, sides in enumerate(zip(box.lower, box.upper, strict=True)):
        for side in sides:
            face = inside.copy()
            face[:, axis] = side
            assert np.abs(box(face, 0.0)[:, 0]).max() < 1e-14
    nodes, weights = np.polynomial.legendre.leggauss(16)
    grid = np.stack(np.meshgrid(nodes, nodes, nodes, indexing="ij"), -1).reshape(-1, 3)
    w = np.einsum("i,j,k->ijk", weights, weights, weights).ravel() * 2 * 1.5 * 1.5 / 8
    for t in (0.0, 0.4):
        q = box(0.5 * (grid + 1) * np.array([2, 1.5, 1.5]) + np.array([-1, 0, 0.5]), t)
        energy = w @ (q[:, 0] ** 2 / (2 * 3.0) + 0.6 * (q[:, 1:] ** 2).sum(1))
        assert energy == pytest.approx(box.energy(), rel=1e-10)


@pytest.mark.parametrize("polarisation", [(1.0, 2.0, 3.0), (3.0, 0.0, -1.0)])
def test_symmetry_box(points, polarisation):
    box = SymmetryBox(ROCK, (1, 2, 3), polarisation)
    inside = 0.5 * (points + 1)
    assert elastic_residual(box, ROCK, inside, 0.21, 2e-3, 1e-3) < 1e-8
    shear = {0: (3, 5), 1: (3, 4), 2: (4, 5)}
    for axis in range(3):
        face = inside.copy()
        face[:, axis] = 1.0
        q = box(face, 0.3)
        assert np.abs(q[:, [6 + axis, *shear[axis]]]).max() < 1e-13
        assert np.abs(q).max() > 0.1


def test_symmetry_box_refuses_a_mixed_polarisation():
    with raises(ValueError):
        SymmetryBox(ROCK, (1, 1, 1), (1.0, 0.0, 0.0))(np.zeros((1, 3)), 0.1)


def test_lame_mode_has_free_sides(points):
    mode = LameMode(ROCK, 2 * np.pi, (-1.0, -1.0, -1.0))
    assert elastic_residual(mode, ROCK, points, 0.17, 2e-3, 1e-3) < 1e-8
    for axis, traction in ((0, (0, 3, 5)), (1, (1, 3, 4)), (2, (2, 4, 5))):
        for side in (-1.0, 1.0):
            face = points.copy()
            face[:, axis] = side
            assert np.abs(mode(face, 0.3)[:, traction]).max() < 1e-12
    assert np.abs(mode(points, 0.3)[:, :2]).max() > 0.1


def test_strain_energy_is_half_stress_times_strain(points):
    wave = elastic(ROCK, [Wave("P", (1, 2, 2))])
    q = wave(points, 0.2)
    np.testing.assert_allclose(strain_energy(ROCK, q[:, :6]), 0.5 * ROCK.rho * (q[:, 6:] ** 2).sum(1), atol=1e-14)
    water = Medium(1.0, 2.0)
    q = elastic(water, [Wave("P", (1, 2, 2))])(points, 0.2)
    np.testing.assert_allclose(strain_energy(water, q[:, :6]), 0.5 * (q[:, 6:] ** 2).sum(1), atol=1e-14)


@pytest.mark.parametrize("conductivity", [0.0, 0.8])
@pytest.mark.parametrize("modes, polarisation", [((1, 1, 1), (1.0, -1.0, 0.0)), ((2, 1, 0), (0.0, 0.0, 1.0))])
def test_cavity_modes_solve_maxwells_equations_and_meet_their_walls(modes, polarisation, conductivity):
    mode = Cavity(modes, polarisation, upper=(1.0, 1.5, 0.7), conductivity=conductivity)
    if (1, 1, 1) == modes:  # orthogonal to k in this box
        mode = Cavity(modes, (1.0, -1.5, 0.0), upper=(1.0, 1.5, 0.7), conductivity=conductivity)
    where = np.random.default_rng(0).uniform(0, 0.7, (20, 3))
    assert maxwell_residual(mode, where, 0.3, conductivity, 1e-2, 1e-2) < 1e-7
    for axis, side in enumerate((1.0, 1.5, 0.7)):
        for at in (0.0, side):
            wall = where.copy()
            wall[:, axis] = at
            tangential = np.delete(mode(wall, 0.3)[:, :3], axis, 1)
            np.testing.assert_allclose(tangential, 0.0, atol=1e-12)
            np.testing.assert_allclose(mode(wall, 0.3)[:, 3 + axis], 0.0, atol=1e-12)
    with raises(ValueError):
        _ = Cavity((1, 1, 1), (1.0, 0.0, 0.0)).frequency
