"""Box of whole cells inside the grid, for recording the wave field around it and for injecting waves into it."""

from __future__ import annotations

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.settings.model import Case
from faultwave.fd.capability import MaterialContext, PlacementContext
from faultwave.fd.injection.total_field import TotalField, Update
from faultwave.fd.method.grid import Grid
from faultwave.fd.operators.time_dispersion import removes
from faultwave.kernels.stencil import Box

LEAST = 4
"""Smallest number of cells of a box along each axis."""


def block_with(placing: PlacementContext, lower: np.ndarray, upper: np.ndarray) -> int:
    """Return the number of the block that contains the middle of a box."""
    return int(placing.block_at(np.array([0.5 * (lower[2] + upper[2])]))[0])


def total_field(
    placing: PlacementContext, lower: np.ndarray, upper: np.ndarray, free_surface: bool, where: str
) -> TotalField | None:  # fmt: skip
    """Return the cells whose centres lie in a box, or None with problems reported if the box does not fit.

    Parameters
    ----------
    placing : PlacementContext
        Grid that must contain the box; one of the blocks if it has several.
    lower, upper : ndarray, shape (3,)
        Corners [m].
    free_surface : bool
        True if the upper side of the grid is a free surface. A box that reaches it has no upper face.
    where : str
        Setting named in the problems.
    """
    update, block = Update.of(placing.case, placing.order), placing.blocks[0]
    grid, reach, problems = placing.grid, 2 * update.reach, placing.problems
    read = update.weights.read
    joined = block.joined_below, block.joined_above
    free_surface = free_surface and not block.joined_above
    h, count, before = grid.spacing, np.array(grid.shape[::-1]), len(problems.items)
    a, b = (np.rint((corner - np.array(grid.lower)) / h).astype(int) for corner in (lower, upper))
    first, last = (
        np.rint((corner - np.array(grid.lower)) / h).astype(int) for corner in (placing.lower, placing.upper)
    )
    open_top = bool(free_surface and b[2] >= count[2])
    for k, axis in enumerate("xyz"):
        below = axis == "z" and free_surface  # a free surface
        if b[k] - a[k] < LEAST:
            problems.error(
                where, f"the box has {max(b[k] - a[k], 0)} cells of {h:g} m along {axis}", f"at least {LEAST}"
            )
        ends = [axis == "z" and end for end in joined]  # faces to other blocks
        available = read + reach // 2 if ends[0] else reach
        low = grid.lower[k] + h * (first[k] + available)
        if a[k] < first[k] + available:
            side, advice = _side(ends[0], available)
            what = f"the face {axis} = {lower[k]:g} m is too close to the {side}"
            problems.error(where, what, f"{low:g} m or more", advice)
        if below and b[2] > count[2]:
            problems.error(
                where, f"the face z = {upper[2]:g} m is above the free surface", f"at most {grid.upper[2]:g} m"
            )
        far = last[k] - (read + reach // 2 if below or ends[1] else reach)
        if b[k] > far and not (below and open_top):
            side, advice = ("free surface", "") if below else _side(ends[1], read + reach // 2 if ends[1] else reach)
            what = f"the face {axis} = {upper[k]:g} m is too close to the {side}"
            surface = f", or {grid.upper[2]:g} m, the free surface" if below else ""
            problems.error(where, what, f"at most {grid.lower[k] + h * far:g} m{surface}", advice)
    if open_top and a[2] > count[2] - read - reach // 2:
        allowed = f"at most {grid.upper[2] - h * (read + reach // 2):g} m"
        problems.error(where, f"the lower face z = {lower[2]:g} m is too close to the free surface", allowed)
    _check_flat(grid, b[2], where, problems)
    if len(problems.items) > before:
        return None
    top = int(count[2]) if open_top else None
    return TotalField(Box((int(a[2]), int(a[1]), int(a[0])), (int(b[2]), int(b[1]), int(b[0]))), top)


def _side(joined: bool, available: int) -> tuple[str, str]:
    """Return the side or face that a box is too close to, and the advice."""
    if joined:
        return (
            "face between two blocks of the grid",
            f"A box lies in one block, {available} of its points or more from others.",
        )
    return "side of the grid or to its layers", f"The faces stay {available} points from both."


def _check_flat(grid: Grid, highest: int, where: str, problems: Problems) -> None:
    """Report an error if the box reaches planes that follow the topography."""
    if grid.relief is None:
        return
    bent = grid.relief.bottom - grid.spacing * REACHED
    if grid.lower[2] + grid.spacing * highest > bent:
        what = "the box reaches up to where planes of the grid are bent towards the ground"
        problems.error(
            where, what, f"an upper face at {bent:.6g} m or below", "Boxes under hills are not built; use engine: dg."
        )


REACHED = 14
"""Number of planes below the curvilinear layer that its stencils read and compute."""


def check_border(checking: MaterialContext, where: TotalField, setting: str) -> None:
    """Report an error if the box overlaps planes with a fluid-solid interface, where differences are modified."""
    border, reach = checking.medium.border, Update.of(checking.case, checking.placing.order).reach
    if border is None:
        return
    low, high = where.box.lo[0] - reach, where.box.hi[0] + reach
    if low < border[1] and border[0] < high:
        first, end = (checking.placing.grid.levels("half")[[max(v - 1, 0) for v in border]]).tolist()
        what = f"the box lies among planes around fluid beside rock, z = {first:.6g} to {end:.6g} m, where differences are others"
        checking.problems.error(
            setting, what, "a box above or below them", "Record and let in with one fluid, or none, at those depths."
        )


def check_dispersion_is_kept(case: Case, where: str, problems: Problems) -> None:
    """Report an error if time dispersion is removed: recorded or injected waves must be the grid's own."""
    if removes(case):
        what = "waves at a box are those of the grid, and its time dispersion is taken out of sources and seismograms"
        problems.error(where, what, "grid.time_dispersion: keep")


def corners(grid: Grid, where: TotalField) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and the upper corner (3,) [m] of the cells of a box."""
    lo, hi = np.array(where.box.lo[::-1]), np.array(where.box.hi[::-1])
    return np.array(grid.lower) + grid.spacing * lo, np.array(grid.lower) + grid.spacing * hi


__all__ = ["block_with", "check_border", "check_dispersion_is_kept", "corners", "total_field"]
