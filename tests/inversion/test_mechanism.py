"""Mechanisms and tensors of the smallest misfit, and how often the true ones lie in their intervals."""

import numpy as np
import pytest
from scipy.stats import norm

from faultwave.inversion.moment_tensor.estimate import Misfit, estimate
from faultwave.inversion.moment_tensor.mechanism import (
    DEVIATORIC,
    decompose,
    double_couple,
    from_matrix,
    local_tensors,
    planes,
    scalar_moment,
    to_matrix,
)
from faultwave.physics.sources.point import moment_tensor

TRUE = np.array([0.3, -0.5, 0.6, 0.3, -0.4, 0.7])
ANGLES = np.array([211.0, 63.0, -34.0])


def make_misfit(truth, noise=0.0, seed=1, windows=1, rows=60):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((rows, 6 * windows)) + 0.3
    data = matrix @ np.asarray(truth).ravel() + noise * np.random.default_rng(seed + 1000).standard_normal(rows)
    scale = 1.0 if noise == 0.0 else noise
    return Misfit(matrix.T @ matrix / scale**2, matrix.T @ data / scale**2, data @ data / scale**2)


def test_components_are_up_south_and_east():
    axes = np.array([[0, 0, -1.0], [-1.0, 0, 0], [0, 1.0, 0]])  # up, south, east along north, east, down
    rr, tt, pp, rt, rp, tp = TRUE
    expected = axes.T @ np.array([[rr, rt, rp], [rt, tt, tp], [rp, tp, pp]]) @ axes
    np.testing.assert_allclose(to_matrix(TRUE), expected, atol=1e-15)
    np.testing.assert_allclose(from_matrix(expected), TRUE, atol=1e-15)
    north = np.array([0.6, 0.8])
    turn = np.array([[*north, 0.0], [north[1], -north[0], 0.0], [0.0, 0.0, -1.0]])  # north, east, down along x, y, z
    local = turn.T @ expected @ turn
    found = TRUE @ local_tensors(north[None])[0]
    np.testing.assert_allclose(found, [local[i] for i in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))], atol=1e-15)


def test_double_couples_are_those_of_point_sources():
    expected = from_matrix(moment_tensor(*np.radians(ANGLES), 1.0))
    np.testing.assert_allclose(double_couple(*ANGLES), expected, atol=1e-15)
    assert scalar_moment(double_couple(*ANGLES)) == pytest.approx(1.0, rel=1e-14)
    found = planes(double_couple(*ANGLES))
    for plane in found:
        np.testing.assert_allclose(double_couple(*plane), expected, atol=1e-14)
    assert min(abs(plane - ANGLES).max() for plane in found) < 1e-5


@pytest.mark.parametrize("strike", [0.0, 37.0, 90.0, 180.0, 270.0])
def test_planes_are_exact_for_special_angles(strike):
    for dip in (0.0, 1e-9, 1e-3, 45.0, 89.9999, 90.0):
        for rake in (-180.0, -90.0, 0.0, 45.0, 90.0, 180.0):
            found = planes(double_couple(strike, dip, rake))
            for plane in found:
                np.testing.assert_allclose(double_couple(*plane), double_couple(strike, dip, rake), atol=1e-13)
                assert 0 <= plane[0] < 360 and 0 <= plane[1] <= 90 and -180 <= plane[2] <= 180
            assert found[0][1] <= found[1][1]


def test_the_decomposition_has_the_parts_of_its_sources():
    couple, dipole = to_matrix(double_couple(*ANGLES)), np.diag([-1.0, -1.0, 2.0])
    for tensor, parts in (
        (couple, (0, 0, 1)), (np.eye(3), (1, 0, 0)), (-np.eye(3), (-1, 0, 0)), (dipole, (0, 1, 0)), (-dipole, (0, -1, 0)),
        (np.diag([1.0, 0.0, -1.0]) + 0.5 * np.eye(3), (1 / 3, 0, 2 / 3)),
    ):  # fmt: skip
        found = decompose(from_matrix(tensor))
        np.testing.assert_allclose((found.isotropic, found.clvd, found.double_couple), parts, atol=1e-12)


@pytest.mark.parametrize("windows", [1, 3])
def test_tensors_are_found_to_rounding_without_noise(windows):
    parts = np.array([0.5, 1.0, 0.2])[:windows, None]
    full = estimate(make_misfit(parts * TRUE, windows=windows), "full")
    np.testing.assert_allclose(full.tensors, parts * TRUE, rtol=1e-11, atol=1e-11)
    flat = DEVIATORIC @ TRUE[[0, 1, 3, 4, 5]]
    deviatoric = estimate(make_misfit(parts * flat, windows=windows), "deviatoric")
    np.testing.assert_allclose(deviatoric.tensors, parts * flat, rtol=1e-11, atol=1e-11)
    couple = estimate(make_misfit(parts * double_couple(*ANGLES), windows=windows), "double-couple")
    np.testing.assert_allclose(couple.tensors, parts * double_couple(*ANGLES), rtol=1e-9, atol=1e-9)
    assert min(abs(plane - ANGLES).max() for plane in planes(couple.total)) < 1e-5


