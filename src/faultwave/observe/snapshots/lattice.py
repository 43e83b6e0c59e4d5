"""Regular lattice of points on which fields and maps of a grid are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from faultwave.base.projection import Projection


@dataclass(frozen=True)
class Lattice:
    """Regular lattice of points.

    Attributes
    ----------
    origin : tuple of float
        First point x, y, z [m].
    spacing : float
        Spacing [m].
    shape : tuple of int
        (nz, ny, nx), or (ny, nx) for a plane.
    degrees : mapping of str to ndarray of shape (ny, nx)
        Longitude and latitude [deg], if there is a projection.
    elevation : ndarray of shape (ny, nx), optional
        Elevation of a plane that follows uneven ground [m].
    """

    origin: tuple[float, float, float]
    spacing: float
    shape: tuple[int, ...]
    degrees: Mapping[str, np.ndarray] = field(default_factory=dict)
    elevation: np.ndarray | None = None

    def nodes(self, axis: str) -> np.ndarray:
        """Return the coordinates of the points along x, y or z [m]."""
        k = "xyz".index(axis)
        count = (1, *self.shape)[-3:][2 - k]
        return np.asarray(self.origin[k] + self.spacing * np.arange(count))

    def located(self, projection: Projection | None) -> Lattice:
        """Return the lattice with longitudes and latitudes, if there is a projection."""
        if projection is None:
            return self
        x, y = self.nodes("x"), self.nodes("y")
        found = projection.to_continuous(np.stack(np.meshgrid(x, y), -1).reshape(-1, 2))
        degrees = {n: found[:, k].reshape(len(y), len(x)) for k, n in enumerate(("longitude", "latitude"))}
        return replace(self, degrees=degrees)


__all__ = ["Lattice"]
