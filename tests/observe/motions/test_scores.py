"""Scores against the canonical signals of their papers: equal, scaled, shifted, and against ObsPy's misfits."""

import numpy as np
import pytest

from faultwave.observe.motions.goodness import (
    CRITERIA,
    anderson,
    bands,
    criteria,
    grade,
    similarity,
)
from faultwave.observe.motions.time_frequency import misfit

STEP, LENGTH = 0.01, 40.0
TIME = np.arange(0.0, LENGTH, STEP)


def canonical(amplitude=1.0, shift=0.0, phase=0.0, frequency=1.0):
    """Kristekova et al. (2006), section 4: A (t - t1) exp(-2 (t - t1)) cos(2 pi f (t - t1) + phase pi)."""
    t = TIME - 8.0 - shift
    return np.where(
        t > 0, amplitude * t * np.exp(-2 * np.maximum(t, 0)) * np.cos(2 * np.pi * frequency * t + phase * np.pi), 0.0
    )


def test_equal_records_score_ten():
    score, _, table = anderson(canonical(), canonical(), STEP, 0.1, 5.0)
    assert score == pytest.approx(10.0) and table.min() == pytest.approx(10.0)
    found = misfit(canonical(), canonical(), STEP, 0.2, 5.0)
    assert (found.envelope, found.phase) == pytest.approx((0.0, 0.0), abs=1e-15)
    assert (found.envelope_score, found.phase_score) == pytest.approx((10.0, 10.0))


@pytest.mark.parametrize("change", [0.1, 0.3, 0.5, 1.0])
def test_a_scaled_amplitude_is_all_in_the_envelope(change):
    found = misfit(canonical(1 + change), canonical(), STEP, 0.2, 5.0)
    assert found.envelope == pytest.approx(change, rel=1e-12)
    assert found.phase == pytest.approx(0.0, abs=1e-12)
    assert found.envelope_score == pytest.approx(10 * np.exp(-change))
    np.testing.assert_allclose(found.envelopes.max(), change)


@pytest.mark.parametrize("phase", [0.1, 0.2, 0.5])
def test_a_turned_phase_is_all_in_the_phase(phase):
    """Every wavelet is turned by the same angle: an analytic signal times exp(i pi phase)."""
    from scipy.signal import hilbert

    signal = hilbert(canonical())
    found = misfit((signal * np.exp(1j * np.pi * phase)).real, signal.real, STEP, 0.5, 4.0)
    assert found.phase == pytest.approx(phase, rel=1e-3)
    assert found.envelope == pytest.approx(0.0, abs=2e-3)
    assert found.phase_score == pytest.approx(10 * (1 - phase), rel=1e-3)


@pytest.mark.parametrize("shift", [0.02, 0.05])
def test_a_shift_in_time_turns_the_phase_with_the_frequency(shift):
    """PM = 2 f shift for one frequency; the envelope is that of before, so much later."""
    found = misfit(canonical(shift=shift), canonical(), STEP, 0.98, 1.02)
    assert found.phase == pytest.approx(2 * shift, rel=0.02)
    assert found.envelope < found.phase


def test_like_obspy():
    tf = pytest.importorskip("obspy.signal.tf_misfit")
    a, b = canonical(1.2, 0.04, 0.1), canonical()
    found = misfit(a, b, STEP, 0.5, 5.0)
    told = {"dt": STEP, "fmin": 0.5, "fmax": 5.0, "nf": 60, "w0": 6, "norm": "global"}
    assert found.envelope == pytest.approx(tf.em(a, b, **told), rel=0.01)
    assert found.phase == pytest.approx(tf.pm(a, b, **told), rel=0.01)


@pytest.mark.parametrize("factor", [1.1, 1.5, 2.0, 3.0])
def test_anderson_of_a_scaled_record(factor):
    """Anderson (2004), equation 5: peaks and spectra have 10 exp(-(factor - 1)^2), intensities that of the squares; shapes are perfect."""
    row = dict(zip(CRITERIA, criteria(factor * canonical(), canonical(), STEP, 0.2, 5.0), strict=True))
    linear, squares = 10 * np.exp(-((factor - 1) ** 2)), 10 * np.exp(-((factor**2 - 1) ** 2))
    for name in ("peak acceleration", "peak velocity", "peak displacement", "response spectrum", "Fourier spectrum"):
        assert row[name] == pytest.approx(linear, rel=1e-9)
    for name in ("Arias intensity", "energy"):
        assert row[name] == pytest.approx(squares, rel=1e-9)
    for name in ("Arias duration", "energy duration", "correlation"):
        assert row[name] == pytest.approx(10.0)


def test_anderson_of_a_shifted_record():
    """Peaks, spectra and intensities do not know of time; curves of growth and the correlation do."""
    late = dict(zip(CRITERIA, criteria(canonical(shift=0.25), canonical(), STEP, 0.2, 5.0), strict=True))
    for name in ("Arias intensity", "energy", "peak velocity", "response spectrum", "Fourier spectrum"):
        assert late[name] == pytest.approx(10.0, abs=0.05)
    assert late["correlation"] < 3.0 and late["Arias duration"] < 7.0
    reverse = criteria(-canonical(), canonical(), STEP, 0.2, 5.0)
    assert reverse[-1] == 0.0


def test_similarity():
    np.testing.assert_allclose(similarity([1.0, 2.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0]), [10.0, 10 / np.e, 0.0, 10.0])
    assert similarity(3.0, 4.0) == similarity(4.0, 3.0)


def test_bands_are_those_that_records_resolve():
    assert bands(0.01, 40.0, 0.2, 2.0) == [(0.2, 2.0), (0.2, 0.5), (0.5, 1.0), (1.0, 2.0)]
    assert bands(0.01, 40.0, None, None)[0] == (3 / 40.0, 40.0)
    assert bands(1.0, 2.0, None, None) == []
    assert [grade(s) for s in (9.0, 7.0, 5.0, 1.0)] == ["excellent", "good", "fair", "poor"]
