"""Relaxation spectra against what they are fitted to."""

import numpy as np
import pytest

from faultwave.media.attenuation import ORDER, Spectrum, modulus, relaxation


def quality(fit, q, frequency):
    defects = fit.defect(np.full(8, q), np.arange(8))
    m = modulus(defects, fit.spectrum.times, frequency)
    return m.real / m.imag


@pytest.mark.parametrize("q", [20.0, 50.0, 333.0, 5000.0])
def test_constant_q_over_two_decades(q):
    fit = relaxation(Spectrum(0.1, 10.0, 1.0))
    frequency = np.geomspace(0.1, 10.0, 77)
    assert quality(fit, q, frequency) == pytest.approx(np.full(77, q), rel=0.01)


@pytest.mark.parametrize("q", [25.0, 400.0])
def test_power_law_above_its_corner(q):
    spectrum = Spectrum(0.1, 10.0, 1.0, 0.6, 1.0)
    frequency = np.geomspace(0.1, 10.0, 77)
    expected = q * spectrum.factor(frequency)
    found = quality(relaxation(spectrum), q, frequency)
    assert np.abs(found / expected - 1).max() < 0.1  # relaxations are smooth, the corner is not
    away = (frequency > 2) | (frequency < 0.5)
    assert np.abs(found / expected - 1)[away].max() < 0.05
    slope = np.polyfit(np.log(frequency[frequency > 1.5]), np.log(found[frequency > 1.5]), 1)[0]
    assert slope == pytest.approx(0.6, abs=0.05)


@pytest.mark.parametrize("q", [20.0, 100.0])
def test_speed_at_the_reference_frequency(q):
    spectrum = Spectrum(0.1, 10.0, 0.7)
    fit = relaxation(spectrum)
    m = fit.unrelaxed(np.array([q])) * modulus(fit.defect(np.full(8, q), np.arange(8)), spectrum.times, np.array([0.7]))
    assert float((1 / (1 / np.sqrt(m)).real)[0]) == pytest.approx(1.0, abs=2e-3)
    assert fit.unrelaxed(np.array([q])) > 1 and fit.unrelaxed(np.array([np.inf])) == 1
    # Kjartansson: speeds grow as f^(1 / (pi Q)); twice as fast for moduli
    ends = modulus(fit.defect(np.full(8, q), np.arange(8)), spectrum.times, np.array([0.2, 5.0]))
    assert float((ends[1].real / ends[0].real) ** 0.5) == pytest.approx(25 ** (1 / (np.pi * q)), rel=3e-3)


def test_a_cell_has_every_mechanism_once():
    assert sorted(ORDER) == list(range(8))
