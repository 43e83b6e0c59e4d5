"""Plane waves of a law in a uniform material."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.types import Setting
from faultwave.physics.waves.law import Law, jacobians, role

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


__all__ = ["plane_waves"]
