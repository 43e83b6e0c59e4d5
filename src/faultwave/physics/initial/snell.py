"""Snell's law at a flat fluid-solid interface: incident sound from below, reflected sound, transmitted P and S above.

Fluid in z < 0, solid in z > 0. The horizontal wavenumber w sin(theta)/c is common to all four waves; amplitudes follow
from continuity of v_z and s_zz and from s_xz = 0. Source of the set-up: Wilcox et al. (2010), section 6.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.types import Setting
from faultwave.physics.initial import Given, InitialCondition, Region, lossless, on_both_sides, two_sides
from faultwave.physics.waves.plane_waves import (
    Array,
    InterfaceField,
    Medium,
    PartialWave,
    Solution,
    interface_rows,
    p_wave,
    sv_wave,
)

FLUID = Medium(rho=1.0, lam=1.0)
SOLID = Medium(rho=1.0, lam=1.0, mu=4.0)


@dataclass(frozen=True)
class Snell:
    """Incident sound of angular frequency w [rad/s] at ``theta`` [rad] from the vertical, with its reflection and transmission.

    The incident velocity is amplitude cos(k.x - w t + phase). Callable with points (n, 3) and a time, returns (n, 9).
    Raises ValueError beyond a critical angle, where transmitted waves would be evanescent.
    """

    fluid: Medium = FLUID
    solid: Medium = SOLID
    theta: float = 0.2
    w: float = 2 * np.pi
    amplitude: float = 1.0
    phase: float = 0.0

    def __post_init__(self) -> None:
        if np.sin(self.theta) * max(self.solid.cp, self.solid.cs) >= self.fluid.cp:
            raise ValueError(f"theta = {self.theta} is beyond the critical angle")

    @property
    def wavenumber(self) -> float:
        """Horizontal wavenumber [rad/m]; the period in x is 2 pi divided by it."""
        return self.w * float(np.sin(self.theta)) / self.fluid.cp

    @property
    def angles(self) -> tuple[float, float]:
        """Angles of the transmitted P and S waves from the vertical [rad]."""
        slowness = np.sin(self.theta) / self.fluid.cp
        return float(np.arcsin(slowness * self.solid.cp)), float(np.arcsin(slowness * self.solid.cs))

    @cached_property
    def coefficients(self) -> tuple[float, float, float]:
        """Velocity amplitudes of reflected sound, transmitted P and transmitted S relative to the incident wave."""
        incident, reflected, p, s = self._unit_waves()
        matrix = np.stack(
            [interface_rows(reflected, True), -interface_rows(p, False), -interface_rows(s, False)], axis=1
        )
        solution = np.linalg.solve(matrix, -interface_rows(incident, True))
        return float(solution[0].real), float(solution[1].real), float(solution[2].real)

    def _unit_waves(self) -> tuple[PartialWave, PartialWave, PartialWave, PartialWave]:
        kx = self.wavenumber
        kf, kp, ks = (np.sqrt((self.w / c) ** 2 - kx**2) for c in (self.fluid.cp, self.solid.cp, self.solid.cs))
        return (
            p_wave(self.fluid, kx, kf, self.w),
            p_wave(self.fluid, kx, -kf, self.w),
            p_wave(self.solid, kx, kp, self.w),
            sv_wave(self.solid, kx, ks, self.w),
        )

    @cached_property
    def field(self) -> InterfaceField:
        """Incident and reflected sound below, transmitted P and S above."""
        incident, reflected, p, s = self._unit_waves()
        size = self.amplitude * np.exp(1j * self.phase)
        r, tp, ts = (c * size for c in self.coefficients)
        below = (incident.scaled(size), reflected.scaled(r))
        return InterfaceField((p.scaled(tp), s.scaled(ts)), below)

    def __call__(self, points: Array, t: float) -> Array:
        return self.field(points, t)


def _solution(setting: Setting, given: Given) -> Solution:
    fluid, solid, w = given.medium(True), given.medium(False), 2.0 * np.pi * setting.frequency
    try:
        wave = Snell(fluid, solid, np.radians(setting.angle), w, setting.amplitude, setting.phase)
    except ValueError as error:
        raise InputError(Problem("initial.angle", str(error), "below the critical angle")) from None
    return on_both_sides(given, wave, setting.level)


def _misfits(setting: Setting, given: Given, region: Region) -> Iterator[Problem]:
    yield from lossless(given)
    yield from two_sides(given, region, setting.level, fluid_above=False)


SNELL = InitialCondition("snell", "Sound in a fluid that meets a solid above it", _solution, _misfits)
