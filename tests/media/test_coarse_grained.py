"""The modulus of a coarse-grained cell against the cell's own equations."""

import numpy as np
import pytest

from faultwave.media.attenuation import P_OVER_S, differences, effective, series, stiffness

RNG = np.random.default_rng(2)


def solved(moduli, shape):
    """Mean stress over mean strain of one shape, by solving for the displacements of the cell."""
    b, c, strain = differences(), stiffness(moduli), np.repeat(np.eye(6)[shape], 8)
    u = np.linalg.pinv(b.T @ c @ b) @ (b.T @ c @ strain)
    stress = (c @ (strain - b @ u)).reshape(6, 8).mean(1)[shape]
    return stress / (P_OVER_S if shape < 3 else 1.0)


def test_the_series_is_the_cell_to_third_order():
    """Relaxations as strong as those of Q = 20, at every frequency."""
    times = np.geomspace(0.006, 4.0, 8)
    for omega in 2 * np.pi * np.geomspace(0.1, 10.0, 7):
        moduli = (1 - 0.3 / (1 + 1j * omega * times))[RNG.permutation(8)]
        exact = np.mean([solved(moduli, shape) for shape in range(6)])
        assert abs(effective(moduli) - exact) < 2e-4
        assert abs(moduli.mean() - exact) > 2e-4  # which the mean is not


def test_layers_across_a_wave_add_their_compliances():
    """P waves along z through planes of two materials that differ in all moduli: the harmonic mean; S waves along them the mean."""
    moduli = np.array([1.2] * 4 + [0.8] * 4)
    assert solved(moduli, 2) == pytest.approx(1 / np.mean([1 / 1.2, 1 / 0.8]))
    assert solved(moduli, 3) == pytest.approx(1.0)


def test_a_uniform_cell_is_its_material():
    second, third = series()
    assert np.abs(second.sum(0)).max() < 1e-14 and np.abs(third.sum((0, 2))).max() < 1e-14
    assert effective(np.full((3, 8), 2.5 - 0.1j)) == pytest.approx(2.5 - 0.1j)
