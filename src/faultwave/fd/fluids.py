"""Fluids beside rock on a grid: what is not to be trusted there."""

from __future__ import annotations

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.model import Case
from faultwave.fd.borders import FAR
from faultwave.fd.closures import WEIGHTS

SHALLOW = WEIGHTS[4].read + FAR
"""Planes below the free surface where borders are not cared for."""


def fluid_beside_rock(modulus: np.ndarray) -> bool:
    """Whether there is both; ``modulus``: mu on a coarse lattice of the box."""
    fluid = modulus == 0
    return bool(fluid.any() and not fluid.all())


def check_fluids(case: Case, shallow: bool, problems: Problems) -> None:
    """A warning for a box of fluid beside rock whose differences reach across the border: what stays in rock within two points of a fluid
    pushes the fluid for ever."""
    setting = case.grid
    if setting is not None and (setting.topography is not None or setting.order != 4):
        where, advice = "on a grid of order 8 or below a topography", "Use order 4 and a flat surface"
    elif shallow:
        where, advice = f"within {SHALLOW} cells of the surface", "Use a smaller spacing"
    else:
        return
    what = f"holds fluid beside rock {where}, where stress that stays in rock after a source goes on pushing the fluid"
    advice += ", engine: dg, or give the fluid a shear speed. Else do not use slow motion or displacement there."
    problems.warn("material", what, advice=advice)


__all__ = ["check_fluids", "fluid_beside_rock"]
