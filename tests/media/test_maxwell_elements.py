"""Maxwell elements against numbers known from elsewhere, and against what they are fitted to."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.media.attenuation import Mechanisms, Spectrum, maxwell_elements


def mechanisms(centre: float = 1.0, ratio: float = 100.0, count: int = 3) -> Mechanisms:
    return Mechanisms(Spectrum(centre / np.sqrt(ratio), centre * np.sqrt(ratio), centre), count)


def medium(lam: float, mu: float, qp: float, qs: float) -> dict[str, np.ndarray]:
    return {name: np.array([v]) for name, v in {"lambda": lam, "mu": mu, "Qp": qp, "Qs": qs}.items()}


def test_the_fit_of_seissol() -> None:
    """Material and numbers of SeisSol's own test of its attenuation: theta_1 = -lambda_l, theta_2 = -2 mu_l."""
    made = mechanisms(0.3)
    rock = medium(30969716301.94934082, 30969716301.94932938, 58.40512125971850566, 29.20256062985925283)
    found = maxwell_elements(made, rock)
    assert found.mu[0] == pytest.approx(33628014790.452877, rel=1e-14)
    assert found.lam[0] == pytest.approx(29578827039.733589, rel=1e-14)
    np.testing.assert_allclose(made.rates, [0.188495559215, 1.88495559215, 18.8495559215], rtol=1e-11)
    theta1 = [777200013.840261, 739358274.28576, 1061064406.712973]
    theta2 = [-3439832145.249951, -2972448165.668635, -3894181799.6763]
    np.testing.assert_allclose(-found.element_lam[0], theta1, rtol=1e-13)
    np.testing.assert_allclose(-2 * found.element_mu[0], theta2, rtol=1e-13)


@pytest.mark.parametrize(
    "q, weights, ratio",
    [
        (40.0, (0.03883052, 0.03302027, 0.04251288), 1.06214132),
        (120.0, (0.01389064, 0.0114692, 0.0143167), 1.02039924),
    ],
)
def test_weights_do_not_depend_on_the_centre(q: float, weights: tuple[float, ...], ratio: float) -> None:
    for centre in (1.0, 2.5):
        made = mechanisms(centre)
        found = made.weights(np.array([q]))
        np.testing.assert_allclose(found[0], weights, atol=5e-9)
        assert made.unrelaxed(found, np.array([q]))[0] == pytest.approx(ratio, abs=5e-9)


@pytest.mark.parametrize("q", [10.0, 40.0, 1000.0])
def test_three_mechanisms_keep_q_over_two_decades(q: float) -> None:
    """Looked at by the modulus itself, and causal: the phase speed rises as d ln c / d ln f = 1 / (pi Q) (Kjartansson 1979)."""
    made = mechanisms()
    weights = made.weights(np.array([q]))
    frequency = np.geomspace(0.1, 10.0, 300)
    m = made.modulus(weights, frequency)[0]
    off = np.abs(m.real / m.imag / q - 1.0)
    assert off.max() <= 0.06 and made.error(q) == pytest.approx(off.max(), rel=1e-2)
    assert np.median(off) < 0.05
    speed = 1.0 / (m**-0.5).real * np.sqrt(made.unrelaxed(weights, np.array([q])))
    assert np.interp(1.0, frequency, speed) == pytest.approx(1.0, rel=1e-4)
    slope = np.polyfit(np.log(frequency[50:-50]), np.log(speed[50:-50]), 1)[0]
    assert slope == pytest.approx(1.0 / (np.pi * q), rel=0.1)


def test_more_mechanisms_are_nearer_and_one_is_far() -> None:
    errors = [mechanisms(count=count).error(80.0) for count in (1, 2, 3, 5)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 1.0 and errors[-1] < 0.03


def test_quality_factors_that_grow() -> None:
    spectrum = Spectrum(0.1, 10.0, 1.0, 0.5, 1.0)
    made = Mechanisms(spectrum, 5)
    frequency = np.geomspace(0.1, 10.0, 50)
    m = made.modulus(made.weights(np.array([60.0])), frequency)[0]
    assert np.abs(m.real / m.imag / (60.0 * spectrum.factor(frequency)) - 1.0).max() < 0.15
    assert (made.weights(np.array([60.0])) >= 0).all()


def test_nothing_attenuates_at_infinite_q_and_fluids_have_no_shear() -> None:
    made = mechanisms()
    found = maxwell_elements(made, medium(2.0, 1.0, np.inf, np.inf))
    assert (found.lam[0], found.mu[0]) == (2.0, 1.0)
    assert not found.element_lam.any() and not found.element_mu.any()
    water = maxwell_elements(made, medium(2.0, 0.0, 50.0, 5.0))
    assert water.mu[0] == 0.0 and not water.element_mu.any() and (water.element_lam > 0).all()


def test_volume_changes_never_gain_energy() -> None:
    """At the largest Qp that is allowed the bulk modulus is lossless; the fit alone would make some elements' negative."""
    made = mechanisms()
    qs = np.array([15.0, 40.0, 400.0])
    rock = {"lambda": np.full(3, 1.0), "mu": np.full(3, 1.0), "Qs": qs, "Qp": 0.75 * 3.0 * qs}
    found = maxwell_elements(made, rock)
    bulk = found.element_lam + 2.0 / 3.0 * found.element_mu
    assert (bulk >= -1e-13 * found.element_mu).all()
    weights = (found.element_lam + 2 * found.element_mu) / (found.lam + 2 * found.mu)[:, None]
    frequency = np.geomspace(0.1, 10.0, 100)
    m = made.modulus(weights, frequency)
    off = np.abs(m.real / m.imag / rock["Qp"][:, None] - 1.0).max(1)
    assert off[0] < 0.1 and (off[1:] < 0.06).all()


def test_a_reference_outside_of_the_band() -> None:
    inside = mechanisms()
    spectrum = Spectrum(0.1, 10.0, 20.0)
    outside = Mechanisms(spectrum, 3)
    weights, q = inside.weights(np.array([50.0])), np.array([50.0])
    end = Mechanisms(Spectrum(0.1, 10.0, 10.0), 3).unrelaxed(weights, q)[0]
    drift = 0.5 ** (np.arctan(1 / 50.0) / np.pi)  # of the speed from 20 down to 10 Hz
    assert outside.unrelaxed(weights, q)[0] == pytest.approx(end * drift**2, rel=1e-6)
