"""The verification of attenuation, small: frequencies, errors of one grid, noise; and the layered half-space it stands beside."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.verify import setups
from faultwave.verify.cases import attenuation, layered
from faultwave.verify.exact.plane_waves import elastic_convergence


def test_waves_decay_as_they_should_in_a_case() -> None:
    """Through a case's own material and band; the error is that of elastic waves on the same grid."""
    assert all(row.ok for row in attenuation._frequency_rows())
    found = setups.errors(attenuation.case_settings(3, 4), attenuation.exact())
    np.testing.assert_allclose(found[[0, 6]], [0.152, 0.178], rtol=0.05)
    assert found[:9].max() < 0.35
    solution = attenuation.exact()
    start, end = (np.abs(solution(np.random.default_rng(0).uniform(-1, 1, (500, 3)), t)[:, 6:9]).max() for t in (0, 3))
    assert end < 0.6 * start and elastic_convergence().medium.mu == attenuation.ROCK["mu"]


def test_noise_decays() -> None:
    assert attenuation.noise_growth(2, 200) < 0


@pytest.mark.slow
def test_every_order_at_its_rate() -> None:
    result = attenuation.run(lambda line: None)
    assert result.rows and all(row.ok for row in result.rows), result


@pytest.mark.slow
def test_layer_over_attenuating_half_space() -> None:
    result = layered.run_loh3(lambda line: None)  # 2.4, 1.7 and 1.8 %
    assert result.rows and all(row.ok for row in result.rows), result
