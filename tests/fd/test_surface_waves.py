"""How fast Rayleigh waves go on a grid: eigenvalues of its operator below the free surface, exact in time."""

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import brentq

from faultwave.fd.differences import C1, C2, DEEP, NORM, READ, planes, weights


def rayleigh(ratio):
    """Speed over that of S waves for Vp/Vs = ratio (Aki & Richards 2002, equation 5.56)."""
    return brentq(lambda c: (2 - c**2) ** 2 - 4 * np.sqrt(1 - c**2) * np.sqrt(1 - (c / ratio) ** 2), 0.5, 1 - 1e-12)


def matrix(grid, traction_free, count):
    """Differences upwards of a quantity of ``grid`` on the other one: both from the surface down, ``count`` planes."""
    found = np.zeros((count, count))
    for n in range(count):
        first = n - 2 if grid == "whole" else n - 1
        for column, weight in zip(range(first, first + 4), (C2, C1, -C1, -C2), strict=True):
            if 0 <= column < count:
                found[n, column] = weight
    rows = weights(grid, traction_free)[::-1] if grid == "whole" else weights(grid, traction_free)[-2::-1]
    found[: len(rows), :READ] = rows
    return found


@pytest.mark.parametrize("grid", ["whole", "half"])
def test_differences_are_exact_for_parabolas(grid):
    of, on = np.arange(16.0), np.r_[0.0, np.arange(15) + 0.5]
    if grid == "half":
        of, on = on, of
    for power in range(3):
        found = matrix(grid, False, 16) @ (-of) ** power  # upwards
        exact = power * (-on) ** max(power - 1, 0)
        assert found[:12] == pytest.approx(exact[:12], abs=1e-13 * 16**power)


def test_those_of_stresses_are_the_adjoint_of_those_of_velocities():
    norm = {grid: np.diag(np.r_[values, np.ones(12)]) for grid, values in NORM.items()}
    for grid, on in (("whole", "half"), ("half", "whole")):
        velocities, stresses = matrix(grid, False, 16), matrix(on, True, 16)
        total = norm[on] @ velocities + (norm[grid] @ stresses).T
        assert np.abs(total[:10, :10]).max() < 1e-15
    assert planes("half", 20).tolist() == [20, 19, 18, 17, 16, 15] and DEEP == 5


def speeds(points, ratio, count=60):
    """Speeds of modes over that of S waves; ``points`` per wavelength of exact Rayleigh waves."""
    k = 2 * np.pi / points
    along = 2 * (C1 * np.sin(k / 2) + C2 * np.sin(1.5 * k))
    on_half, on_whole = matrix("whole", False, count), matrix("half", False, count)
    norm = {grid: np.r_[values, np.ones(count - 4)] for grid, values in NORM.items()}
    one, zero, p, lam = np.eye(count), np.zeros((count, count)), ratio**2, ratio**2 - 2
    # u = -i U exp(i k x), strain of sxz is i times: by U and w
    strain = np.block([[along * one, zero], [zero, on_half], [-on_whole, along * one]])
    moduli = np.block([[p * one, lam * one, zero], [lam * one, p * one, zero], [zero, zero, one]])
    weight, mass = np.r_[norm["half"], norm["half"], norm["whole"]], np.r_[norm["half"], norm["whole"]]
    stiffness = strain.T @ (weight[:, None] * moduli) @ strain
    squares = eigh(0.5 * (stiffness + stiffness.T), np.diag(mass), eigvals_only=True)
    assert squares.min() > -1e-9
    return np.sqrt(squares.clip(0)) / k, np.sqrt(squares.max() / ratio**2)


@pytest.mark.parametrize(
    ("points", "ratio", "percent"),
    [(5, 3**0.5, 0.27), (6, 3**0.5, 0.37), (8, 3**0.5, 0.27), (10, 3**0.5, 0.17), (16, 3**0.5, 0.05), (6, 3.0, 0.23),
     (10, 3.0, 0.13)],
)  # fmt: skip
def test_they_are_fast_by_what_the_guide_says(points, ratio, percent):
    found, _ = speeds(points, ratio)
    slowest = found[found > 0.5][0]
    assert 100 * (slowest / rayleigh(ratio) - 1) == pytest.approx(percent, abs=0.006)


@pytest.mark.parametrize("ratio", [3**0.5, 3.2, 10.0])
def test_the_surface_costs_no_time_step(ratio):
    """The largest frequency over P speed of all waves along the surface: 7/3 of two dimensions, 14/3 of the fastest inside."""
    assert max(speeds(points, ratio)[1] for points in (2, 3, 5, 10)) <= 7 / 3 * 2**0.5
