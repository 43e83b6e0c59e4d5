"""Coordinates along strike and down dip of a fault given as triangles, for maps and exchange files."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

FLAT = 0.05
"""Sine of the dip below which a fault counts as lying flat."""


@dataclass(frozen=True)
class FaultPlane:
    """Mean plane of a fault: unit vectors normal, strike, dip (3,), with dip pointing down and strike towards +x
    (+y for a fault along y), whatever the sides of the fault are called. ``point`` (3,) lies on it [m]."""

    normal: np.ndarray
    strike: np.ndarray
    dip: np.ndarray
    point: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def along_strike(self, points: np.ndarray) -> np.ndarray:
        """Distance along strike from the coordinates' origin, (..., 3) [m] -> (...,) [m]."""
        return np.asarray(points) @ self.strike

    def down_dip(self, points: np.ndarray) -> np.ndarray:
        """Distance down dip from z = 0, (..., 3) [m] -> (...,) [m]; plain distance along dip for a flat-lying fault."""
        points = np.asarray(points)
        steepness = -self.dip[2]
        return -points[..., 2] / steepness if steepness > FLAT else points @ self.dip

    def off_trace(self, points: np.ndarray) -> np.ndarray:
        """Horizontal distance from the fault's trace at z = 0, (..., 3) [m] -> (...,) [m], positive left of the strike."""
        trace = self.point - self.dip * (self.point[2] / self.dip[2]) if -self.dip[2] > FLAT else self.point
        return (np.asarray(points) - trace) @ self.left

    @property
    def left(self) -> np.ndarray:
        """Horizontal unit vector (3,) left of the strike."""
        return np.cross([0.0, 0.0, 1.0], self.strike)

    @property
    def dip_angle(self) -> float:
        """Degrees from the horizontal."""
        return float(np.degrees(np.arcsin(np.clip(-self.dip[2], 0.0, 1.0))))


def plane_of_normal(normal: np.ndarray, point: np.ndarray | None = None) -> FaultPlane:
    """The plane with a given normal (3,) of either sense, through ``point`` (3,). A horizontal fault gets +x as its strike."""
    n = np.asarray(normal, dtype=np.float64) / np.linalg.norm(normal)
    strike = np.array([n[1], -n[0], 0.0])
    length = float(np.linalg.norm(strike))
    strike = strike / length if length > 1e-6 else np.array([1.0, 0.0, 0.0])
    if strike[0] < -1e-9 or (abs(strike[0]) <= 1e-9 and strike[1] < 0):
        strike, n = -strike, -n
    dip = np.cross(n, strike)
    return FaultPlane(
        n, strike, dip if dip[2] <= 0 else -dip, np.zeros(3) if point is None else np.asarray(point, float)
    )


def hanging_wall_left(plane: FaultPlane) -> FaultPlane:
    """The same plane seen so that a dipping fault's hanging wall lies left of its strike; a steep one (85 degrees and more) stays."""
    if plane.dip_angle >= 85.0 or plane.dip @ plane.left >= 0:
        return plane
    return replace(plane, strike=-plane.strike, normal=-plane.normal)


def mean_plane(normals: np.ndarray, points: np.ndarray) -> FaultPlane:
    """Mean plane of ``normals`` (n, 3), of any length and sense, at ``points`` (n, 3)."""
    size = np.linalg.norm(normals, axis=1, keepdims=True)
    unit = normals / np.where(size > 0, size, 1.0)
    # the principal direction of n n^T is blind to the sign of each normal
    _, vectors = np.linalg.eigh((unit * size).T @ unit)
    return plane_of_normal(vectors[:, -1], (points * size).sum(0) / max(float(size.sum()), 1e-300))


def fit_plane(points: np.ndarray, cells: np.ndarray) -> FaultPlane:
    """Mean plane of triangles, points (np, 3) and cells (nc, 3), weighted by area; their orientation is irrelevant."""
    corners = points[cells]
    return mean_plane(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), corners.mean(axis=1))


def plane_through(points: np.ndarray) -> FaultPlane | None:
    """The plane nearest to points (n, 3); the vertical one through points on a line that is not vertical; None where they tell
    no plane."""
    centre = points.mean(axis=0)
    _, sizes, axes = np.linalg.svd(points - centre, full_matrices=True)
    sizes = np.append(sizes, np.zeros(3))[:3]
    if sizes[0] <= 0:
        return None
    if sizes[1] > 1e-6 * sizes[0]:
        return plane_of_normal(axes[2], centre)
    normal = np.cross(axes[0], [0.0, 0.0, 1.0])
    return plane_of_normal(normal, centre) if np.linalg.norm(normal) > 1e-6 else None
