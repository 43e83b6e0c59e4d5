"""Useful flops against counts by hand, and against the published table of the leanest form."""

from pathlib import Path

import pytest

from faultwave.bench.rooflines.minimal_flops import derivative_nonzeros, minimal_flops, trace_nonzeros, useful_flops

# Nonzeros counted on paper: derivatives of degrees 1 (1 + 1 + 2: along e3 - e2 two of the linear modes change), 2 and 3;
# traces of faces 0 to 3.
DERIVATIVES = {2: 4, 3: 29 + 4, 4: 119 + 29 + 4}
TRACES = {2: 9 + 9 + 6 + 4, 3: 40 + 40 + 20 + 10, 4: 125 + 125 + 50 + 20}
CELL, FACE, LOWER = {2: 4, 3: 10, 4: 20}, {2: 12, 3: 24, 4: 40}, {2: 1, 3: 4 + 1, 4: 10 + 4 + 1}


@pytest.mark.parametrize("order", [2, 3, 4])
def test_nonzeros(order):
    assert derivative_nonzeros(order) == DERIVATIVES[order]
    assert trace_nonzeros(order) == TRACES[order]


@pytest.mark.parametrize(("order", "total"), [(2, 1798), (3, 5440), (4, 13814)])
def test_elastic(order, total):
    contractions = 12 * DERIVATIVES[order] + (12 + 6) * TRACES[order]
    # 66 + 36 a mode of a derivative, 51 a face mode, 6 + 127 a mode of the cell
    pointwise = 102 * LOWER[order] + 51 * FACE[order] + 133 * CELL[order]
    assert minimal_flops("elastic", order) == contractions + pointwise == total


@pytest.mark.parametrize(("order", "total"), [(2, 411), (3, 1395), (4, 3833)])
def test_acoustic(order, total):
    contractions = 4 * DERIVATIVES[order] + (4 + 2) * TRACES[order]
    pointwise = 31 * LOWER[order] + 7 * FACE[order] + 28 * CELL[order]
    assert minimal_flops("acoustic", order) == contractions + pointwise == total


@pytest.mark.parametrize(("order", "total"), [(2, 1030), (3, 3230), (4, 8426)])
def test_maxwell(order, total):
    contractions = 8 * DERIVATIVES[order] + (8 + 4) * TRACES[order]
    pointwise = 54 * LOWER[order] + 24 * FACE[order] + 80 * CELL[order]
    assert minimal_flops("maxwell", order) == contractions + pointwise == total


@pytest.mark.parametrize(("order", "kilo"), [(2, 1.8), (3, 5.5), (4, 13.8), (5, 31.0), (6, 65.0), (7, 127.0)])
def test_the_table_of_the_leanest_form(order, kilo):
    assert minimal_flops("elastic", order) == pytest.approx(1e3 * kilo, rel=0.015)


def test_a_law_without_a_leanest_form():
    assert minimal_flops("unheard-of", 4) is None


@pytest.mark.parametrize("law", ["elastic", "acoustic", "maxwell"])
def test_the_table_in_the_documentation(law):
    page = (Path(__file__).parents[2] / "docs" / "benchmarks.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith(f"| {law} |"))
    assert [int(x.replace(",", "")) for x in row.split("|")[2:-1]] == [minimal_flops(law, n) for n in range(2, 9)]


def test_useful_flops_are_never_more_than_those_executed():
    assert useful_flops("elastic", 4, 20000.0) == (13814, "leanest formulation")
    assert useful_flops("elastic", 4, 12000.0) == (12000.0, "engine's kernels")
    assert useful_flops("anisotropic", 4, 12000.0) == (12000.0, "engine's kernels")
