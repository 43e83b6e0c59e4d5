"""Coordinates along strike and down dip of a fault given as triangles, for maps and exchange files."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class FaultPlane:
    """Mean plane of a fault: unit vectors normal, strike, dip (3,), with dip pointing down and strike towards +x
    (+y for a fault along y), whatever the sides of the fault are called."""

    normal: np.ndarray
    strike: np.ndarray
    dip: np.ndarray

    def along_strike(self, points: np.ndarray) -> np.ndarray:
        """Distance along strike from the coordinates' origin, (..., 3) [m] -> (...,) [m]."""
        return np.asarray(points) @ self.strike

    def down_dip(self, points: np.ndarray) -> np.ndarray:
        """Distance down dip from z = 0, (..., 3) [m] -> (...,) [m]; plain distance along dip for a flat-lying fault."""
        points = np.asarray(points)
        steepness = -self.dip[2]
        return -points[..., 2] / steepness if steepness > 0.05 else points @ self.dip

    @property
    def dip_angle(self) -> float:
        """Degrees from the horizontal."""
        return float(np.degrees(np.arcsin(np.clip(-self.dip[2], 0.0, 1.0))))


def plane_of_normal(normal: np.ndarray) -> FaultPlane:
    """The plane with a given normal (3,) of either sense. A horizontal fault gets +x as its strike."""
    n = np.asarray(normal, dtype=np.float64) / np.linalg.norm(normal)
    strike = np.array([n[1], -n[0], 0.0])
    length = float(np.linalg.norm(strike))
    strike = strike / length if length > 1e-6 else np.array([1.0, 0.0, 0.0])
    if strike[0] < -1e-9 or (abs(strike[0]) <= 1e-9 and strike[1] < 0):
        strike, n = -strike, -n
    dip = np.cross(n, strike)
    return FaultPlane(n, strike, dip if dip[2] <= 0 else -dip)


def fit_plane(points: np.ndarray, cells: np.ndarray) -> FaultPlane:
    """Mean plane of triangles, points (np, 3) and cells (nc, 3), weighted by area; their orientation is irrelevant."""
    corners = points[cells]
    doubled = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(doubled, axis=1, keepdims=True)
    unit = doubled / np.where(area > 0, area, 1.0)
    # the principal direction of n n^T is blind to the sign of each normal
    _, vectors = np.linalg.eigh((unit * area).T @ unit)
    return plane_of_normal(vectors[:, -1])
