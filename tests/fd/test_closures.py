"""Properties of the difference weights beside the free surface (``fd.method.differences``), checked independently of the tables."""

import numpy as np
import pytest

from faultwave.fd.method.differences import WEIGHTS, _matrices

EXACT = {4: 2, 8: 3}
"""Degree of the polynomials whose differences are exact in the planes beside the surface, by order."""
FREE = {8: 8}
"""Numbers that these conditions leave free; they were chosen for the speed of Rayleigh waves (decision 0020)."""


def places(order):
    """Of half and whole planes downwards from the surface, in spacings."""
    count = len(_matrices(order)["half", False])
    return np.r_[0.0, np.arange(count - 1) + 0.5], np.arange(float(count))


def norms(order):
    count = len(_matrices(order)["half", False])
    norm = WEIGHTS[order].norm
    return {grid: np.r_[norm[grid], np.ones(count - len(norm[grid]))] for grid in norm}


@pytest.mark.parametrize("order", WEIGHTS)
def test_differences_are_exact_for_polynomials(order):
    """Beside the surface up to the degree said, inside up to the order."""
    half, whole = places(order)
    of = WEIGHTS[order]
    for grid, own, other in (("half", half, whole), ("whole", whole, half)):
        matrix = _matrices(order)[grid, False]
        kept = slice(0, len(matrix) - order)  # below, the table ends
        beside = len(of.norm[grid])
        for degree in range(order + 1):
            slope = degree * own ** max(degree - 1, 0)
            wrong = np.abs(matrix @ other**degree - slope)[kept]
            assert wrong[beside:].max() < 1e-8 * max(1.0, slope[kept].max())
            assert (wrong[:beside].max() < 1e-11) == (degree <= EXACT[order]), (grid, degree)


@pytest.mark.parametrize("order", WEIGHTS)
def test_differences_sum_by_parts(order):
    """The norms are positive, and H D of one grid and of the other are adjoint up to the value at the surface: or exactly, where this bears
    no traction."""
    made, h = _matrices(order), norms(order)
    assert all((weight > 0).all() for weight in h.values())
    for grid, other in (("half", "whole"), ("whole", "half")):
        product = h[grid][:, None] * made[grid, False] + (h[other][:, None] * made[other, False]).T
        boundary = np.zeros_like(product)
        boundary[0, 0] = -1.0  # counted downwards, a difference over the grid ends with minus the value at the surface
        assert np.abs(product - boundary).max() < 1e-12
        free = h[grid][:, None] * made[grid, False] + (h[other][:, None] * made[other, True]).T
        assert np.abs(free).max() < 1e-12


@pytest.mark.parametrize("order", WEIGHTS)
def test_no_frequency_is_above_those_of_waves_inside(order):
    """So that the closure does not shorten the step: singular values of the differences in the norms."""
    made, h = _matrices(order), norms(order)
    long = 120
    size = len(made["half", False])
    whole = np.zeros((long, long))
    whole[:size, :size] = made["whole", True]
    near = WEIGHTS[order].reach
    inside = [*(-c for c in reversed(WEIGHTS[order].inside)), *WEIGHTS[order].inside]
    for n in range(size // 2, long):
        whole[n] = 0.0
        for column, weight in zip(range(n - near + 1, n + near + 1), inside, strict=True):
            if column < long:
                whole[n, column] = weight
    sides = [np.sqrt(np.r_[h[grid], np.ones(long - size)]) for grid in ("whole", "half")]
    largest = np.linalg.svd(sides[0][:, None] * whole / sides[1], compute_uv=False)[0]
    assert largest <= 2 * np.abs(WEIGHTS[order].inside).sum() * (1 + 1e-6)


@pytest.mark.parametrize("order", FREE)
def test_so_many_numbers_are_left_free(order):
    """The conditions are linear in H D and H of both grids: the weights solve them, and so does a space of so many dimensions around."""
    of, degrees = WEIGHTS[order], range(EXACT[order] + 1)
    half, whole = places(order)
    nh, nw = len(of.norm["half"]), len(of.norm["whole"])
    unknowns = nh * nw + nh + nw
    product = norms(order)["half"][:, None] * _matrices(order)["half", False]  # H D on half planes
    given = np.r_[product[:nh, :nw].reshape(-1), of.norm["half"], of.norm["whole"]]
    rows, right = [], []
    for degree in degrees:
        for i in range(
            nh
        ):  # sum over whole planes of (H D) x^d = H d x^(d - 1), and what interior rows of the other grid fix
            row = np.zeros(unknowns)
            row[i * nw : (i + 1) * nw] = whole[:nw] ** degree
            row[nh * nw + i] = -degree * half[i] ** max(degree - 1, 0)
            rows.append(row)
            right.append(-(product[i, nw:] @ whole[nw:] ** degree))
        for j in range(nw):  # minus the transpose, less the value at the surface
            row = np.zeros(unknowns)
            row[j : nh * nw : nw] = -(half[:nh] ** degree)
            row[nh * nw + nh + j] = -degree * whole[j] ** max(degree - 1, 0)
            rows.append(row)
            right.append(product[nh:, j] @ half[nh:] ** degree + (j == 0) * 0.0**degree)
    found = np.array(rows)
    assert np.abs(found @ given - right).max() < 1e-10
    assert unknowns - np.linalg.matrix_rank(found, tol=1e-8) == FREE[order]
