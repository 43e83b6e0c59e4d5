"""The load on which friction acts at the points of a weakened face."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultwave.dg.fault.rupture import _drawn_together, _reach_over_excess

POINTS = 6


def acting(tau1, tau2, strength):
    """Return the shear (n, 2) on which friction acts; loads that are smooth already."""
    load = [np.array(tau1, float), np.array(tau2, float), np.array(strength, float)]
    mean = [np.full(POINTS, x.mean()) for x in load]
    power = np.array(_reach_over_excess(load, mean)[0][0])
    return np.array(_drawn_together(load, load, mean, [np.full(POINTS, power.sum())])).T


FACES = st.tuples(*[st.lists(st.floats(-2e8, 2e8), min_size=POINTS, max_size=POINTS)] * 2) | st.tuples(
    *[st.lists(st.floats(0, 2e8), min_size=POINTS, max_size=POINTS)] * 2
)
STRENGTHS = st.lists(st.floats(0, 2e8), min_size=POINTS, max_size=POINTS)


@given(FACES, STRENGTHS)
def test_all_points_slide_along_the_mean_load_or_none_does(loads, strength):
    shear, strength = acting(*loads, strength), np.array(strength)
    mean = np.mean(np.array(loads), axis=1)
    excess = np.linalg.norm(mean) - strength.mean()
    slides = np.linalg.norm(shear, axis=1) - strength
    if excess <= 0:
        assert (slides <= 0).all()
    elif excess > 1.0:  # [Pa]; the direction of less is lost in rounding
        along = shear @ mean / np.linalg.norm(mean)
        assert (slides >= -1e-6 * strength - 1e-3 * excess).all()
        assert (along >= strength * (1 - 1e-6) - 1e-3 * excess).all()


def test_a_face_stands_although_its_strength_varies():
    """Strength that grows with depth below a load that is below it everywhere."""
    shear = acting([0.02e6] * POINTS, [0.0] * POINTS, np.array([0.05, 0.1, 0.2, 0.4, 0.6, 0.9]) * 1e6)
    np.testing.assert_array_equal(shear, [[0.02e6, 0.0]] * POINTS)


def test_a_point_without_strength_slides_only_with_its_face():
    standing = acting([1e6] * POINTS, [0.0] * POINTS, [0.0, 4e6, 4e6, 4e6, 4e6, 4e6])
    assert standing[0] == pytest.approx([0.0, 0.0], abs=1e-3)
    sliding = acting([3.5e6] * POINTS, [0.0] * POINTS, [0.0, 4e6, 4e6, 4e6, 4e6, 4e6])
    assert (np.linalg.norm(sliding, axis=1) > [0.0, 4e6, 4e6, 4e6, 4e6, 4e6]).all()
