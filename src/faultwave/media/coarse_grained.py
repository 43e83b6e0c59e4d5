"""Effective modulus of a coarse-grained medium of 2 x 2 x 2 cells on a staggered grid, for long waves.

The eight points of a cell have eight materials. Under a uniform strain E the cell strains by E + B u, where u are
periodic displacements with B^T C (E + B u) = 0, C contains the moduli of the points and B is the grid's difference
operator. For moduli that deviate from their mean by the relative amount e_n at point n, equal for the P and S modulus,
the mean stress over E is, to third order,

    M = mean (1 - sum A_ab e_a e_b + sum T_abc e_a e_b e_c)

A and T depend on the type of strain: S waves across each pair of axes and P waves along each axis. Because one set of
materials serves all, A and T are averaged over the six types.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np

CELL = list(itertools.product((0, 1), repeat=3))
"""Points (z, y, x) of a cell in their order, x fastest."""
STRAINS: tuple[tuple[tuple[str, str, int], ...], ...] = (  # xx yy zz xy xz yz: velocity, axis, where the difference looks
    (("u", "x", -1),), (("v", "y", -1),), (("w", "z", -1),),
    (("u", "y", 1), ("v", "x", 1)), (("u", "z", 1), ("w", "x", 1)), (("v", "z", 1), ("w", "y", 1)),
)  # fmt: skip
FOURTH = 9.0 / 8.0 + 1.0 / 24.0
"""Weight of the nearest pair to which a fourth-order difference (9/8, -1/24) reduces for fields of period two points."""
P_OVER_S = 3.0
"""Ratio of P and S modulus of a Poisson solid; fits barely depend on it."""


def differences() -> np.ndarray:
    """Return B (48, 24), strains (6 by 8 points) due to displacements (3 by 8 points) that repeat from cell to cell."""
    b = np.zeros((6, 8, 3, 8))
    for strain, parts in enumerate(STRAINS):
        for of, axis, ahead in parts:
            for n, place in enumerate(CELL):
                adjacent = tuple(c ^ (a == axis) for a, c in zip("zyx", place, strict=True))
                b[strain, n, "uvw".index(of), CELL.index(adjacent)] += ahead * FOURTH
                b[strain, n, "uvw".index(of), n] -= ahead * FOURTH
    return b.reshape(48, 24)


def stiffness(moduli: np.ndarray) -> np.ndarray:
    """Return C (..., 48, 48) for the S moduli (..., 8) of the points."""
    c = np.zeros((*moduli.shape[:-1], 6, 8, 6, 8), moduli.dtype)
    for a, b in itertools.product(range(3), repeat=2):
        c[..., a, range(8), b, range(8)] = (P_OVER_S - 2.0 * (a != b)) * moduli
    for a in range(3, 6):
        c[..., a, range(8), a, range(8)] = moduli
    return c.reshape(*moduli.shape[:-1], 48, 48)


@functools.cache
def series() -> tuple[np.ndarray, np.ndarray]:
    """Return A (8, 8) and T (8, 8, 8), means over the six types of strain."""
    b, each = differences(), stiffness(np.eye(8))
    compliance = np.linalg.pinv(b.T @ stiffness(np.ones(8)) @ b)
    second, third = np.zeros((8, 8)), np.zeros((8, 8, 8))
    for shape in range(6):
        strain = np.repeat(np.eye(6)[shape], 8)
        forces = each @ strain @ b  # due to each point's deviation
        strains = forces @ compliance @ b.T
        unit = 6 * 8 * (P_OVER_S if shape < 3 else 1.0)
        second += forces @ compliance @ forces.T / unit
        third += np.einsum("ai,nij,bj->anb", strains, each, strains, optimize=True) / unit
    return second, third


def effective(moduli: np.ndarray) -> np.ndarray:
    """Return the effective modulus (...) for long waves from the moduli (..., 8) of the points of a cell."""
    second, third = series()
    mean = moduli.mean(-1, keepdims=True)
    e = moduli / mean - 1.0
    two = np.einsum("...a,ab,...b->...", e, second, e)
    three = np.einsum("...a,anb,...n,...b->...", e, third, e, e, optimize=True)
    return np.asarray(mean[..., 0] * (1.0 - two + three))
