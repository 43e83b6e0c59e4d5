"""Checks of ruptures against their table: hypocentres, speeds, magnitudes, and the end of the seismograms."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from faultwave.base.errors import Problem, Problems
from faultwave.base.projection import Projection
from faultwave.campaign.ruptures import Hypocentre, Variation
from faultwave.campaign.sources import RuptureSources, moment_magnitude, place_of

SPACINGS = 2.0
"""Largest distance of a hypocentre from the nearest subfault, as a multiple of the distance of subfaults."""
SPEEDS = (100.0, 10e3)
"""Plausible rupture speeds [m/s]."""
MAGNITUDES = 0.3
"""Difference between the magnitude of the table and that of the moment above which a mistake is likely."""


@dataclass
class Repeated:
    """Problems that many rows of a table may have; the first of each kind is reported with the number of others."""

    _found: dict[str, list[Problem]] = field(default_factory=dict)

    def add(self, kind: str, problem: Problem) -> None:
        """Add a problem of a kind."""
        self._found.setdefault(kind, []).append(problem)

    def report(self, problems: Problems) -> None:
        """Add the first problem of each kind to a collector."""
        for found in self._found.values():
            more = len(found) - 1
            others = f"; so {'does' if more == 1 else 'do'} {more:,} more row{'s' * (more > 1)}" if more else ""
            problems.extend([replace(found[0], what=found[0].what + others)])


def check_rupture(
    variation: Variation, sources: RuptureSources, projection: Projection, until: float, found: Repeated
) -> None:
    """Check the hypocentre of a variation and the time at which it ends, against the end of the seismograms [s]."""
    if variation.hypocentre is not None:
        _check_hypocentre(variation, variation.hypocentre, sources, projection, found)
    if sources.end > until:
        what = f"{variation.path.name} ends at {sources.end:.4g} s, after the seismograms, which end at {until:.4g} s"
        advice = "Increase duration, and end_time of the tensors if they are too short."
        found.add("end", Problem(variation.where, what, advice=advice, severity="warning"))


def check_magnitude(variation: Variation, moment: float, found: Repeated) -> None:
    """Check the magnitude of the table against the seismic moment of the file [N m]."""
    stated, computed = variation.magnitude, moment_magnitude(moment)
    if stated is not None and abs(stated - computed) > MAGNITUDES:
        what = f"has the magnitude {stated:g}, the moment of {variation.path.name}, {moment:.3g} N m, that of {computed:.2f}"
        advice = (
            "The magnitude of the table is used for disaggregations only; the slip of the file determines the motion."
        )
        found.add("magnitude", Problem(variation.where, what, advice=advice, severity="warning"))


def _check_hypocentre(
    variation: Variation, hypocentre: Hypocentre, sources: RuptureSources, projection: Projection, found: Repeated
) -> None:
    from scipy.spatial import cKDTree

    if not SPEEDS[0] <= hypocentre.speed <= SPEEDS[1]:
        what = f"has the rupture_speed {hypocentre.speed:g} m/s, which is implausible"
        advice = f"Speeds of {SPEEDS[0]:g} to {SPEEDS[1]:g} m/s are plausible; the unit is m/s, not km/s."
        found.add("speed", Problem(variation.where, what, advice=advice, severity="warning"))
    tree = cKDTree(np.unique(sources.location, axis=0))
    distance = float(tree.query(place_of(hypocentre, projection))[0])
    allowed = SPACINGS * _spacing(sources, tree.data)
    if distance > allowed:
        what = f"has a hypocentre {1e-3 * distance:.4g} km away from the nearest subfault of {variation.path.name} with slip"
        advice = "Is the sign of hypocentre_lon wrong, or hypocentre_depth in km instead of m?"
        found.add("hypocentre", Problem(variation.where, what, f"up to {1e-3 * allowed:.3g} km", advice))


def _spacing(sources: RuptureSources, places: np.ndarray) -> float:
    """Return the distance of subfaults [m], at least the side of a square with the area of the largest one."""
    from scipy.spatial import cKDTree

    potency = (sources.potency**2 * [1, 1, 1, 2, 2, 2]).sum(1)
    side = float(np.sqrt(np.sqrt(2.0 * potency.max())))  # the norm of slip along the plane is area / sqrt(2)
    return max(side, float(cKDTree(places).query(places, 2)[0][:, 1].max()) if len(places) > 1 else 0.0)
