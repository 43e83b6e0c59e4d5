"""Different rows of a table."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.physics.waves import anisotropic as module
from faultwave.physics.waves.anisotropic import distinct_rows


@pytest.mark.parametrize("factors", [module.FACTORS, (0, 0)])  # with zeros all rows have one hash
def test_rows_of_one_kind_are_found(monkeypatch: pytest.MonkeyPatch, factors: tuple[int, int]) -> None:
    monkeypatch.setattr(module, "FACTORS", factors)
    rng = np.random.default_rng(0)
    kinds = rng.normal(size=(7, 5))
    kinds[3] = kinds[2]
    kinds[3, 4] = np.nextafter(kinds[2, 4], 9.0)
    which = rng.integers(0, 7, 500)
    first, kind = distinct_rows(kinds[which])
    assert len(first) == 7
    np.testing.assert_array_equal(kinds[which][first][kind], kinds[which])


def test_one_kind_and_none() -> None:
    first, kind = distinct_rows(np.ones((4, 3)))
    assert first.tolist() == [0] and kind.tolist() == [0] * 4
    assert [len(x) for x in distinct_rows(np.zeros((0, 3)))] == [0, 0]
