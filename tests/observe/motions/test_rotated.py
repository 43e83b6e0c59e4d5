"""Measures of many records at once equal those of each record alone."""

import numpy as np
import pytest

from faultwave.observe.motions.measures import measures
from faultwave.observe.motions.rotated import directional_peaks, is_measure, rotated_measures, spectral_period

STEP = 0.05
NAMES = ("PGA", "PGV", "PGD", "SA(0.5)", "SA(3.0)", "CAV", "Arias", "D5-75", "D5-95")


def records(count=4, samples=300):
    rng = np.random.default_rng(2)
    time = STEP * np.arange(samples)
    envelope = np.exp(-(((time - 5.0) / 2.0) ** 2))
    noise = np.cumsum(rng.standard_normal((count, 2, samples)), -1) * envelope
    noise[1, 1] = 0.3 * noise[1, 0]  # one direction only
    noise[2] = 0.0
    return noise


@pytest.mark.parametrize("percentile", [50.0, 100.0])
def test_many_records_have_the_measures_of_each(percentile):
    motion = records()
    found = rotated_measures(STEP, motion, NAMES, percentile)
    for record, row in zip(motion, found, strict=True):
        alone = measures(STEP, *record, periods=(0.5, 3.0)).rotd(percentile)
        assert row == pytest.approx([alone[name] for name in NAMES], rel=1e-12, abs=1e-300)
    assert (found[[0, 1, 3]] > 0).all() and (found[2] == 0).all()


def test_periods_of_ten_rounded_intervals_are_sampled():
    """The interval of a file may exceed a tenth of a period by a rounding error."""
    motion = records()[:1]
    exact = rotated_measures(0.03, motion, ["SA(0.3)"])
    assert 10 * (0.03 * (1 + 1e-15)) > 0.3 and exact > 0
    assert rotated_measures(0.03 * (1 + 1e-15), motion, ["SA(0.3)"]) == pytest.approx(exact, rel=1e-2)
    assert np.isnan(rotated_measures(0.03 * (1 + 1e-6), motion, ["SA(0.3)"])).all()


def test_peaks_of_a_circle_and_of_a_line():
    angle = np.linspace(0, 2 * np.pi, 7201)
    circle, line = np.array([np.cos(angle), np.sin(angle)]), np.array([np.sin(angle), 0 * angle])
    peaks = directional_peaks(np.stack([circle, line]))
    assert peaks[0] == pytest.approx(np.ones(180), abs=1e-6)
    assert peaks[1] == pytest.approx(np.abs(np.cos(np.pi * np.arange(180) / 180)), abs=1e-6)


def test_periods_that_the_samples_do_not_resolve_and_unknown_names():
    assert np.isnan(rotated_measures(STEP, records()[:1], ["SA(0.4)"])).all()
    assert spectral_period("SA(0.75)") == 0.75 and spectral_period("SA(0)") is None and spectral_period("PGA") is None
    assert is_measure("Arias") and not is_measure("FAS") and not is_measure("SA")
    with pytest.raises(ValueError, match="'PGX'"):
        rotated_measures(STEP, records()[:1], ["PGX"])
