"""Means between centres and the places of shear stresses."""

import numpy as np
import pytest

from faultwave.fd import cell_means
from faultwave.fd.points import held

from . import setups


def test_means_beside_the_surface_are_adjoint_and_means():
    scheme = setups.scheme((30, 16, 16))
    lines, top = cell_means.mean_lines(scheme), 30
    table = {to: np.zeros((top + 1, top + 1)) for to in ("half", "whole")}
    for to, values in table.items():
        for offset in cell_means.OFFSETS[to]:
            for plane in range(20, top + 1):
                weight = lines[cell_means.mean_line(to, offset)][plane]
                assert weight >= 0
                if weight:
                    values[plane, plane + offset] += weight
    assert table["half"][22:].sum(1) == pytest.approx(1.0) and table["whole"][22:top].sum(1) == pytest.approx(1.0)
    weights = {to: held(scheme, name, np.arange(top + 1)) for to, name in (("half", "szz"), ("whole", "sxz"))}
    there = (weights["half"][:, None] * table["half"])[24:, 24:top]
    back = (weights["whole"][:, None] * table["whole"])[24:top, 24:]
    assert there == pytest.approx(back.T, abs=1e-12)
