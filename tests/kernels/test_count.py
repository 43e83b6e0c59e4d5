"""Counts of what is done for some items only, by hand."""

import numpy as np
import pytest

from faultwave.kernels.count import cost
from faultwave.kernels.language import Kernel
from tests.messages import raises


def doubled() -> Kernel:
    """y = 2 x; where there is a slot, z = A y + y goes to a store."""
    k = Kernel("doubled")
    x, y = k.batch("x", 3, 2), k.batch("y", 3, 2, "out")
    k.pointwise(lambda x: [[2.0 * v for v in x]], [x], [y])
    slot, store, z = k.index("slot"), k.store("store", 3, 2, "out"), k.temp("z", 3, 2)

    def leave() -> None:
        k.contract(z, np.array([[1.0, 0, 0], [1.0, 1, 0], [0, 0, 3.0]]), y)
        k.pointwise(lambda z, y: [[a + b for a, b in zip(z, y, strict=True)]], [z, y], [z])
        k.scatter(z, store, slot)

    k.when(slot, 0, leave)
    return k


@pytest.mark.parametrize("share", [1.0, 0.25])
def test_statements_of_some_items_count_by_their_share(share):
    found = cost(doubled(), lambda statement: share)
    contraction, sum_ = 2 * 4 * 2, 6
    assert found.flops == round(6 + share * (contraction + sum_))
    assert found.numbers == 6 + 6 + 1 + round(share * 6)
    assert cost(doubled()) == cost(doubled(), lambda statement: 1.0)


def test_what_is_done_for_some_leaves_through_their_slots_only():
    k = Kernel("astray")
    x = k.batch("x", 1, 1)
    slot, other, store = k.index("slot"), k.index("other"), k.store("store", 1, 1, "out")
    with raises(ValueError):
        k.when(slot, 0, lambda: k.scatter(x, store, other))
