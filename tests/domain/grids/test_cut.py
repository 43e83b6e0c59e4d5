"""Grids cut into boxes."""

import numpy as np
import pytest

from faultwave.domain.grids import Cut, best_cut

NONE = (False, False, False)


def test_the_cut_has_the_least_surface():
    assert best_cut((100, 100, 400), 4, NONE, 8).counts == (1, 1, 4)
    assert best_cut((100, 100, 100), 8, NONE, 8).counts == (2, 2, 2)
    assert best_cut((100, 100, 100), 2, NONE, 8).counts[2] == 1  # rows stay whole
    assert best_cut((20, 20, 20), 8, NONE, 11) is None
    assert best_cut((90, 8, 8), 4, NONE, 8).counts == (4, 1, 1)


@pytest.mark.parametrize("around", [NONE, (False, True, True)])
def test_boxes_are_the_whole_and_know_their_points(around):
    cut = Cut((13, 17, 11), (2, 3, 1), around)
    seen = np.zeros(cut.shape, int)
    for rank in range(6):
        assert cut.rank(cut.coordinates(rank)) == rank
        lo, hi = cut.span(cut.coordinates(rank))
        seen[tuple(slice(a, b) for a, b in zip(lo, hi, strict=True))] += 1
        z, y, x = np.meshgrid(*(np.arange(a, b) for a, b in zip(lo, hi, strict=True)), indexing="ij")
        assert (cut.rank_of(np.stack([z, y, x], -1).reshape(-1, 3)) == rank).all()
    assert (seen == 1).all()
