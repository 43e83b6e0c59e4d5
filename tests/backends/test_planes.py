"""Products of matrices with few numbers and planes."""

import numpy as np
import pytest

from faultwave import backends

from .here import present

SIZE = (37, 61)


def band(rows, weights, columns, seed):
    rng = np.random.default_rng(seed)
    return np.sort(rng.integers(0, columns - weights + 1, rows)), rng.normal(size=(rows, weights))


def product(name, rows, columns, values, precision):
    into = np.full((len(rows[0]), len(columns[0])), np.nan, precision)
    values = np.array(values, precision)
    act = backends.plane_product(name, rows, columns, values, into)
    act()
    first = into.copy()
    values *= 2
    act()
    assert np.array_equal(into, 2 * first)
    return first


def matrix(band, columns):
    found = np.zeros((len(band[0]), columns))
    for row, (first, weights) in enumerate(zip(*band, strict=True)):
        found[row, first : first + len(weights)] = weights
    return found


@pytest.mark.parametrize("name", present(["numpy", "cpu", "opencl"]))
@pytest.mark.parametrize(("precision", "bound"), [("float64", 1e-14), ("float32", 1e-5)])
def test_it_is_the_product_and_follows_the_plane(name, precision, bound):
    rows, columns = band(50, 4, SIZE[0], 1), band(23, 12, SIZE[1], 2)
    values = np.random.default_rng(3).normal(size=SIZE)
    expected = matrix(rows, SIZE[0]) @ values @ matrix(columns, SIZE[1]).T
    found = product(name, rows, columns, values, precision)
    assert np.abs(found - expected).max() < bound * np.abs(expected).max()


@pytest.mark.parametrize("name", present(["numpy", "cpu"]))
@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize(("low", "high"), [(0, 23), (5, 9), (3, 20)])
def test_a_part_has_the_bits_of_the_whole(name, precision, low, high):
    rows, columns = band(50, 4, SIZE[0], 1), band(23, 12, SIZE[1], 2)
    values = np.random.default_rng(3).normal(size=SIZE)
    whole = product(name, rows, columns, values, precision)[7:31, low:high]
    first, last = int(columns[0][low]), int(columns[0][high - 1]) + 12
    start, end = int(rows[0][7]), int(rows[0][30]) + 4
    part = product(
        name, (rows[0][7:31] - start, rows[1][7:31]), (columns[0][low:high] - first, columns[1][low:high]),
        values[start:end, first:last], precision,
    )  # fmt: skip
    assert np.array_equal(part, whole)
