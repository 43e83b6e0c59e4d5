"""The region of a mesh: its box, the ground on a lattice, the surfaces of layers, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.domain.build.relief import Relief, flat_ground

Floats = NDArray[np.float64]
Heights = Callable[[Floats, float], Floats]
"""Heights (n,) [m] at local places (n, 2), as means over so much width."""

MOST = 400
"""Points of the ground's lattice along a side."""
REACH = 2.5
"""How far down hills and valleys are felt, in their depth."""
THINNEST = 0.05
"""A layer's least thickness, in that it has in the flat box."""


@dataclass(frozen=True)
class Region:
    """What was asked for, between two corners (3,) [m]. Beyond, where waves only leave, edges grow by ``growth`` a metre of distance."""

    lower: Floats
    upper: Floats
    growth: float

    def more(self, points: Floats) -> Floats:
        """Metres (n,) that edges at points (n, 3) may be longer than in the region; hills are in it."""
        out = np.maximum(self.lower - points, points - self.upper)
        out[:, 2] = self.lower[2] - points[:, 2]
        return np.asarray(self.growth * np.linalg.norm(np.maximum(out, 0.0), axis=1))

    def held(self, surface: Heights) -> Heights:
        """A surface that goes on beyond the region as it is at the nearest side: rasters need not reach further."""
        return lambda xy, width: surface(np.clip(xy, self.lower[:2], self.upper[:2]), width)


def region_of(setting: Any) -> Region:
    """The region that a setting asks for, z = 0 on top."""
    lower, upper = np.array([*setting.lower, -setting.depth], float), np.array([*setting.upper, 0.0])
    return Region(lower, upper, setting.growth)


def extent(inner: Region, reflections_after: float | None, fastest: Callable[[Floats], float]) -> tuple[Floats, Floats]:
    """Lower and upper corner (3,) of the box: the region, widened so that reflections from sides and bottom come back to it late enough.

    ``fastest``: wave speed among points (n, 3).
    """
    lower, upper = inner.lower, inner.upper
    for _ in range(2 if reflections_after else 0):  # deeper, where the first look did not reach, waves are faster
        x = [np.linspace(a, b, 5) for a, b in zip(lower, upper, strict=True)]
        points = np.stack([a.ravel() for a in np.meshgrid(*x, indexing="ij")], 1)
        margin = 0.5 * float(reflections_after or 0.0) * fastest(points)
        lower, upper = inner.lower - margin, inner.upper + np.array([margin, margin, 0.0])
    return lower, upper


def relief_of(
    lower: Floats, upper: Floats, spacing: float, ground: Heights | None, below: list[tuple[str, Heights]]
) -> Relief:
    """The ground and the surfaces ``below`` it, each with its name, on a lattice about as fine as ``spacing``.

    Heights are means over two spacings: elements cannot follow the ground closer. Raises InputError where surfaces cross, with the place.
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
    """With a flat surface below the last one, where its hills and valleys end: what is cut deeper is not bent by them."""
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


def worded(projection: Any) -> Callable[[Floats], str]:
    """x, y in words, with longitude and latitude where there is a projection."""

    def place(xy: Floats) -> str:
        text = f"x {xy[0]:.6g}, y {xy[1]:.6g} m"
        if projection is not None:
            lon, lat = projection.to_geographic(np.asarray(xy)[None])[0]
            text += f" (longitude {lon:.6g}, latitude {lat:.6g})"
        return text

    return place


def no_gmsh(said: str, advice: str) -> InputError:
    """Where Gmsh cannot be loaded."""
    return InputError(Problem("mesh.build", f"needs Gmsh, which cannot be loaded: {said}", "", advice))


__all__ = ["Heights", "Region", "extent", "no_gmsh", "region_of", "relief_of", "worded"]
