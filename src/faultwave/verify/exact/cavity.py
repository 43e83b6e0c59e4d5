"""Standing waves in boxes whose sides conserve energy.

Acoustic box with pressure-release sides (sigma = 0), elastic box with symmetry planes (normal velocity and shear
traction zero), Lame's equivoluminal mode of an elastic box with free surfaces (Lamb 1917; Graff, Wave motion in
elastic solids, section 8.1), and electromagnetic box with perfectly conducting walls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultwave.verify.exact import Array, Medium, stress

Vector = tuple[float, float, float]


def _trigonometry(points: Array, lower: Vector, k: Array) -> tuple[Array, Array]:
    phase = (np.asarray(points, dtype=float) - np.asarray(lower)) * k
    return np.sin(phase), np.cos(phase)


@dataclass(frozen=True)
class PressureRelease:
    """Acoustic mode sigma = a sin(kx x) sin(ky y) sin(kz z) cos(w t) of a box with pressure-release sides; returns (n, 4).

    ``modes`` are positive integers, k_i = pi m_i / L_i, w = c |k|; v follows from rho v_t = grad sigma.
    """

    medium: Medium
    modes: tuple[int, int, int] = (1, 1, 1)
    lower: Vector = (0.0, 0.0, 0.0)
    upper: Vector = (1.0, 1.0, 1.0)
    amplitude: float = 1.0

    @property
    def wavenumbers(self) -> Array:
        return np.pi * np.asarray(self.modes) / (np.asarray(self.upper) - np.asarray(self.lower))

    @property
    def frequency(self) -> float:
        """Angular frequency [rad/s]."""
        return self.medium.cp * float(np.linalg.norm(self.wavenumbers))

    def energy(self) -> float:
        """Return the total energy [J], constant in time: volume a^2 / (16 K)."""
        volume = float(np.prod(np.asarray(self.upper) - np.asarray(self.lower)))
        return volume * self.amplitude**2 / (16 * self.medium.lam)

    def __call__(self, points: Array, t: float) -> Array:
        k, w = self.wavenumbers, self.frequency
        s, c = _trigonometry(points, self.lower, k)
        sigma = self.amplitude * s.prod(axis=1) * np.cos(w * t)
        factor = self.amplitude * np.sin(w * t) / (self.medium.rho * w)
        gradient = np.stack([c[:, i] * s[:, (i + 1) % 3] * s[:, (i + 2) % 3] * k[i] for i in range(3)], axis=1)
        return np.column_stack([sigma, factor * gradient])


@dataclass(frozen=True)
class SymmetryBox:
    """P or S mode of an elastic box whose six sides are symmetry planes; returns (n, 9).

    u_i = (d_i / w) sin(k_i x_i) prod_(j != i) cos(k_j x_j) sin(w t). A ``polarisation`` d parallel to k gives the P mode,
    one orthogonal to k an S mode; anything else raises ValueError. Velocities are at most |d_i| [m/s].
    """

    medium: Medium
    modes: tuple[int, int, int] = (1, 1, 1)
    polarisation: Vector = (1.0, 1.0, 1.0)
    lower: Vector = (0.0, 0.0, 0.0)
    upper: Vector = (1.0, 1.0, 1.0)

    @property
    def wavenumbers(self) -> Array:
        return np.pi * np.asarray(self.modes) / (np.asarray(self.upper) - np.asarray(self.lower))

    @property
    def frequency(self) -> float:
        """Angular frequency [rad/s]."""
        k, d = self.wavenumbers, np.asarray(self.polarisation)
        size = np.linalg.norm(k) * np.linalg.norm(d)
        if abs(k @ d) < 1e-12 * size:
            return self.medium.cs * float(np.linalg.norm(k))
        if np.linalg.norm(np.cross(k, d)) < 1e-12 * size:
            return self.medium.cp * float(np.linalg.norm(k))
        raise ValueError("the polarisation must be parallel (P) or orthogonal (S) to the wave vector")

    def __call__(self, points: Array, t: float) -> Array:
        k, d, w = self.wavenumbers, np.asarray(self.polarisation), self.frequency
        s, c = _trigonometry(points, self.lower, k)
        shape = np.empty((len(s), 3))
        gradient = np.empty((len(s), 3, 3))
        for i in range(3):
            rest = [j for j in range(3) if j != i]
            shape[:, i] = d[i] * s[:, i] * c[:, rest[0]] * c[:, rest[1]]
            gradient[:, i, i] = d[i] * k[i] * c.prod(axis=1)
            for j, other in (rest, rest[::-1]):
                gradient[:, i, j] = -d[i] * k[j] * s[:, i] * s[:, j] * c[:, other]
        return np.column_stack([stress(self.medium, gradient) * np.sin(w * t) / w, shape * np.cos(w * t)])


@dataclass(frozen=True)
class LameMode:
    """Lame's mode of a box with free sides, uniform in z; returns (n, 9).

    u = (a/w) (cos(k x) sin(k y), -sin(k x) cos(k y), 0) sin(w t), w = cs k sqrt(2); x and y count from ``lower`` and
    the sides must lie a multiple of pi/k from it. Every traction vanishes there, and on all planes of constant z.
    """

    medium: Medium
    wavenumber: float
    lower: Vector = (0.0, 0.0, 0.0)
    amplitude: float = 1.0

    @property
    def frequency(self) -> float:
        """Angular frequency [rad/s]."""
        return self.medium.cs * self.wavenumber * float(np.sqrt(2.0))

    def __call__(self, points: Array, t: float) -> Array:
        k, w, a = self.wavenumber, self.frequency, self.amplitude
        s, c = _trigonometry(points, self.lower, np.array([k, k, 0.0]))
        normal = -2 * self.medium.mu * a * k / w * s[:, 0] * s[:, 1] * np.sin(w * t)
        zero = np.zeros(len(s))
        v1, v2 = a * c[:, 0] * s[:, 1] * np.cos(w * t), -a * s[:, 0] * c[:, 1] * np.cos(w * t)
        return np.stack([normal, -normal, zero, zero, zero, zero, v1, v2, zero], axis=1)


@dataclass(frozen=True)
class Cavity:
    """Standing electromagnetic wave in a box with perfectly conducting walls, unit permittivity and permeability; returns (n, 6).

    E_i = e_i cos(k_i x_i) prod_(j != i) sin(k_j x_j) a(t), k_i = pi m_i / L_i; ``polarisation`` e must be orthogonal to k,
    else ValueError. H follows from H_t = -curl E. Without conductivity a(t) = cos(w t); with it a'' + g a' + w^2 a = 0.
    """

    modes: tuple[int, int, int] = (1, 1, 1)
    polarisation: Vector = (1.0, -1.0, 0.0)
    lower: Vector = (0.0, 0.0, 0.0)
    upper: Vector = (1.0, 1.0, 1.0)
    conductivity: float = 0.0

    @property
    def wavenumbers(self) -> Array:
        return np.pi * np.asarray(self.modes) / (np.asarray(self.upper) - np.asarray(self.lower))

    @property
    def frequency(self) -> float:
        """Angular frequency without losses [rad/s]."""
        k, e = self.wavenumbers, np.asarray(self.polarisation)
        if abs(k @ e) > 1e-12 * np.linalg.norm(k) * np.linalg.norm(e):
            raise ValueError("the polarisation must be orthogonal to the wave vector")
        return float(np.linalg.norm(k))

    def __call__(self, points: Array, t: float) -> Array:
        k, e, w = self.wavenumbers, np.asarray(self.polarisation), self.frequency
        s, c = _trigonometry(points, self.lower, k)
        curl, half = np.cross(k, e), 0.5 * self.conductivity
        ringing = np.sqrt(w**2 - half**2)
        decay = np.exp(-half * t)
        electric = decay * (np.cos(ringing * t) - half / ringing * np.sin(ringing * t))
        magnetic = decay * np.sin(ringing * t) / ringing
        result = np.empty((len(s), 6))
        for i in range(3):
            j, m = (i + 1) % 3, (i + 2) % 3
            result[:, i] = e[i] * c[:, i] * s[:, j] * s[:, m] * electric
            result[:, 3 + i] = -curl[i] * s[:, i] * c[:, j] * c[:, m] * magnetic
        return result
