"""Errors of grids from two coarser ones: each kind of error is found again, alone and with others, and beside what steps in time do."""

import numpy as np
import pytest

from faultwave.observe.error_estimates import Kinds, fit_error_kinds

SPACINGS, ORDER = (100.0, 150.0, 200.0), 4
NOTHING = np.zeros((1, 1, 1))
_random = np.random.default_rng(4)


def series(size, count=4000):
    """What has nothing in common with other series: two receivers, three quantities."""
    return size * _random.standard_normal((count, 2, 3)) / np.sqrt(3)


def errors(dispersion=0.0, planes=0.0, places=0.0):
    """On each grid, over records of size one."""
    shapes = series(dispersion), series(planes)
    return [
        shapes[0] * (h / SPACINGS[0]) ** ORDER
        + shapes[1] * (h / SPACINGS[0]) ** 2
        + series(places) * (h / SPACINGS[0]) ** 2
        for h in SPACINGS
    ]


def compared(of_space, by_time=NOTHING):
    """Estimated over true errors of both receivers."""
    ours = series(1.0)
    near, far = (e - of_space[0] for e in of_space[1:])
    found = fit_error_kinds(SPACINGS, ORDER)(ours, near, far, by_time)
    size = np.sqrt((ours**2).sum((0, 2)))
    return np.sqrt((found**2).sum(1)) / (np.sqrt(((of_space[0] + by_time) ** 2).sum((0, 2))) / size)


@pytest.mark.parametrize("sizes", [(1e-3, 0, 0), (0, 1e-3, 0), (0, 0, 1e-3), (1e-3, 0, 2e-3), (1e-3, 1e-3, 1e-3)])
def test_each_kind_of_error_is_found_alone_and_among_others(sizes):
    np.testing.assert_allclose(compared(errors(*sizes)), 1.0, atol=0.12)


def test_products_of_differences_are_those_of_each_kind():
    kinds = Kinds.of(SPACINGS, ORDER)
    for n in range(3):
        found = errors(*np.eye(3)[n])
        near, far = found[1] - found[0], found[2] - found[0]
        for row, (one, other) in enumerate(((near, near), (far, far), (near, far))):
            assert (one * other).sum((0, 2)).mean() / 4000 == pytest.approx(kinds.products[row, n], rel=0.08)
        assert (found[0] * near).sum((0, 2)).mean() / 4000 == pytest.approx(kinds.along[n], rel=0.08)


def test_what_steps_in_time_do_may_cancel_dispersion_and_nothing_else():
    waves = errors(1e-3)
    alone = compared(waves, -0.7 * waves[0])
    np.testing.assert_allclose(alone, 1.0, atol=0.1)
    rough = errors(0.0, 0.0, 1e-3)
    np.testing.assert_allclose(compared(rough, -0.7 * series(1e-3)), 1.0, atol=0.1)


def test_the_mix_is_that_of_the_time_until_the_coarsest_run_ended():
    waves, ours = errors(1e-3, 0.0, 1e-3), series(1.0)
    near, far = (e - waves[0] for e in waves[1:])
    method = fit_error_kinds(SPACINGS, ORDER)
    np.testing.assert_allclose(method(ours, near, far[:2000], NOTHING), method(ours, near, far, NOTHING), rtol=0.1)


def test_records_that_agree_have_the_error_of_the_steps_alone():
    ours = series(1.0)
    same = np.zeros_like(ours)
    method = fit_error_kinds(SPACINGS, ORDER)
    assert np.all(method(ours, same, same, NOTHING) == 0.0)
    np.testing.assert_allclose(np.sqrt((method(ours, same, same, 0.01 * ours) ** 2).sum(1)), 0.01)


def test_errors_that_a_coarser_grid_loses_all_of_stay_bounded():
    ours = series(1.0)
    found = fit_error_kinds(SPACINGS, ORDER)(ours, -0.9 * ours, -ours, NOTHING)
    assert np.all(np.sqrt((found**2).sum(1)) < 1.0)
