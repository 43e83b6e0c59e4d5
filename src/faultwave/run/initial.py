"""Initial states: zero, plane waves, and fields from an easi file."""

from __future__ import annotations

from typing import Any

import numpy as np

from faultwave.base.errors import InputError, NotBuiltError, Problem
from faultwave.laws.law import jacobians
from faultwave.media import load_field
from faultwave.run.simulation import Engine


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
        raise NotBuiltError(Problem("initial.kind", f"'{setting.kind}' is not available as a case's initial state", "zero, plane-wave, easi"))


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
    """Sum of the waves listed in ``initial.wave['waves']``: eigenvectors of k . A, by speed (fastest first).

    Each wave: ``k`` wave vector [1/m], ``mode`` 0 for the fastest speed along k, ``amplitude`` [m/s]; the eigenvector is scaled to unit
    velocity. The material is that of the first cell.
    """
    law = engine.plan.law
    a = jacobians(law, {n: float(v[0]) for n, v in engine.plan.material.items()}).matrices
    result = np.zeros((len(points), len(law.quantities)))
    for wave in engine.plan.case.initial.wave.get("waves", []):
        k = np.asarray(wave["k"], float)
        speeds, vectors = np.linalg.eig(np.einsum("d,dij->ij", k, a))
        order = np.argsort(-speeds.real)
        vector = vectors[:, order[int(wave.get("mode", 0))]].real
        speed = speeds.real[order[int(wave.get("mode", 0))]]
        vector = vector / np.linalg.norm(vector[-3:])
        result += float(wave.get("amplitude", 1.0)) * np.outer(np.cos(points @ k - speed * time), vector)
    return result
