"""Harmonic waves on the two sides of a flat fluid-solid interface z = 0, propagating or evanescent.

A partial wave has the particle velocity v = d exp(i(kx x + kz z - w t)) where kz may be complex. With the displacement
u = i v / w Hooke's law gives the stress -C:(d k^T) / w, so a 3-vector k and a 3-vector d describe body waves and
evanescent waves alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faultwave.physics.waves.medium import VOIGT, Array, Medium

Complex = NDArray[np.complex128]


@dataclass(frozen=True)
class PartialWave:
    """Harmonic wave of complex wave vector k [rad/m] and velocity amplitude d [m/s] (3,) at angular frequency w [rad/s]."""

    medium: Medium
    k: Complex
    d: Complex
    w: float

    def state(self) -> Complex:
        """Return the amplitudes (9,) of the elastic quantities."""
        outer = -np.outer(self.d, self.k) / self.w
        trace, m = np.trace(outer), self.medium
        stresses = [(m.lam * trace if i == j else 0.0) + m.mu * (outer[i, j] + outer[j, i]) for i, j in VOIGT]
        return np.array([*stresses, *self.d])

    def scaled(self, factor: complex) -> PartialWave:
        """Return the same wave with its amplitude multiplied."""
        return PartialWave(self.medium, self.k, self.d * factor, self.w)


def p_wave(medium: Medium, kx: float, kz: complex, w: float) -> PartialWave:
    """Return a unit P (or sound) wave: d along k, |d| = 1 where k is real; the caller ensures k.k = (w/cp)^2."""
    k = np.array([kx, 0.0, kz], dtype=complex)
    return PartialWave(medium, k, k * complex(medium.cp / w), w)


def sv_wave(medium: Medium, kx: float, kz: complex, w: float) -> PartialWave:
    """Return a unit S wave polarised in the (x, z) plane: d = (-kz, 0, kx) cs / w; the caller ensures k.k = (w/cs)^2."""
    k = np.array([kx, 0.0, kz], dtype=complex)
    return PartialWave(medium, k, np.array([-kz, 0.0, kx], dtype=complex) * complex(medium.cs / w), w)


def interface_rows(wave: PartialWave, fluid: bool) -> Complex:
    """Return the quantities continuous across z = 0: (v_z, s_zz, s_xz); the shear traction of a fluid is 0."""
    state = wave.state()
    return np.array([state[8], state[2], 0.0 if fluid else state[5]])


@dataclass(frozen=True)
class InterfaceField:
    """Real part (n, 9) of partial waves above (z > 0) and below (z < 0) the interface.

    Points on z = 0 belong to ``above`` unless ``side`` is given: an array (n,) of +1 / -1 or one number.
    """

    above: tuple[PartialWave, ...]
    below: tuple[PartialWave, ...]

    def __call__(self, points: Array, t: float, side: Array | float | None = None) -> Array:
        points = np.asarray(points, dtype=float)
        sign = points[:, 2] if side is None else np.broadcast_to(np.asarray(side, dtype=float), len(points))
        result = np.empty((len(points), 9))
        for mask, waves in ((sign >= 0, self.above), (sign < 0, self.below)):
            part = np.zeros((int(mask.sum()), 9), dtype=complex)
            for wave in waves:
                part += np.exp(1j * (points[mask] @ wave.k - wave.w * t))[:, None] * wave.state()
            result[mask] = part.real
        return result
