"""Proposal of blocks with larger spacing that resolve the same frequency with fewer points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import InputError, Problems
from faultwave.case.settings.grid import Block
from faultwave.domain.grids import RATIOS
from faultwave.fd.blocks.layout import EVEN, LEAST, MIN_BLOCK, build_blocks
from faultwave.fd.capability import FdPlan
from faultwave.fd.method.differences import LOW
from faultwave.fd.method.grid import SideKind
from faultwave.fd.method.program import PLANES_BELOW_CURVILINEAR
from faultwave.kernels.stencil import REACH
from faultwave.media.field import Field, axes_of
from faultwave.media.homogenise import at_points

ALONG = 21
"""Number of places along x and y where the material is sampled."""
WORTH = 1.1
"""Smallest factor by which blocks must reduce the number of points to be proposed."""
MOST = 4
"""Largest number of faces between proposed blocks."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """Proposed blocks of larger spacing below the uppermost.

    Attributes
    ----------
    blocks : list of (float, float)
        Depth and spacing [m] of each block; empty if blocks do not pay.
    upper : ndarray, shape (3,)
        Upper corner [m] of a box whose extents are multiples of the spacings.
    points : float
        Number of points of the proposed grid.
    """

    blocks: list[tuple[float, float]]
    upper: np.ndarray
    points: float


def slowest_below(field: Field, lower: np.ndarray, upper: np.ndarray, depths: np.ndarray) -> np.ndarray:
    """Return the smallest S speed (n,) [m/s] of a box at or below ``depths`` (n,) [m]; 0 where there are fluids."""
    axes = axes_of(field)
    x, y = (np.linspace(lower[k], upper[k], ALONG if a in axes else 1) for k, a in enumerate("xy"))
    points = np.stack(np.meshgrid(upper[2] - depths, y, x, indexing="ij")[::-1], -1).reshape(-1, 3)
    values = at_points(field, ["rho", "mu"], points, np.ones(len(points), np.int64))
    speed = np.sqrt(values["mu"] / values["rho"]).reshape(len(depths), -1).min(1)
    return np.asarray(np.minimum.accumulate(speed[::-1])[::-1])


def faces(allowed: np.ndarray, spacing: float, first: float, ratios: Sequence[int]) -> list[tuple[float, float]] | None:
    """Return (depth, spacing) [m] of blocks with spacings growing by ``ratios``, or None if they do not fit.

    Each block begins at the smallest depth possible.

    Parameters
    ----------
    allowed : ndarray, shape (n,)
        Largest spacing [m] allowed at half a spacing below the surface, one and a half, ...
    spacing : float
        Spacing [m] of the uppermost block.
    first : float
        Smallest depth [m] of the first face.
    ratios : sequence of int
        Ratio of each spacing to the one above.
    """
    found, top, h, depth = list[tuple[float, float]](), 0.0, spacing, spacing * len(allowed)
    for ratio in ratios:
        start = max(top + MIN_BLOCK * h, first)
        coarser = np.flatnonzero(allowed >= ratio * h * (1 - 1e-9))
        if not len(coarser):
            return None
        start = max(start, spacing * int(coarser[0]))
        top += h * np.ceil((start - top) / h - 1e-6)
        h *= ratio
        found.append((float(top), h))
    return found if depth - top >= LEAST * h else None


def points_of(plan: FdPlan, upper: np.ndarray, blocks: Sequence[tuple[float, float]]) -> float:
    """Return the number of points of the grid with these blocks and upper corner; infinite if it cannot be built."""
    case = plan.case
    assert case.grid is not None
    listed = [Block(below=below, spacing=h) for below, h in blocks]
    other = case.model_copy(update={"grid": case.grid.model_copy(update={"blocks": listed})})
    try:
        grid_blocks = build_blocks(other, plan.lower, upper, plan.scheme.grid.spacing, _sides(plan), Problems())
    except InputError:
        return np.inf
    return float(sum(block.grid.box.points for block in grid_blocks))


def _grown(plan: FdPlan, spacing: float) -> np.ndarray:
    """Return the upper corner (3,) [m] of the box grown to multiples of a spacing at absorbing sides of x and y."""
    upper = plan.upper.copy()
    for k, axis in enumerate("xy"):
        if plan.scheme.sides[f"{axis}+"] == "absorbing":
            upper[k] = plan.lower[k] + spacing * np.ceil((upper[k] - plan.lower[k]) / spacing - EVEN)
    return upper


def _sides(plan: FdPlan) -> dict[str, SideKind]:
    """Return the kinds of the sides of the whole grid."""
    return {**plan.scheme.sides, "z-": plan.blocks[-1].scheme.sides["z-"]}


def proposed(plan: FdPlan) -> Proposal:
    """Return the proposal with the fewest points."""
    grid, setting = plan.scheme.grid, plan.case.grid
    assert setting is not None
    h, best = grid.spacing, Proposal([], plan.upper, float(plan.points))
    planes = int((plan.upper[2] - plan.lower[2]) / h)
    slow = slowest_below(plan.material, plan.lower, plan.upper, h * (np.arange(planes) + 0.5))
    if not slow.all():
        return best
    allowed = slow / (setting.points_per_wavelength * plan.frequency)
    first = 0.0 if grid.relief is None else grid.relief.thickness + (PLANES_BELOW_CURVILINEAR + REACH + 1 + LOW) * h
    for ratios in _ratios(float(allowed.max() / h)):
        listed = faces(allowed, h, first, ratios)
        if listed is None:
            continue
        upper = _grown(plan, listed[-1][1])
        points = points_of(plan, upper, listed)
        if points * WORTH < min(best.points, plan.points):
            best = Proposal(listed, upper, points)
    return best


def _ratios(most: float, left: int = MOST) -> Iterator[tuple[int, ...]]:
    """Yield the sequences of spacing ratios whose product is at most ``most``."""
    for ratio in RATIOS:
        if left and ratio <= most * (1 + 1e-9):
            yield (ratio,)
            for more in _ratios(most / ratio, left - 1):
                yield (ratio, *more)


def report(plan: FdPlan) -> list[tuple[str, ...]]:
    """Return the rows of the report about the blocks of a plan, or about proposed ones."""
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
        one = points_of(plan, plan.upper, [])
        what = f"{plan.points:,}; with {plan.scheme.grid.spacing:g} m everywhere {one:,.0f}, {one / plan.points:.3g} times as many"
        return [*rows, ("points", what)]
    if plan.scheme.order != 4:
        return []
    made, requested = proposed(plan), plan.case.grid.upper if plan.case.grid else None
    if not made.blocks:
        return []
    settings = [f"spacing: {plan.scheme.grid.spacing:g} m"]
    given = plan.upper if requested is None else np.array(requested)
    if (made.upper[:2] > given[:2] + EVEN * plan.scheme.grid.spacing).any():
        x, y, z = (*made.upper[:2], given[2])
        settings.append(f"upper: [{x:.10g} m, {y:.10g} m, {z:.10g} m]")
    text = ", ".join(f"{{below: {below:g} m, spacing: {h:g} m}}" for below, h in made.blocks)
    what = f"{made.points:,.0f} points, {plan.points / made.points:.3g} times fewer, and as many steps or fewer"
    return [("proposed", f"grid: {{{', '.join(settings)}, blocks: [{text}]}}"), ("with these", what)]


__all__ = ["Proposal", "faces", "proposed", "report", "slowest_below"]
