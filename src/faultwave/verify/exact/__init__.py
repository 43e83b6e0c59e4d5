"""Exact solutions: callables ``solution(points (n, 3), t) -> (n, nq)`` in NumPy, and their common definitions.

Quantities follow the law: elastic s_xx s_yy s_zz s_xy s_yz s_xz v1 v2 v3 (stress positive in tension),
acoustic sigma v1 v2 v3 with sigma = -pressure.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from faultwave.physics.waves.plane_waves import VOIGT, Array, Medium


def stress(medium: Medium, gradient: Array) -> Array:
    """Return the stress (..., 6) in the law's order from a displacement gradient (..., i, j) = d u_i / d x_j by Hooke's law."""
    trace = np.trace(gradient, axis1=-2, axis2=-1)
    return np.stack(
        [
            (medium.lam * trace if i == j else 0.0) + medium.mu * (gradient[..., i, j] + gradient[..., j, i])
            for i, j in VOIGT
        ],
        axis=-1,
    )


def unit(vector: ArrayLike) -> Array:
    """Return a vector (3,) divided by its length."""
    v = np.asarray(vector, dtype=float)
    return v / np.linalg.norm(v)


def strain_energy(medium: Medium, stresses: Array) -> Array:
    """Return the elastic energy density [J/m^3] of stresses (n, 6): (s:s - lambda/(3 lambda + 2 mu) tr(s)^2) / (4 mu).

    In a fluid: tr(s)^2 / (18 lambda), the pressure's energy p^2/2K with p = -tr(s)/3.
    """
    trace = stresses[:, :3].sum(axis=1)
    if medium.mu == 0:
        return trace**2 / (18 * medium.lam)
    square = (stresses[:, :3] ** 2).sum(axis=1) + 2 * (stresses[:, 3:] ** 2).sum(axis=1)
    return (square - medium.lam / (3 * medium.lam + 2 * medium.mu) * trace**2) / (4 * medium.mu)
