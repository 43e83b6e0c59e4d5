"""What every exact solution shares: the medium, the order of quantities, stress from a velocity gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

#: Tensor components in the order of the elastic law.
VOIGT: tuple[tuple[int, int], ...] = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
ELASTIC: tuple[str, ...] = ("s_xx", "s_yy", "s_zz", "s_xy", "s_yz", "s_xz", "v1", "v2", "v3")
ACOUSTIC: tuple[str, ...] = ("sigma", "v1", "v2", "v3")


class Solution(Protocol):
    """A field in space and time: points (n, 3) in metres and one time in seconds give (n, quantities)."""

    def __call__(self, points: Array, t: float) -> Array: ...


@dataclass(frozen=True)
class Medium:
    """An isotropic medium: density [kg/m^3] and Lame constants [Pa]; ``mu`` = 0 is a fluid of bulk modulus ``lam``."""

    rho: float
    lam: float
    mu: float = 0.0

    def __post_init__(self) -> None:
        if not (self.rho > 0 and self.mu >= 0 and self.lam + 2 * self.mu > 0):
            raise ValueError(f"not a medium: rho={self.rho}, lambda={self.lam}, mu={self.mu}")

    @property
    def cp(self) -> float:
        return float(np.sqrt((self.lam + 2 * self.mu) / self.rho))

    @property
    def cs(self) -> float:
        return float(np.sqrt(self.mu / self.rho))

    @property
    def zp(self) -> float:
        """Impedance of P waves [Pa s/m]."""
        return self.rho * self.cp

    @property
    def zs(self) -> float:
        """Impedance of S waves [Pa s/m]."""
        return self.rho * self.cs

    def parameters(self) -> dict[str, float]:
        """The material parameters as a case names them."""
        return {"rho": self.rho, "lambda": self.lam, "mu": self.mu}


def stress(medium: Medium, gradient: Array) -> Array:
    """Hooke's law: displacement gradient (..., i, j) = d u_i / d x_j to stress (..., 6) in the law's order."""
    trace = np.trace(gradient, axis1=-2, axis2=-1)
    return np.stack(
        [
            (medium.lam * trace if i == j else 0.0) + medium.mu * (gradient[..., i, j] + gradient[..., j, i])
            for i, j in VOIGT
        ],
        axis=-1,
    )


def unit(vector: ArrayLike) -> Array:
    """The vector (3,) divided by its length."""
    v = np.asarray(vector, dtype=float)
    return v / np.linalg.norm(v)


def strain_energy(medium: Medium, stresses: Array) -> Array:
    """Elastic energy density [J/m^3] of stresses (n, 6): (s:s - lambda/(3 lambda + 2 mu) tr(s)^2) / (4 mu).

    In a fluid: tr(s)^2 / (18 lambda), the pressure's energy p^2/2K with p = -tr(s)/3.
    """
    trace = stresses[:, :3].sum(axis=1)
    if medium.mu == 0:
        return trace**2 / (18 * medium.lam)
    square = (stresses[:, :3] ** 2).sum(axis=1) + 2 * (stresses[:, 3:] ** 2).sum(axis=1)
    return (square - medium.lam / (3 * medium.lam + 2 * medium.mu) * trace**2) / (4 * medium.mu)
