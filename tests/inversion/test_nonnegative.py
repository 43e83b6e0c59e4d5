"""Slip that is not negative: the most probable model, samples, and inversions of a run."""

import numpy as np
import pytest
from scipy.optimize import minimize

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.inversion import plan as plans
from faultwave.inversion.inversion import Inversion
from faultwave.inversion.nonnegative import NonnegativeProjection
from faultwave.inversion.posterior import CholeskySolver, Posterior, predicted_covariance
from tests.messages import raises

from .dense import dense_forward, dense_noise, dense_prior, make_forward, make_noise, make_slip_prior
from .inputs import inversion

NOISE = 0.4


def components(models):
    """Slip in the directions rake - 45 and rake + 45 degrees of models (windows * 2 * 6, k)."""
    along, across = models.reshape(2, 2, 6, -1).swapaxes(0, 1)
    return (along - across) / np.sqrt(2), (along + across) / np.sqrt(2)


def problem(truth):
    forward, prior = make_forward(), make_slip_prior()
    noise = make_noise(forward, NOISE)
    data = forward.matmat(truth[:, None])[:, 0] + noise.draw(np.random.default_rng(4), 1)[:, 0]
    solver = CholeskySolver.of(predicted_covariance(forward, prior), noise)
    return Posterior(forward, prior, noise, solver, data), NonnegativeProjection.of(forward, prior, noise)


def slip(patch):
    """Slip along the rake in both windows."""
    found = np.zeros((2, 2, 6))
    found[:, 0] = patch
    return found.ravel()


def test_positive_slip_is_found_where_the_unconstrained_one_is_negative():
    truth = slip([0.0, 0.0, 0.0, 0.0, 1.5, 0.1])
    posterior, projection = problem(truth)
    free = posterior.mean
    found = projection.apply(free[:, None])[:, 0]
    assert min(part.min() for part in components(free)) < -0.05
    assert min(part.min() for part in components(found)) > -1e-12
    assert abs(found - truth).max() < abs(free - truth).max() and np.linalg.norm(found - truth) < np.linalg.norm(
        free - truth
    )


def test_it_is_the_most_probable_model_of_full_matrices():
    posterior, projection = problem(slip([0.0, 0.0, 0.0, 0.0, 1.5, 0.1]))
    f, c, g = dense_forward(posterior.forward), dense_prior(posterior.prior), dense_noise(posterior.noise)
    turn = np.sqrt(0.5) * np.array([[1.0, 1.0], [-1.0, 1.0]])
    q = np.kron(np.eye(2), np.kron(turn, np.eye(6)))
    hessian, slope = (
        q.T @ (f.T @ np.linalg.solve(g, f) + np.linalg.inv(c)) @ q,
        q.T @ f.T @ np.linalg.solve(g, posterior.data),
    )
    best = minimize(lambda x: (0.5 * x @ hessian @ x - slope @ x, hessian @ x - slope), np.full(24, 0.1), jac=True, method="L-BFGS-B",
                    bounds=[(0, None)] * 24, options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000})  # fmt: skip
    found = projection.apply(posterior.mean[:, None])[:, 0]
    np.testing.assert_allclose(found, q @ best.x, atol=1e-5)


def test_positive_slip_does_not_change():
    posterior, projection = problem(slip(1.5))
    models = np.abs(posterior.mean).reshape(2, 2, 6)
    models[:, 1] = 0.5 * models[:, 0]
    np.testing.assert_allclose(projection.apply(models.reshape(-1, 1)).ravel(), models.ravel(), rtol=1e-9, atol=1e-12)
    twice = projection.apply(projection.apply(posterior.mean[:, None]))
    np.testing.assert_allclose(twice, projection.apply(posterior.mean[:, None]), atol=1e-10)


def test_slip_along_the_rake_only_is_not_negative():
    forward, prior = make_forward(), make_slip_prior()
    one = NonnegativeProjection.of(forward, prior, make_noise(forward, NOISE))
    along = NonnegativeProjection(one.root[:12, :12], np.eye(12))
    models = np.random.default_rng(1).standard_normal((12, 3))
    found = along.apply(models)
    assert found.min() == 0.0
    gradient = along.root.T @ along.root @ (found - models)  # the conditions of Karush, Kuhn and Tucker
    assert gradient.min() > -1e-9 and abs(gradient * found).max() < 1e-9


@pytest.mark.parametrize("across", [0.5, 0.0])
def test_an_inversion_with_slip_that_is_not_negative(folder, tmp_path, across):
    made = {"across": across, "nonnegative": True}
    found = fw.invert(inversion(folder, slip=made, noise={"fraction": 0.3}), tmp_path / "one")
    free = fw.invert(inversion(folder, slip=made | {"nonnegative": False}, noise={"fraction": 0.3}), tmp_path / "two")
    assert free.mean[:, 0].min() < -0.005 and free.samples[:, :, 0].min() < -0.05
    assert found.mean[:, 0].min() > -1e-12 and found.samples[:, :, 0].min() > -1e-12
    if across:
        models = np.concatenate([found.mean[None], found.samples])
        assert (abs(models[:, :, 1]) <= models[:, :, 0] + 1e-9).all()
    np.testing.assert_allclose(found.deviation, found.samples.sum(1).std(0, ddof=1), rtol=1e-9)
    assert "nowhere negative" in str(found) and "nowhere" not in str(free)
    assert found.numbers["chi2"] >= free.numbers["chi2"] - 0.05
    assert "SRF" not in str(found) and (tmp_path / "one" / "mean.srf").stat().st_size > 500


def test_too_many_parameters_are_an_error(folder, monkeypatch):
    monkeypatch.setattr(plans, "MOST", 20)
    with raises(InputError):
        Inversion(inversion(folder, slip={"nonnegative": True})).plan()
