"""Column of soil over rock, shaken by S waves from below: one dimension, integrated independently of the engines.

The stress of soil follows Masing's rules with memory of every reversal: first loading along the hyperbola tau = G gamma / (1 + |gamma| /
gamma_ref), unloading and reloading along the same curve doubled from the last reversal, until an earlier branch is met again (Masing
1926; Pyke 1979). Velocities and stresses are staggered in space and time. The rock continues below the column: the incoming
wave is prescribed, and outgoing waves are absorbed (Joyner & Chen 1975).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np


@dataclass
class MasingPoint:
    """Hysteretic stress of a point under Masing's rules; ``reversals`` are points (strain, stress), the outermost first."""

    modulus: float
    reference: float
    strain: float = 0.0
    stress: float = 0.0
    rising: bool | None = None
    reversals: list[tuple[float, float]] = field(default_factory=list)

    def backbone(self, strain: float) -> float:
        """Return the stress on first loading."""
        return self.modulus * strain / (1.0 + abs(strain) / self.reference)

    def to(self, strain: float) -> float:
        """Advance the point to a strain and return its stress."""
        if strain == self.strain:
            return self.stress
        rising = strain > self.strain
        if self.rising is not None and rising != self.rising:
            self.reversals.append((self.strain, self.stress))
        self.rising = rising
        while len(self.reversals) >= 2 and self._beyond(strain, self.reversals[-2][0], rising):
            del self.reversals[-2:]
        if len(self.reversals) == 1 and abs(strain) >= abs(self.reversals[0][0]):
            self.reversals.clear()
        if self.reversals:
            old, stress = self.reversals[-1]
            self.stress = stress + 2.0 * self.backbone(0.5 * (strain - old))
        else:
            self.stress = self.backbone(strain)
        self.strain = strain
        return self.stress

    @staticmethod
    def _beyond(strain: float, limit: float, rising: bool) -> bool:
        return strain >= limit if rising else strain <= limit


@dataclass(frozen=True)
class Column:
    """Column of ``depth`` [m]; density, S speed and reference strain (infinite in rock) are functions of depth (n,) [m]."""

    depth: float
    density: Callable[[np.ndarray], np.ndarray]
    speed: Callable[[np.ndarray], np.ndarray]
    reference: Callable[[np.ndarray], np.ndarray]


def shaken(
    column: Column, rising: Callable[[float], float], end: float, spacing: float, courant: float = 0.8
) -> tuple[np.ndarray, np.ndarray]:
    """Return the motion of the surface of a column under a wave from below.

    Parameters
    ----------
    column : Column
        Column of soil over rock.
    rising : callable
        Velocity of the incident wave at the foot [m/s] as a function of time [s].
    end : float
        End time [s].
    spacing : float
        Approximate spacing [m].
    courant : float
        Courant number of the time step.

    Returns
    -------
    times, velocity : array (n,)
        Times [s] and velocity of the surface [m/s].
    """
    count = round(column.depth / spacing)
    h = column.depth / count
    nodes, middles = h * np.arange(count + 1), h * (np.arange(count) + 0.5)
    rho, speed = column.density(middles), column.speed(middles)
    step = courant * h / speed.max()
    at_nodes = np.r_[0.5 * rho[0], 0.5 * (rho[1:] + rho[:-1]), 0.5 * rho[-1]] * h  # mass per square metre
    impedance = float(column.density(nodes[-1:])[0] * column.speed(nodes[-1:])[0])
    modulus, reference = rho * speed**2, column.reference(middles)
    soft = np.flatnonzero(np.isfinite(reference))
    points = [MasingPoint(float(modulus[n]), float(reference[n])) for n in soft]
    velocity, strain, stress = np.zeros(count + 1), np.zeros(count), np.zeros(count)
    times, seen = [], []
    for n in range(int(np.ceil(end / step))):
        now = n * step  # time of the stresses; velocities advance from half a step before to half a step after
        force = np.diff(np.r_[0.0, stress, 0.0])
        force[-1] += impedance * (2.0 * rising(now) - 0.5 * velocity[-1])
        velocity = velocity + step * force / at_nodes
        velocity[-1] = velocity[-1] / (1.0 + 0.5 * step * impedance / at_nodes[-1])
        strain += step * np.diff(velocity) / h
        stress = modulus * strain
        stress[soft] = [point.to(float(strain[k])) for k, point in zip(soft, points, strict=True)]
        times.append(now + 0.5 * step)
        seen.append(velocity[0])
    return np.array(times), np.array(seen)
