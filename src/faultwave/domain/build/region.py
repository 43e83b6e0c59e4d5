"""Region of a mesh: its settings, its box, the ground on a lattice, layer boundaries, and the mapping to a box with flat layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, Problem, Problems

if TYPE_CHECKING:
    from faultwave.base.projection import Projection


class FaultSettings(Protocol):
    """Settings of a fault: its source (trace, planes or surface), its shape below a trace, and where it stops."""

    @property
    def trace(self) -> Path | None: ...

    @property
    def planes(self) -> Path | None: ...

    @property
    def surface(self) -> Path | None: ...

    @property
    def name(self) -> str | None: ...

    @property
    def size(self) -> float | None: ...

    @property
    def dip(self) -> float | Sequence[Sequence[float]]: ...

    @property
    def dip_direction(self) -> float | None: ...

    @property
    def top(self) -> float: ...

    @property
    def depth(self) -> float: ...

    @property
    def outside(self) -> str: ...

    @property
    def stops_at(self) -> Sequence[str]: ...


class RegionSettings(Protocol):
    """Settings of the region: its corners, depth and the growth of cells beyond."""

    @property
    def lower(self) -> Sequence[float]: ...

    @property
    def upper(self) -> Sequence[float]: ...

    @property
    def depth(self) -> float: ...

    @property
    def growth(self) -> float: ...


class BuildSettings(RegionSettings, Protocol):
    """Settings of a mesh with relief and faults."""

    @property
    def faults(self) -> Sequence[FaultSettings]: ...

    @property
    def fault_size(self) -> float | None: ...

    @property
    def far_size(self) -> float | None: ...

    @property
    def reflections_after(self) -> float | None: ...

    @property
    def rounds(self) -> int: ...

    @property
    def sea(self) -> bool: ...

    @property
    def sea_slope(self) -> float: ...

    @property
    def sea_surface(self) -> str: ...


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


Heights = Callable[[Floats, float], Floats]
"""Function of local positions (n, 2) [m] and an averaging width [m] that returns heights (n,) [m]."""

MOST = 400
"""Largest number of points of the lattice of the ground along a side."""
REACH = 2.5
"""Depth to which relief affects layers, relative to its amplitude."""
THINNEST = 0.05
"""Smallest thickness of a layer relative to its thickness in the flat box."""


@dataclass(frozen=True)
class Region:
    """Region of interest between two corners (3,) [m]; beyond it edges grow by ``growth`` per metre of distance."""

    lower: Floats
    upper: Floats
    growth: float

    def more(self, points: Floats) -> Floats:
        """Return the additional edge length (n,) [m] allowed at points (n, 3) outside the region; hills belong to it."""
        out = np.maximum(self.lower - points, points - self.upper)
        out[:, 2] = self.lower[2] - points[:, 2]
        return np.asarray(self.growth * np.linalg.norm(np.maximum(out, 0.0), axis=1))

    def held(self, surface: Heights) -> Heights:
        """Return a surface that is constant beyond the sides of the region, so that rasters need not extend further."""
        return lambda xy, width: surface(np.clip(xy, self.lower[:2], self.upper[:2]), width)


def region_of(setting: RegionSettings) -> Region:
    """Return the region of a setting, with z = 0 on top."""
    lower, upper = np.array([*setting.lower, -setting.depth], float), np.array([*setting.upper, 0.0])
    return Region(lower, upper, setting.growth)


def extent(inner: Region, reflections_after: float | None, fastest: Callable[[Floats], float]) -> tuple[Floats, Floats]:
    """Return the lower and upper corner (3,) of the box: the region widened so that reflections return late enough.

    Parameters
    ----------
    inner
        Region of interest.
    reflections_after
        Time [s] before which no reflection from sides and bottom returns to the region, or None.
    fastest
        Function that returns the largest wave speed [m/s] among points (n, 3).
    """
    lower, upper = inner.lower, inner.upper
    for _ in range(2 if reflections_after else 0):  # the second pass accounts for faster waves at greater depth
        x = [np.linspace(a, b, 5) for a, b in zip(lower, upper, strict=True)]
        points = np.stack([a.ravel() for a in np.meshgrid(*x, indexing="ij")], 1)
        margin = 0.5 * float(reflections_after or 0.0) * fastest(points)
        lower, upper = inner.lower - margin, inner.upper + np.array([margin, margin, 0.0])
    return lower, upper


def relief_of(
    lower: Floats, upper: Floats, spacing: float, ground: Heights | None, below: list[tuple[str, Heights]]
) -> Relief:
    """Return the ground and the named surfaces ``below`` it on a lattice with about the given spacing.

    Heights are averaged over two spacings, because elements cannot follow the ground more closely.

    Raises
    ------
    InputError
        If surfaces cross; the message states where.
    """
    if ground is None and not below:
        return flat_ground(lower, upper, float(lower[2]))
    count = np.clip(np.ceil((upper - lower)[:2] / spacing).astype(int), 2, MOST) + 1
    x, y = (np.linspace(lower[k], upper[k], count[k]) for k in range(2))
    xy = np.stack([a.ravel() for a in np.meshgrid(x, y, indexing="ij")], 1)
    named: list[tuple[str, Heights]] = [("the ground", ground or (lambda p, width: np.zeros(len(p)))), *below]
    problems, heights = Problems(), []
    for _, surface in named:
        try:
            heights.append(np.asarray(surface(xy, 2.0 * spacing), float).reshape(count))
        except InputError as error:
            problems.extend(error.problems)
    problems.raise_errors()
    stack = np.stack(heights)
    levels = np.array([0.0, *(h.mean() for h in stack[1:])])
    _check_order(stack, [*(name for name, _ in named), "the bottom of the region"], levels, float(lower[2]), xy)
    return _settled(Relief(x, y, stack, levels, float(lower[2]), len(stack)))


def _settled(relief: Relief) -> Relief:
    """Return the relief with a flat surface below the last one, below which the mapping is not affected by hills."""
    last, level = relief.heights[-1], float(relief.levels[-1])
    reach = REACH * max(level - float(last.min()), 0.5 * (float(last.max()) - level), 1.0)
    if level - reach < 0.9 * relief.bottom:
        return relief
    flat = np.full((1, *last.shape), level - reach)
    return replace(
        relief, heights=np.concatenate([relief.heights, flat]), levels=np.append(relief.levels, level - reach)
    )


def _check_order(stack: Floats, names: list[str], levels: Floats, bottom: float, xy: Floats) -> None:
    problems = Problems()
    every = np.concatenate([stack, np.full((1, *stack.shape[1:]), bottom)])
    flat = np.append(levels, bottom)
    for k in range(len(names) - 1):
        thick, usual = (every[k] - every[k + 1]).ravel(), float(flat[k] - flat[k + 1])
        worst = int(thick.argmin())
        if usual <= 0 or thick[worst] < THINNEST * usual:
            x, y = xy[worst]
            near = "above" if thick[worst] < 0 else f"{thick[worst]:.4g} m below"
            what = f"{names[k + 1]} is {near} {names[k]} at x {x:.6g}, y {y:.6g} m"
            advice = (
                "Layers of a mesh cannot pinch out: clip the surface below the other, or represent it by "
                "element sizes only."
            )
            allowed = f"at least {max(THINNEST * usual, 0.0):.4g} m apart"
            problems.error(
                "mesh.build", what, allowed, advice, xy[thick < THINNEST * usual] if usual > 0 else xy[[worst]]
            )
    problems.raise_errors()


def worded(projection: Projection | None) -> Callable[[Floats], str]:
    """Return a function that describes x, y in words, with longitude and latitude if there is a projection."""

    def place(xy: Floats) -> str:
        text = f"x {xy[0]:.6g}, y {xy[1]:.6g} m"
        if projection is not None:
            lon, lat = projection.to_geographic(np.asarray(xy)[None])[0]
            text += f" (longitude {lon:.6g}, latitude {lat:.6g})"
        return text

    return place


def no_gmsh(said: str, advice: str) -> InputError:
    """Return the error if Gmsh cannot be loaded."""
    return InputError(Problem("mesh.build", f"needs Gmsh, which cannot be loaded: {said}", "", advice))
