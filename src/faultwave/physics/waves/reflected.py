"""Plane waves of any shape in time in a uniform half-space: one that comes in, and what a free surface sends back.

A plane wave v = a d S(t - n.(x - x0) / c) along n has d = n (P) or d across n (S), and bears the stress -(C : n d) a S / c. At a free
surface the waves sent back have the same slowness along it; their amplitudes are such that no traction acts (Aki & Richards 2002,
section 5.2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PlaneWave:
    """``motion`` (3,) [m/s] where S is 1; ``slowness`` (3,) [s/m]; ``delay`` [s] of S at the origin of the coordinates."""

    motion: np.ndarray
    slowness: np.ndarray
    delay: float

    def stress(self, lam: float, mu: float) -> np.ndarray:
        """(6,) xx, yy, zz, xy, yz, xz where S is 1."""
        return stress_of(self.motion, self.slowness, lam, mu)


def stress_of(motion: np.ndarray, slowness: np.ndarray, lam: float, mu: float) -> np.ndarray:
    """(6,) of a plane wave: xx, yy, zz, xy, yz, xz."""
    strain = -0.5 * (np.outer(slowness, motion) + np.outer(motion, slowness))
    tensor = lam * np.trace(strain) * np.eye(3) + 2.0 * mu * strain
    return np.asarray(tensor[[0, 1, 2, 0, 1, 0], [0, 1, 2, 1, 2, 2]])


def incoming(
    direction: np.ndarray, polarisation: np.ndarray | None, velocity: float, speed: float, reference: np.ndarray
) -> PlaneWave:
    """A P wave along ``direction`` or, where there is a polarisation, an S wave; S counts from the ``reference`` (3,) [m]."""
    along = np.asarray(direction, float) / np.linalg.norm(direction)
    moved = along
    if polarisation is not None:
        across = np.asarray(polarisation, float) - np.dot(polarisation, along) * along
        moved = across / np.linalg.norm(across)
    slowness = along / speed
    return PlaneWave(velocity * moved, slowness, -float(slowness @ reference))


def sent_back(wave: PlaneWave, rho: float, lam: float, mu: float, surface: float) -> list[PlaneWave]:
    """The P and S waves that go down from a free surface at the height ``surface`` [m].

    Raises ValueError where one of them would only creep along the surface: its shape in time would then be another.
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
