"""Vertical motion of a half-space's surface under a vertical point force (Pekeris 1955), for Poisson's ratio 1/4."""

from __future__ import annotations

import numpy as np

from faultwave.verify.exact.medium import Array, Medium

ARRIVAL = np.sqrt(1 / 3)  # P arrival in travel times of the S wave
RAYLEIGH = 0.5 * np.sqrt(3 + np.sqrt(3))
FINE = 40  # samples per standard deviation of the Gaussian


def step_integral(tau: Array) -> Array:
    """Return the time integral of the normalised surface uplift after a force that starts at once and stays.

    The integrand over tau = (S speed) t / r is 16 pi mu r / F times the uplift under a force F (Pekeris 1955, integrated in closed form).
    It has three pieces; the second ends at the Rayleigh wave with an inverse square root of the remaining time.
    """
    tau = np.asarray(tau, float)
    a, b, c = np.sqrt(3 * np.sqrt(3) + 5), np.sqrt(3 * np.sqrt(3) - 5), np.sqrt(3) / 4
    high, low = c + 0.75, c - 0.75  # high equals RAYLEIGH squared

    def early(t: Array) -> Array:
        logarithms = -np.sqrt(3) * np.arccosh(2 * t) + b * np.log(t + np.sqrt(t * t + low))
        return 0.5 * np.asarray(6 * t + logarithms - a * np.arcsin(t / RAYLEIGH))

    def late(t: Array) -> Array:
        return np.asarray(6 * t - a * np.arcsin(np.minimum(t / np.sqrt(high), 1.0)))

    first, second = np.clip(tau, ARRIVAL, 1.0), np.clip(tau, 1.0, RAYLEIGH)
    start = float(early(np.array([ARRIVAL]))[0] + late(np.array([1.0]))[0])
    whole = early(first) + late(second) - start
    return np.asarray(whole + 6 * np.maximum(tau - RAYLEIGH, 0.0))


def vertical_velocity(medium: Medium, distance: float, times: Array, sigma: float, centre: float) -> Array:
    """Return the upward velocity [m/s] of the surface under an upward force with Gaussian time function.

    Parameters
    ----------
    medium : Medium
        Half-space with Poisson's ratio 1/4.
    distance : float
        Distance from the force [m].
    times : array (n,)
        Times [s].
    sigma, centre : float
        Standard deviation and centre of the Gaussian of unit integral [s].

    Returns
    -------
    array (n,)

    Raises
    ------
    ValueError
        If Poisson's ratio is not 1/4.
    """
    if not np.isclose(medium.lam, medium.mu):
        raise ValueError("the solution is that of Poisson's ratio 1/4")
    s = np.arange(-8 * FINE, 8 * FINE + 1) / FINE  # abscissae of the Gaussian
    third = (3 * s - s**3) * np.exp(-0.5 * s * s) / (np.sqrt(2 * np.pi) * sigma**4)  # third derivative
    shear = np.sqrt(medium.mu / medium.rho)
    ago = np.asarray(times)[:, None] - centre - sigma * s
    integral = step_integral(shear * ago / distance) * distance / shear
    scale = 16 * np.pi * medium.mu * distance
    return np.asarray((integral * third).sum(1) * sigma / FINE / scale)


BUMP = 51480.0
"""Factor that makes the integral of ``bump`` one."""


def bump(t: Array) -> Array:
    """Return a smooth force from 0 to 1 s of unit integral: C6SmoothBump of SW4's Lamb problem, smooth to the sixth derivative."""
    x = np.clip(np.asarray(t, float), 0.0, 1.0)
    return np.asarray(BUMP * (x * (1 - x)) ** 7)


def vertical_displacement(medium: Medium, distance: float, times: Array) -> Array:
    """Return the upward displacement [m] at ``distance`` [m] and ``times`` [s] under an upward force of ``bump`` newtons."""
    if not np.isclose(medium.lam, medium.mu):
        raise ValueError("the solution is that of Poisson's ratio 1/4")
    count = 100 * FINE
    s = (np.arange(count) + 0.5) / count
    y = s * (1 - s)
    second = BUMP * 7 * y**5 * (6 * (1 - 2 * s) ** 2 - 2 * y)  # second derivative of the bump
    shear = np.sqrt(medium.mu / medium.rho)
    times = np.asarray(times, float)
    found = np.zeros(len(times))
    for first in range(0, len(times), 256):
        ago = times[first : first + 256, None] - s
        found[first : first + 256] = (step_integral(shear * ago / distance) * second).sum(1) / count
    return found * distance / shear / (16 * np.pi * medium.mu * distance)


__all__ = ["bump", "step_integral", "vertical_displacement", "vertical_velocity"]
