"""Means between centres and the places of shear stresses."""

from dataclasses import replace

import numpy as np
import pytest

from faultwave.fd.operators.points import norm_weights
from faultwave.fd.rheology import cell_means

from . import setups


def tables(scheme):
    """Means as matrices, by what they are on, and the weights of planes; the first row is the lowest plane."""
    first, top, lines = scheme.ends.first, scheme.grid.shape[0], cell_means.mean_lines(scheme)
    found = {to: np.zeros((top + 1 - first, top + 1 - first)) for to in ("half", "whole")}
    for name, line in lines.items():
        to = "half" if "half" in name else "whole"
        offset = int(name.removeprefix(f"mean_{to}"))
        for row in np.flatnonzero(line):
            assert line[row] > 0
            found[to][row, row + offset] += line[row]
    planes = np.arange(first, top + 1)
    return found, {to: norm_weights(scheme, name, planes) for to, name in (("half", "szz"), ("whole", "sxz"))}


@pytest.mark.parametrize("order", [4, 8])
@pytest.mark.parametrize("upper", ["free", "joined"])
def test_means_beside_the_upper_end_are_adjoint_and_means(upper, order):
    joined = upper == "joined"
    sides = {"z+": "rigid"} if joined else {}
    scheme = replace(setups.scheme((40, 16, 16), sides, order=order), joined_above=joined)
    found, weights = tables(scheme)
    deep, top = 40 - scheme.differences.deep - 3, 40
    assert found["half"][deep:].sum(1) == pytest.approx(1.0) and found["whole"][deep:top].sum(1) == pytest.approx(1.0)
    there = (weights["half"][:, None] * found["half"])[deep:, deep:top]
    back = (weights["whole"][:, None] * found["whole"])[deep:top, deep:]
    assert there == pytest.approx(back.T, abs=1e-12)


@pytest.mark.parametrize("order", [4, 8])
def test_means_beside_the_lower_end_are_adjoint_and_means(order):
    """Up to planes whose means are of the four points around."""
    scheme = replace(setups.scheme((40, 16, 16), {"z-": "rigid"}, order=order), joined_below=True)
    found, weights = tables(scheme)
    low = cell_means.planes_of(scheme, scheme.grid.box)[0]
    assert low[0] == -1 and low[2] == "low"
    count = low[1] + 1
    assert found["half"][:count].sum(1) == pytest.approx(1.0) and found["whole"][:count].sum(1) == pytest.approx(1.0)
    for to, behind in (("half", -1), ("whole", 0)):  # the planes above: the mean of two
        for row in range(count, count + 3):
            found[to][row] = 0.0
            found[to][row, row + behind : row + behind + 2] = 0.5
    there = (weights["half"][:, None] * found["half"])[: count + 2, : count + 2]
    back = (weights["whole"][:, None] * found["whole"])[: count + 2, : count + 2]
    assert there == pytest.approx(back.T, abs=1e-12)
