"""Interpolation between the points of two grids on the plane that they share."""

import numpy as np
import pytest

from faultwave.domain.grids.joint import RATIOS, Axis

COUNT = 12


def matrices(axis):
    """From coarse to fine points and back, around a periodic axis."""
    fine = axis.ratio * COUNT
    low, high = axis.needed(0, fine, True)
    to_fine = axis.finer(np.eye(COUNT)[np.arange(low, high) % COUNT], low, 0, fine, 0)
    low, high = axis.needed(0, COUNT, False)
    return to_fine, axis.coarser(np.eye(fine)[np.arange(low, high) % fine], low, 0, COUNT, 0)


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("half", [False, True])
def test_both_ways_are_transposed_and_exact_for_cubic_polynomials(ratio, half):
    to_fine, to_coarse = matrices(Axis(ratio, half))
    assert np.abs(to_coarse - to_fine.T / ratio).max() < 1e-15
    shift = 1.0 if half else 0.5
    coarse, fine = ratio * (np.arange(COUNT) + shift), np.arange(ratio * COUNT) + shift
    middle = slice(4, COUNT - 4)
    for degree in range(4):
        x, y = (fine - 0.5 * ratio * COUNT) ** degree, (coarse - 0.5 * ratio * COUNT) ** degree
        assert np.abs(to_coarse @ x - y)[middle].max() < 1e-10
        assert np.abs(to_fine @ y - x)[ratio * 4 : -ratio * 4].max() < 1e-10


def test_a_part_is_made_like_the_whole():
    """To the last bit, whatever part, along any axis of an array."""
    values = np.random.default_rng(0).normal(size=(3, 40, 2))
    for ratio in RATIOS:
        axis = Axis(ratio, False)
        low, high = axis.needed(3 * ratio, 30 * ratio, True)
        whole = axis.finer(values[:, low:high], low, 3 * ratio, 30 * ratio, 1)
        first, last = 7 * ratio + 1, 19 * ratio - 1
        low, high = axis.needed(first, last, True)
        part = axis.finer(values[:, low:high], low, first, last, 1)
        assert np.array_equal(part, whole[:, first - 3 * ratio : last - 3 * ratio])
