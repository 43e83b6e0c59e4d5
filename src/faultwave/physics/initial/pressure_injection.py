"""Pore pressure around a point, as after an injection: p = pressure exp(-width r^2), all else at rest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.types import Setting
from faultwave.physics.initial import Given, InitialCondition, Region
from faultwave.physics.waves.law import role
from faultwave.physics.waves.plane_waves import Solution

SEEN = 0.5
"""Fraction of the pressure that must be reached inside cells."""


def _solution(setting: Setting, given: Given) -> Solution:
    law = given.law
    if "filtration" not in law.roles:
        raise InputError(Problem("initial.kind", f"the {law.name} law has no pore fluid", "law: poroelastic"))

    def field(points: np.ndarray, t: float) -> np.ndarray:
        found = np.zeros((len(points), len(law.quantities)))
        square = ((points - np.asarray(setting.center, float)) ** 2).sum(1)
        found[:, role(law, "pressure")] = (setting.pressure * np.exp(-setting.width * square))[:, None]
        return found

    return field


def _misfits(setting: Setting, given: Given, region: Region) -> Iterator[Problem]:
    points = region.inside.reshape(-1, 3)
    largest = float(np.abs(_solution(setting, given)(points, 0.0)).max())
    if largest < SEEN * abs(setting.pressure):
        what = f"the largest pressure in the mesh is {largest:.3g} Pa, but {setting.pressure:g} Pa were requested"
        advice = "The centre is outside of the mesh, or the width is too small for the cells."
        yield Problem("initial.center", what, advice=advice, severity="warning")


PRESSURE_INJECTION = InitialCondition(
    "pressure-injection", "Pore pressure around a point, at time zero", _solution, _misfits
)
