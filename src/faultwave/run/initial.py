"""Initial states: zero, plane waves, and fields from an easi file."""

from __future__ import annotations

from typing import Any

import numpy as np

from faultwave.base.errors import InputError, NotBuiltError, Problem
from faultwave.laws.law import jacobians
from faultwave.media import load_field
from faultwave.run.engine import Engine


def apply(engine: Engine) -> None:
    """Project the case's initial condition on the dofs."""
    setting = engine.plan.case.initial
    if setting.kind == "zero":
        return
    if setting.kind == "plane-wave":
        engine.project(lambda x: plane_waves(engine, x, 0.0))
    elif setting.kind == "easi":
        engine.project(lambda x: _field(engine, setting, x))
    else:
        raise NotBuiltError(
            Problem(
                "initial.kind", f"'{setting.kind}' is not available as a case's initial state", "zero, plane-wave, easi"
            )
        )


def _field(engine: Engine, setting: Any, points: np.ndarray) -> np.ndarray:
    if setting.field is None:
        raise InputError(Problem("initial.field", "missing: kind 'easi' needs a field of the quantities"))
    names = list(engine.plan.law.quantities)
    field = load_field(setting.field)
    given = [n for n in names if n in field.parameters]
    if not given:
        raise InputError(Problem("initial.field", "gives none of the quantities", ", ".join(names)))
    values = field.evaluate(points, np.ones(len(points), int), given, 0.0)
    return np.stack([values[n] if n in values else np.zeros(len(points)) for n in names], 1)


def plane_waves(engine: Engine, points: np.ndarray, time: float) -> np.ndarray:
    """Sum of the case's plane waves at points (n, 3): (n, Q). The material is that of the first cell.

    With q = Q cos(k.x - w t), A_k Q = w Q for A_k = sum k_d A_d; as A_k only couples velocities with the rest, the rest
    of Q follows from its velocity.
    """
    law = engine.plan.law
    values = {n: float(v[0]) for n, v in engine.plan.material.items()}
    a = jacobians(law, values).matrices
    result = np.zeros((len(points), len(law.quantities)))
    for wave in engine.plan.case.initial.wave:
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
