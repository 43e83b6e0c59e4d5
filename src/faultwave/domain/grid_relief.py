"""Topography and grids that follow it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

BEND = 0.5
"""Fraction of the layer, from below, over which the rise is curved."""
STEEP = 1.0 / (1.0 - 0.5 * BEND)
"""Slope of the rise above that, times the thickness of the layer."""
MARGIN = 10
"""Number of nodes of heights beyond the grid."""
D1, D2 = 9.0 / 8.0, -1.0 / 24.0
"""Weights of the nearest and next pair of nodes for slopes, as in the finite-difference scheme."""
BETWEEN = (-1.0 / 8.0, 5.0 / 8.0, 5.0 / 8.0, -1.0 / 8.0)
"""Weights of four nodes in a value between the middle two: the mean of two such values is the node between them, to fourth order."""
ITERATIONS = 60


@dataclass(frozen=True, eq=False)
class Relief:
    """Topography and the curvilinear layer below it.

    Attributes
    ----------
    heights : (my, mx) array
        Heights [m] of the ground above its lowest point, at nodes half a ``spacing`` apart; the first is MARGIN nodes
        before ``corner``.
    corner
        Corner (x, y) of the grid [m].
    spacing
        Spacing of the grid [m].
    top
        Elevation of the lowest point [m].
    thickness
        Thickness of the layer [m].
    around
        Number of nodes along x and y of a period, 0 if not periodic.
    """

    heights: np.ndarray
    corner: tuple[float, float]
    spacing: float
    top: float
    thickness: float
    around: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        from scipy import ndimage  # slow to import, and few runs need it

        object.__setattr__(self, "_spline", ndimage.spline_filter(np.asarray(self.heights, float), mode="nearest"))

    @property
    def relief(self) -> float:
        """Height difference between the lowest and the highest point [m]."""
        return float(self.heights.max())

    @property
    def stretch(self) -> float:
        """Largest factor by which cells are stretched."""
        return 1.0 + STEEP * self.relief / self.thickness

    @property
    def bottom(self) -> float:
        """Elevation of the bottom of the layer [m]."""
        return self.top - self.thickness

    def height(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the height of the ground above its lowest point [m]; exact at nodes, a cubic spline between them."""
        from scipy import ndimage

        i, j = self._node(x, 0), self._node(y, 1)
        flat = ndimage.map_coordinates(
            self._spline,  # type: ignore[attr-defined]
            np.stack([np.ravel(j), np.ravel(i)]), prefilter=False, mode="nearest",
        )  # fmt: skip
        return np.asarray(flat.reshape(np.shape(i)))

    def _node(self, x: np.ndarray, axis: int) -> np.ndarray:
        """Return the fractional node index of a coordinate along an axis."""
        return np.asarray((np.asarray(x, float) - self.corner[axis]) / (0.5 * self.spacing) + MARGIN)

    def ground(self, xy: np.ndarray) -> np.ndarray:
        """Return the elevation (n,) of the ground [m] at positions (n, 2 or 3)."""
        return self.top + self.height(xy[..., 0], xy[..., 1])

    def rise(self, r: np.ndarray) -> np.ndarray:
        """Return the fraction (n,) of the height at levels r [m]."""
        depth = (self.top - np.asarray(r, float)) / self.thickness
        t = np.clip((1.0 - depth) / BEND, 0.0, 1.0)
        bent = STEEP * BEND * t**5 * (7.0 + t * (-14.0 + t * (10.0 - 2.5 * t)))
        return np.where(depth <= 1.0 - BEND, 1.0 - STEEP * depth, bent)

    def rate(self, r: np.ndarray) -> np.ndarray:
        """Return the derivative (n,) of the rise [1/m]."""
        t = np.clip(((np.asarray(r, float) - self.bottom) / self.thickness) / BEND, 0.0, 1.0)
        return np.asarray(STEEP / self.thickness * t**4 * (35.0 + t * (-84.0 + t * (70.0 - 20.0 * t))))

    def jacobian(self, place: np.ndarray) -> np.ndarray:
        """Return dz/dr (n,) at positions (n, 3) of the flat grid."""
        return 1.0 + self.height(place[..., 0], place[..., 1]) * self.rate(place[..., 2])

    def up(self, place: np.ndarray) -> np.ndarray:
        """Return the true positions (n, 3) [m] of positions in the flat grid."""
        found = np.array(place, float)
        found[..., 2] += self.height(found[..., 0], found[..., 1]) * self.rise(found[..., 2])
        return found

    def lifted(self, x: np.ndarray, y: np.ndarray, r: np.ndarray) -> np.ndarray:
        """Return the elevation of lattice points above their level r (nr,): (nr, ny, nx) [m]."""
        return self.rise(r)[:, None, None] * self.height(*np.meshgrid(x, y))

    def stretches(self, x: np.ndarray, y: np.ndarray, r: np.ndarray) -> np.ndarray:
        """Return dz/dr (nr, ny, nx) at lattice points."""
        return np.asarray(1.0 + self.rate(r)[:, None, None] * self.height(*np.meshgrid(x, y)))

    def down(self, place: np.ndarray) -> np.ndarray:
        """Return the positions (n, 3) [m] in the flat grid of true positions; the ground is exactly its uppermost plane."""
        found = np.array(place, float)
        height = self.height(found[..., 0], found[..., 1])
        z = found[..., 2]
        straight = self.top - (self.top + height - z) / (1.0 + STEEP * height / self.thickness)
        knee = self.top - (1.0 - BEND) * self.thickness
        bent = (straight < knee) & (z > self.bottom)
        found[..., 2] = np.where(bent, self._bent(z, height), np.where(z <= self.bottom, z, straight))
        return found

    def _bent(self, z: np.ndarray, height: np.ndarray) -> np.ndarray:
        """Return the levels of elevations where the rise is curved, by bisection."""
        low, high = np.full(z.shape, self.bottom), np.full(z.shape, self.top)
        for _ in range(ITERATIONS):
            middle = 0.5 * (low + high)
            below = middle + height * self.rise(middle) < z
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return 0.5 * (low + high)

    def slopes(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return slopes (n,) of the ground along x and y, with the differences of the finite-difference scheme."""
        h = self.spacing

        def along(dx: float, dy: float) -> np.ndarray:
            near, far = (
                self.height(x + s * dx, y + s * dy) - self.height(x - s * dx, y - s * dy) for s in (0.5 * h, 1.5 * h)
            )
            return np.asarray((D1 * near + D2 * far) / h)

        return along(1.0, 0.0), along(0.0, 1.0)

    def sheet(
        self, place: tuple[int, ...], axis: str | None, first: tuple[int, ...], count: tuple[int, ...]
    ) -> np.ndarray:
        """Return heights (ny, nx) at points of a plane of the grid, or their slopes along an axis.

        Parameters
        ----------
        place
            1 for the axes (x, y) along which points are half an edge further.
        axis
            'x' or 'y' for slopes, None for heights.
        first, count
            First point and number of points along (y, x).
        """

        def shifted(x: int = 0, y: int = 0) -> np.ndarray:
            index = [self._nodes(k, place[1 - k], first[k], count[k], by) for k, by in ((0, y), (1, x))]
            return np.asarray(self.heights[np.ix_(*index)])

        if axis is None:
            return shifted()
        near, far = (shifted(**{axis: n}) - shifted(**{axis: -n}) for n in (1, 3))
        return np.asarray((D1 * near + D2 * far) / self.spacing)

    def between(self, sides: Mapping[str, int], first: tuple[int, ...], count: tuple[int, ...]) -> np.ndarray:
        """Return heights (ny, nx) between shear stresses and the cell centre on one side of each.

        Their mean over both sides is the height at the shear stress, and over the shear stresses on both sides of a
        centre the height at the centre, to fourth order.

        Parameters
        ----------
        sides
            By axis ('x', 'y') along which shear stresses are half an edge beyond centres: 0 for the centre before the
            shear stress, 1 for the one after it.
        first, count
            First point and number of points along (y, x).
        """
        ways = [
            [(side - 2 + n, weight) for n, weight in enumerate(BETWEEN)]
            if (side := sides.get(axis)) is not None
            else [(0, 1.0)]
            for axis in "yx"
        ]
        found = np.zeros(count)
        for y, in_y in ways[0]:
            for x, in_x in ways[1]:
                index = [
                    self._nodes(k, int(axis in sides), first[k], count[k], by)
                    for k, (axis, by) in enumerate((("y", y), ("x", x)))
                ]
                found += in_y * in_x * self.heights[np.ix_(*index)]
        return found

    def _nodes(self, k: int, half: int, first: int, count: int, by: int) -> np.ndarray:
        """Return the node indices along y or x (``k`` 0 or 1)."""
        found = 2 * (first + np.arange(count)) + 1 + half + by
        period = self.around[1 - k]
        return MARGIN + (found % period if period else found)

    def steepest(self) -> tuple[float, float, float]:
        """Return the largest slope of the ground and its position (x, y) [m]."""
        h = self.heights
        found = np.zeros(h.shape)
        for axis in (0, 1):
            g = np.gradient(h, 0.5 * self.spacing, axis=axis)
            found += g * g
        j, i = np.unravel_index(int(found.argmax()), found.shape)
        x, y = (c + 0.5 * self.spacing * (n - MARGIN) for c, n in zip(self.corner, (i, j), strict=True))
        return float(np.sqrt(found[j, i])), float(x), float(y)
