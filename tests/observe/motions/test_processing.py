"""Records are made the same quantity, directions, times and band."""

import numpy as np
import pytest

from faultwave.observe.motions.processing import (
    along_axes,
    as_quantity,
    direction,
    filtered,
    resampled,
    to_axes,
)

TIME = np.arange(0.0, 10.0, 0.01)
WAVE = np.exp(-((TIME - 5.0) ** 2)) * np.sin(2 * np.pi * TIME)


def test_differentiation_and_integration_are_each_other_s_inverse():
    u = as_quantity(WAVE, 0.01, "velocity", "displacement")
    np.testing.assert_allclose(as_quantity(u, 0.01, "displacement", "velocity"), WAVE, atol=2e-3)
    a = as_quantity(u, 0.01, "displacement", "acceleration")
    np.testing.assert_allclose(a, np.gradient(WAVE, 0.01), atol=0.05)


def test_differentiation_and_integration_hold_at_five_samples_a_period():
    size = 2 * np.pi * 20.0
    sine, cosine = np.sin(size * TIME), np.cos(size * TIME)
    inner = slice(20, -20)
    np.testing.assert_allclose(
        as_quantity(sine, 0.01, "velocity", "acceleration")[inner] / size, cosine[inner], atol=0.02
    )
    moved = size * as_quantity(cosine, 0.01, "acceleration", "velocity")
    np.testing.assert_allclose(moved[inner] - moved[inner].mean(), sine[inner], atol=0.03)


def test_a_band_keeps_what_is_in_it_without_a_shift():
    kept = filtered(WAVE, 0.01, 0.3, 3.0)
    assert np.corrcoef(kept, WAVE)[0, 1] > 0.99
    assert np.abs(filtered(WAVE, 0.01, 5.0, None)).max() < 0.01 * np.abs(WAVE).max()
    assert np.abs(filtered(WAVE, 0.01, None, 0.2)).max() < 0.01 * np.abs(WAVE).max()
    np.testing.assert_array_equal(filtered(WAVE, 0.01, None, 60.0), WAVE)


def test_resampling_takes_out_what_the_new_times_cannot_hold():
    at = np.arange(0.0, 9.5, 0.1)
    np.testing.assert_allclose(resampled(TIME, WAVE, at)[2:-2], np.interp(at, TIME, WAVE)[2:-2], atol=0.02)
    fast = np.sin(2 * np.pi * 9.0 * TIME)
    assert np.abs(resampled(TIME, fast, at)[10:-10]).max() < 0.05
    assert not resampled(TIME, WAVE, np.arange(20.0, 21.0, 0.1)).any()


@pytest.mark.parametrize("turned", [0.0, 37.0, -120.0])
def test_components_of_any_direction_give_east_north_up(turned):
    motion = np.random.default_rng(0).normal(size=(3, 20))
    ways = np.array([direction(turned + 90, 0), direction(turned, 0), direction(0, -90)])
    np.testing.assert_allclose(to_axes(ways @ motion, ways), motion, atol=1e-12)
    two = to_axes(ways[:2] @ motion, ways[:2])
    np.testing.assert_allclose(two[:2], motion[:2], atol=1e-12)
    np.testing.assert_allclose(along_axes(motion, turned)[1], ways[1] @ motion, atol=1e-12)
    np.testing.assert_allclose(along_axes(motion, turned)[0], ways[0] @ motion, atol=1e-12)


def test_components_that_tell_no_plane():
    with pytest.raises(ValueError, match="not orthogonal"):
        to_axes(np.ones((2, 5)), np.array([direction(10, 0), direction(12, 0)]))
