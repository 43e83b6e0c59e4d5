"""Point source in the form that both engines use, independent of file formats.

Physical signs: the stress equations get -(moment tensor) S(t) delta(x), the velocity equations +(force)/rho S(t)
delta(x) (Aki & Richards 2002, ch. 3; docs/theory/sources.md, "Forces and moment tensors").
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from faultwave.physics.sources.time_functions import TimeFunction


def _zeros(n: int) -> np.ndarray:
    return field(default_factory=lambda: np.zeros(n))


@dataclass(frozen=True)
class PointSource:
    """Moment tensor, force and slip at one point with one time function S.

    Tensors times S are rates.

    Attributes
    ----------
    location : (3,) array
        Position [m].
    function
        Time function S from the onset.
    moment : (6,) array
        Moment tensor [N m], order xx yy zz xy yz xz.
    force : (3,) array
        Force [N].
    potency : (6,) array
        Tensor area (slip n + n slip)/2 [m^2, if S is a slip rate in m/s], turned into a moment by the moduli of the
        cell.
    porous : (7,) array
        In porous rock, replaces the force: rates of the frame velocity (3), the pore pressure and the filtration
        velocity (3) without division by a density, [m/s, Pa, m/s] times m^3/s, as in FSRM files.
    shear_modulus : float or None
        Modulus of the source itself [Pa], used instead of the cell's.
    onset : float
        Onset [s].
    name : str
        Name in messages.
    """

    location: np.ndarray
    function: TimeFunction
    moment: np.ndarray = _zeros(6)
    force: np.ndarray = _zeros(3)
    potency: np.ndarray = _zeros(6)
    porous: np.ndarray = _zeros(7)
    shear_modulus: float | None = None
    onset: float = 0.0
    name: str = "source"

    def moment_tensor(self, lam: float, mu: float) -> np.ndarray:
        """Return the moment (6,) per unit S in a cell of Lamé parameters ``lam`` and ``mu`` [Pa]: C : potency plus ``moment``."""
        own = mu if self.shear_modulus is None else self.shear_modulus
        volume = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]) * self.potency[:3].sum()
        return self.moment + lam * volume + 2.0 * own * self.potency

    def value(self, t: np.ndarray | float) -> np.ndarray:
        """Return S at simulation time t [s]."""
        return self.function.value(np.asarray(t, float) - self.onset)

    def integral(self, t0: np.ndarray | float, t1: np.ndarray | float) -> np.ndarray:
        """Return the integral of S over simulation time [t0, t1]."""
        return self.function.integral(np.asarray(t1, float) - self.onset) - self.function.integral(
            np.asarray(t0, float) - self.onset
        )


def shears(tensors: np.ndarray) -> np.ndarray:
    """Return True (n,) for tensors (n, 6) of moment or slip that are more than an explosion."""
    small = 1e-9 * np.abs(tensors).max(1)
    return np.asarray((np.abs(tensors[:, 3:]).max(1) > small) | (np.ptp(tensors[:, :3], axis=1) > small))
