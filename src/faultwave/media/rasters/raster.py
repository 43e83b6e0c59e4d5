"""Raster: values on a lattice of x and y, some of which may be missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.media.models.lattice import position

SPLINE_MARGIN = 12
"""Number of points around a place beyond which values do not change its cubic spline."""


@dataclass(frozen=True, eq=False)
class Raster:
    """Values on a lattice in the coordinates of a projection.

    Attributes
    ----------
    source : str
        Origin of the raster, for messages.
    x, y : ndarray (nx,), (ny,)
        Coordinates in ``crs`` [m or deg], ascending.
    values : ndarray (ny, nx)
        Values [m], NaN where missing.
    crs : str or None
        Coordinate system as PROJ understands it; None if the file names none.
    """

    source: str
    x: np.ndarray
    y: np.ndarray
    values: np.ndarray
    crs: str | None = None

    @property
    def extent(self) -> str:
        """Extent in its own coordinates, for messages."""
        return f"{self.x[0]:.10g} to {self.x[-1]:.10g} and {self.y[0]:.10g} to {self.y[-1]:.10g}"

    @property
    def spacing(self) -> tuple[float, float]:
        """Mean spacing of points along x and y."""
        return tuple(float((a[-1] - a[0]) / (len(a) - 1)) for a in (self.x, self.y))  # type: ignore[return-value]

    def reaches(self, xy: np.ndarray) -> np.ndarray:
        """Return a mask of the places (n, 2) on the raster, up to half a cell beyond its outermost points."""
        found = np.isfinite(xy).all(1)
        for axis, nodes in enumerate((self.x, self.y)):
            half = 0.5 * (nodes[-1] - nodes[0]) / (len(nodes) - 1) * (1 + 1e-9)
            found &= (xy[:, axis] >= nodes[0] - half) & (xy[:, axis] <= nodes[-1] + half)
        return np.asarray(found)

    def around(self, xy: np.ndarray) -> np.ndarray:
        """Return the raster's values (rows, columns) in the ``window`` of places (n, 2)."""
        return np.asarray(self.values[self.window(xy)])

    def window(self, xy: np.ndarray) -> tuple[slice, slice]:
        """Return slices of rows and columns that contain places (n, 2) and a margin."""
        return _window(*self._position(xy), (1, 1))

    def _position(self, xy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the fractional row and column indices of places (n, 2)."""
        j, i = (np.clip(position(xy[:, k], nodes), 0.0, len(nodes) - 1.0) for k, nodes in ((1, self.y), (0, self.x)))
        return j, i

    def at(self, xy: np.ndarray, width: tuple[float, float] = (0.0, 0.0)) -> np.ndarray:
        """Return values (n,) at places (n, 2), NaN where a point around has none.

        They are means over cells of the given ``width`` along x and y if these are wider than the raster's cells,
        otherwise cubic splines.
        """
        from scipy import ndimage  # takes long to import, and few runs need it

        j, i = self._position(xy)
        steps = zip(width[::-1], self.spacing[::-1], self.values.shape, strict=True)
        size = [max(1, round(min(w / s, n))) for w, s, n in steps]
        window = _window(j, i, size)
        part = np.asarray(self.values[window], float)
        index = np.stack([j - window[0].start, i - window[1].start])
        missing = ~np.isfinite(part)
        holes = np.zeros(len(xy), bool)
        if missing.any():
            near = ndimage.maximum_filter(missing, [max(2, n) + 1 for n in size])
            holes = ndimage.map_coordinates(near.astype(np.uint8), index, order=0, mode="nearest") > 0
            nearest = ndimage.distance_transform_edt(missing, return_distances=False, return_indices=True)
            part = part[tuple(nearest)]  # so that splines near holes use the nearest valid values
        smooth = ndimage.uniform_filter(part, size, mode="nearest") if max(size) > 1 else part
        index += np.array(
            [[0.5 * (n % 2 == 0)] for n in size]
        )  # the middle of an even number of points is half a point lower
        found = ndimage.map_coordinates(smooth, index, order=1 if max(size) > 1 else 3, mode="nearest")
        return np.where(holes, np.nan, found)


def _window(j: np.ndarray, i: np.ndarray, size: Sequence[int]) -> tuple[slice, slice]:
    """Return the slices of rows and columns from which means over ``size`` points at these indices are computed."""
    margins = (SPLINE_MARGIN + n // 2 for n in size)
    rows, columns = (
        slice(max(0, int(a.min()) - margin), int(a.max()) + margin + 2)
        for a, margin in zip((j, i), margins, strict=True)
    )
    return rows, columns


def ascending(source: str, x: np.ndarray, y: np.ndarray, values: np.ndarray, crs: str | None) -> Raster:
    """Return a raster from axes in either order; raises InputError for axes that are not monotonic or too short."""
    for name, axis in (("x", x), ("y", y)):
        steps = np.diff(axis)
        sound = np.isfinite(steps).all() and ((steps > 0).all() or (steps < 0).all())
        if len(axis) < 2 or not sound or not np.isfinite(axis[-1] - axis[0]):
            what = f"its coordinates along {name} are not in order or fewer than two"
            raise InputError(Problem(source, what, "two or more, ascending or descending"))
    if x[0] > x[-1]:
        x, values = x[::-1], values[:, ::-1]
    if y[0] > y[-1]:
        y, values = y[::-1], values[::-1]
    return Raster(source, np.asarray(x, float), np.asarray(y, float), np.asarray(values), crs)
