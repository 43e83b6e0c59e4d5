"""A pore fluid under pressure around a point, as after an injection: p = pressure exp(-width r^2), all else at rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.physics.initial import Given, InitialCondition
from faultwave.physics.waves.law import role
from faultwave.physics.waves.medium import Solution


def _solution(setting: Any, given: Given) -> Solution:
    law = given.law
    if "filtration" not in law.roles:
        raise InputError(Problem("initial.kind", f"the {law.name} law has no pore fluid", "law: poroelastic"))

    def field(points: np.ndarray, t: float) -> np.ndarray:
        found = np.zeros((len(points), len(law.quantities)))
        square = ((points - np.asarray(setting.center, float)) ** 2).sum(1)
        found[:, role(law, "pressure")] = (setting.pressure * np.exp(-setting.width * square))[:, None]
        return found

    return field


PRESSURE_INJECTION = InitialCondition("pressure-injection", "Pore pressure around a point, at time zero", _solution)
