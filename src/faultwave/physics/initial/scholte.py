"""Scholte wave, guided along the flat interface between a fluid (z > 0) and a solid (z < 0).

Sound decays as exp(-gf z) above; P and S decay as exp(gp z), exp(gs z) below. The three interface conditions (v_z and
s_zz continuous, s_xz = 0) have a solution only at one horizontal wavenumber, the root of their determinant. Source of
the set-up: Wilcox, Stadler, Burstedde & Ghattas (2010), J. Comput. Phys. 229, section 6.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from faultwave.base.errors import Problem
from faultwave.base.types import Setting
from faultwave.physics.initial import Given, InitialCondition, Region, lossless, on_both_sides, two_sides
from faultwave.physics.waves.plane_waves import (
    Array,
    Complex,
    InterfaceField,
    Medium,
    Solution,
    interface_rows,
    p_wave,
    sv_wave,
)

FLUID = Medium(rho=1.0, lam=1.0)
SOLID = Medium(rho=1.0, lam=1.0, mu=1.0)


@dataclass(frozen=True)
class Scholte:
    """Scholte wave of angular frequency w [rad/s] with the largest vertical velocity ``amplitude`` [m/s] at z = 0.

    Callable with points (n, 3) and a time, returns (n, 9); the stress of the fluid is isotropic.
    """

    fluid: Medium = FLUID
    solid: Medium = SOLID
    w: float = 2 * np.pi
    amplitude: float = 1.0

    def decays(self, k: float) -> tuple[float, float, float]:
        """Return the vertical decay [1/m] of sound, P and S at horizontal wavenumber k, which must exceed every w/c."""
        fluid, p, s = (k**2 - (self.w / c) ** 2 for c in (self.fluid.cp, self.solid.cp, self.solid.cs))
        return float(np.sqrt(fluid)), float(np.sqrt(p)), float(np.sqrt(s))

    def _conditions(self, k: float) -> Complex:
        gf, gp, gs = self.decays(k)
        sound = interface_rows(p_wave(self.fluid, k, 1j * gf, self.w), fluid=True)
        p = interface_rows(p_wave(self.solid, k, -1j * gp, self.w), fluid=False)
        s = interface_rows(sv_wave(self.solid, k, -1j * gs, self.w), fluid=False)
        return np.stack([sound, -p, -s], axis=1)

    @cached_property
    def wavenumber(self) -> float:
        """Horizontal wavenumber [rad/m], where the determinant, rotated onto the real axis, changes sign."""
        from scipy.optimize import brentq

        def determinant(k: float) -> float:
            value = np.linalg.det(self._conditions(k))
            return float((value / phase).real)

        slowest = self.w / min(self.fluid.cp, self.solid.cs)
        low = slowest * (1 + 1e-12)
        phase = np.linalg.det(self._conditions(2 * slowest))
        phase /= abs(phase)
        high = 2 * slowest
        while determinant(low) * determinant(high) > 0 and high < 1e3 * slowest:
            high *= 1.5
        return float(brentq(determinant, low, high, xtol=1e-15 * slowest, rtol=1e-15))

    @cached_property
    def field(self) -> InterfaceField:
        """Partial waves with amplitudes from the null vector of the interface conditions."""
        k = self.wavenumber
        gf, gp, gs = self.decays(k)
        null = np.linalg.svd(self._conditions(k))[2][-1].conj()
        sound = p_wave(self.fluid, k, 1j * gf, self.w)
        null = null * self.amplitude / (null[0] * sound.d[2])
        above = (sound.scaled(null[0]),)
        below = (
            p_wave(self.solid, k, -1j * gp, self.w).scaled(null[1]),
            sv_wave(self.solid, k, -1j * gs, self.w).scaled(null[2]),
        )
        return InterfaceField(above, below)

    def __call__(self, points: Array, t: float) -> Array:
        return self.field(points, t)


def _solution(setting: Setting, given: Given) -> Solution:
    w = 2.0 * np.pi * setting.frequency
    return on_both_sides(given, Scholte(given.medium(True), given.medium(False), w, setting.amplitude), setting.level)


def _misfits(setting: Setting, given: Given, region: Region) -> Iterator[Problem]:
    yield from lossless(given)
    yield from two_sides(given, region, setting.level, fluid_above=True)


SCHOLTE = InitialCondition("scholte", "Scholte's wave along a fluid above a solid", _solution, _misfits)
