"""Plane waves in the medium of the first cell of the mesh, in all space or within a range of their phase."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from faultwave.base.errors import Problem
from faultwave.base.types import Setting
from faultwave.physics.initial import SMALL, Given, InitialCondition, Region
from faultwave.physics.waves.plane_waves import Solution, plane_waves


def _solution(setting: Setting, given: Given) -> Solution:
    def field(points: np.ndarray, t: float) -> np.ndarray:
        return plane_waves(given.law, given.material, setting.wave, points, t)

    return field


def _misfits(setting: Setting, given: Given, region: Region) -> Iterator[Problem]:
    """Yield a problem unless the medium equals the first cell wherever the waves are."""
    centres = region.corners.mean(1)
    waves = plane_waves(given.law, given.material, setting.wave, centres, 0.0).any(1)
    if not waves.any() and not any(wave.window for wave in setting.wave):
        what = "are all solid_only, but the medium is a fluid: the initial state is zero"
        yield Problem("initial.wave", what, "waves of mode P")
    for name in (p.name for p in given.law.parameters if p.name in given.material):
        values = given.material[name]
        off = np.where(waves, np.abs(values - values[0]), 0.0)
        if off.max() > SMALL * np.abs(values).max():
            x, y, z = centres[int(np.argmax(off))]
            there = f"{values[np.argmax(off)]:g} at ({x:g}, {y:g}, {z:g})"
            what = f"plane waves need a uniform medium, but {name} is {values[0]:g} in the first cell, {there}"
            yield Problem("initial.kind", what, "one medium where the waves are")
            break


PLANE_WAVE = InitialCondition("plane-wave", "Plane waves", _solution, _misfits)
