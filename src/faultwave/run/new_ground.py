"""How deep a grid must reach whose planes bend below the ground of a place, for ``faultwave new``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from faultwave.base.errors import InputError
from faultwave.media.rasters import load_ground
from faultwave.run.new_options import Asked
from faultwave.run.new_text import SLOWEST

LOOK = 300
"""Places along x and y at which the ground is looked at."""
POINTS = 6.0
"""A wavelength, as grids have unless they are asked for others."""
SPACINGS = 16.0
"""That bent planes and the flat ones below them take at least, half of them each (fd/topography.py)."""
OVER_RELIEF = 2.0
"""Thickness of the bent planes at least; some more, as the grid sees peaks that this look misses."""
SPARE = 1.2


def depth_below_ground(asked: Asked, mapped: Any, half: float) -> float:
    """Metres below z = 0 that the grid of a region of 2 ``half`` a side must reach at least; 0 where it is flat, and where the raster
    cannot be read or has holes there, which the check of the case tells. ``mapped``: crs, origin and azimuth of the case's map."""
    if asked.engine != "fd" or asked.topography is None:
        return 0.0
    setting = SimpleNamespace(file=asked.topography, variable=None, crs=asked.topography_crs)
    spacing = SLOWEST / asked.frequency / POINTS
    along = np.linspace(-half, half, LOOK)
    places = np.stack([a.ravel() for a in np.meshgrid(along, along)], 1)
    try:
        found = load_ground(setting, mapped, "--topography").elevation(places, float(along[1] - along[0]))
    except InputError:
        return 0.0
    if not np.isfinite(found).all():
        return 0.0
    relief = SPARE * float(np.ptp(found))
    return max(OVER_RELIEF * relief, 0.5 * SPACINGS * spacing) + 0.5 * SPACINGS * spacing - min(0.0, float(found.min()))


__all__ = ["depth_below_ground"]
