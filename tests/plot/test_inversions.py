"""Sizes of the cells of subfaults in the picture of an inversion."""

import numpy as np
import pytest

from faultwave.plot.inversions.slip import cell_size


@pytest.mark.parametrize(("shape", "size"), [((3, 5), (0.2, 0.1)), ((1, 5), (0.2, 0.2)), ((5, 1), (0.1, 0.1))])
def test_cells_fill_the_fault(shape, size):
    d, s = np.meshgrid(0.1 * np.arange(shape[0]), 0.2 * np.arange(shape[1]), indexing="ij")
    rounding = 1e-4 * np.random.default_rng(2).random((2, d.size))
    assert cell_size(s.ravel(), d.ravel()) == pytest.approx(size)
    assert cell_size(s.ravel() + rounding[0], d.ravel() + rounding[1]) == pytest.approx(size, abs=2e-4)
