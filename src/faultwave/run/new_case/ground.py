"""Depth that a grid with curvilinear planes below a topography must reach, for ``faultwave new``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from faultwave.base.errors import InputError
from faultwave.media.rasters import load_ground
from faultwave.run.new_case.options import NewCaseOptions
from faultwave.run.new_case.text import SLOWEST_S_SPEED

SAMPLES_PER_SIDE = 300
"""Number of places along x and y at which the ground is sampled."""
POINTS = 6.0
"""Points per wavelength, the default of grids."""
SPACINGS = 16.0
"""Smallest number of spacings in the curvilinear planes and the flat ones below, half each (fd/topography.py)."""
OVER_RELIEF = 2.0
"""Smallest ratio of the curvilinear layer's thickness to the relief.

``SPARE`` covers peaks that the sampling misses.
"""
SPARE = 1.2


def depth_below_ground(asked: NewCaseOptions, mapped: Any, half: float) -> float:
    """Return the depth below z = 0 [m] that the grid of a new case must reach.

    It is 0 for flat ground, and if the raster is unreadable or has gaps, which the check of the case reports.

    Parameters
    ----------
    asked : NewCaseOptions
        Options.
    mapped : object
        Map projection of the case, with crs, origin and azimuth.
    half : float
        Half side of the region [m].
    """
    if asked.engine != "fd" or asked.topography is None:
        return 0.0
    setting = SimpleNamespace(file=asked.topography, variable=None, crs=asked.topography_crs)
    spacing = SLOWEST_S_SPEED / asked.frequency / POINTS
    along = np.linspace(-half, half, SAMPLES_PER_SIDE)
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
