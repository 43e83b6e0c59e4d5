"""Mapping between the true topography and a box with flat layers, in which faults and layers are cut (docs/decisions/0025)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Relief:
    """Heights of the ground and of layer boundaries, and their levels in the flat box.

    Between two surfaces the mapping is linear along z; x and y are unchanged.

    Attributes
    ----------
    x : (nx,) array
    y : (ny,) array
        Grid lines [m], ascending.
    heights : (k, nx, ny) array
        Heights of the ground, then of each surface from the top down [m].
    levels : (k,) array
        Levels of the surfaces in the flat box [m], 0 first.
    bottom : float
        Bottom of the box, flat in both [m].
    real : int
        Number of surfaces that are the ground or layer boundaries; one more flat surface below them ends their relief.
    """

    x: Floats
    y: Floats
    heights: Floats
    levels: Floats
    bottom: float
    real: int = 1

    def at(self, xy: Floats) -> Floats:
        """Return the heights (n, real) of the ground and layers at points (n, 2), bilinear, constant beyond the grid."""
        return self._all_at(xy)[:, : self.real]

    @property
    def cuts(self) -> Floats:
        """Levels (real,) of the ground and the layer boundaries in the flat box [m]."""
        return self.levels[: self.real]

    def _all_at(self, xy: Floats) -> Floats:
        i, a = _between(xy[:, 0], self.x)
        j, b = _between(xy[:, 1], self.y)
        h = self.heights
        low, high = h[:, i, j] * (1 - a) + h[:, i + 1, j] * a, h[:, i, j + 1] * (1 - a) + h[:, i + 1, j + 1] * a
        return np.asarray((low * (1 - b) + high * b).T)

    def physical(self, flat: Floats, ground: Floats | None = None) -> Floats:
        """Return the true positions (n, 3) of points of the flat box; ``ground`` (n,) replaces heights of the raster."""
        real = self._stack(flat[:, :2], ground)
        box = np.broadcast_to(np.append(self.levels, self.bottom), real.shape)
        return np.column_stack([flat[:, :2], _interpolate(flat[:, 2], box, real)])

    def flat(self, points: Floats) -> Floats:
        """Return the positions (n, 3) of true points in the flat box; above the ground they are above 0."""
        real = self._stack(points[:, :2], None)
        box = np.broadcast_to(np.append(self.levels, self.bottom), real.shape)
        return np.column_stack([points[:, :2], _interpolate(points[:, 2], real, box)])

    def _stack(self, xy: Floats, ground: Floats | None) -> Floats:
        """Return the heights (n, k + 1) of the surfaces and the bottom."""
        found = self._all_at(xy)
        if ground is not None:
            found[:, 0] = ground
        return np.column_stack([found, np.full(len(xy), self.bottom)])


def flat_ground(lower: Floats, upper: Floats, bottom: float) -> Relief:
    """Return the relief of flat ground at z = 0."""
    x, y = np.array([lower[0], upper[0]]), np.array([lower[1], upper[1]])
    return Relief(x, y, np.zeros((1, 2, 2)), np.zeros(1), bottom)


def _between(x: Floats, nodes: Floats) -> tuple[NDArray[np.int64], Floats]:
    place = np.interp(x, nodes, np.arange(len(nodes)))
    low = np.minimum(np.floor(place).astype(np.int64), len(nodes) - 2)
    return low, place - low


def _interpolate(z: Floats, known: Floats, wanted: Floats) -> Floats:
    """Interpolate ``wanted`` (n, k) at z (n,) linearly between descending ``known`` (n, k), extrapolating beyond the ends."""
    rows = np.arange(len(z))
    below = np.clip((known > z[:, None]).sum(1), 1, known.shape[1] - 1)
    a, b = known[rows, below - 1], known[rows, below]
    share = (z - a) / (b - a)
    return np.asarray(wanted[rows, below - 1] * (1 - share) + wanted[rows, below] * share)


__all__ = ["Relief", "flat_ground"]
