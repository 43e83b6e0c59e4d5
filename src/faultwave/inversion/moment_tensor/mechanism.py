"""Moment tensors by their components along up, south and east: mechanisms, planes, decomposition and size."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from faultwave.base.projection import geographic_tensor, voigt

COMPONENTS = ("Mrr", "Mtt", "Mpp", "Mrt", "Mrp", "Mtp")
"""Components of a tensor: r is up, t south and p east."""
DEVIATORIC = np.array([
    [1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [-1, -1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1.0]
])  # fmt: skip
"""Tensors (6, 5) without trace that span all others."""


def to_matrix(tensor: np.ndarray) -> np.ndarray:
    """Return matrices (..., 3, 3) along north, east and down of tensors (..., 6)."""
    rr, tt, pp, rt, rp, tp = np.moveaxis(np.asarray(tensor, float), -1, 0)
    rows = [[tt, -tp, rt], [-tp, pp, -rp], [rt, -rp, rr]]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def from_matrix(matrix: np.ndarray) -> np.ndarray:
    """Return tensors (..., 6) of matrices (..., 3, 3) along north, east and down."""
    m = np.asarray(matrix, float)
    parts = (m[..., 2, 2], m[..., 0, 0], m[..., 1, 1], m[..., 0, 2], -m[..., 1, 2], -m[..., 0, 1])
    return np.stack(parts, -1)


def local_tensors(north: np.ndarray) -> np.ndarray:
    """Return the components (n, 6, 6) xx yy zz xy yz xz of unit tensors of each component, for unit vectors (n, 2) of north."""
    unit = to_matrix(np.eye(6))
    return voigt(geographic_tensor(unit[None], np.asarray(north)[:, None]))


def double_couple(strike: float, dip: float, rake: float) -> np.ndarray:
    """Return the tensor (6,) of unit moment for angles [deg] [1]_.

    References
    ----------
    .. [1] Aki & Richards (2002), Quantitative Seismology, eq. 4.91.
    """
    s, d, r = math.radians(strike), math.radians(dip), math.radians(rake)
    along, across = math.sin(d) * math.cos(r), math.sin(2 * d) * math.sin(r)
    nn = -(along * math.sin(2 * s) + across * math.sin(s) ** 2)
    ee = along * math.sin(2 * s) - across * math.cos(s) ** 2
    ne = along * math.cos(2 * s) + 0.5 * across * math.sin(2 * s)
    nd = -(math.cos(d) * math.cos(r) * math.cos(s) + math.cos(2 * d) * math.sin(r) * math.sin(s))
    ed = -(math.cos(d) * math.cos(r) * math.sin(s) - math.cos(2 * d) * math.sin(r) * math.cos(s))
    return np.array([across, nn, ee, nd, -ed, -ne])


def scalar_moment(tensor: np.ndarray) -> np.ndarray:
    """Return the scalar moment (...) of tensors (..., 6): the root of half the sum of all squared components."""
    matrix = to_matrix(tensor)
    return np.asarray(np.sqrt(0.5 * (matrix**2).sum((-1, -2))))


def planes(tensor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return strike, dip and rake (3,) [deg] of both planes of the double couple that is nearest to a tensor (6,).

    The first plane is the one with the smaller dip. Normal and slip are the sum and the difference of the axes of
    tension and pressure.
    """
    _, vectors = np.linalg.eigh(to_matrix(tensor / scalar_moment(tensor)))
    pressure, tension = vectors[:, 0], vectors[:, 2]
    one, other = tension + pressure, tension - pressure
    first, second = sorted((_angles(one, other), _angles(other, one)), key=lambda angles: float(angles[1]))
    return first, second


def _angles(normal: np.ndarray, slip: np.ndarray) -> np.ndarray:
    """Return strike, dip and rake (3,) [deg] of a plane by its normal and the slip of the side into which it points.

    Vectors (3,) have components along north, east and down, and any length.
    """
    if normal[2] > 0.0:  # into the footwall
        normal, slip = -normal, -slip
    dip = np.arctan2(np.hypot(normal[0], normal[1]), -normal[2])
    strike = np.arctan2(-normal[0], normal[1])
    along = np.array([np.cos(strike), np.sin(strike), 0.0])
    up = np.array([np.cos(dip) * np.sin(strike), -np.cos(dip) * np.cos(strike), -np.sin(dip)])
    strike, dip, rake = np.degrees([strike, dip, np.arctan2(slip @ up, slip @ along)])
    return np.array([strike % 360.0 % 360.0, dip, rake])  # the remainder of a tiny negative angle is 360


@dataclass(frozen=True)
class Decomposition:
    """Parts of a moment tensor as fractions, whose magnitudes add to 1 [1]_.

    Attributes
    ----------
    isotropic : float
        Change of volume, negative for a decrease.
    clvd : float
        Compensated linear vector dipole, positive if its largest component is tension.
    double_couple : float
        Double couple.

    References
    ----------
    .. [1] Vavrycuk (2015), Moment tensor decompositions revisited, J. Seismol. 19, eqs. 5-8.
    """

    isotropic: float
    clvd: float
    double_couple: float


def decompose(tensor: np.ndarray) -> Decomposition:
    """Return the decomposition of a tensor (6,) that is not zero."""
    third, second, first = np.linalg.eigvalsh(to_matrix(tensor))
    isotropic = (first + second + third) / 3.0
    clvd = 2.0 / 3.0 * (first + third - 2.0 * second)
    shear = 0.5 * (first - third - abs(first + third - 2.0 * second))
    size = abs(isotropic) + abs(clvd) + shear
    return Decomposition(float(isotropic / size), float(clvd / size), float(shear / size))
