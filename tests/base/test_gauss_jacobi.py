"""Quadrature rules: the table and what it is made of."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import roots_jacobi

from faultwave.base.formulas import gauss_jacobi


@pytest.mark.parametrize("alpha", [0, 1, 2])
@pytest.mark.parametrize("points", range(1, 13))
def test_rules_are_those_of_scipy(points, alpha):
    for mine, theirs in zip(gauss_jacobi(points, alpha), roots_jacobi(points, alpha, 0), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=4e-15, atol=4e-16)


@pytest.mark.parametrize("alpha", [0, 1, 2])
@pytest.mark.parametrize("points", range(1, 11))
def test_integrals_of_polynomials(points, alpha):
    """In the powers of 1 - x, whose integrals over [-1, 1] are 2^(m + 1) / (m + 1)."""
    nodes, weights = gauss_jacobi(points, alpha)
    assert (np.diff(nodes) > 0).all()
    for degree in range(2 * points):
        m = degree + alpha
        assert (weights * (1 - nodes) ** degree).sum() == pytest.approx(2 ** (m + 1) / (m + 1), rel=1e-13)


def test_a_rule_can_be_changed_without_harm():
    gauss_jacobi(4)[0][:] = 0
    assert gauss_jacobi(4)[0][0] < -0.8
