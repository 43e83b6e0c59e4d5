"""Initial states: zero, plane waves, and fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.case.model import Case, FieldSetting, PlaneWave
from faultwave.media import load_field
from faultwave.physics.waves import Law
from faultwave.physics.waves.law import jacobians

State = Callable[[np.ndarray], np.ndarray]


def initial_state(case: Case, law: Law, material: Mapping[str, np.ndarray]) -> State | None:
    """Values (n, Q) at points (n, 3) at time zero; None where all is at rest. Raises InputError."""
    setting = case.initial
    if setting.kind == "plane-wave":
        return lambda x: plane_waves(law, material, setting.wave, x, 0.0)
    return _field(setting.field, law) if setting.field is not None else None


def _field(setting: FieldSetting, law: Law) -> State:
    field = load_field(setting)
    given = [n for n in law.quantities if n in field.parameters]
    if not given:
        raise InputError(Problem("initial.field", "gives none of the quantities", ", ".join(law.quantities)))

    def state(points: np.ndarray) -> np.ndarray:
        values = field.evaluate(points, np.ones(len(points), int), given, 0.0)
        return np.stack([values[n] if n in values else np.zeros(len(points)) for n in law.quantities], 1)

    return state


def plane_waves(
    law: Law, material: Mapping[str, np.ndarray], waves: list[PlaneWave], points: np.ndarray, time: float
) -> np.ndarray:
    """Sum of plane waves at points (n, 3): (n, Q). The material is that of the first cell.

    With q = Q cos(k.x - w t), A_k Q = w Q for A_k = sum k_d A_d; as A_k only couples velocities with the rest, the rest
    of Q follows from its velocity.
    """
    values = {n: float(v[0]) for n, v in material.items()}
    a = jacobians(law, values).matrices
    result = np.zeros((len(points), len(law.quantities)))
    for wave in waves:
        k = np.asarray(wave.k, float)
        length = np.linalg.norm(k)
        if wave.mode == "P":
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
        state[-3:] = wave.amplitude * direction
        state[:-3] = (np.einsum("d,dij->ij", k, a) @ state)[:-3] / (speed * length)
        result += np.outer(np.cos(points @ k - speed * length * time + wave.phase), state)
    return result
