"""Isotropic media and the order of quantities, shared by the exact solutions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Tensor components in the order of the elastic law.
VOIGT: tuple[tuple[int, int], ...] = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
ELASTIC: tuple[str, ...] = ("s_xx", "s_yy", "s_zz", "s_xy", "s_yz", "s_xz", "v1", "v2", "v3")
ACOUSTIC: tuple[str, ...] = ("sigma", "v1", "v2", "v3")


class Solution(Protocol):
    """Exact solution in space and time: points (n, 3) [m] and one time [s] give values (n, quantities)."""

    def __call__(self, points: Array, t: float) -> Array: ...


@dataclass(frozen=True)
class Medium:
    """Isotropic medium: density [kg/m^3] and Lamé parameters [Pa]; ``mu`` = 0 is a fluid of bulk modulus ``lam``."""

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
        """Return the material parameters by their names in a case."""
        return {"rho": self.rho, "lambda": self.lam, "mu": self.mu}


__all__ = ["ACOUSTIC", "ELASTIC", "VOIGT", "Array", "Medium", "Solution"]
