"""Exact plane shear on a fault of constant strength between two elastic half-spaces, by characteristics.

The fault is y = 0, slip is along x, and everything depends on y and t only. On each side the shear wave leaving the fault
ties the traction change to velocity: d_tau = -Z_a v_a above (y > 0), d_tau = Z_b v_b - 2 Z_b h below (y < 0), where h is
the velocity of a wave that may arrive from below. With 1/eta = 1/Z_a + 1/Z_b the locked traction is tau0 - 2 eta h;
its excess over the strength drives slip: V = (locked - T)/eta, V = v_a - v_b. Slip follows the direction of the locked traction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from faultwave.verify.exact import Array, Medium
from faultwave.verify.exact.time_functions import integrate

Function = Callable[[Array], Array]


def none(t: Array) -> Array:
    """Return zero: no incident wave."""
    return np.zeros_like(np.asarray(t, dtype=float))


@dataclass(frozen=True)
class Step:
    """Smooth step of traction: ``level`` from the start [Pa] plus ``rise`` [Pa] over a ramp of ``duration`` [s].

    The ramp is exp((t - T)^2 / (t (t - 2T))), the smooth step of the SCEC benchmarks, and 1 from t = T on; with T = 0 it is a jump.
    """

    level: float
    rise: float = 0.0
    duration: float = 0.0

    def __call__(self, t: Array) -> Array:
        t = np.asarray(t, dtype=float)
        if self.duration == 0:
            return np.where(t > 0, self.level + self.rise, self.level)
        inside = (t > 0) & (t < self.duration)
        s = np.where(inside, t, 0.5 * self.duration)
        ramp = np.exp((s - self.duration) ** 2 / (s * (s - 2 * self.duration)))
        return self.level + self.rise * np.where(inside, ramp, np.where(t <= 0, 0.0, 1.0))


@dataclass(frozen=True)
class BimaterialFault:
    """Exact solution of a bimaterial fault under shear; maps points (n, 3) and a time to the perturbation (n, 9).

    The medium is at rest before t = 0. A point on y = 0 takes the upper side.

    Attributes
    ----------
    above, below : Medium
        Media at y > 0 and y < 0.
    strength : float
        Constant strength [Pa].
    background : callable
        Shear traction s_xy(t) [Pa] without slip or incident wave.
    incident : callable
        Velocity of the wave that arrives from below, at the fault [m/s].
    """

    above: Medium
    below: Medium
    strength: float
    background: Function
    incident: Function = none

    @property
    def eta(self) -> float:
        """Fault impedance Z_a Z_b / (Z_a + Z_b) [Pa s/m]."""
        return self.above.zs * self.below.zs / (self.above.zs + self.below.zs)

    def locked(self, t: Array) -> Array:
        """Return the total traction that a locked fault would bear [Pa]."""
        return self.background(t) - 2 * self.eta * self.incident(t)

    def traction(self, t: Array) -> Array:
        """Return the total shear traction s_xy on the fault [Pa], for t > 0."""
        return np.clip(self.locked(t), -self.strength, self.strength)

    def slip_rate(self, t: Array) -> Array:
        """Return the velocity above minus the velocity below [m/s]; positive where s_xy is."""
        t = np.asarray(t, dtype=float)
        return np.where(t > 0, (self.locked(t) - self.traction(t)) / self.eta, 0.0)

    def slip(self, t: Array, scale: float) -> Array:
        """Return the slip [m]; the slip rate is integrated in panels of ``scale`` [s]."""
        t = np.asarray(t, dtype=float)
        return integrate(self.slip_rate, np.zeros((*t.shape, 1)), np.maximum(t, 0.0), scale)

    def _change(self, t: Array) -> Array:
        return np.where(t > 0, self.traction(t) - self.background(t), 0.0)

    def __call__(self, points: Array, t: float) -> Array:
        y = np.asarray(points, dtype=float)[:, 1]
        up, down = y >= 0, y < 0
        result = np.zeros((len(y), 9))
        leaving = -self._change(t - y[up] / self.above.cs) / self.above.zs
        result[up, 6], result[up, 3] = leaving, -self.above.zs * leaving
        arriving = self.incident(t - y[down] / self.below.cs)
        echo_time = t + y[down] / self.below.cs
        echo = self._change(echo_time) / self.below.zs + self.incident(echo_time)
        result[down, 6], result[down, 3] = arriving + echo, self.below.zs * (echo - arriving)
        return result
