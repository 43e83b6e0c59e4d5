"""How fast Rayleigh waves go on a grid: eigenvalues of its operator below the free surface, exact in time."""

import numpy as np
import pytest
from scipy.optimize import brentq

from faultwave.fd.stencils import C1, C2, FAR, NEAR

PLANES = 60


def rayleigh(ratio):
    """Speed over that of S waves for Vp/Vs = ratio (Aki & Richards 2002, equation 5.56)."""
    return brentq(lambda c: (2 - c**2) ** 2 - 4 * np.sqrt(1 - c**2) * np.sqrt(1 - (c / ratio) ** 2), 0.5, 1 - 1e-12)


def upward(n, above):
    """Differences along z (n, n) of planes 0, 1, ... below one another, half a plane further down where ``above`` is one plane, half a
    plane further up where it is two: planes above as sums of the first three."""
    rows = np.vstack([*above[::-1], np.eye(n + 2)])[:, :n]
    k = len(above)  # rows[k + i] is plane i
    first = 0 if k == 1 else -1
    one = [
        C1 * (rows[k + i] - rows[k + i + 1]) + C2 * (rows[k + i - 1] - rows[k + i + 2]) for i in range(first, n + first)
    ]
    return np.array(one)


def speeds(points, ratio):
    """Speeds of modes over that of S waves; ``points`` per S wavelength at the frequency of exact Rayleigh waves."""
    n, e = PLANES, np.eye(PLANES + 2)
    k = 2 * np.pi / (points * rayleigh(ratio))
    along = 2 * (C1 * np.sin(k / 2) + C2 * np.sin(1.5 * k))
    near = NEAR @ e[:3]
    far = FAR[0] * near + FAR[1] * e[0] + FAR[2] * e[1]
    of_w, of_shear = upward(n, [2 * e[0] - e[1]]), upward(n, [-e[1]])
    of_cells = upward(n, [near, far])
    p, lam = ratio**2, ratio**2 - 2
    mu = np.diag(np.r_[0.0, np.ones(n - 1)])  # no shear traction on the surface
    one, zero = np.eye(n), np.zeros((n, n))
    # u = -i U exp(i k x), sxz = i T: rates of sxx, szz and T by U and w
    stress = np.block([[p * along * one, lam * of_w], [lam * along * one, p * of_w], [-mu @ of_cells, along * mu]])
    force = np.block([[-along * one, zero, -of_shear], [zero, of_cells, -along * one]])
    squares = -np.linalg.eigvals(force @ stress)
    assert np.abs(squares.imag).max() < 1e-9 and squares.real.min() > -1e-9
    return np.sqrt(np.sort(squares.real.clip(0))) / k


@pytest.mark.parametrize(
    ("points", "ratio", "percent"),
    [(5, 3**0.5, -5.50), (6, 3**0.5, -3.47), (8, 3**0.5, -1.72), (10, 3**0.5, -1.02), (16, 3**0.5, -0.35)],
)
def test_they_are_slow_by_what_the_guide_says(points, ratio, percent):
    found = speeds(points, ratio)
    slowest = found[found > 0.5][0]
    assert 100 * (slowest / rayleigh(ratio) - 1) == pytest.approx(percent, abs=0.006)
