"""Plane waves in a homogeneous isotropic medium, in any superposition.

A wave of unit polarisation d moves the ground with v = a d cos(k.x - w t + phase), w = c |k|. Hooke's law with
u = -(a/w) d sin(.) gives its stress -(a/w) [lambda (k.d) I + mu (d k^T + k d^T)] cos(.).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from faultwave.verify.exact.medium import Array, Medium, stress, unit

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Wave:
    """Plane wave: kind, wave vector [rad/m], velocity amplitude [m/s], polarisation (S only), phase [rad].

    An S polarisation is made orthogonal to the wave vector; one parallel to it raises ValueError.
    """

    kind: Literal["P", "S"]
    wavevector: Vector
    amplitude: float = 1.0
    polarisation: Vector | None = None
    phase: float = 0.0

    def direction(self) -> Array:
        """Return the unit vector of ground motion (3,)."""
        along = unit(self.wavevector)
        if self.kind == "P":
            return along
        if self.polarisation is None:
            raise ValueError("an S wave needs a polarisation")
        across = np.asarray(self.polarisation, dtype=float)
        across = across - along * (along @ across)
        if np.linalg.norm(across) < 1e-12 * np.linalg.norm(self.polarisation):
            raise ValueError("the polarisation of an S wave must not be parallel to its wave vector")
        return unit(across)

    def frequency(self, medium: Medium) -> float:
        """Return the angular frequency [rad/s]."""
        speed = medium.cp if self.kind == "P" else medium.cs
        return speed * float(np.linalg.norm(self.wavevector))


@dataclass(frozen=True)
class PlaneWaves:
    """Superposition of plane waves; maps points (n, 3) [m] and a time [s] to (n, 9) elastic or (n, 4) acoustic quantities."""

    medium: Medium
    waves: tuple[Wave, ...]
    acoustic: bool = False

    def __post_init__(self) -> None:
        if any(w.kind == "S" for w in self.waves) and (self.acoustic or self.medium.mu == 0):
            raise ValueError("a fluid carries no S waves")

    def __call__(self, points: Array, t: float) -> Array:
        points = np.asarray(points, dtype=float)
        total = np.zeros((len(points), 4 if self.acoustic else 9))
        for wave in self.waves:
            k, d, w = np.asarray(wave.wavevector, dtype=float), wave.direction(), wave.frequency(self.medium)
            shape = wave.amplitude * np.cos(points @ k - w * t + wave.phase)
            stresses = -stress(self.medium, np.outer(d, k)) / w
            state = np.concatenate([stresses[:1] if self.acoustic else stresses, d])
            total += shape[:, None] * state
        return total


def elastic(medium: Medium, waves: Sequence[Wave]) -> PlaneWaves:
    """Return elastic plane waves in ``medium``."""
    return PlaneWaves(medium, tuple(waves))


def acoustic(medium: Medium, waves: Sequence[Wave]) -> PlaneWaves:
    """Return acoustic plane waves (all of kind P) in a fluid of density rho and bulk modulus lambda."""
    return PlaneWaves(medium, tuple(waves), acoustic=True)


#: Medium of the convergence tests.
CONVERGENCE_MEDIUM = Medium(rho=1.0, lam=2.0, mu=1.0)
CONVERGENCE_FLUID = Medium(rho=1.0, lam=4.0)
_K = (np.pi, np.pi, np.pi)


def elastic_convergence() -> PlaneWaves:
    """Return a P wave along k and an S wave along -k polarised (1, -1, 0), of unit velocity amplitude, k = pi (1, 1, 1).

    v = p sin(k.x - wp t) + s sin(k.x + ws t). On grids that barely resolve the waves, errors depend on their phase; this phase
    belongs to the table of ``verify.cases.plane_wave``.
    """
    back, quarter = (-np.pi, -np.pi, -np.pi), 0.5 * np.pi
    s_wave = Wave("S", back, polarisation=(1.0, -1.0, 0.0), phase=quarter)
    return elastic(CONVERGENCE_MEDIUM, [Wave("P", _K, phase=-quarter), s_wave])


def acoustic_convergence() -> PlaneWaves:
    """Return two sound waves along +k and across it, so that every component of velocity is excited independently."""
    return acoustic(CONVERGENCE_FLUID, [Wave("P", _K), Wave("P", (np.pi, -np.pi, 0.0), amplitude=0.5, phase=0.7)])
