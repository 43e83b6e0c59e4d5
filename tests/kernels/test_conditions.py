"""Conditions of the kernel language refuse what their body cannot do."""

from __future__ import annotations

import pytest

from faultwave.kernels.language import Kernel
from tests.messages import raises


def kernel(repeated: bool, column: int) -> Kernel:
    k = Kernel("k")
    slot, other = k.index("slot", 2), k.store("other", 1, 1, "out")
    value = k.batch("value", 1, 1)

    def scatter(_: object = None) -> None:
        k.scatter(value, other, slot, column)

    k.when(slot, 0, (lambda: k.repeat("n", 2, scatter)) if repeated else scatter)
    return k


@pytest.mark.parametrize("repeated", [False, True])
def test_bodies_scatter_only_through_the_columns_of_their_condition(repeated: bool) -> None:
    assert kernel(repeated, 0).statements
    with raises(ValueError):
        kernel(repeated, 1)
