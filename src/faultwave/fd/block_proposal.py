"""Which blocks of larger spacing a material allows: as few points as resolve the same frequency everywhere; and what they save."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from faultwave.base.errors import InputError, Problems
from faultwave.case.grid import Block
from faultwave.case.model import Case
from faultwave.domain.grids.joint import RATIOS
from faultwave.fd.block_layout import LEAST, LEAST_BLOCK, lay_grid
from faultwave.fd.differences import LOW
from faultwave.fd.grid import SideKind
from faultwave.fd.part import FdPlan
from faultwave.fd.program import BELOW_CAP
from faultwave.kernels.stencil import REACH
from faultwave.media.field import Field, axes_of
from faultwave.media.homogenise import at_points

ALONG = 21
"""Places along x and y at which the material is looked at."""
WORTH = 1.1
"""Times fewer points from which on blocks are proposed."""
MOST = 4
"""Faces."""


def slowest_below(field: Field, lower: np.ndarray, upper: np.ndarray, depths: np.ndarray) -> np.ndarray:
    """Smallest S speed (n,) [m/s] of a box at so many ``depths`` (n,) or deeper; 0 where there are fluids."""
    axes = axes_of(field)
    x, y = (np.linspace(lower[k], upper[k], ALONG if a in axes else 1) for k, a in enumerate("xy"))
    points = np.stack(np.meshgrid(upper[2] - depths, y, x, indexing="ij")[::-1], -1).reshape(-1, 3)
    values = at_points(field, ["rho", "mu"], points, np.ones(len(points), np.int64))
    speed = np.sqrt(values["mu"] / values["rho"]).reshape(len(depths), -1).min(1)
    return np.asarray(np.minimum.accumulate(speed[::-1])[::-1])


def faces(allowed: np.ndarray, spacing: float, first: float, ratios: Sequence[int]) -> list[tuple[float, float]] | None:
    """(depth, spacing) of blocks whose spacings grow by these ratios, each as high as may be; None where there is no room.

    ``allowed`` (n,): the largest spacing [m] at half a spacing below the surface, one and a half, ... ``first``: the least depth [m].
    """
    found, top, h, depth = list[tuple[float, float]](), 0.0, spacing, spacing * len(allowed)
    for ratio in ratios:
        start = max(top + LEAST_BLOCK * h, first)
        coarser = np.flatnonzero(allowed >= ratio * h * (1 - 1e-9))
        if not len(coarser):
            return None
        start = max(start, spacing * int(coarser[0]))
        top += h * np.ceil((start - top) / h - 1e-6)
        h *= ratio
        found.append((float(top), h))
    return found if depth - top >= LEAST * h else None


def points_of(
    case: Case, lower: np.ndarray, upper: np.ndarray, plan: FdPlan, blocks: Sequence[tuple[float, float]]
) -> float:
    """Of a grid with these blocks; infinite where the box is no multiple of their spacing."""
    assert case.grid is not None
    listed = [Block(below=below, spacing=h) for below, h in blocks]
    other = case.model_copy(update={"grid": case.grid.model_copy(update={"blocks": listed})})
    try:
        laid = lay_grid(other, lower, upper, plan.scheme.grid.spacing, _sides(plan), Problems())
    except InputError:
        return np.inf
    return float(sum(block.grid.box.points for block in laid))


def _sides(plan: FdPlan) -> dict[str, SideKind]:
    """Of the whole grid."""
    return {**plan.scheme.sides, "z-": plan.blocks[-1].scheme.sides["z-"]}


def proposed(plan: FdPlan) -> tuple[list[tuple[float, float]], float]:
    """Depth and spacing [m] of the best blocks, none where they are not worth it, and how many points they take."""
    case, grid, setting = plan.case, plan.scheme.grid, plan.case.grid
    assert setting is not None
    h, best = grid.spacing, (list[tuple[float, float]](), float(plan.points))
    planes = int((plan.upper[2] - plan.lower[2]) / h)
    slow = slowest_below(plan.material, plan.lower, plan.upper, h * (np.arange(planes) + 0.5))
    if not slow.all():
        return best
    allowed = slow / (setting.points_per_wavelength * plan.frequency)
    first = 0.0 if grid.relief is None else grid.relief.thickness + (BELOW_CAP + REACH + 1 + LOW) * h
    for ratios in _ratios(float(allowed.max() / h)):
        listed = faces(allowed, h, first, ratios)
        if listed is None:
            continue
        points = points_of(case, plan.lower, plan.upper, plan, listed)
        if points * WORTH < min(best[1], plan.points):
            best = listed, points
    return best


def _ratios(most: float, left: int = MOST) -> Iterator[tuple[int, ...]]:
    """Sequences of ratios whose product is not above ``most``."""
    for ratio in RATIOS:
        if left and ratio <= most * (1 + 1e-9):
            yield (ratio,)
            for more in _ratios(most / ratio, left - 1):
                yield (ratio, *more)


def report(plan: FdPlan) -> list[tuple[str, ...]]:
    """What is told of blocks."""
    top = float(plan.upper[2])
    if plan.below:
        rows = []
        for n, block in enumerate(plan.blocks):
            grid, m = block.scheme.grid, block.medium
            nz, ny, nx = grid.shape
            low, high = (max(0.0, top - z) for z in (block.lower[2] if n else plan.below[0].upper[2], block.upper[2]))
            first, last = (high, low) if n else (0.0, low)
            rows.append(
                (
                    f"block {n + 1}",
                    f"{grid.spacing:g} m from {first:g} to {last:g} m depth, {nx} x {ny} x {nz} points, Vs from {m.slowest:.6g} m/s",
                )
            )
        one = points_of(plan.case, plan.lower, plan.upper, plan, [])
        what = f"{plan.points:,}; with {plan.scheme.grid.spacing:g} m everywhere {one:,.0f}, {one / plan.points:.3g} times as many"
        return [*rows, ("points", what)]
    if plan.scheme.order != 4:
        return []
    listed, points = proposed(plan)
    if not listed:
        return []
    text = ", ".join(f"{{below: {below:g} m, spacing: {h:g} m}}" for below, h in listed)
    what = f"{points:,.0f} points, {plan.points / points:.3g} times fewer, and as many steps or fewer"
    return [("proposed", f"grid: {{spacing: {plan.scheme.grid.spacing:g} m, blocks: [{text}]}}"), ("with these", what)]


__all__ = ["faces", "proposed", "report", "slowest_below"]
