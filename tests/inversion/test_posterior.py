"""Posterior, prior, noise and evidence against full matrices, coverage of intervals, and hyperparameters."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from faultwave.base.errors import RunError
from faultwave.inversion.evidence import estimate
from faultwave.inversion.posterior import CholeskySolver, IterativeSolver, Posterior, predicted_covariance
from faultwave.inversion.prior import Correlation
from tests.messages import raises

from .dense import dense_forward, dense_noise, dense_prior, make_forward, make_noise, make_segment, make_slip_prior


@pytest.fixture
def small():
    forward, prior = make_forward(), make_slip_prior()
    noise = make_noise(forward).with_scale(1.3)
    data = np.random.default_rng(3).standard_normal(forward.shape[0]) * 5
    return forward, prior, noise, data


@pytest.mark.parametrize("low", [None, 0.1])
def test_the_transpose_is_the_adjoint_of_the_prediction(low):
    forward, rng = make_forward(low), np.random.default_rng(2)
    models, data = rng.standard_normal((forward.shape[1], 3)), rng.standard_normal((forward.shape[0], 3))
    one, other = data.T @ forward.matmat(models), forward.rmatmat(data).T @ models
    np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11 * abs(one).max())


def test_prediction_prior_and_noise_are_their_matrices(small):
    forward, prior, noise, _ = small
    np.testing.assert_allclose(forward.matmat(np.eye(forward.shape[1])), dense_forward(forward), atol=1e-12)
    np.testing.assert_allclose(prior.apply(np.eye(prior.size)), dense_prior(prior), atol=1e-12)
    np.testing.assert_allclose(noise.apply(np.eye(noise.size)), dense_noise(noise), atol=1e-12)
    white = noise.whiten(np.eye(noise.size))
    np.testing.assert_allclose(white.T @ white, np.linalg.inv(dense_noise(noise)), atol=1e-11)


@pytest.mark.parametrize("dense", [True, False])
def test_the_posterior_is_that_of_full_matrices(small, dense):
    forward, prior, noise, data = small
    f, c, g = dense_forward(forward), dense_prior(prior), dense_noise(noise)
    k = f @ c @ f.T + g
    solver = (
        CholeskySolver.of(predicted_covariance(forward, prior), noise)
        if dense
        else IterativeSolver(forward, prior, noise)
    )
    found = Posterior(forward, prior, noise, solver, data)
    covariance = c - c @ f.T @ np.linalg.solve(k, f @ c)
    functionals = np.random.default_rng(5).standard_normal((len(c), 4))
    limit = 1e-10 if dense else 1e-7
    np.testing.assert_allclose(found.mean, c @ f.T @ np.linalg.solve(k, data), rtol=limit, atol=limit)
    variance, resolution = found.covariance_of(functionals)
    exact = np.einsum("ik,ij,jk->k", functionals, covariance, functionals)
    np.testing.assert_allclose(variance, exact, rtol=limit)
    np.testing.assert_allclose(
        resolution, 1 - exact / np.einsum("ik,ij,jk->k", functionals, c, functionals), atol=limit
    )
    if dense:
        exact = multivariate_normal(cov=k).logpdf(data)
        assert solver.log_evidence(data) == pytest.approx(exact, rel=1e-10)


def test_samples_have_mean_and_covariance_of_the_posterior(small):
    forward, prior, noise, data = small
    f, c, g = dense_forward(forward), dense_prior(prior), dense_noise(noise)
    found = Posterior(forward, prior, noise, CholeskySolver.of(predicted_covariance(forward, prior), noise), data)
    covariance = c - c @ f.T @ np.linalg.solve(f @ c @ f.T + g, f @ c)
    count = 20_000
    samples = found.samples(np.random.default_rng(1), count)
    root = np.linalg.cholesky(np.linalg.inv(covariance))
    white = root.T @ (samples - found.mean[:, None])
    assert abs(white.mean(1)).max() < 5 / np.sqrt(count)
    assert abs(white @ white.T / count - np.eye(len(c))).max() < 6 * np.sqrt(2 / count)


def test_true_slip_lies_in_intervals_as_often_as_stated():
    forward, prior = make_forward(), make_slip_prior()
    noise, rng, count = make_noise(forward), np.random.default_rng(11), 1000
    solver = CholeskySolver.of(predicted_covariance(forward, prior), noise)
    truth = prior.draw(rng, count)
    data = forward.matmat(truth) + noise.draw(rng, count)
    found = Posterior(forward, prior, noise, solver, data[:, 0])
    totals = np.tile(np.eye(12), (2, 1))
    variance, resolution = found.covariance_of(totals)
    assert 0.02 < resolution.min() < resolution.max() < 0.999  # neither prior nor data alone determine the intervals
    errors = abs(totals.T @ (found.mean_of(data) - truth)) / np.sqrt(variance)[:, None]
    for share in (0.5, 0.8, 0.95):
        inside = (errors < norm.ppf(0.5 + share / 2)).mean(1)
        assert abs(inside - share).max() < 0.05, (share, inside)
        assert abs(inside.mean() - share) < 0.015


@pytest.mark.parametrize("lengths", [(2500.0, 1500.0), (60_000.0, 1500.0), (60_000.0, 60_000.0)])
def test_samples_of_the_prior_have_its_covariance(lengths):
    correlation, count = Correlation(make_segment(), lengths, 0.75), 20_000
    samples = correlation.draw(np.random.default_rng(8), count)
    found = samples @ samples.T / count
    np.testing.assert_allclose(found, correlation.apply(np.eye(6)), atol=6 * np.sqrt(2 / count))


def test_noise_that_is_too_small_for_double_precision_has_a_message():
    forward = make_forward(channels=6)
    predicted = predicted_covariance(forward, make_slip_prior())
    with raises(RunError):
        CholeskySolver.of(predicted, make_noise(forward).with_scale(1e-12))


def test_the_largest_evidence_finds_amplitude_and_noise():
    forward, prior = make_forward(channels=20), make_slip_prior(amplitude=0.8)
    noise, rng = make_noise(forward, 0.2), np.random.default_rng(4)
    data = (forward.matmat(prior.draw(rng, 1)) + noise.draw(rng, 1))[:, 0]
    found = estimate(forward, prior.with_amplitude(8.0), noise.with_scale(0.1), data, ("amplitude", "noise"))
    assert found.prior.amplitude == pytest.approx(0.8, rel=0.4)  # 24 parameters: 14 % standard deviation
    assert found.noise.scale == pytest.approx(1.0, rel=0.15)
    solver = CholeskySolver.of(found.predicted, found.noise)
    assert found.log_evidence == pytest.approx(solver.log_evidence(data), rel=1e-8)
    truth = CholeskySolver.of(predicted_covariance(forward, prior), noise).log_evidence(data)
    assert found.log_evidence >= truth


def test_an_amplitude_without_largest_evidence_has_a_message():
    forward, prior = make_forward(), make_slip_prior()
    with raises(RunError):
        estimate(forward, prior, make_noise(forward), np.full(forward.shape[0], 1e-6), ("amplitude",))


def test_the_largest_evidence_finds_the_correlation_length():
    forward, prior = make_forward(channels=6, windows=20), make_slip_prior(windows=20)
    noise, rng = make_noise(forward, 0.01), np.random.default_rng(6)
    data = (forward.matmat(prior.draw(rng, 1)) + noise.draw(rng, 1))[:, 0]
    found = estimate(forward, prior.with_lengths(3.0), noise, data, ("correlation_length",))
    assert found.prior.correlations[0].lengths[0] == pytest.approx(2500.0, rel=0.5)
    for factor in (0.5, 2.0):
        solver = CholeskySolver.of(predicted_covariance(forward, prior.with_lengths(factor)), noise)
        assert solver.log_evidence(data) < found.log_evidence
