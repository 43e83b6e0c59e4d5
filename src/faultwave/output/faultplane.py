"""Coordinates along strike and down dip of a triangulated fault, for maps and exchange files."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

FLAT = 0.05
"""Sine of the dip below which a fault is considered horizontal."""


@dataclass(frozen=True)
class FaultPlane:
    """Mean plane of a fault, independent of which side is the plus side.

    Attributes
    ----------
    normal, strike, dip : ndarray of shape (3,)
        Unit vectors. The dip points down, the strike towards +x, or +y for a fault along y.
    point : ndarray of shape (3,)
        Point of the plane [m].
    """

    normal: np.ndarray
    strike: np.ndarray
    dip: np.ndarray
    point: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def along_strike(self, points: np.ndarray) -> np.ndarray:
        """Return the distance along strike (...,) [m] of points (..., 3) [m] from the origin of the coordinates."""
        return np.asarray(points) @ self.strike

    def down_dip(self, points: np.ndarray) -> np.ndarray:
        """Return the distance down dip (...,) [m] of points (..., 3) [m] from z = 0.

        For a horizontal fault it is the distance along the dip vector from the origin.
        """
        points = np.asarray(points)
        steepness = -self.dip[2]
        return -points[..., 2] / steepness if steepness > FLAT else points @ self.dip

    def off_trace(self, points: np.ndarray) -> np.ndarray:
        """Return the horizontal distance (...,) [m] of points (..., 3) [m] from the fault trace at z = 0, positive left of strike."""
        trace = self.point - self.dip * (self.point[2] / self.dip[2]) if -self.dip[2] > FLAT else self.point
        return (np.asarray(points) - trace) @ self.left

    @property
    def left(self) -> np.ndarray:
        """Horizontal unit vector (3,) to the left of the strike direction."""
        return np.cross([0.0, 0.0, 1.0], self.strike)

    @property
    def dip_angle(self) -> float:
        """Dip angle, measured from the horizontal [deg]."""
        return float(np.degrees(np.arcsin(np.clip(-self.dip[2], 0.0, 1.0))))


def plane_of_normal(normal: np.ndarray, point: np.ndarray | None = None) -> FaultPlane:
    """Return the plane with a normal (3,) of either orientation through ``point`` (3,) [m].

    The strike of a horizontal fault is +x.
    """
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


def orient_hanging_wall_left(plane: FaultPlane) -> FaultPlane:
    """Return the plane with the strike oriented so that the hanging wall lies to its left.

    A plane that dips by 85 degrees or more remains unchanged.
    """
    if plane.dip_angle >= 85.0 or plane.dip @ plane.left >= 0:
        return plane
    return replace(plane, strike=-plane.strike, normal=-plane.normal)


def mean_plane(normals: np.ndarray, points: np.ndarray) -> FaultPlane:
    """Return the mean plane of ``normals`` (n, 3), weighted by their length, at ``points`` (n, 3) [m].

    The orientation of each normal is irrelevant.
    """
    size = np.linalg.norm(normals, axis=1, keepdims=True)
    unit = normals / np.where(size > 0, size, 1.0)
    # the principal direction of n n^T does not depend on the sign of each normal
    _, vectors = np.linalg.eigh((unit * size).T @ unit)
    return plane_of_normal(vectors[:, -1], (points * size).sum(0) / max(float(size.sum()), 1e-300))


def fit_plane(points: np.ndarray, cells: np.ndarray) -> FaultPlane:
    """Return the mean plane of triangles, weighted by area; their orientation is irrelevant.

    Parameters
    ----------
    points : ndarray of shape (np, 3)
        Points [m].
    cells : ndarray of shape (nc, 3)
        Indices of the corners of each triangle.
    """
    corners = points[cells]
    return mean_plane(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), corners.mean(axis=1))


def plane_through(points: np.ndarray) -> FaultPlane | None:
    """Return the least-squares plane of points (n, 3) [m].

    Points on a line that is not vertical yield the vertical plane through it. The result is None if the points define no plane.
    """
    centre = points.mean(axis=0)
    _, sizes, axes = np.linalg.svd(points - centre, full_matrices=True)
    sizes = np.append(sizes, np.zeros(3))[:3]
    if sizes[0] <= 0:
        return None
    if sizes[1] > 1e-6 * sizes[0]:
        return plane_of_normal(axes[2], centre)
    normal = np.cross(axes[0], [0.0, 0.0, 1.0])
    return plane_of_normal(normal, centre) if np.linalg.norm(normal) > 1e-6 else None
