"""How fast Rayleigh waves go on a grid: eigenvalues of its operator below the free surface, exact in time."""

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import brentq

from faultwave.fd.method.differences import WEIGHTS, planes, weights


def rayleigh(ratio):
    """Speed over that of S waves for Vp/Vs = ratio (Aki & Richards 2002, equation 5.56)."""
    return brentq(lambda c: (2 - c**2) ** 2 - 4 * np.sqrt(1 - c**2) * np.sqrt(1 - (c / ratio) ** 2), 0.5, 1 - 1e-12)


def matrix(grid, traction_free, count, order=4):
    """Differences upwards of a quantity of ``grid`` on the other one: both from the surface down, ``count`` planes."""
    found, of = np.zeros((count, count)), WEIGHTS[order]
    for n in range(count):
        first = n - of.reach if grid == "whole" else n - of.reach + 1
        inside = [*reversed(of.inside), *(-c for c in of.inside)]
        for column, weight in zip(range(first, first + order), inside, strict=True):
            if 0 <= column < count:
                found[n, column] = weight
    rows = weights(grid, traction_free, order)
    rows = rows[::-1] if grid == "whole" else rows[-2::-1]
    found[: len(rows), : of.read] = rows
    return found


@pytest.mark.parametrize("grid", ["whole", "half"])
@pytest.mark.parametrize(("order", "degree"), [(4, 2), (8, 3)])
def test_differences_are_exact_for_polynomials(grid, order, degree):
    of, on = np.arange(20.0), np.r_[0.0, np.arange(19) + 0.5]
    if grid == "half":
        of, on = on, of
    for power in range(degree + 1):
        found = matrix(grid, False, 20, order) @ (-of) ** power  # upwards
        exact = power * (-on) ** max(power - 1, 0)
        assert found[:12] == pytest.approx(exact[:12], abs=1e-13 * 20**power)


def norms(order, count):
    """Weights of planes from the surface down, by grid."""
    return {grid: np.r_[values, np.ones(count - len(values))] for grid, values in WEIGHTS[order].norm.items()}


@pytest.mark.parametrize("order", [4, 8])
def test_those_of_stresses_are_the_adjoint_of_those_of_velocities(order):
    norm = norms(order, 24)
    for grid, on in (("whole", "half"), ("half", "whole")):
        velocities, stresses = matrix(grid, False, 24, order), matrix(on, True, 24, order)
        total = np.diag(norm[on]) @ velocities + (np.diag(norm[grid]) @ stresses).T
        assert np.abs(total[:12, :12]).max() < 1e-15
    read = [20 - n for n in range(WEIGHTS[order].read)]
    assert (
        planes("half", 20, order).tolist() == read
        and (WEIGHTS[order].deep, len(read)) == {4: (5, 6), 8: (7, 10)}[order]
    )


def speeds(points, ratio, order=4, count=60):
    """Speeds of modes over that of S waves; ``points`` per wavelength of exact Rayleigh waves."""
    k = 2 * np.pi / points
    along = 2 * sum(c * np.sin((n + 0.5) * k) for n, c in enumerate(WEIGHTS[order].inside))
    on_half, on_whole = matrix("whole", False, count, order), matrix("half", False, count, order)
    norm = norms(order, count)
    one, zero, p, lam = np.eye(count), np.zeros((count, count)), ratio**2, ratio**2 - 2
    # u = -i U exp(i k x), strain of sxz is i times: by U and w
    strain = np.block([[along * one, zero], [zero, on_half], [-on_whole, along * one]])
    moduli = np.block([[p * one, lam * one, zero], [lam * one, p * one, zero], [zero, zero, one]])
    weight, mass = np.r_[norm["half"], norm["half"], norm["whole"]], np.r_[norm["half"], norm["whole"]]
    stiffness = strain.T @ (weight[:, None] * moduli) @ strain
    squares = eigh(0.5 * (stiffness + stiffness.T), np.diag(mass), eigvals_only=True)
    assert squares.min() > -1e-9
    return np.sqrt(squares.clip(0)) / k, np.sqrt(squares.max() / ratio**2)


@pytest.mark.parametrize("ratio", [3**0.5, 3.0])
@pytest.mark.parametrize("points", [4, 5, 6, 8, 10, 16])
def test_with_order_8_they_are_right_from_four_points_on(points, ratio):
    found, _ = speeds(points, ratio, 8)
    assert abs(found[found > 0.5][0] / rayleigh(ratio) - 1) < 2.5e-4


@pytest.mark.parametrize(
    ("points", "ratio", "percent"),
    [(5, 3**0.5, 0.27), (6, 3**0.5, 0.37), (8, 3**0.5, 0.27), (10, 3**0.5, 0.17), (16, 3**0.5, 0.05), (6, 3.0, 0.23),
     (10, 3.0, 0.13)],
)  # fmt: skip
def test_they_are_fast_by_what_the_guide_says(points, ratio, percent):
    found, _ = speeds(points, ratio)
    slowest = found[found > 0.5][0]
    assert 100 * (slowest / rayleigh(ratio) - 1) == pytest.approx(percent, abs=0.006)


@pytest.mark.parametrize("order", [4, 8])
@pytest.mark.parametrize("ratio", [3**0.5, 3.2, 10.0])
def test_the_surface_costs_no_time_step(ratio, order):
    """The largest frequency over P speed of all waves along the surface, and of the fastest inside, in two dimensions."""
    inside = 2 * np.abs(WEIGHTS[order].inside).sum() * 2**0.5
    assert max(speeds(points, ratio, order)[1] for points in (2, 3, 5, 10)) <= inside
