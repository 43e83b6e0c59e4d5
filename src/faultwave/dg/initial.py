"""Initial states: zero, plane waves, and fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.case.model import Case, FieldSetting
from faultwave.media import load_field
from faultwave.media.field import check_used
from faultwave.physics.waves import Law
from faultwave.physics.waves.plane_waves import plane_waves

State = Callable[[np.ndarray], np.ndarray]


def initial_state(case: Case, law: Law, material: Mapping[str, np.ndarray]) -> State | None:
    """Values (n, Q) at points (n, 3) at time zero; None where all is at rest. Raises InputError."""
    setting = case.initial
    if setting.kind == "plane-wave":
        return lambda x: plane_waves(law, material, setting.wave, x, 0.0)
    return _field(setting.field, law) if setting.field is not None else None


def _field(setting: FieldSetting, law: Law) -> State:
    field = load_field(setting, "initial.field")
    given = [n for n in law.quantities if n in field.parameters]
    if not given:
        raise InputError(Problem("initial.field", "gives none of the quantities", ", ".join(law.quantities)))
    problems = Problems()
    check_used(field, law.quantities, "the initial state", problems)
    problems.raise_errors()

    def state(points: np.ndarray) -> np.ndarray:
        values = field.evaluate(points, np.ones(len(points), int), given, 0.0)
        return np.stack([values[n] if n in values else np.zeros(len(points)) for n in law.quantities], 1)

    return state


__all__ = ["initial_state"]
