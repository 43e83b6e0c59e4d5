"""Region of a mesh: its box, the ground on a lattice, layer boundaries, and their checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.domain.build.relief import Relief, flat_ground

if TYPE_CHECKING:
    from faultwave.base.math.projection import Projection
    from faultwave.domain.build.settings import RegionSettings

Floats = NDArray[np.float64]
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
            advice = "Layers of a mesh cannot end: cut the surface off below the other, or leave it to element sizes."
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


__all__ = ["Heights", "Region", "extent", "no_gmsh", "region_of", "relief_of", "worded"]
