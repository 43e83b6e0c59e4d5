"""By how much waves of spread sources err: against the transform of the function in a whole ball, and from several sources."""

from __future__ import annotations

import numpy as np
import pytest

import faultwave as fw
from tests.dg.test_spread_sources import ROCK, TENSOR, made

PLACE = (130.0, -270.0, 90.0)


def of_ball(wavenumbers: np.ndarray) -> np.ndarray:
    """Transform less 1 of (1 - r^2)^3 (a + b r^2), whose integral is 1 and whose second moment 0, in a ball of radius 1."""
    r, weights = np.polynomial.legendre.leggauss(60)
    r, weights = 0.5 * (r + 1.0), 0.5 * weights * 4.0 * np.pi
    shapes = np.stack([(1.0 - r**2) ** 3 * r**p for p in (0, 2)])
    even = np.stack([(shapes * r ** (2 + p)) @ weights for p in (0, 2)])
    function = np.linalg.solve(even, [1.0, 0.0]) @ shapes
    return np.asarray((function * np.sinc(np.outer(wavenumbers, r) / np.pi) * r**2) @ weights - 1.0)


def test_errors_are_those_of_the_transform():
    sim = made(TENSOR, PLACE, 6, {"source_spread_order": 3})
    radius = sim.plan.part("point_sources").spread.radius[0]
    frequencies, errors = sim.solver.parts["point_sources"].shared_errors()
    wavenumbers = 2.0 * np.pi * frequencies * radius / ROCK.cs
    assert errors[0] < 1e-9 and wavenumbers[-1] == pytest.approx(8.0)
    some = (wavenumbers > 0.7) & (wavenumbers < 3.5)
    np.testing.assert_allclose(errors[some], np.abs(of_ball(wavenumbers[some])), rtol=0.05)


def test_points_have_none():
    sim = made(TENSOR, PLACE, 3, {"source_spread": "point"})
    assert sim.solver.parts["point_sources"].shared_errors() is None


def test_sources_count_by_their_moments():
    alone = made(TENSOR, PLACE, 3)
    weak = {**TENSOR, "tensor": {"xy": 1e12}, "location": [-1500.0, 900.0, 1200.0]}
    case = alone.case.model_dump(exclude_unset=True)
    beside = fw.simulate({**case, "sources": [weak, {**TENSOR, "location": list(PLACE)}]})
    one, both = (s.solver.parts["point_sources"].shared_errors() for s in (alone, beside))
    found = np.interp(one[0], both[0], both[1])  # in between, as radii differ
    np.testing.assert_allclose(found[4:20], one[1][4:20], rtol=0.1)
