"""Meshes that no machine holds are told before they are made."""

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.domain.build import make
from faultwave.domain.build.flat import Sizes
from tests.messages import raises


def test_cells_of_even_sizes_are_counted():
    sizes = Sizes(np.zeros(3), np.full(3, 100.0), np.full((11, 11, 11), 50.0))
    assert sizes.cells() == pytest.approx(1e9 * 6 * 2**0.5 / 50.0**3)


def test_more_cells_than_memory_are_refused(monkeypatch):
    monkeypatch.setattr(make, "machine_memory", lambda: 2**30)
    make._check_count(1e5, 10.0)
    with raises(InputError):
        make._check_count(2e8, 0.9)
    square = np.array([[[0, 0, 0], [2, 0, 0], [2, 3, 0], [0, 3, 0]]], float)
    assert make._area(square) == pytest.approx(6.0)
