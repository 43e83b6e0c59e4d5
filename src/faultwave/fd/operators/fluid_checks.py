"""Checks of fluids next to rock on a grid, where results have limited accuracy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faultwave.base.errors import Problems
from faultwave.fd.method.effective_medium import Medium
from faultwave.fd.method.fluid_solid_interface import altered_end_planes
from faultwave.fd.operators.grid_block import GridBlock

SHALLOW = altered_end_planes(4)[1]
"""Number of planes below the free surface in which fluid-solid interfaces have no special treatment."""


def has_fluid_and_rock(modulus: np.ndarray) -> bool:
    """Return True if a box has both fluid and rock; ``modulus`` is mu [Pa] on a coarse lattice of the box."""
    fluid = modulus == 0
    return bool(fluid.any() and not fluid.all())


def check_fluids(blocks: Sequence[GridBlock], media: Sequence[Medium], problems: Problems) -> None:
    """Report problems of fluid-solid interfaces.

    A warning is issued if differences reach across an interface, because stress that remains in rock within two
    points of a fluid pushes the fluid forever. An interface near a face between blocks is an error: the face must lie
    in one of both.
    """
    for n, (upper, lower) in enumerate(zip(blocks, blocks[1:], strict=False)):
        if len(media[n].below | media[n + 1].above) > 1:
            z, planes = float(upper.lower[2]), [altered_end_planes(b.order)[at] for at, b in ((0, upper), (1, lower))]
            available = [count * block.grid.spacing for count, block in zip(planes, (upper, lower), strict=True)]
            what = f"the face at z = {z:g} m lies within {available[0]:g} m below or {available[1]:g} m above a border of fluid and rock"
            allowed = "faces farther from the floor of the sea, in rock or in fluid"
            problems.error(
                f"grid.blocks[{n}].below", what, allowed, "Differences beside a face cannot be those of a border, too."
            )
    cared = [block.grid.relief is None and block.order == 4 for block in blocks]
    if any(medium.shallow and not c for medium, c in zip(media, cared, strict=True)):
        where, advice = "on a grid of order 8 or below a topography", "Use order 4 and a flat surface"
    elif media[0].shallow:
        where, advice = f"within {SHALLOW} cells of the surface", "Use a smaller spacing"
    else:
        return
    what = f"holds fluid beside rock {where}, where stress that stays in rock after a source goes on pushing the fluid"
    advice += ", engine: dg, or give the fluid a shear speed. Else do not use slow motion or displacement there."
    problems.warn("material", what, advice=advice)


__all__ = ["check_fluids", "has_fluid_and_rock"]
