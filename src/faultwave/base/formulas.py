"""Formulas that many packages need: special functions, Gauss-Jacobi quadrature and moment magnitude.

Rules of up to ten points with alpha 0, 1 or 2 are tabulated. They are identical on every machine, while the last bits of SciPy's results
depend on its LAPACK, and SciPy, slow to import, is not needed to start a run.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def erf(x: ArrayLike) -> np.ndarray:
    """Return the error function, also of complex arguments."""
    from scipy import special

    return special.erf(x)


def erfc(x: ArrayLike) -> np.ndarray:
    """Return the complementary error function 1 - erf(x)."""
    from scipy import special

    return special.erfc(x)


def gamma(x: ArrayLike) -> np.ndarray:
    """Return the gamma function."""
    from scipy import special

    return special.gamma(x)


def log_gamma(x: ArrayLike) -> np.ndarray:
    """Return the logarithm of the absolute value of the gamma function."""
    from scipy import special

    return special.gammaln(x)


_TABLE = Path(__file__).with_name("gauss_jacobi.txt")


@functools.cache
def _table() -> dict[tuple[int, int], np.ndarray]:
    rules: dict[tuple[int, int], list[list[float]]] = {}
    for line in _TABLE.read_text().splitlines()[1:]:
        points, alpha, node, weight = line.split()
        rules.setdefault((int(points), int(alpha)), []).append([float(node), float(weight)])
    return {which: np.array(rule) for which, rule in rules.items()}


def gauss_jacobi(points: int, alpha: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return ascending nodes (points,) and weights (points,) for the weight (1 - x)^alpha.

    The rule is exact for polynomials up to degree 2 points - 1.
    """
    rule = _table().get((points, alpha))
    if rule is None:
        from scipy.special import roots_jacobi

        nodes, weights = roots_jacobi(points, alpha, 0)
        return nodes, weights
    return rule[:, 0].copy(), rule[:, 1].copy()


def magnitude(moment: float) -> float:
    """Return the moment magnitude of a scalar moment [N m], NaN if the moment is not positive."""
    return float((np.log10(moment) - 9.1) / 1.5) if moment > 0 else float("nan")


def moment_of_magnitude(magnitude: float) -> float:
    """Return the scalar moment [N m] of a moment magnitude."""
    return float(10.0 ** (1.5 * magnitude + 9.1))
