"""Damped sinusoids are found as they were made, also close together, under noise and beside a strong one outside the band."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.observe.resonances import dataset, long_enough, resonances

MADE = ((2.0, 0.01, 1.0, 0.0), (2.1, 0.05, 0.5, 1.0), (3.3, 0.2, 0.2, 2.0))  # frequency, decay, amplitude, phase


def ringing(interval: float, count: int) -> np.ndarray:
    t = np.arange(count) * interval
    parts = [a * np.exp(-g * t) * np.cos(2 * np.pi * f * t + p) for f, g, a, p in MADE]
    return np.sum(parts, 0) + np.cos(2 * np.pi * 9.0 * t) + 0.7 * np.cos(2 * np.pi * 0.3 * t)


@pytest.mark.parametrize("interval, count", [(0.01, 4000), (0.03, 1500), (0.1, 500)])
def test_poles_and_amplitudes(interval: float, count: int) -> None:
    x = ringing(interval, count) if interval < 0.05 else ringing(0.01, 10 * count)[::10]
    found = resonances(x, interval, (1.5, 4.0))
    if interval < 0.05:  # at 0.1 s the line at 9 Hz folds onto 1 Hz, outside the band
        assert len(found) == 3
    for r, (f, g, a, _) in zip(found, MADE, strict=True):
        assert r.frequency == pytest.approx(f, rel=1e-6)
        assert r.quality == pytest.approx(np.pi * f / g, rel=1e-3)
        assert r.amplitude == pytest.approx(a, rel=1e-4)
    assert list(dataset(found).variables)[0] == "frequency" and dataset(found).sizes == {"resonance": 3}


def test_noise_costs_digits_only() -> None:
    x = ringing(0.01, 4000) + 1e-4 * np.random.default_rng(0).normal(size=4000)
    found = resonances(x, 0.01, (1.5, 4.0), floor=1e-2, resolution=1e-3)
    assert [round(r.frequency, 3) for r in found] == [2.0, 2.1, 3.3]


def test_several_signals_share_their_poles() -> None:
    t = np.arange(3000) * 0.01
    one, two = np.cos(2 * np.pi * 2.0 * t), np.exp(-0.1 * t) * np.sin(2 * np.pi * 2.5 * t)
    found = resonances(np.stack([one, two], 1), 0.01, (1.5, 3.0))
    assert [r.frequency for r in found] == pytest.approx([2.0, 2.5], rel=1e-7)
    assert found[1].quality == pytest.approx(np.pi * 2.5 / 0.1, rel=1e-4)


def test_what_cannot_be_done_is_said() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        resonances(np.zeros(100), 0.1, (1.0, 6.0))
    with pytest.raises(ValueError, match="too short"):
        resonances(np.ones(200), 0.01, (0.5, 1.0))
    assert resonances(np.zeros(4000), 0.01, (1.5, 4.0)) == []


def test_the_needed_length_is_known_without_any_signal() -> None:
    """It agrees with the analysis itself, and costs nothing for a run of 1e12 samples."""
    band, interval = (0.5, 1.0), 0.01
    shortest = next(n for n in range(1, 5000) if long_enough(n, interval, band))
    assert shortest > 200
    resonances(np.ones(shortest), interval, band)
    with pytest.raises(ValueError, match="too short"):
        resonances(np.ones(shortest - 1), interval, band)
    assert long_enough(10**12, interval, band) and not long_enough(0, interval, band)


def test_what_grows_is_no_resonance(caplog: pytest.LogCaptureFixture) -> None:
    """A source that swells at 2.5 Hz beside a line without losses at 2 Hz."""
    t = np.arange(3000) * 0.01
    x = np.cos(2 * np.pi * 2.0 * t) + 0.2 * np.exp(0.02 * t) * np.sin(2 * np.pi * 2.5 * t)
    with caplog.at_level("WARNING", "faultwave"):
        found = resonances(x, 0.01, (1.5, 3.0))
    assert [r.frequency for r in found] == pytest.approx([2.0], rel=1e-7)
    assert found[0].quality > 1e6 and found[0].share == 1.0
    assert "1 lines that grow, at 2.5 Hz" in caplog.text


@pytest.mark.parametrize("quality", [0.74, 1.0, 2.5])
def test_what_does_not_ring_is_no_resonance(quality):
    """A transient that falls to 1/e or less within a period is stronger than the mode, and would be ranked first."""
    t = np.arange(3000) * 1e-12
    mode = np.exp(-np.pi * 9e9 / 2000 * t) * np.sin(2 * np.pi * 9e9 * t)
    transient = 3.0 * np.exp(-np.pi * 10e9 / quality * t) * np.cos(2 * np.pi * 10e9 * t)
    (found,) = resonances(mode + transient, 1e-12, (7e9, 14e9))
    assert found.frequency == pytest.approx(9e9, rel=1e-6) and found.quality == pytest.approx(2000, rel=1e-3)
    assert found.share == 1.0


def test_an_open_resonator_of_low_quality_is_found():
    t = np.arange(3000) * 1e-12
    (found,) = resonances(np.exp(-np.pi * 10e9 / 8 * t) * np.sin(2 * np.pi * 10e9 * t), 1e-12, (7e9, 14e9))
    assert found.quality == pytest.approx(8, rel=0.01)
