"""Plane waves with any time function in a uniform half-space: an incident wave and its reflections at the free surface.

A plane wave v = a d S(t - n.(x - x0) / c) along n has d = n (P) or d normal to n (S), and the stress -(C : n d) a S /
c. At a free surface, reflected waves have the same slowness along it; their amplitudes cancel the traction (Aki &
Richards 2002, section 5.2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PlaneWave:
    """Plane wave with the time function S.

    Attributes
    ----------
    motion : (3,) array
        Velocity [m/s] where S is 1.
    slowness : (3,) array
        Slowness [s/m].
    delay : float
        Delay of S at the origin of the coordinates [s].
    """

    motion: np.ndarray
    slowness: np.ndarray
    delay: float

    def stress(self, lam: float, mu: float) -> np.ndarray:
        """Return the stress (6,) xx, yy, zz, xy, yz, xz [Pa] where S is 1."""
        return stress_of(self.motion, self.slowness, lam, mu)


def stress_of(motion: np.ndarray, slowness: np.ndarray, lam: float, mu: float) -> np.ndarray:
    """Return the stress (6,) xx, yy, zz, xy, yz, xz [Pa] of a plane wave."""
    strain = -0.5 * (np.outer(slowness, motion) + np.outer(motion, slowness))
    tensor = lam * np.trace(strain) * np.eye(3) + 2.0 * mu * strain
    return np.asarray(tensor[[0, 1, 2, 0, 1, 0], [0, 1, 2, 1, 2, 2]])


def incoming(
    direction: np.ndarray, polarisation: np.ndarray | None, velocity: float, speed: float, reference: np.ndarray
) -> PlaneWave:
    """Return an incident plane wave: S with a polarisation, else P.

    Parameters
    ----------
    direction, polarisation : (3,) array
        Direction of propagation, and of motion of an S wave.
    velocity : float
        Amplitude [m/s].
    speed : float
        Wave speed [m/s].
    reference : (3,) array
        Point with zero delay [m].
    """
    along = np.asarray(direction, float) / np.linalg.norm(direction)
    moved = along
    if polarisation is not None:
        across = np.asarray(polarisation, float) - np.dot(polarisation, along) * along
        moved = across / np.linalg.norm(across)
    slowness = along / speed
    return PlaneWave(velocity * moved, slowness, -float(slowness @ reference))


def sent_back(wave: PlaneWave, rho: float, lam: float, mu: float, surface: float) -> list[PlaneWave]:
    """Return the P and S waves reflected by a free surface at the height ``surface`` [m].

    Raises
    ------
    ValueError
        If one of them would be evanescent: its time function would change.
    """
    level = wave.slowness[:2]
    flat = float(np.hypot(*level))
    squares = {"P": rho / (lam + 2.0 * mu) - flat**2, "S": rho / mu - flat**2}
    for name, square in squares.items():
        if square <= 0.0:
            raise ValueError(f"its {name} wave would not leave the free surface")
    along = level / flat if flat > 0 else np.array([1.0, 0.0])
    down = {name: np.array([*level, -np.sqrt(square)]) for name, square in squares.items()}
    sideways = np.array([-along[1], along[0], 0.0])
    upright = np.cross(down["S"] / np.linalg.norm(down["S"]), sideways)
    kinds = [(down["P"] / np.linalg.norm(down["P"]), down["P"]), (upright, down["S"]), (sideways, down["S"])]
    traction = [2, 4, 5]  # zz, yz, xz
    matrix = np.stack([stress_of(motion, slowness, lam, mu)[traction] for motion, slowness in kinds], 1)
    amplitudes = np.linalg.solve(matrix, -wave.stress(lam, mu)[traction])
    found = []
    for amplitude, (motion, slowness) in zip(amplitudes, kinds, strict=True):
        delay = wave.delay + (wave.slowness[2] - slowness[2]) * surface
        found.append(PlaneWave(amplitude * motion, slowness, float(delay)))
    return found


__all__ = ["PlaneWave", "incoming", "sent_back", "stress_of"]
