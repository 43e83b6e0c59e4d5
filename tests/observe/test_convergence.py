"""Errors from the differences of two coarser runs: laws that are known are found again, and what tells nothing is bounded."""

import math

import numpy as np
import pytest

from faultwave.observe.error_estimates import (
    LARGEST,
    error,
    extrapolate_by_laws,
    extrapolate_errors,
    factor,
    point_distance_law,
    polynomial_law,
    relative,
)

SIZES = np.array([1e-4, 1e-2, 0.3, 1.0])


def differences(x):
    """Of the second and third of waves that arrive as exp(-x) of themselves from the first."""
    return [1.0 - np.exp(-(coarse - x[0])) for coarse in x[1:]]


@pytest.mark.parametrize("orders", [(4, 3, 2), (5, 4, 3), (6, 5, 3), (8, 7, 5)])
def test_errors_of_polynomials_of_a_harmonic_wave_are_found(orders):
    for wavenumber in (0.5, 1.0, 1.5):
        x = [0.5 * SIZES * wavenumber**n / math.factorial(n) for n in orders]
        np.testing.assert_allclose(
            error(polynomial_law(orders), *differences(x)), 1.0 - np.exp(-x[0]), rtol=1e-6, atol=1e-14
        )


@pytest.mark.parametrize("power", [1.2, 2.0, 4.0])
def test_errors_that_go_with_a_power_of_the_distance_of_points_are_found(power):
    orders = (6, 4, 3)
    near, far = differences([0.2 * SIZES * (6 / n) ** power for n in orders])
    known = far < LARGEST
    found = error(point_distance_law(orders), near, far)
    np.testing.assert_allclose(found[known], (1.0 - np.exp(-0.2 * SIZES))[known], rtol=1e-6)


def test_what_does_not_converge_errs_as_at_first_order_at_most():
    near = np.array([0.01])
    found = error(polynomial_law((4, 3, 2)), near, near)
    assert found == pytest.approx(0.03, rel=0.02)  # 1 / (4/3 - 1) times the difference


def test_a_coarser_run_that_shows_nothing_gives_a_number_below_one():
    found = error(polynomial_law((4, 3, 2)), np.array([0.9, 1.4, 3.0]), np.array([1.0, 1.5, 4.0]))
    assert np.all((found > 0.3) & (found < 1.0))


def test_runs_that_agree_have_no_error():
    assert error(polynomial_law((4, 3, 2)), np.zeros(1), np.zeros(1)) < 1e-9


def test_receivers_of_one_run_share_a_factor():
    levels = polynomial_law((4, 3, 2))
    near, far = np.array([0.02, 0.04, np.nan, 0.0]), np.array([0.1, 0.4, np.nan, 0.0])
    all_near, all_far = (np.sqrt(np.nansum(d**2, keepdims=True) / 3) for d in (near, far))
    assert factor([levels], near, far) == pytest.approx(float((error(levels, all_near, all_far) / all_near)[0]))
    assert factor([levels], near[:1], far[:1]) == pytest.approx(float(error(levels, near[:1], far[:1])[0] / near[0]))
    assert factor([levels], near[2:3], far[2:3]) == 0.0
    assert factor([levels], near[3:], far[3:]) == 0.0


def test_receivers_that_no_wave_has_reached_do_not_count_for_others():
    law, near, far = polynomial_law((4, 3, 2)), np.array([0.02, 0.03, 0.025]), np.array([0.2, 0.25, 0.3])
    alone = factor([law], near, far)
    assert factor([law], np.append(near, 30.0), np.append(far, 80.0)) == pytest.approx(alone)
    assert 0.0 < factor([law], np.array([3.0]), np.array([5.0])) < 1.0


def test_several_laws_count_by_their_geometric_mean():
    smooth, rough = polynomial_law((4, 3, 2)), point_distance_law((4, 3, 2))
    near, far = np.array([0.05]), np.array([0.3])
    one, other = (factor([law], near, far) for law in (smooth, rough))
    assert other > 1.5 * one
    assert factor([smooth, rough], near, far) == pytest.approx(np.sqrt(one * other))


