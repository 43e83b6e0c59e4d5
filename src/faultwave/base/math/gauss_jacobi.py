"""Gauss-Jacobi quadrature: nodes and weights on [-1, 1] for the weight (1 - x)^alpha.

Rules of up to ten points with alpha 0, 1 or 2 are tabulated. They are identical on every machine, while the last bits of SciPy's results
depend on its LAPACK, and SciPy, slow to import, is not needed to start a run.
"""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

_TABLE = Path(__file__).with_suffix(".txt")


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
