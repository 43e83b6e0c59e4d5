"""The matched layer's reaction is the uniaxial medium's: i w s_y s_z/s_x in place of i w, at complex frequencies."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.physics.waves.law import LAYER
from faultwave.physics.waves.maxwell import Maxwell, layer_rates


@pytest.mark.parametrize(
    "damping, shift", [((0.7, 1.3, 2.1), 0.0), ((0.0, 1.3, 2.1), 0.0), ((0.7, 0.0, 0.0), 0.4), ((0.0, 0.0, 2.1), 0.4)]
)
def test_the_reaction_stretches_axes(damping: tuple[float, ...], shift: float) -> None:
    """With a shift where one axis alone is damped, and without one anywhere."""
    law = Maxwell(matched=True)
    rates = layer_rates({name: np.array(v) for name, v in zip(LAYER, (*damping, shift), strict=True)})
    matrix = np.stack([np.asarray(law.reaction(q, rates), float) for q in np.eye(12)], 1)
    w = 2.3 - 0.2j
    s = 1 + np.array(damping) / (shift + 1j * w)
    for i in range(6):
        memory = matrix[6 + i, i] / (1j * w - matrix[6 + i, 6 + i])
        found = 1j * w - matrix[i, i] - matrix[i, 6 + i] * memory
        x = i % 3
        assert found == pytest.approx(1j * w * s[x - 1] * s[x - 2] / s[x], rel=1e-12)
    assert np.count_nonzero(matrix[:6, :6] - np.diag(np.diag(matrix[:6, :6]))) == 0
