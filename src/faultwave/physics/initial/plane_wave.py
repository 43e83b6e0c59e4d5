"""Plane waves of the medium in the mesh's first cell, over all space or within a range of their phase."""

from __future__ import annotations

from typing import Any

import numpy as np

from faultwave.physics.initial import Given, InitialCondition
from faultwave.physics.waves.medium import Solution
from faultwave.physics.waves.plane_waves import plane_waves


def _solution(setting: Any, given: Given) -> Solution:
    def field(points: np.ndarray, t: float) -> np.ndarray:
        return plane_waves(given.law, given.material, setting.wave, points, t)

    return field


PLANE_WAVE = InitialCondition("plane-wave", "Plane waves", _solution)
