"""Plane waves in a homogeneous generalised Maxwell body, with real wave vector and complex frequency (decay in time).

With v = a d exp(i (w t - k.x)) the strain rate is e = -i sym(k d) a exp(...), an element's stress p_l = D_l e / (i w + w_l) and
i w sigma = C_u e - sum w_l p_l. Then rho w^2 = |k|^2 M(w), where M(w) = M_u - sum_l M_l w_l / (w_l + i w) is the modulus of the wave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.physics.waves.viscoelastic import Viscoelastic, element_names
from faultwave.verify.exact.medium import Array, Medium, stress
from faultwave.verify.exact.plane_wave import Wave

ROUNDS = 100


@dataclass(frozen=True)
class AttenuatedWaves:
    """Superposition of plane waves in a viscoelastic medium: maps points (n, 3) [m] and a time [s] to the state (n, Q).

    Attributes
    ----------
    material : mapping of str to float
        Parameters of the law ``viscoelastic``.
    waves : sequence of Wave
        Waves that are added.
    """

    material: Mapping[str, float]
    waves: Sequence[Wave]

    @property
    def law(self) -> Viscoelastic:
        return Viscoelastic().adapted({n: np.array([v]) for n, v in self.material.items()})

    def _modulus(self, wave: Wave, suffix: str = "") -> float:
        lam, mu = (self.material[f"{suffix}{name}"] for name in ("lambda", "mu"))
        return lam + 2.0 * mu if wave.kind == "P" else mu

    def frequency(self, wave: Wave) -> complex:
        """Return the complex frequency w [rad/s] of a wave, with positive real and imaginary part.

        Of all roots of the dispersion relation it is the one that is continuous in the modulus defects.
        """
        rates = self.law.rates_of_elements
        unrelaxed, size = self._modulus(wave), float(np.linalg.norm(wave.wavevector))
        found = complex(size * np.sqrt(unrelaxed / self.material["rho"]))
        for _ in range(ROUNDS):
            parts = (self._modulus(wave, f"element{i + 1}_") * w / (w + 1j * found) for i, w in enumerate(rates))
            new = size * np.sqrt((unrelaxed - sum(parts)) / self.material["rho"])
            if abs(new - found) <= 1e-15 * abs(found):
                break
            found = complex(new)
        return found

    def _state(self, wave: Wave) -> tuple[complex, Array]:
        """Return the complex frequency and the amplitudes (Q,)."""
        w, d, k = self.frequency(wave), wave.direction(), np.asarray(wave.wavevector, float)
        gradient = -1j * np.outer(d, k)

        def stressed(lam: float, mu: float) -> Array:
            medium = Medium(1.0, lam, mu)
            return stress(medium, gradient.real) + 1j * stress(medium, gradient.imag)

        total, memories = stressed(self.material["lambda"], self.material["mu"]), []
        for i, rate in enumerate(self.law.rates_of_elements):
            lam, mu, _ = element_names(i + 1)
            memory = stressed(self.material[lam], self.material[mu]) / (1j * w + rate)
            total = total - rate * memory
            memories.append(memory)
        return w, np.concatenate([total / (1j * w), d.astype(complex), *memories])

    def __call__(self, points: Array, t: float) -> Array:
        points = np.asarray(points, float)
        found: Array = np.zeros((len(points), len(self.law.quantities)))
        for wave in self.waves:
            w, state = self._state(wave)
            phase = np.exp(1j * (w * t - points @ np.asarray(wave.wavevector, float) - wave.phase))
            found = found + wave.amplitude * np.outer(phase, state).real
        return found


__all__ = ["AttenuatedWaves"]
