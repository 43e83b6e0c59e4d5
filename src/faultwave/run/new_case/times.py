"""Durations of a new case: of its source or rupture, and until reflections from the sides of its mesh return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from faultwave.base.errors import Problems
from faultwave.case.settings.sources import Source
from faultwave.physics.sources.load import load_sources
from faultwave.run.new_case import text as text
from faultwave.run.new_case.options import NewCaseOptions

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


def source_duration(asked: NewCaseOptions, mapped: Any, longest: float) -> SourceDuration:
    """Return the duration of a source, or of a rupture from the middle to the ends of a trace.

    Parameters
    ----------
    asked : NewCaseOptions
        Options.
    mapped : object
        Map projection of the case, with crs, origin and azimuth.
    longest : float
        Length of the longest trace [m].

    Raises
    ------
    InputError
        If a file of sources cannot be read.
    """
    if asked.faults:
        return SourceDuration(NUCLEATION_TIME + 0.5 * longest / (RUPTURE_SPEED * text.SLOWEST_S_SPEED))
    if asked.mechanism is not None:
        return SourceDuration(text.GAUSSIAN_DURATION * text.GAUSSIAN_WIDTH / asked.frequency, asked.mechanism.depth)
    setting = Source.model_validate({"kind": asked.source_kind, "file": asked.source})
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


__all__ = ["LARGEST", "SourceDuration", "source_duration", "grid_frequency", "latest_reflections"]
