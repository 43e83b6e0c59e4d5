"""Plane waves of a law in a uniform material."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.physics.waves.law import Law, jacobians, role


def plane_waves(
    law: Law, material: Mapping[str, np.ndarray], waves: Sequence[Any], points: np.ndarray, time: float
) -> np.ndarray:
    """Sum of plane waves at points (n, 3): (n, Q). The material is that of the first cell; ``waves``: the case's settings.
    In anisotropic media P is the fastest wave, S the other one that moves most along the polarisation.

    With q = Q cos(k.x - w t), A_k Q = w Q for A_k = sum k_d A_d; as A_k only couples velocities with the rest, the rest
    of Q follows from its velocity.
    """
    values = {n: float(v[0]) for n, v in material.items()}
    a = jacobians(law, values).matrices
    result = np.zeros((len(points), len(law.quantities)))
    velocity = role(law, "velocity")
    rest = np.setdiff1d(np.arange(len(law.quantities)), np.arange(velocity.start, velocity.stop))
    for wave in waves:
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
        state[rest] = (np.einsum("d,dij->ij", k, a) @ state)[rest] / (speed * length)
        phase = points @ k - speed * length * time + (wave.phase - float(np.dot(k, wave.origin)))
        size = np.cos(phase)
        if wave.window is not None:
            size = np.where((phase > wave.window[0]) & (phase < wave.window[1]), size, 0.0)
        result += np.outer(size, state)
    return result


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
