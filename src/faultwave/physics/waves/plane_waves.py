"""Plane waves of a law in a uniform material."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.physics.waves.law import Law, jacobians, role

ROUNDS = 100


def plane_waves(
    law: Law, material: Mapping[str, np.ndarray], waves: Sequence[Any], points: np.ndarray, time: float
) -> np.ndarray:
    """Sum of plane waves at points (n, 3): (n, Q). The material is that of the first cell; ``waves``: the case's settings.
    In anisotropic media P is the fastest wave, S the other one that moves most along the polarisation.

    With q = Q cos(k.x - w t), A_k Q = w Q for A_k = sum k_d A_d; as A_k only couples velocities with the rest, the rest
    of Q follows from its velocity. Where the medium reacts by itself, with the rates R, (A_k + i R) Q = w Q of complex w and Q.
    """
    values = {n: float(v[0]) for n, v in material.items()}
    a = jacobians(law, values).matrices
    result = np.zeros((len(points), len(law.quantities)))
    velocity, reaction = role(law, "velocity"), _reaction(law, values)
    rest = np.setdiff1d(np.arange(len(law.quantities)), np.arange(velocity.start, velocity.stop))
    for wave in waves:
        if wave.solid_only and values.get("mu", 0.0) == 0.0:
            continue
        k = np.asarray(wave.k, float)
        length = np.linalg.norm(k)
        if law.directional:
            direction, speed = _polarised(np.einsum("d,dij->ij", k / length, a), velocity, rest, wave)
        elif wave.mode == "P":
            direction, speed = k / length, float(law.speed({n: np.asarray(v) for n, v in values.items()}))
        else:
            across = np.asarray(wave.polarisation, float)
            across = across - (across @ k) / length**2 * k
            direction, speed = across / np.linalg.norm(across), float(np.sqrt(values.get("mu", 0.0) / values["rho"]))
        if speed <= 0.0:
            raise InputError(
                Problem("initial.wave", f"mode {wave.mode} does not exist in this material", "P in fluids")
            )
        state = np.zeros(len(law.quantities))
        state[velocity] = wave.amplitude * direction
        along = np.einsum("d,dij->ij", k, a)
        frequency: Any = speed * length
        if reaction is None:
            state[rest] = (along @ state)[rest] / frequency
        else:
            frequency, state = _decaying(along + 1j * reaction, state, rest, float(frequency))
        phase = points @ k - frequency.real * time + (wave.phase - float(np.dot(k, wave.origin)))
        inside: Any = 1.0
        if wave.window is not None:
            inside = (phase > wave.window[0]) & (phase < wave.window[1])
        if reaction is None:
            result += np.outer(np.where(inside, np.cos(phase), 0.0), state)
        else:
            size = np.where(inside, np.exp(1j * phase + frequency.imag * time), 0.0)
            result += np.outer(size, state).real
    return result


def _reaction(law: Law, values: dict[str, float]) -> np.ndarray | None:
    """(Q, Q) rates of a medium that changes without gradients; None of one that does not."""
    rates = [float(r) for r in law.rates({n: np.asarray(v) for n, v in values.items()})]
    size = len(law.quantities)
    return np.array([law.reaction(list(e), rates) for e in np.eye(size)], float).T if rates else None


def _decaying(a: np.ndarray, state: np.ndarray, rest: np.ndarray, start: float) -> tuple[complex, np.ndarray]:
    """Frequency w and the whole of a ``state`` of which the velocity is known, so that a Q = w Q: from the ``start`` that it would have
    without a reaction, by w^2 = (w times what the rest gives back)."""
    moving = np.setdiff1d(np.arange(len(state)), rest)
    found, whole, weight = complex(start), state.astype(complex), state[moving] / (state[moving] @ state[moving])
    for _ in range(ROUNDS):
        inner = found * np.eye(len(rest)) - a[np.ix_(rest, rest)]
        whole[rest] = np.linalg.solve(inner, a[np.ix_(rest, moving)] @ state[moving])
        new = np.sqrt(found * complex(weight @ (a[np.ix_(moving, rest)] @ whole[rest])))
        if abs(new - found) <= 1e-15 * abs(found):
            break
        found = complex(new)
    return found, whole


def _polarised(a: np.ndarray, velocity: slice, rest: np.ndarray, wave: Any) -> tuple[np.ndarray, float]:
    """Direction of motion and speed of a wave whose Jacobian along its unit wave vector is ``a``: P is the fastest, S of the others the one
    that moves most along the polarisation given."""
    squares, axes = np.linalg.eig(a[velocity, :][:, rest] @ a[rest, :][:, velocity])
    order = np.argsort(squares.real)
    squares, axes = squares.real[order], axes.real[:, order]
    if wave.mode == "P":
        return axes[:, 2], float(np.sqrt(squares[2]))
    wanted = np.asarray(wave.polarisation, float)
    chosen = int(np.abs(wanted @ axes[:, :2]).argmax())
    if squares[1] - squares[0] > 1e-9 * squares[2]:
        return axes[:, chosen], float(np.sqrt(squares[chosen]))
    plane = np.linalg.qr(axes[:, :2])[0]  # both are as fast: any direction in their plane
    along = plane @ (plane.T @ wanted)
    return along / np.linalg.norm(along), float(np.sqrt(squares[chosen]))


__all__ = ["plane_waves"]
