"""Misfits: their values, and derivatives that equal differences."""

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.gradients.misfits import EnvelopeMisfit, OffsetMisfit, PhaseMisfit, SpectralMisfit, WaveformMisfit
from faultwave.observe.motions.time_frequency import correlate_wavelets, misfit, wavelets
from tests.messages import raises

TIME = np.arange(80) * 0.02
RNG = np.random.default_rng(1)


def pulses():
    """Seismograms of two receivers: a pulse of a different time and frequency in each component."""
    number = np.arange(6).reshape(2, 3, 1)
    since = TIME - 0.6 - 0.05 * number
    return (1 + 0.2 * number) * np.exp(-((since / 0.2) ** 2)) * np.sin(2 * np.pi * (2.0 + 0.3 * number) * since)


DATA = pulses()
FOUND = 0.8 * DATA + 0.25 * np.roll(DATA, 2, -1)
GAPS = DATA.copy()
GAPS[0, 1, 30:50] = np.nan
MISFITS = {
    "waveform": WaveformMisfit(GAPS, np.array([2.0, 1.0, 3.0])[:, None]),
    "spectral": SpectralMisfit(DATA, 1.0, 6.0),
    "envelope": EnvelopeMisfit(DATA, 1.0, 6.0),
    "phase": PhaseMisfit(DATA, 1.0, 6.0),
    "offset": OffsetMisfit(np.array([[0.3, np.nan, 0.1], [-0.2, 0.5, 0.0]]), 4.0),
}


@pytest.mark.parametrize("name", MISFITS)
def test_derivatives_are_differences(name):
    """Along random directions of all samples."""
    made = MISFITS[name]
    value, slopes = made.evaluate(TIME, FOUND)
    assert value > 0 and slopes.shape == FOUND.shape
    for _ in range(3):
        direction = RNG.normal(size=FOUND.shape) * np.abs(FOUND).max()
        h = 1e-6
        of = [made.evaluate(TIME, FOUND + k * h * direction)[0] for k in (-2, -1, 1, 2)]
        expected = (8 * (of[2] - of[1]) - (of[3] - of[0])) / (12 * h)
        assert (slopes * direction).sum() == pytest.approx(expected, rel=1e-6, abs=1e-8 * np.abs(slopes).max())


@pytest.mark.parametrize("name", ["waveform", "spectral", "envelope", "phase"])
def test_data_fit_themselves(name):
    made = MISFITS[name]
    value, slopes = type(made)(**{**vars(made), "data": DATA}).evaluate(TIME, DATA)
    assert value == pytest.approx(0, abs=1e-25) and np.abs(slopes).max() < 1e-12


def test_values():
    """Constants of known misfits; envelope and phase are those of ``compare``."""
    ones = np.ones((1, 3, 80))
    assert WaveformMisfit(np.zeros_like(ones), 2.0).evaluate(TIME, ones)[0] == pytest.approx(0.5 * 4 * 3 * 80 * 0.02)
    assert OffsetMisfit(np.zeros((1, 3))).evaluate(TIME, ones)[0] == pytest.approx(0.5 * 3 * (79 * 0.02) ** 2)
    band = SpectralMisfit(np.zeros_like(DATA), 0.0, 25.0).evaluate(TIME, DATA)[0]
    assert band == pytest.approx(
        0.25 * 0.02 * (DATA**2).sum(), rel=1e-3
    )  # Parseval: half of it at positive frequencies
    compared = misfit(FOUND[0, 0], DATA[0, 0], 0.02, 1.0, 6.0)
    only = np.zeros_like(DATA)
    only[0, 0] = DATA[0, 0]
    assert EnvelopeMisfit(only, 1.0, 6.0).evaluate(TIME, FOUND)[0] == pytest.approx(0.5 * compared.envelope**2)
    assert PhaseMisfit(only, 1.0, 6.0).evaluate(TIME, FOUND)[0] == pytest.approx(0.5 * compared.phase**2)


def test_wavelets_are_transposed():
    frequency = np.geomspace(1.0, 8.0, 5)
    series = RNG.normal(size=80)
    given = RNG.normal(size=(5, 80)) + 1j * RNG.normal(size=(5, 80))
    expected = (given.conj() * wavelets(series, 0.02, frequency)).sum().real
    assert correlate_wavelets(given, 0.02, frequency) @ series == pytest.approx(expected, rel=1e-12)


def test_data_that_do_not_fit():
    for made in (
        SpectralMisfit(DATA, 30.0, 40.0),
        SpectralMisfit(DATA, 1.001, 1.002),
        SpectralMisfit(GAPS, 1.0, 6.0),
        EnvelopeMisfit(DATA[:1], 1.0, 6.0),
        PhaseMisfit(GAPS, 1.0, 6.0),
        OffsetMisfit(DATA),
        OffsetMisfit(DATA[..., 0] * np.nan),
        WaveformMisfit(DATA * np.nan),
        EnvelopeMisfit(DATA * 0.0, 1.0, 6.0),
        WaveformMisfit(DATA[..., :-1]),
        WaveformMisfit(DATA, np.ones(7)),
        OffsetMisfit(np.zeros((2, 3)), np.nan),
        EnvelopeMisfit(DATA, 6.0, 1.0),
        PhaseMisfit(DATA, 0.0, 6.0),
        PhaseMisfit(DATA, 1.0, 26.0),
    ):
        with raises(InputError):
            made.evaluate(TIME, FOUND)