@pytest.mark.parametrize("seed", range(4))
def test_constraints_hold_with_noise(seed):
    misfit = make_misfit(TRUE, 0.5, seed)
    full, deviatoric, couple = (estimate(misfit, kind) for kind in ("full", "deviatoric", "double-couple"))
    assert abs(full.total[:3].sum()) > 0.01
    assert abs(deviatoric.total[:3].sum()) < 1e-14
    trace = np.array([1.0, 1.0, 1.0, 0, 0, 0])
    assert abs(deviatoric.covariance @ trace).max() < 1e-15
    assert abs(couple.total[:3].sum()) < 1e-14
    assert abs(np.linalg.det(to_matrix(couple.total))) < 1e-14
    assert full.misfit < deviatoric.misfit < couple.misfit
    strike, dip, rake = np.meshgrid(np.arange(0, 360, 15), np.arange(5, 91, 10), np.arange(-180, 180, 15))
    for angles in np.stack([strike, dip, rake], -1).reshape(-1, 3):  # nothing on a grid is better
        shape = double_couple(*angles)
        size = misfit.slope @ shape / (shape @ misfit.curvature @ shape)
        assert misfit.of(size * shape) >= couple.misfit - 1e-9


def test_the_deviatoric_tensor_is_that_of_a_constraint_by_a_multiplier():
    misfit = make_misfit(TRUE, 0.5)
    trace = np.array([1.0, 1.0, 1.0, 0, 0, 0])
    system = np.block([[misfit.curvature, trace[:, None]], [trace[None], np.zeros((1, 1))]])
    expected = np.linalg.solve(system, [*misfit.slope, 0.0])[:6]
    np.testing.assert_allclose(estimate(misfit, "deviatoric").total, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", ["full", "deviatoric"])
def test_true_tensors_lie_in_intervals_as_often_as_stated(kind):
    truth = TRUE if kind == "full" else DEVIATORIC @ TRUE[[0, 1, 3, 4, 5]]
    rng, count = np.random.default_rng(3), 1000
    matrix = rng.standard_normal((40, 6)) + 0.5
    inside = np.zeros(6)
    for _ in range(count):
        data = matrix @ truth + 0.7 * rng.standard_normal(40)
        found = estimate(Misfit(matrix.T @ matrix / 0.49, matrix.T @ data / 0.49, data @ data / 0.49), kind)
        inside += abs(found.total - truth) < norm.ppf(0.9) * np.sqrt(np.diagonal(found.covariance))
    assert abs(inside / count - 0.8).max() < 0.045  # 3.5 standard deviations of the count


def test_true_angles_lie_in_intervals_as_often_as_stated():
    rng, count, inside = np.random.default_rng(5), 200, np.zeros(4)
    matrix, truth = rng.standard_normal((40, 6)) + 0.5, 2.0 * double_couple(*ANGLES)
    expected, _ = planes(truth)
    for _ in range(count):
        data = matrix @ truth + 0.3 * rng.standard_normal(40)
        found = estimate(Misfit(matrix.T @ matrix / 0.09, matrix.T @ data / 0.09, data @ data / 0.09), "double-couple")
        errors = abs(found.angles - expected) / found.deviations
        slope = 0.5 * np.array([1, 1, 1, 2, 2, 2]) * found.total / scalar_moment(found.total)
        moment = abs(scalar_moment(found.total) - 2.0) / np.sqrt(slope @ found.covariance @ slope)
        inside += np.array([*errors, moment]) < norm.ppf(0.9)
    assert abs(inside / count - 0.8).max() < 0.1  # 3.5 standard deviations of the count


def test_samples_have_mean_and_covariance_of_the_posterior():
    rng = np.random.default_rng(1)
    full = estimate(make_misfit(TRUE, 0.5), "full")
    samples = np.array([full.draw(rng) for _ in range(4000)])
    white = np.linalg.solve(np.linalg.cholesky(full.covariance), (samples - full.total).T)
    assert abs(white.mean(1)).max() < 5 / np.sqrt(4000)
    assert abs(white @ white.T / 4000 - np.eye(6)).max() < 6 * np.sqrt(2 / 4000)
    couple = estimate(make_misfit(double_couple(*ANGLES), 0.1), "double-couple")
    samples = np.array([couple.draw(rng) for _ in range(1000)])
    assert abs(np.linalg.det(to_matrix(samples))).max() < 1e-13
    np.testing.assert_allclose(samples.std(0), np.sqrt(np.diagonal(couple.covariance)), rtol=0.15, atol=1e-3)
