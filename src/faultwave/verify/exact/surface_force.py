"""A vertical force on a half-space: what moves up and down on its surface (Pekeris 1955), Poisson's ratio 1/4."""

from __future__ import annotations

import numpy as np

from faultwave.verify.exact.medium import Array, Medium

ARRIVAL = np.sqrt(1 / 3)  # of the P wave, in travel times of the S wave
RAYLEIGH = 0.5 * np.sqrt(3 + np.sqrt(3))
FINE = 40  # samples a standard deviation of the Gaussian


def step_integral(tau: Array) -> Array:
    """Integral over tau = (S speed) t / r of 16 pi mu r / F times the surface's rise after a force F that starts at once and stays.

    Pekeris (1955), integrated: three pieces, with a root of one over what is left to the Rayleigh wave at the end of the second.
    """
    tau = np.asarray(tau, float)
    a, b, c = np.sqrt(3 * np.sqrt(3) + 5), np.sqrt(3 * np.sqrt(3) - 5), np.sqrt(3) / 4
    high, low = c + 0.75, c - 0.75  # the first is RAYLEIGH squared

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
    """Return the upward velocity [m/s] at ``distance`` [m] and ``times`` [s] of an upward force on the surface.

    The force is a Gaussian of unit integral and standard deviation ``sigma`` around ``centre`` [s].
    """
    if not np.isclose(medium.lam, medium.mu):
        raise ValueError("the solution is that of Poisson's ratio 1/4")
    s = np.arange(-8 * FINE, 8 * FINE + 1) / FINE  # of the Gaussian
    third = (3 * s - s**3) * np.exp(-0.5 * s * s) / (np.sqrt(2 * np.pi) * sigma**4)  # derivative
    shear = np.sqrt(medium.mu / medium.rho)
    ago = np.asarray(times)[:, None] - centre - sigma * s
    integral = step_integral(shear * ago / distance) * distance / shear
    scale = 16 * np.pi * medium.mu * distance
    return np.asarray((integral * third).sum(1) * sigma / FINE / scale)


BUMP = 51480.0
"""Makes the integral of ``bump`` one."""


def bump(t: Array) -> Array:
    """A force that acts from 0 to 1 s, smooth to the sixth derivative, of unit integral: that of SW4's Lamb problem (C6SmoothBump)."""
    x = np.clip(np.asarray(t, float), 0.0, 1.0)
    return np.asarray(BUMP * (x * (1 - x)) ** 7)


def vertical_displacement(medium: Medium, distance: float, times: Array) -> Array:
    """Displacement upwards [m] at ``distance`` [m] and ``times`` [s] of an upward force of ``bump`` newtons."""
    if not np.isclose(medium.lam, medium.mu):
        raise ValueError("the solution is that of Poisson's ratio 1/4")
    count = 100 * FINE
    s = (np.arange(count) + 0.5) / count
    y = s * (1 - s)
    second = BUMP * 7 * y**5 * (6 * (1 - 2 * s) ** 2 - 2 * y)  # derivative of the bump
    shear = np.sqrt(medium.mu / medium.rho)
    times = np.asarray(times, float)
    found = np.zeros(len(times))
    for first in range(0, len(times), 256):
        ago = times[first : first + 256, None] - s
        found[first : first + 256] = (step_integral(shear * ago / distance) * second).sum(1) / count
    return found * distance / shear / (16 * np.pi * medium.mu * distance)


__all__ = ["bump", "step_integral", "vertical_displacement", "vertical_velocity"]
