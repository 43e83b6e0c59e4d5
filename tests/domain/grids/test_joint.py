"""Interpolation between the points of two grids on the plane that they share."""

import numpy as np
import pytest

from faultwave.domain.grids import RATIOS, Axis

COUNT = 12


def full(rows, columns, start):
    """A matrix around a periodic axis."""
    found = np.zeros((len(rows[0]), columns))
    for row, (first, weights) in enumerate(zip(*rows, strict=True)):
        np.add.at(found[row], (first + start + np.arange(len(weights))) % columns, weights)
    return found


def matrices(axis):
    """From coarse to fine points and back, around a periodic axis."""
    fine = axis.ratio * COUNT
    low, _ = axis.needed(0, fine, True)
    to_fine = full(axis.finer(low, 0, fine), COUNT, low)
    low, _ = axis.needed(0, COUNT, False)
    return to_fine, full(axis.coarser(low, 0, COUNT), fine, low)


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


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("half", [False, True])
def test_a_part_reads_what_it_needs_with_the_weights_of_the_whole(ratio, half):
    axis = Axis(ratio, half)
    for finer, rows in ((True, axis.finer), (False, axis.coarser)):
        low, _ = axis.needed(3 * ratio, 30 * ratio, finer)
        whole = rows(low, 3 * ratio, 30 * ratio)
        first, last = 7 * ratio + 1, 19 * ratio - 1
        start, end = axis.needed(first, last, finer)
        places, weights = rows(start, first, last)
        assert places.min() >= 0 and places.max() + weights.shape[1] <= end - start
        part = slice(first - 3 * ratio, last - 3 * ratio)
        assert np.array_equal(places + start, whole[0][part] + low) and np.array_equal(weights, whole[1][part])
