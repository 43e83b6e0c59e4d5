"""Exact solutions and fields for the initial state of a run and for faces of kind analytic."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.case.settings.model import Case, FieldSetting
from faultwave.media import load_field
from faultwave.media.field import check_used
from faultwave.physics.initial import Given, condition
from faultwave.physics.waves import Law
from faultwave.physics.waves.medium import Solution


def solution_of(case: Case, law: Law, material: Mapping[str, np.ndarray]) -> Solution | None:
    """Return the initial state as a function of points (n, 3) and time with values (n, Q), or None for a case at rest.

    Raises
    ------
    InputError
        If the solution does not exist in the material.
    """
    setting = case.initial
    if setting.kind == "zero":
        return None
    if setting.field is not None:
        return _field(setting.field, law)
    return condition(setting.kind).solution(setting, given_by(case, law, material))


def given_by(case: Case, law: Law, material: Mapping[str, np.ndarray]) -> Given:
    """Return the properties of a case from which exact solutions are made."""
    return Given(law, material, case.sea_gravity)


def _field(setting: FieldSetting, law: Law) -> Solution:
    field = load_field(setting, "initial.field")
    given = [n for n in law.quantities if n in field.parameters]
    if not given:
        raise InputError(Problem("initial.field", "gives none of the quantities", ", ".join(law.quantities)))
    problems = Problems()
    check_used(field, law.quantities, "the initial state", problems)
    problems.raise_errors()

    def state(points: np.ndarray, t: float) -> np.ndarray:
        values = field.evaluate(points, np.ones(len(points), int), given, t)
        return np.stack([values[n] if n in values else np.zeros(len(points)) for n in law.quantities], 1)

    return state


__all__ = ["given_by", "solution_of"]
