"""Kernels of equal forms are recorded once in a process."""

from __future__ import annotations

import pytest

from faultwave.dg.method.forms import form
from faultwave.dg.operators import kernels
from faultwave.dg.operators.kernels import StoringVariant
from faultwave.kernels.fingerprint import fingerprint
from faultwave.physics.waves import law

VARIANTS = [None, StoringVariant(fault=True), StoringVariant(derivatives=False, parts=2)]


def test_equal_forms_are_one_object() -> None:
    assert form(law("elastic"), 3) is form(law("elastic"), 3)
    others = [form(law("elastic"), 4), form(law("acoustic"), 3), form(law("elastic"), 3, narrow=True)]
    others += [form(law("elastic"), 3, 0.5), form(law("elastic"), 3, precise=True), form(law("elastic"), 3, fast=False)]
    assert len({id(f) for f in [*others, form(law("elastic"), 3)]}) == 7


@pytest.mark.parametrize("variant", VARIANTS, ids=["plain", "fault", "parts"])
def test_kernels_of_equal_forms_are_one_object(variant: StoringVariant | None) -> None:
    one, other = form(law("elastic"), 2), form(law("elastic"), 2, 0.25)
    for make in (kernels.predict, kernels.correct, kernels.correct_and_predict):
        assert make(one, variant) is make(one, variant)
        assert make(one, variant) is not make(other, variant)
    assert kernels.samples(one, 1) is not kernels.samples(one, 2)


def test_fused_kernels_leave_their_parts_unchanged() -> None:
    """The shared prediction still unpacks the constants that the fused kernel unpacks in its correction."""
    f = form(law("elastic"), 2, narrow=True)
    before = fingerprint.__wrapped__(kernels.predict(f))
    kernels.correct_and_predict(f, None, (), True)
    kernels.correct_and_predict(f)
    assert f.unpacked > 0
    assert fingerprint.__wrapped__(kernels.predict(f)) == before
