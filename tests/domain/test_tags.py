"""What face tags mean: by names, by the numbers of the file, by the community's table."""

from __future__ import annotations

from dataclasses import replace

from faultwave.base.errors import InputError
from faultwave.domain.tets.connectivity.tags import UNKNOWN, kind_of, tag_table
from faultwave.domain.tets.mesh import BoundaryKind
from tests.messages import raises


def kinds(table, *tags):
    import numpy as np

    return [BoundaryKind(k) if k != UNKNOWN else None for k in table.kinds(np.array(tags, np.int32)).tolist()]


def test_words_for_kinds():
    for word in ("free-surface", "free_surface", "Free surface", "freeSurface", "FREE-SURFACE"):
        assert kind_of(word) == BoundaryKind.FREE_SURFACE, word
    assert kind_of("outflow") == BoundaryKind.ABSORBING and kind_of("top") is None


def test_a_surface_named_like_a_kind_is_of_that_kind(two_cells):
    mesh = replace(two_cells, names={(2, "absorbing"): 1, (2, "Fault"): 2, (2, "free surface"): 3})
    table = tag_table(None, mesh)
    assert kinds(table, 1, 2, 3) == [BoundaryKind.ABSORBING, BoundaryKind.FAULT, BoundaryKind.FREE_SURFACE]
    assert kinds(table, 5, 70) == [BoundaryKind.ABSORBING, BoundaryKind.FAULT], "numbers without a name stay as usual"


def test_a_name_of_which_nothing_says_what_it_is(two_cells):
    mesh = replace(two_cells, names={(2, "top"): 1, (2, "rim"): 5})
    with raises(InputError) as caught:
        tag_table(None, mesh)
    assert len(caught.value.problems) == 2
    table = tag_table({"free-surface": ["top"], "absorbing": ["rim"]}, mesh)
    assert kinds(table, 1, 5) == [BoundaryKind.FREE_SURFACE, BoundaryKind.ABSORBING]


def test_numbers_as_the_file_has_them(two_cells):
    mesh = replace(two_cells, names={(2, "top"): 1}, written={101: 1, 103: 3, 165: 65})
    assert kinds(tag_table(None, mesh), 1, 3) == [BoundaryKind.FREE_SURFACE, BoundaryKind.FAULT]
    for fault in ([103], [3], ["103-103"], ["103-104"]):
        table = tag_table({"fault": fault, "absorbing": [101]}, mesh)
        assert kinds(table, 1, 3) == [BoundaryKind.ABSORBING, BoundaryKind.FAULT], fault
    assert kinds(tag_table({"fault": ["165-"], "absorbing": [101, 103]}, mesh), 65, 80, 3) == [
        BoundaryKind.FAULT, BoundaryKind.FAULT, BoundaryKind.ABSORBING,
    ]  # fmt: skip
    assert tag_table(None, mesh).called(1) == "101 'top'"


def test_a_name_against_its_number(two_cells):
    mesh = replace(two_cells, names={(2, "absorbing"): 1}, written={101: 1})
    with raises(InputError):
        tag_table(None, mesh)
