"""Initial stress and strength of rock from its weight and quality, as fields of depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.case.settings.yielding import Overburden, RockQuality
from faultwave.domain.grid_relief import Relief
from faultwave.media import Field
from faultwave.media.homogenise import at_points
from faultwave.physics.rheology import STRESS, drucker_prager

GRAVITY, WATER = 9.81, 9810.0
COLUMNS = 5
"""Number of columns along x, and along y, over which the density is averaged."""
ENDLESS = 1e12
"""Cohesion [Pa] of rock that never yields."""


@dataclass(frozen=True)
class Load:
    """Weight of the overburden per area.

    Attributes
    ----------
    z : ndarray (n,)
        Heights [m], ascending to the surface.
    weight : ndarray (n,)
        Weight per area above each height [Pa].
    relief : Relief or None
        Topography. If given, ``z[-1] - z`` is the depth below the ground.
    """

    z: np.ndarray
    weight: np.ndarray
    relief: Relief | None = None

    def _height(self, points: np.ndarray) -> np.ndarray:
        """Return the height [m] of places (n, 3) [m] below an equivalent flat ground."""
        if self.relief is None:
            return np.asarray(points[:, 2])
        return np.asarray(self.z[-1] + np.minimum(points[:, 2] - self.relief.ground(points), 0.0))

    def at(self, points: np.ndarray) -> np.ndarray:
        """Return the weight per area (n,) [Pa] above places (n, 3) [m]."""
        return np.interp(self._height(points), self.z, self.weight)

    def depth(self, points: np.ndarray) -> np.ndarray:
        """Return the depth (n,) [m] of places (n, 3) [m] below the ground."""
        return np.maximum(self.z[-1] - self._height(points), 0.0)


def overburden_load(
    material: Field, lower: np.ndarray, upper: np.ndarray, spacing: float, relief: Relief | None = None
) -> Load:
    """Return the overburden of a box.

    The density at each height, or depth below the ground, is averaged over columns; layers are half a ``spacing``
    thick.

    Parameters
    ----------
    material : Field
    lower, upper : ndarray (3,)
        Corners of the box [m].
    spacing : float
        Grid spacing [m].
    relief : Relief, optional
        Topography.
    """
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
    """Field of the effective initial stress due to the overburden.

    The vertical stress is the load less the pore pressure of the water table; horizontal stresses are proportional to
    it.
    """

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
    """Field of the cohesion and friction of a rock mass by the quality of the rock."""

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
            intact = drucker_prager.INTACT[set_.intact_strength](
                np.sqrt((rock["lambda"] + 2 * rock["mu"]) / rock["rho"])
            )
        else:
            intact = np.full(len(points), set_.intact_strength)
        mass = drucker_prager.rock_mass(index, set_.constant, intact, set_.disturbance)
        cohesion, friction = drucker_prager.mohr_coulomb(mass, self.load.at(points), set_.confinement)
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
    """Return True if the strength may vary horizontally."""
    by_speed = (setting.elastic_above, setting.loose_below)
    return isinstance(setting.intact_strength, str) or any(limit is not None for limit in by_speed)


__all__ = ["Load", "Quality", "Weight", "lateral", "overburden_load"]
