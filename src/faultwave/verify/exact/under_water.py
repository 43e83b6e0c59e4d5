"""Explosion in deep water over rock, by an integral over wavenumbers and frequencies.

z is height above the sea floor. Pressure of horizontal wavenumber k is reflected by the floor with the coefficient

    R = (n - q)/(n + q),    q = rho_w w^2 n_p k_s^2 / (mu D),    D = (2 k^2 - k_s^2)^2 - 4 k^2 n_p n_s

with n, n_p, n_s the vertical decay of sound, P and S waves, and k_s = w/cs: normal displacement and pressure are continuous across
the floor, and its shear traction vanishes (Aki & Richards 2002, ch. 5 and 6). n + q = 0 is the Scholte wave. Frequencies have an
imaginary part, which suppresses wrap-around from times after the window and makes the integral smooth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import j0, j1

from faultwave.verify.exact.medium import Array

QUIET = 1e-5
"""Attenuation of signals that arrive one window late and wrap around."""
DECAYED = 28.0
"""Negative exponent of evanescent waves at the upper end of the integral over wavenumbers."""


@dataclass(frozen=True)
class UnderWater:
    """Exact solution of an explosion in a fluid half-space over an elastic one.

    Attributes
    ----------
    water : tuple of float
        Density [kg/m^3] and sound speed [m/s].
    rock : tuple of float
        Density [kg/m^3], P and S speed [m/s].
    moment : float
        Isotropic moment [N m].
    sigma : float
        Width of the Gaussian moment rate, which is centred at 6 sigma [s].
    height : float
        Height of the source above the floor [m].
    """

    water: tuple[float, float]
    rock: tuple[float, float, float]
    moment: float
    sigma: float
    height: float

    def velocity(self, distance: float, z: float, end: float) -> tuple[Array, Array]:
        """Return the times (n,) up to ``end`` [s] and the radial and vertical velocity (n, 2) [m/s] at a distance and height z [m].

        ``distance`` is horizontal; negative ``z`` lies in the rock.
        """
        highest = 6.5 / self.sigma
        window = 1.5 * end
        count = 2 * int(np.ceil(highest * window / (2 * np.pi))) * 4
        damping = -np.log(QUIET) / window
        w = 2 * np.pi / window * np.arange(count // 2 + 1) + 1j * damping
        found = np.zeros((2, len(w)), complex)
        for n in np.flatnonzero(w.real <= highest):
            found[:, n] = self._at(w[n], distance, z, window)
        times = window / count * np.arange(count)
        series = np.fft.irfft(np.conj(found), count) * count / window * np.exp(damping * times)
        inside = times <= end
        return np.asarray(times[inside], float), np.asarray(series.T[inside])

    def _at(self, w: complex, r: float, z: float, window: float) -> Array:
        (rho, c), (heavy, cp, cs) = self.water, self.rock
        fall = self.height + abs(z)
        step = 2 * np.pi / (r + cp * window)
        k = step * (np.arange(int((abs(w) / min(c, cs) + DECAYED / fall) / step) + 1) + 0.5)
        n, n_p, n_s = (np.sqrt(k * k - (w / v) ** 2 + 0j) for v in (c, cp, cs))
        ks, mu = w / cs, heavy * cs**2
        twice = 2 * k * k - ks**2
        d = twice**2 - 4 * k * k * n_p * n_s
        q = rho * w**2 * n_p * ks**2 / (mu * d)
        thrown = (n - q) / (n + q)
        # pressure of moment rate S: the rate of S over 4 pi c^2 R, R the distance
        spectrum = self.moment * np.exp(-((w * self.sigma) ** 2) / 2 + 6j * w * self.sigma)
        strength = -1j * w * spectrum / (4 * np.pi * c * c) * k / n * step
        if z > 0:
            down = np.sign(self.height - z)
            direct, back = np.exp(-n * abs(z - self.height)), thrown * np.exp(-n * (z + self.height))
            # rho v' = - grad p
            along, up = -k * (direct + back), n * (down * direct - back)
            share = strength / (1j * w * rho)
        else:
            phi = -(1 + thrown) * np.exp(-n * self.height) * twice / (mu * d)
            psi = -2 * n_p * phi / twice
            p, s = np.exp(n_p * z), np.exp(n_s * z)
            along, up = -k * (phi * p + n_s * psi * s), n_p * phi * p + k * k * psi * s
            share = -1j * w * strength
        return np.array([(share * along * j1(k * r)).sum(), (share * up * j0(k * r)).sum()])

    @property
    def scholte(self) -> float:
        """Speed of the Scholte wave along the floor [m/s]."""
        (rho, c), (heavy, cp, cs) = self.water, self.rock

        def function(v: float) -> float:
            n, n_p, n_s = (np.sqrt(1 - (v / speed) ** 2) for speed in (c, cp, cs))
            x = (v / cs) ** 2
            return float(n * ((2 - x) ** 2 - 4 * n_p * n_s) + rho / heavy * n_p * x * x)

        return float(brentq(function, 0.05 * min(c, cs), min(c, cs) * (1 - 1e-12)))


__all__ = ["UnderWater"]
