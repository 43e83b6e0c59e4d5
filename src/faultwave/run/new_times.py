"""How long source or rupture of a new case act, and how late the sides of its mesh may send waves back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from faultwave.base.errors import Problems
from faultwave.case.sources import Source
from faultwave.physics.sources.load import load_sources
from faultwave.run import new_text as text
from faultwave.run.new_options import Asked

LARGEST = 2000e3
"""Side [m] of a region, and of the box around it: the map's projection serves no larger one."""
STARTS = 2.0
"""Seconds that a rupture takes to leave the patch in which it starts, about."""
RUPTURE_SPEED = 0.8
"""Of a rupture, in the S speed."""

ABOVE, MOST = 4.0, 200.0
"""Points of a grid between the ground and a source, and along the region for the sake of that."""
PER_WAVELENGTH = 6.0
"""Points of a grid."""


@dataclass(frozen=True)
class Acting:
    """``time`` [s] until source or rupture are over, about; ``depth`` [m] of the source where it is a point, else None."""

    time: float
    depth: float | None = None


def acting(asked: Asked, mapped: Any, longest: float) -> Acting:
    """Of a source, or of a rupture from the middle to the ends of a trace so long [m]. ``mapped``: crs, origin and azimuth of the map.

    Raises InputError for a file of sources that cannot be read.
    """
    if asked.faults:
        return Acting(STARTS + 0.5 * longest / (RUPTURE_SPEED * text.SLOWEST))
    if asked.mechanism is not None:
        return Acting(text.OVER * text.BELL / asked.frequency, asked.mechanism.depth)
    setting = Source.model_validate({"kind": asked.source_kind, "file": asked.source})
    found = load_sources([setting], projection=mapped, warned=Problems())
    time = float(found.end.max(initial=0.0))
    return Acting(time, -float(found.location[0, 2]) if len(found) == 1 else None)


def grid_frequency(frequency: float, size: float, depth: float | None) -> float:
    """For which a grid is made: the one asked for, or a higher one, so that a point source so deep [m] is not less than ``ABOVE`` points
    below the ground and the waves near it are right; no more than ``MOST`` points along a region of this size."""
    if depth is None or not depth > 0:
        return frequency
    finest = max(depth / ABOVE, size / MOST)
    return max(frequency, text.SLOWEST / (PER_WAVELENGTH * finest))


def latest_reflections(end: float, size: float) -> float:
    """Seconds for which sides and bottom around a region of this size [m] can be kept from sending waves back, ``end`` at most."""
    return min(end, (LARGEST - size) / text.FASTEST)


__all__ = ["LARGEST", "Acting", "acting", "grid_frequency", "latest_reflections"]
