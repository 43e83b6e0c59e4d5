"""Plateaus with a wall all around are found; water and even ground are not taken for missing values."""

from __future__ import annotations

import numpy as np

from faultwave.media.rasters.load import walled_plateaus

Y, X = np.mgrid[0:120, 0:100].astype(float)
HILLS = 500.0 + 80.0 * np.sin(0.11 * X) * np.cos(0.07 * Y) + 2.0 * X


def test_holes_of_zeros_are_found_with_their_places() -> None:
    heights = HILLS.copy()
    heights[20:24, 30:36] = 0.0
    heights[70:73, 50:52] = 0.0
    (first, second) = walled_plateaus(heights)
    assert first[:2] == (0.0, 24) and second[:2] == (0.0, 6)
    assert 20 <= first[2][0] < 24 and 30 <= first[2][1] < 36
    assert walled_plateaus(np.rint(heights).astype(np.int16))[0][:2] == (0.0, 24)
    heights[0:50, 30:36] = 0.0  # to the edge: it may be the sea
    assert [plateau[1] for plateau in walled_plateaus(heights)] == [6]


def test_a_small_hole_is_found_where_every_height_has_plateaus() -> None:
    """As in rasters of whole metres."""
    heights = np.rint(0.1 * HILLS).astype(np.int16)
    heights[50:52, 40:43] = -30
    even = (heights[1:, 1:] == heights[:-1, :-1]) & (heights[1:, :-1] == heights[:-1, 1:])
    assert len(np.unique(heights[1:, 1:][even])) > 20
    assert [plateau[:2] for plateau in walled_plateaus(heights)] == [(-30.0, 6)]


def test_water_and_even_ground_are_not_taken_for_holes() -> None:
    coast = np.clip(10.0 * (X - 40.0) + 30.0 * np.sin(0.2 * Y), 0.0, None)  # a sea along an edge
    bay = np.clip(np.hypot(X - 50.0, Y - 60.0) * 12.0 - 200.0, 0.0, None)  # a sea with land all around
    islands = np.clip(60.0 * np.sin(0.2 * X) * np.sin(0.2 * Y), 0.0, None)
    lake = np.maximum(HILLS, 470.0)
    plain = np.rint(3.0 + np.sin(0.1 * X) + np.cos(0.13 * Y))  # whole metres
    for ground in (HILLS, coast, bay, islands, lake, plain, np.full((40, 40), 7.0)):
        assert not walled_plateaus(ground)
        assert not walled_plateaus(np.rint(ground).astype(np.int16))


def test_one_point_and_rasters_with_undeclared_neighbours() -> None:
    heights = HILLS.copy()
    heights[20, 30] = 0.0  # a spike, no plateau
    assert not walled_plateaus(heights)
    heights[50:53, 40:43] = 0.0
    heights[49, 40] = np.nan
    assert [plateau[:2] for plateau in walled_plateaus(heights)] == [(0.0, 9)]
