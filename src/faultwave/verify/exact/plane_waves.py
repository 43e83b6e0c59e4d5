"""Plane waves in homogeneous media: isotropic, attenuating (generalised Maxwell body), and of any law by its eigenvectors.

A wave of unit polarisation d moves the ground with v = a d cos(k.x - w t + phase), w = c |k|. Hooke's law with
u = -(a/w) d sin(.) gives its stress -(a/w) [lambda (k.d) I + mu (d k^T + k d^T)] cos(.).

With v = a d exp(i (w t - k.x)) the strain rate is e = -i sym(k d) a exp(...), an element's stress p_l = D_l e / (i w + w_l) and
i w sigma = C_u e - sum w_l p_l. Then rho w^2 = |k|^2 M(w), where M(w) = M_u - sum_l M_l w_l / (w_l + i w) is the modulus of the wave.

q = Re(r exp(i (w t - k.x + phase))) solves q_t + sum A_d q_d = E q where (sum k_d A_d - i E) r = w r; Im w > 0 decays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from faultwave.physics.waves.law import Law, jacobians, role
from faultwave.physics.waves.viscoelastic import Viscoelastic, element_names
from faultwave.verify.exact import Array, Medium, stress, unit

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