def test_the_factor_is_of_what_was_recorded_until_the_coarsest_run_ended():
    """Errors that grow in proportion to time are found from the first half of the coarsest run as from all of it; what is known comes on
    top."""
    law, lost = polynomial_law((4, 3, 2)), [0.02 / math.factorial(n) for n in (4, 3, 2)]
    time = np.linspace(0.0, 1.0, 201)[:, None, None]
    ours = np.cos(40 * time) * np.array([[0.6, 0.8]])
    near, far = ((x - lost[0]) * time * ours for x in lost[1:])
    whole, half = (extrapolate_by_laws([law])(ours, near, d, np.zeros((1, 1, 1))) for d in (far, far[:101]))
    np.testing.assert_allclose(whole, lost[0] * np.array([[0.6, 0.8]]) * relative(time * ours, ours), rtol=0.01)
    np.testing.assert_allclose(half, whole, rtol=0.02)
    np.testing.assert_allclose(extrapolate_by_laws([law])(ours, near, far, 0.1 * ours), np.hypot(whole, [[0.06, 0.08]]))


def growing(rate, time, arrives=0.0):
    """Records (nt, n, 2), and what a coarser run that loses ``rate`` (n,) of waves a unit of time differs from them by."""
    wave = np.where(time > arrives, 1.0, 1e-3) * np.cos(40 * time) * np.ones_like(rate)
    ours = wave[..., None] * np.array([0.6, 0.8])
    return ours, -np.expm1(-rate * time)[..., None] * ours


def test_errors_go_on_to_grow_after_both_coarser_runs_have_ended():
    law, time = polynomial_law((4, 3, 2)), np.linspace(0.0, 2.0, 401)[:, None]
    rates = [np.array([0.5, 1.0, 2.0]) / math.factorial(n) for n in (4, 3, 2)]
    (ours, _), near, far = growing(rates[0], time), *(growing(r - rates[0], time)[1] for r in rates[1:])
    until, nothing = 181, np.zeros((1, 1, 1))
    whole, begun = (extrapolate_by_laws([law])(ours, near[:n], far[:until], nothing) for n in (401, until))
    np.testing.assert_allclose(begun, whole, rtol=0.08)
    true = np.sqrt(
        ((1.0 - np.exp(-rates[0] * time[:, 0, None])) ** 2 * (ours**2).sum(2)).sum(0) / (ours**2).sum((0, 2))
    )
    np.testing.assert_allclose(np.sqrt((begun**2).sum(1)), true, rtol=0.2)
    np.testing.assert_allclose(begun / np.sqrt((begun**2).sum(1))[:, None], np.tile([0.6, 0.8], (3, 1)))


def test_receivers_that_waves_reach_later_err_for_their_time_as_others_do():
    time, until = np.linspace(0.0, 2.0, 401)[:, None], 201
    ours, wrong = growing(np.array([0.05, 0.05]), time, np.array([0.0, 1.2]))
    noise = np.zeros_like(wrong[:until])
    noise[50, 1] = 9.0
    found, told = extrapolate_errors(relative(wrong[:until] + noise, ours), ours, until)
    assert told.tolist() == [True, False]
    np.testing.assert_allclose(found, relative(wrong, ours), rtol=0.03)
    assert found[1] > 1.3 * found[0]
    each = extrapolate_by_laws([polynomial_law((4, 3, 2))])(
        ours, wrong[:until] + noise, 4 * wrong[:until], np.zeros((1, 1, 1))
    )
    np.testing.assert_allclose(each[1], np.sqrt((each[1] ** 2).sum()) * np.array([0.6, 0.8]))
    ours[:, 1], wrong[:, 1] = 0.0, 0.0
    assert not extrapolate_errors(np.array([0.1, np.nan]), ours, until)[1][1]


def test_nothing_grows_where_the_coarser_run_came_to_the_end():
    ours, wrong = growing(np.array([0.3, 6.0]), np.linspace(0.0, 2.0, 401)[:, None])
    errors = np.array([0.2, 1.7])
    np.testing.assert_allclose(extrapolate_errors(errors, ours, 401)[0], errors)
    np.testing.assert_array_equal(extrapolate_errors(np.zeros(2), ours, 200)[0], 0.0)
