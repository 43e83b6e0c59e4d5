"""Conical product quadrature on the reference tetrahedron, for averages over cells."""

from __future__ import annotations

from functools import cache

import numpy as np

from faultwave.base.math.gauss_jacobi import gauss_jacobi
from faultwave.media.points import Floats


@cache
def conical_rule(order: int) -> tuple[Floats, Floats]:
    """Return barycentric points (order^3, 4) and weights (order^3,) of sum 1, exact for degree 2*order - 1.

    Collapsed coordinates x = a(1-b)(1-c), y = b(1-c), z = c have the Jacobian (1-b)(1-c)^2, which the Gauss-Jacobi
    weights absorb (Stroud 1971, sec. 3.6).
    """
    if order < 1:
        raise ValueError(f"order {order} of a quadrature rule, allowed: 1 or more")

    def rule(alpha: int) -> tuple[Floats, Floats]:
        x, w = gauss_jacobi(order, alpha)
        return (x + 1) / 2, w / w.sum()

    (a, wa), (b, wb), (c, wc) = rule(0), rule(1), rule(2)
    c3, b3, a3 = np.meshgrid(c, b, a, indexing="ij")
    x, y, z = a3 * (1 - b3) * (1 - c3), b3 * (1 - c3), c3
    points = np.stack([1 - x - y - z, x, y, z], axis=-1).reshape(-1, 4)
    weights = np.einsum("i,j,k->ijk", wc, wb, wa).reshape(-1)
    return points, weights
