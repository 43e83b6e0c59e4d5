"""Modes of an ocean between a rigid floor and a sea surface under gravity (Lotto & Dunham 2015).

The height of the sea surface is A sin(kx x) sin(ky y) sin(w t): at time zero it is flat and rises. Mode 0 is a surface
gravity wave, the others are acoustic modes between floor and surface (docs/theory/sea.md, "Known solutions").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.types import Setting
from faultwave.physics.initial import SMALL, Given, InitialCondition, Region, lossless
from faultwave.physics.waves.plane_waves import Array, Medium, Solution

LEANING = 1e-3
"""Absolute z component of a normal above which a face counts as facing up or down."""


@dataclass(frozen=True)
class Ocean:
    """Mode ``number`` of an ocean of ``depth`` [m] below z = ``level``, with horizontal ``wavenumbers`` [1/m]."""

    water: Medium
    gravity: float
    number: int
    wavenumbers: tuple[float, float]
    depth: float
    level: float = 0.0

    @cached_property
    def vertical(self) -> float:
        """Vertical wavenumber [1/m], of the exponentials of mode 0 or of the sines of the others."""
        from scipy.optimize import brentq

        k2, c2, g, depth = float(np.dot(self.wavenumbers, self.wavenumbers)), self.water.cp**2, self.gravity, self.depth
        if self.number == 0:
            return float(brentq(lambda k: g * k * np.tanh(k * depth) - c2 * (k2 - k * k), 0.0, k2**0.5, xtol=1e-15))

        def balance(k: float) -> float:
            return float(g * k * np.sin(k * depth) + c2 * (k2 + k * k) * np.cos(k * depth))

        return float(brentq(balance, (self.number - 0.5) * np.pi / depth, self.number * np.pi / depth, xtol=1e-15))

    @cached_property
    def frequency(self) -> float:
        """Angular frequency [rad/s]."""
        k2, kz = float(np.dot(self.wavenumbers, self.wavenumbers)), self.vertical
        return float(self.water.cp * np.sqrt(k2 - kz**2 if self.number == 0 else k2 + kz**2))

    def field(self, points: Array, time: float) -> tuple[Array, Array]:
        """Return the mean stress (n,) [Pa] and velocity (n, 3) [m/s] of a mode whose surface reaches ``height``."""
        (kx, ky), kz, w, rho = self.wavenumbers, self.vertical, self.frequency, self.water.rho
        x, y, z = kx * points[:, 0], ky * points[:, 1], kz * (points[:, 2] - self.level)
        b = self.gravity * kz / w**2
        first, second, sign = (np.sinh, np.cosh, 1.0) if self.number == 0 else (np.sin, np.cos, -1.0)
        shape, slope = first(z) + b * second(z), second(z) + sign * b * first(z)
        stress = -np.sin(x) * np.sin(y) * np.sin(w * time) * shape
        v = [kx * np.cos(x) * np.sin(y) * shape, ky * np.sin(x) * np.cos(y) * shape, kz * np.sin(x) * np.sin(y) * slope]
        return stress, np.stack(v, 1) * (np.cos(w * time) / (w * rho))

    @property
    def height(self) -> float:
        """Largest height of the sea surface [m] in ``field``."""
        return self.vertical / (self.water.rho * self.frequency**2)


def _solution(setting: Setting, given: Given) -> Solution:
    water = given.medium(fluid=True)
    if "mu" in given.material and (given.material["mu"] > 0).any():
        raise InputError(
            Problem("initial.kind", "ocean is water from the floor to the surface", "no solid in the mesh")
        )
    ocean = Ocean(water, given.gravity, setting.mode, setting.wavenumbers, setting.depth, setting.level)
    factor = 1.0 if setting.height is None else setting.height / ocean.height

    def field(points: Array, t: float) -> Array:
        stress, velocity = ocean.field(points, t)
        return given.fluid_state(factor * stress, factor * velocity)

    return field


def _misfits(setting: Setting, given: Given, region: Region) -> Iterator[Problem]:
    yield from lossless(given)
    sides = region.sides
    if not sides.sea.any():
        allowed = "such a face on top: mesh.boundaries"
        yield Problem("initial.kind", "ocean needs gravity, and the mesh has no face of kind gravity", allowed)
        return
    dry = (sides.up > LEANING) & ~sides.sea
    if dry.any():
        x, y, z = sides.corners[dry][0].mean(0)
        at = f"({x:g}, {y:g}, {z:g})"
        what = (
            f"ocean has its surface on top everywhere: {int(dry.sum())} upward faces are not a sea surface, one at {at}"
        )
        yield Problem("initial.kind", what, "faces of kind gravity there: mesh.boundaries")
    lowest, highest = (float(z) for z in (region.heights[0].min(), region.heights[1].max()))
    allowed = f"all at one z: level {highest:g} m and depth {highest - lowest:g} m"
    for name, end, z, faces in (
        ("level", "surface", setting.level, sides.sea),
        ("depth", "floor", setting.level - setting.depth, (sides.up < -LEANING) & ~sides.sea),
    ):
        wrong = sides.off(faces, z, SMALL * setting.depth)
        if wrong is not None:
            where = ", ".join(f"{x:g}" for x in wrong[2])
            off = f"{wrong[0]} of its {int(faces.sum())} faces deviate from that, by {wrong[1]:g} m at ({where})"
            what = f"puts the {end} of the ocean at z = {z:g} m; {off}"
            yield Problem(f"initial.{name}", what, allowed)


OCEAN = InitialCondition("ocean", "A mode of an ocean under gravity", _solution, _misfits)
