"""Plane waves of any law as eigenvectors of its first-order system, independent of the physics.

q = Re(r exp(i (w t - k.x + phase))) solves q_t + sum A_d q_d = E q where (sum k_d A_d - i E) r = w r; Im w > 0 decays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.physics.waves.law import Law, jacobians, role
from faultwave.verify.exact.medium import Array


@dataclass(frozen=True)
class Mode:
    """Plane wave along ``k`` [rad/m]: the ``number``-th fastest, from 0, with largest velocity ``amplitude`` [m/s]."""

    k: tuple[float, float, float]
    number: int
    amplitude: float = 1.0
    phase: float = 0.0


@dataclass(frozen=True)
class LawWaves:
    """Superposition of waves in one material: maps points (n, 3) [m] and a time [s] to the state (n, Q)."""

    law: Law
    material: Mapping[str, float]
    modes: Sequence[Mode]

    def of(self, mode: Mode) -> tuple[complex, Array]:
        """Return the frequency w [rad/s] and amplitudes (Q,) of a mode; any one of several equally fast waves is a solution."""
        arrays = {name: np.array([float(v)]) for name, v in self.material.items()}
        law, size = self.law.adapted(arrays), len(self.law.quantities)
        along = np.einsum("d,dij->ij", np.asarray(mode.k, float), jacobians(law, dict(self.material)).matrices)
        rates = [float(r[0]) for r in law.rates(arrays)]
        reaction = np.array([law.reaction(list(e), rates) for e in np.eye(size)], float).T
        frequencies, states = np.linalg.eig(along - 1j * reaction)
        chosen = np.argsort(-frequencies.real, kind="stable")[mode.number]
        velocity = states[role(law, "velocity"), chosen]
        largest = velocity[np.argmax(np.abs(velocity))]
        return complex(frequencies[chosen]), states[:, chosen] * (mode.amplitude / largest)

    def __call__(self, points: Array, t: float) -> Array:
        points, found = np.asarray(points, float), np.zeros((len(points), len(self.law.quantities)))
        for mode in self.modes:
            w, state = self.of(mode)
            found += np.outer(np.exp(1j * (w * t - points @ np.asarray(mode.k, float) + mode.phase)), state).real
        return found


__all__ = ["LawWaves", "Mode"]
