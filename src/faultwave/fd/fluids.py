"""Fluids beside rock on a grid: what is not to be trusted there."""

from __future__ import annotations

import numpy as np

from faultwave.base.errors import Problems


def fluid_beside_rock(modulus: np.ndarray) -> bool:
    """Whether there is both; ``modulus``: mu on a coarse lattice of the box."""
    fluid = modulus == 0
    return bool(fluid.any() and not fluid.all())


def check_fluids(problems: Problems) -> None:
    """A warning for a box of fluid beside rock. What stays in rock within two points of a fluid pushes the fluid for ever."""
    what = "holds fluid beside rock, for which grids are not verified: stress that stays in rock after a source goes on pushing the fluid"
    advice = "Do not use slow motion or displacement there; use engine: dg, or give the fluid a shear speed."
    problems.warn("material", what, advice=advice)


__all__ = ["check_fluids", "fluid_beside_rock"]
