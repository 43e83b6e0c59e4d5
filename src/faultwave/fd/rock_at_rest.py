"""Stress at rest and strength of rock from its weight and quality, as fields: profiles along z of a box, or by depth below its ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.case.plasticity import Overburden, RockQuality
from faultwave.domain.grids.relief import Relief
from faultwave.media import Field
from faultwave.media.homogenise import at_points
from faultwave.physics import rock_quality
from faultwave.physics.rheology import STRESS

GRAVITY, WATER = 9.81, 9810.0
COLUMNS = 5
"""Columns along x and along y whose mean density weighs."""
ENDLESS = 1e12
"""Cohesion [Pa] of rock that never yields."""


@dataclass(frozen=True)
class Load:
    """Weight per area [Pa] of what lies above heights ``z`` (n,) [m], which rise up to the surface; below a ground that is not flat, the
    ``relief`` of a grid, above places so far below the ground as these are below the last height."""

    z: np.ndarray
    weight: np.ndarray
    relief: Relief | None = None

    def _height(self, points: np.ndarray) -> np.ndarray:
        """Of places (n, 3) [m] below a flat ground."""
        if self.relief is None:
            return np.asarray(points[:, 2])
        return np.asarray(self.z[-1] + np.minimum(points[:, 2] - self.relief.ground(points), 0.0))

    def at(self, points: np.ndarray) -> np.ndarray:
        """At places (n, 3) [m]."""
        return np.interp(self._height(points), self.z, self.weight)

    def depth(self, points: np.ndarray) -> np.ndarray:
        """Of places (n, 3) [m] below the ground [m]."""
        return np.maximum(self.z[-1] - self._height(points), 0.0)


def load_of(
    material: Field, lower: np.ndarray, upper: np.ndarray, spacing: float, relief: Relief | None = None
) -> Load:
    """Of the mean density in the box at each height, or depth below the ground, layer by layer of half a ``spacing``."""
    bottom = lower[2] - (0.0 if relief is None else relief.relief)
    count = max(1, int(np.ceil(2.0 * (upper[2] - bottom) / spacing)))
    z = np.linspace(bottom, upper[2], count + 1)
    x, y = (np.linspace(a, b, COLUMNS) for a, b in zip(lower[:2], upper[:2], strict=True))
    middle = 0.5 * (z[1:] + z[:-1])
    places = np.stack(np.meshgrid(middle, x, y, indexing="ij"), -1).reshape(-1, 3)[:, [1, 2, 0]]
    if relief is not None:
        places[:, 2] = np.maximum(places[:, 2] + relief.ground(places) - upper[2], lower[2])
    rho = at_points(material, ["rho"], places, np.ones(len(places), np.int64))["rho"].reshape(count, -1).mean(1)
    layers = rho * GRAVITY * np.diff(z)
    return Load(z, np.append(np.cumsum(layers[::-1])[::-1], 0.0), relief)


@dataclass(frozen=True)
class Weight:
    """The effective stress at rest: the load less the pressure in pores, and horizontal stresses in proportion to it."""

    load: Load
    setting: Overburden
    parameters: frozenset[str] = frozenset(STRESS)
    source: str = "plasticity.overburden"

    def evaluate(
        self, points: np.ndarray, groups: np.ndarray, names: Sequence[str], time: float | None = None
    ) -> dict[str, np.ndarray]:
        set_ = self.setting
        table = np.inf if set_.water_table is None else set_.water_table
        vertical = -(self.load.at(points) - WATER * np.maximum(self.load.depth(points) - table, 0.0))
        angle, mean, half = (
            np.deg2rad(set_.direction),
            0.5 * (set_.largest + set_.smallest),
            0.5 * (set_.largest - set_.smallest),
        )
        factors = {
            "s_xx": mean + half * np.cos(2.0 * angle),
            "s_yy": mean - half * np.cos(2.0 * angle),
            "s_zz": 1.0,
            "s_xy": half * np.sin(2.0 * angle),
        }
        return {n: factors.get(n, 0.0) * vertical for n in names}


@dataclass(frozen=True)
class Quality:
    """Cohesion and friction of rock masses of a ``material``."""

    load: Load
    material: Field
    setting: RockQuality
    parameters: frozenset[str] = frozenset(("plastic_cohesion", "bulk_friction"))
    source: str = "plasticity.rock_quality"

    def evaluate(
        self, points: np.ndarray, groups: np.ndarray, names: Sequence[str], time: float | None = None
    ) -> dict[str, np.ndarray]:
        set_ = self.setting
        rock = at_points(self.material, ["rho", "lambda", "mu"], points, groups)
        index = np.full(len(points), set_.index)
        if set_.intact_below is not None:
            index += (100.0 - set_.index) * np.minimum(self.load.depth(points) / set_.intact_below, 1.0)
        if isinstance(set_.intact_strength, str):
            intact = rock_quality.INTACT[set_.intact_strength](np.sqrt((rock["lambda"] + 2 * rock["mu"]) / rock["rho"]))
        else:
            intact = np.full(len(points), set_.intact_strength)
        mass = rock_quality.mass(index, set_.constant, intact, set_.disturbance)
        cohesion, friction = rock_quality.mohr_coulomb(mass, self.load.at(points), set_.confinement)
        speed = np.sqrt(rock["mu"] / rock["rho"])
        if set_.loose_below is not None:
            loose = speed < set_.loose_below
            cohesion = np.where(loose, 0.0, cohesion)
            friction = np.where(loose, np.tan(np.deg2rad(set_.loose_angle)), friction)
        if set_.elastic_above is not None:
            cohesion = np.where(speed > set_.elastic_above, ENDLESS, cohesion)
        found = {"plastic_cohesion": cohesion, "bulk_friction": friction}
        return {n: found[n] for n in names}


def lateral(setting: RockQuality) -> bool:
    """Whether strength may differ from place to place at one height."""
    by_speed = (setting.elastic_above, setting.loose_below)
    return isinstance(setting.intact_strength, str) or any(limit is not None for limit in by_speed)


__all__ = ["Load", "Quality", "Weight", "lateral", "load_of"]
