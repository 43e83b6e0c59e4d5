"""Exact electromagnetic fields: a current dipole in free space, and scattering by a homogeneous sphere (Mie 1908)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import spherical_jn, spherical_yn

from faultwave.physics.sources.time_functions import TimeFunction
from faultwave.verify.exact import Array


@dataclass(frozen=True)
class CurrentDipole:
    """E and H of the current j = moment S(t) delta(x - location); returns (n, 6), singular at the location.

    The dipole moment is p = moment int S dt; with R = |x - location| and everything at the retarded time,
    4 pi eps E = (3 n(n.p) - p)/R^3 + (3 n(n.p') - p')/(c R^2) + (n(n.p'') - p'')/(c^2 R), 4 pi H = p' x n/R^2 + p'' x n/(c R).
    """

    location: tuple[float, float, float]
    moment: tuple[float, float, float]
    function: TimeFunction
    permittivity: float = 1.0
    permeability: float = 1.0

    def __call__(self, points: Array, t: float) -> Array:
        away = np.asarray(points, float) - np.asarray(self.location)
        r = np.linalg.norm(away, axis=1)
        n, c = away / r[:, None], 1.0 / np.sqrt(self.permittivity * self.permeability)
        s, small = t - r / c, 1e-5 * r.max() / c
        slope = (self.function.value(s + small) - self.function.value(s - small)) / (2 * small)
        m = np.asarray(self.moment, float)
        along = (n @ m)[:, None] * n
        near = (self.function.integral(s) / r**3 + self.function.value(s) / (c * r**2))[:, None]
        far = (slope / (c**2 * r))[:, None]
        electric = ((3 * along - m) * near + (along - m) * far) / (4 * np.pi * self.permittivity)
        magnetic = np.cross(m, n) * (self.function.value(s) / r**2 + slope / (c * r))[:, None] / (4 * np.pi)
        return np.concatenate([electric, magnetic], 1)


def mie_coefficients(size: float, index: complex) -> tuple[Array, Array]:
    """Return the coefficients a_n and b_n, n = 1, 2, ..., of a sphere of size parameter k a and relative refractive index.

    The sphere is nonmagnetic.
    """
    terms = int(size + 4 * size ** (1 / 3) + 12)
    n = np.arange(1, terms + 1)

    def riccati(x: complex) -> tuple[Array, Array]:
        j, d = spherical_jn(n, x), spherical_jn(n, x, derivative=True)
        return x * j, j + x * d

    psi, dpsi = riccati(size)
    inner, dinner = riccati(index * size)
    y, dy = spherical_yn(n, size), spherical_yn(n, size, derivative=True)
    xi, dxi = psi + 1j * size * y, dpsi + 1j * (y + size * dy)
    a = (index * inner * dpsi - psi * dinner) / (index * inner * dxi - xi * dinner)
    b = (inner * dpsi - index * psi * dinner) / (inner * dxi - index * xi * dinner)
    return a, b


def bistatic_cross_section(size: float, index: complex, scattering: Array, plane: Array) -> Array:
    """Return the bistatic radar cross section over pi a^2 of a sphere of radius a.

    Parameters
    ----------
    size : float
        Size parameter k a.
    index : complex
        Relative refractive index.
    scattering : array
        Angles from the forward direction [rad].
    plane : array
        Angles of the scattering plane from the incident electric field [rad].
    """
    a, b = mie_coefficients(size, index)
    mu = np.cos(np.asarray(scattering, float))
    first, second = np.zeros_like(mu), np.ones_like(mu)  # pi_0, pi_1
    s1, s2 = np.zeros_like(mu, dtype=complex), np.zeros_like(mu, dtype=complex)
    for n in range(1, len(a) + 1):
        tau = n * mu * second - (n + 1) * first
        share = (2 * n + 1) / (n * (n + 1))
        s1 += share * (a[n - 1] * second + b[n - 1] * tau)
        s2 += share * (a[n - 1] * tau + b[n - 1] * second)
        first, second = second, ((2 * n + 1) * mu * second - (n + 1) * first) / n
    power = np.abs(s2) ** 2 * np.cos(plane) ** 2 + np.abs(s1) ** 2 * np.sin(plane) ** 2
    return np.asarray(4 * power / size**2)


def mie_efficiencies(size: float, index: complex) -> tuple[float, float]:
    """Return the scattering and extinction cross sections over pi a^2."""
    a, b = mie_coefficients(size, index)
    n = np.arange(1, len(a) + 1)
    scattered = 2 / size**2 * ((2 * n + 1) * (np.abs(a) ** 2 + np.abs(b) ** 2)).sum()
    return float(scattered), float(2 / size**2 * ((2 * n + 1) * (a + b).real).sum())
