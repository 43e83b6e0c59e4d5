"""A box of whole cells inside the grid, from its corners: for records of the wave field around it and for waves that come into it."""

from __future__ import annotations

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.model import Case
from faultwave.fd.grid import Grid
from faultwave.fd.part import Checking, Placing
from faultwave.fd.time_dispersion import removes
from faultwave.fd.total_field import TotalField, Update
from faultwave.kernels.stencil import Box

LEAST = 4
"""Cells of a box along each axis."""


def block_with(placing: Placing, lower: np.ndarray, upper: np.ndarray) -> int:
    """The number of the block that the middle of a box is in."""
    return int(placing.block_at(np.array([0.5 * (lower[2] + upper[2])]))[0])


def total_field(
    placing: Placing, lower: np.ndarray, upper: np.ndarray, free_surface: bool, where: str
) -> TotalField | None:  # fmt: skip
    """The cells whose centres lie in a box; None, with problems at the setting ``where``, where the box does not fit into the grid, which
    is a block where it has several.

    ``free_surface``: whether the upper side of the grid is one. A box whose upper face is there has no upper face.
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
        ends = [axis == "z" and end for end in joined]  # which lie on the face to another block
        room = read + reach // 2 if ends[0] else reach
        low = grid.lower[k] + h * (first[k] + room)
        if a[k] < first[k] + room:
            side, advice = _side(ends[0], room)
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


def _side(joined: bool, room: int) -> tuple[str, str]:
    """What a face of a box is near, and what to do."""
    if joined:
        return (
            "face between two blocks of the grid",
            f"A box lies in one block, {room} of its points or more from others.",
        )
    return "side of the grid or to its layers", f"The faces stay {room} points from both."


def _check_flat(grid: Grid, highest: int, where: str, problems: Problems) -> None:
    """Below a topography, boxes lie where planes are flat."""
    if grid.relief is None:
        return
    bent = grid.relief.bottom - grid.spacing * REACHED
    if grid.lower[2] + grid.spacing * highest > bent:
        what = "the box reaches up to where planes of the grid are bent towards the ground"
        problems.error(
            where, what, f"an upper face at {bent:.6g} m or below", "Boxes under hills are not built; use engine: dg."
        )


REACHED = 14
"""Planes below the lowest bent one that the curvilinear cap reads and computes."""


def check_border(checking: Checking, where: TotalField, setting: str) -> None:
    """An error where differences are others than inside of rock: in planes with fluid beside rock."""
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


def check_kept(case: Case, where: str, problems: Problems) -> None:
    """An error where the grid's waves are not those that are recorded or let in."""
    if removes(case):
        what = "waves at a box are those of the grid, and its time dispersion is taken out of sources and seismograms"
        problems.error(where, what, "grid.time_dispersion: keep")


def corners(grid: Grid, where: TotalField) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper corner (3,) [m] of its cells."""
    lo, hi = np.array(where.box.lo[::-1]), np.array(where.box.hi[::-1])
    return np.array(grid.lower) + grid.spacing * lo, np.array(grid.lower) + grid.spacing * hi


__all__ = ["block_with", "check_border", "check_kept", "corners", "total_field"]
