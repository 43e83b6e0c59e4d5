"""Extent of a new case in depth and time: the grid below a topography, the source, and reflections from the sides."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from faultwave.base.errors import InputError, Problems
from faultwave.base.projection import ProjectionSettings
from faultwave.case.settings.sources import Source
from faultwave.media.rasters import load_ground
from faultwave.physics.sources.load import load_sources
from faultwave.run.new_case import text as text
from faultwave.run.new_case.event_source import PointEvent
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


def depth_below_ground(options: NewCaseOptions, mapped: ProjectionSettings, half: float) -> float:
    """Return the depth below z = 0 [m] that the grid of a new case must reach.

    It is 0 for flat ground, and if the raster is unreadable or has gaps, which the check of the case reports.

    Parameters
    ----------
    options : NewCaseOptions
        Options.
    mapped : ProjectionSettings
        Map projection of the case.
    half : float
        Half side of the region [m].
    """
    if options.engine != "fd" or options.topography is None:
        return 0.0
    setting = SimpleNamespace(file=options.topography, variable=None, crs=options.topography_crs)
    spacing = SLOWEST_S_SPEED / options.frequency / POINTS
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


LARGEST = 2000e3
"""Largest side [m] of a region and of the box around it that the map projection supports."""
NUCLEATION_TIME = 2.0
"""Approximate time [s] in which a rupture leaves its nucleation patch."""
RUPTURE_SPEED = 0.8
"""Rupture speed relative to the S-wave speed."""

POINTS_ABOVE_SOURCE, MOST = 4.0, 200.0
"""Grid points between the ground and a source, and the limit on points along the region for this purpose."""
PER_WAVELENGTH = 6.0
"""Grid points per wavelength."""


@dataclass(frozen=True)
class SourceDuration:
    """Approximate duration [s] of source or rupture, and depth [m] of a point source, else None."""

    time: float
    depth: float | None = None


def source_duration(options: NewCaseOptions, mapped: ProjectionSettings, longest: float) -> SourceDuration:
    """Return the duration of a source, or of a rupture from the middle to the ends of a trace.

    Parameters
    ----------
    options : NewCaseOptions
        Options.
    mapped : ProjectionSettings
        Map projection of the case.
    longest : float
        Length of the longest trace [m].

    Raises
    ------
    InputError
        If a file of sources cannot be read.
    """
    if options.faults:
        return SourceDuration(NUCLEATION_TIME + 0.5 * longest / (RUPTURE_SPEED * text.SLOWEST_S_SPEED))
    if isinstance(options.event, PointEvent):
        time = text.GAUSSIAN_DURATION * options.event.deviation(options.frequency)
        return SourceDuration(time, options.event.bottom)
    if options.mechanism is not None:
        return SourceDuration(text.GAUSSIAN_DURATION * text.GAUSSIAN_WIDTH / options.frequency, options.mechanism.depth)
    setting = Source.model_validate({"kind": options.source_kind, "file": options.source})
    found = load_sources([setting], projection=mapped, warned=Problems())
    time = float(found.end.max(initial=0.0))
    return SourceDuration(time, -float(found.location[0, 2]) if len(found) == 1 else None)


def grid_frequency(frequency: float, size: float, depth: float | None) -> float:
    """Return the frequency of a grid: the requested one, or a higher one for a shallow source.

    A point source is then at least ``POINTS_ABOVE_SOURCE`` points below the ground, so that the waves near it are accurate, unless a side
    of the region would have more than ``MOST`` points.

    Parameters
    ----------
    frequency : float
        Requested frequency [Hz].
    size : float
        Side of the region [m].
    depth : float or None
        Depth of a point source [m].

    Returns
    -------
    float
        Frequency [Hz].
    """
    if depth is None or not depth > 0:
        return frequency
    finest = max(depth / POINTS_ABOVE_SOURCE, size / MOST)
    return max(frequency, text.SLOWEST_S_SPEED / (PER_WAVELENGTH * finest))


def latest_reflections(end: float, size: float) -> float:
    """Return the time [s], at most ``end``, until which a larger map can avoid reflections in a region of ``size`` [m]."""
    return min(end, (LARGEST - size) / text.FASTEST_P_SPEED)
