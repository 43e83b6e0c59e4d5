"""Isotropic media and their harmonic waves: plane waves of a law, partial waves at a flat interface, reflections at a free surface.

A partial wave has the particle velocity v = d exp(i(kx x + kz z - w t)) where kz may be complex. With the displacement
u = i v / w Hooke's law gives the stress -C:(d k^T) / w, so a 3-vector k and a 3-vector d describe body waves and
evanescent waves alike.

A plane wave v = a d S(t - n.(x - x0) / c) along n has d = n (P) or d normal to n (S), and the stress -(C : n d) a S /
c. At a free surface, reflected waves have the same slowness along it; their amplitudes cancel the traction (Aki &
Richards 2002, section 5.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, Problem
from faultwave.base.types import Setting
from faultwave.physics.waves.law import Law, jacobians, role

Array = NDArray[np.float64]

#: Tensor components in the order of the elastic law.
VOIGT: tuple[tuple[int, int], ...] = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
ELASTIC: tuple[str, ...] = ("s_xx", "s_yy", "s_zz", "s_xy", "s_yz", "s_xz", "v1", "v2", "v3")
ACOUSTIC: tuple[str, ...] = ("sigma", "v1", "v2", "v3")


class Solution(Protocol):
    """Exact solution in space and time: points (n, 3) [m] and one time [s] give values (n, quantities)."""

    def __call__(self, points: Array, t: float) -> Array: ...


@dataclass(frozen=True)
class Medium:
    """Isotropic medium: density [kg/m^3] and Lamé parameters [Pa]; ``mu`` = 0 is a fluid of bulk modulus ``lam``."""

    rho: float
    lam: float
    mu: float = 0.0

    def __post_init__(self) -> None:
        if not (self.rho > 0 and self.mu >= 0 and self.lam + 2 * self.mu > 0):
            raise ValueError(f"not a medium: rho={self.rho}, lambda={self.lam}, mu={self.mu}")

    @property
    def cp(self) -> float:
        return float(np.sqrt((self.lam + 2 * self.mu) / self.rho))

    @property
    def cs(self) -> float:
        return float(np.sqrt(self.mu / self.rho))

    @property
    def zp(self) -> float:
        """Impedance of P waves [Pa s/m]."""
        return self.rho * self.cp

    @property
    def zs(self) -> float:
        """Impedance of S waves [Pa s/m]."""
        return self.rho * self.cs

    def parameters(self) -> dict[str, float]:
        """Return the material parameters by their names in a case."""
        return {"rho": self.rho, "lambda": self.lam, "mu": self.mu}


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


ROUNDS = 100


def plane_waves(
    law: Law, material: Mapping[str, np.ndarray], waves: Sequence[Setting], points: np.ndarray, time: float
) -> np.ndarray:
    """Return the state (n, Q) of a sum of plane waves at points (n, 3).

    In anisotropic media, P is the fastest wave, S the other one with the largest motion along the polarisation. In
    porous media, where all waves decay, slow-P is the P wave in which fluid and frame move in opposite directions.

    With q = Q cos(k.x - w t), A_k Q = w Q for A_k = sum k_d A_d. A_k only couples velocities with the other quantities,
    so the others follow from the velocity. In media with a reaction of rates R, (A_k + i R) Q = w Q with complex w and
    Q.

    Parameters
    ----------
    law
        Wave law.
    material
        Parameters by name; the first cell counts.
    waves
        Settings of plane waves in the case.
    points : (n, 3) array
        Points [m].
    time : float
        Time [s].
    """
    values = {n: float(v[0]) for n, v in material.items()}
    a = jacobians(law, values).matrices
    result = np.zeros((len(points), len(law.quantities)))
    velocity, reaction = role(law, "velocity"), _reaction(law, values)
    rest = np.setdiff1d(np.arange(len(law.quantities)), np.arange(velocity.start, velocity.stop))
    for wave in waves:
        if wave.solid_only and law.moduli(values).get("mu", 0.0) == 0.0:
            continue
        k = np.asarray(wave.k, float)
        along = np.einsum("d,dij->ij", k, a)
        if "filtration" in law.roles:
            frequency, state = _in_pores(law, along, reaction, wave)
        else:
            frequency, state = _elastic(law, values, along, velocity, rest, wave)
            if reaction is not None:
                frequency, state = _decaying(along + 1j * reaction, state, rest, frequency)
        phase = points @ k - frequency.real * time + (wave.phase - float(np.dot(k, wave.origin)))
        inside: np.ndarray | float = 1.0
        if wave.window is not None:
            inside = (phase > wave.window[0]) & (phase < wave.window[1])
        if np.iscomplexobj(state):
            size = np.where(inside, np.exp(1j * phase + frequency.imag * time), 0.0)
            result += np.outer(size, state).real
        else:
            result += np.outer(np.where(inside, np.cos(phase), 0.0), state)
    return result


def _elastic(
    law: Law, values: dict[str, float], along: np.ndarray, velocity: slice, rest: np.ndarray, wave: Setting
) -> tuple[np.float64, np.ndarray]:
    """Return the frequency [rad/s] and state of a wave in a medium without reaction."""
    k = np.asarray(wave.k, float)
    length = np.linalg.norm(k)
    if wave.mode == "slow-P":
        raise InputError(Problem("initial.wave", f"the {law.name} law has no slow P wave", "P, S"))
    if law.directional:
        direction, speed = _polarised(along / length, velocity, rest, wave)
    elif wave.mode == "P":
        direction, speed = k / length, float(law.speed({n: np.asarray(v) for n, v in values.items()}))
    else:
        direction, speed = _across(wave), float(np.sqrt(values.get("mu", 0.0) / values["rho"]))
    if speed <= 0.0:
        raise InputError(Problem("initial.wave", f"mode {wave.mode} does not exist in this material", "P in fluids"))
    state = np.zeros(len(law.quantities))
    state[velocity] = wave.amplitude * direction
    state[rest] = (along @ state)[rest] / (speed * length)
    return np.float64(speed * length), state


def _across(wave: Setting) -> np.ndarray:
    """Return the direction of motion of an S wave."""
    k, across = np.asarray(wave.k, float), np.asarray(wave.polarisation, float)
    across = across - (across @ k) / np.linalg.norm(k) ** 2 * k
    return np.asarray(across / np.linalg.norm(across))


def _reaction(law: Law, values: dict[str, float]) -> np.ndarray | None:
    """Return the rates (Q, Q) of a medium with a reaction, else None."""
    rates = [float(r) for r in law.rates({n: np.asarray(v) for n, v in values.items()})]
    size = len(law.quantities)
    return np.array([law.reaction(list(e), rates) for e in np.eye(size)], float).T if rates else None


def _decaying(a: np.ndarray, state: np.ndarray, rest: np.ndarray, start: float) -> tuple[complex, np.ndarray]:
    """Return the complex frequency w and the state of a wave with known velocity, so that a Q = w Q.

    The iteration starts at ``start``, the frequency without reaction: w^2 is w times the rate of the velocity due to
    the other quantities and to its own decay.
    """
    moving = np.setdiff1d(np.arange(len(state)), rest)
    found, whole, weight = complex(start), state.astype(complex), state[moving] / (state[moving] @ state[moving])
    for _ in range(ROUNDS):
        inner = found * np.eye(len(rest)) - a[np.ix_(rest, rest)]
        whole[rest] = np.linalg.solve(inner, a[np.ix_(rest, moving)] @ state[moving])
        given = a[np.ix_(moving, rest)] @ whole[rest] + a[np.ix_(moving, moving)] @ state[moving]
        new = np.sqrt(found * complex(weight @ given))
        if abs(new - found) <= 1e-15 * abs(found):
            break
        found = complex(new)
    return found, whole


def _in_pores(law: Law, spread: np.ndarray, reaction: np.ndarray | None, wave: Setting) -> tuple[complex, np.ndarray]:
    """Return the frequency and state of a wave in a porous medium.

    The problem is reduced to motions of frame and fluid along one direction, and the stresses that they cause.
    """
    k, size = np.asarray(wave.k, float), len(law.quantities)
    along = _across(wave) if wave.mode == "S" else k / np.linalg.norm(k)
    motions = np.zeros((size, 2))
    motions[role(law, "velocity"), 0] = motions[role(law, "filtration"), 1] = along
    space = np.concatenate([motions, spread @ motions], 1)
    space = space[:, np.linalg.norm(space, axis=0) > 0]  # shear of the fluid causes no stress
    space /= np.linalg.norm(space, axis=0)
    whole = spread if reaction is None else spread + 1j * reaction
    frequencies, shares = np.linalg.eig(np.linalg.pinv(space) @ whole @ space)
    order = np.argsort(-frequencies.real, kind="stable")
    chosen = order[1] if wave.mode == "slow-P" else order[0]
    still = np.abs(frequencies.real) < 1e-6 * np.abs(frequencies).max()
    if still[chosen]:  # the wave only diffuses: take the slower one
        chosen = min(np.flatnonzero(still), key=lambda i: abs(frequencies[i]))
    state = space @ shares[:, chosen]
    return frequencies[chosen], state * wave.amplitude / (along @ state[role(law, "velocity")])


def _polarised(a: np.ndarray, velocity: slice, rest: np.ndarray, wave: Setting) -> tuple[np.ndarray, float]:
    """Return the direction of motion and the speed of a wave; ``a`` is the Jacobian along its unit wave vector.

    P is the fastest wave; S the other one with the larger motion along the given polarisation.
    """
    squares, axes = np.linalg.eig(a[velocity, :][:, rest] @ a[rest, :][:, velocity])
    order = np.argsort(squares.real)
    squares, axes = squares.real[order], axes.real[:, order]
    if wave.mode == "P":
        return axes[:, 2], float(np.sqrt(squares[2]))
    wanted = np.asarray(wave.polarisation, float)
    chosen = int(np.abs(wanted @ axes[:, :2]).argmax())
    if squares[1] - squares[0] > 1e-9 * squares[2]:
        return axes[:, chosen], float(np.sqrt(squares[chosen]))
    plane = np.linalg.qr(axes[:, :2])[0]  # equal speeds: any direction in their plane
    along = plane @ (plane.T @ wanted)
    return along / np.linalg.norm(along), float(np.sqrt(squares[chosen]))


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
            raise ValueError(f"its {name} wave would not propagate away from the free surface")
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
