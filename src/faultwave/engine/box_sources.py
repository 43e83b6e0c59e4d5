"""Positions of sources and faults relative to a recorded box: its record holds waves that enter the box or that leave it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.settings.model import Case
from faultwave.observe.boxes import SourceSide
from faultwave.physics.sources.load import load_sources

WHERE = "output.box"


@dataclass(frozen=True)
class SideCounts:
    """Numbers of sources, or of faces of faults, by their side of the faces of a box.

    Attributes
    ----------
    inside, outside, near : int
        Numbers inside, outside, and within ``margin`` of the faces.
    margin : float
        Distance [m].
    """

    inside: int
    outside: int
    near: int
    margin: float

    @classmethod
    def of(cls, counts: np.ndarray, margin: float) -> SideCounts:
        """Return counts (3,) of ``RecordedFaces.count`` as an object."""
        inside, outside, near = (int(n) for n in counts)
        return cls(inside, outside, near, margin)


@dataclass(frozen=True)
class RecordedFaces:
    """Faces of a box that is recorded.

    Attributes
    ----------
    lower, upper : ndarray (3,)
        Corners of the box [m].
    open_top : bool
        True if the box reaches the free surface and has no upper face.
    """

    lower: np.ndarray
    upper: np.ndarray
    open_top: bool

    def count(self, first: np.ndarray, last: np.ndarray, margin: float) -> np.ndarray:
        """Return the numbers (3,) of extents that are inside, outside, and within ``margin`` [m] of the faces.

        ``first`` and ``last`` (n, 3) [m] are the lower and upper corners of the extents, equal for points.
        """
        upper = np.where([False, False, self.open_top], np.inf, self.upper)
        inside = ((first > self.lower + margin) & (last < upper - margin)).all(1)
        outside = ((last < self.lower - margin) | (first > upper + margin)).any(1)
        return np.array([inside.sum(), outside.sum(), (~inside & ~outside).sum()])


def source_places(case: Case) -> np.ndarray:
    """Return the locations (n, 3) [m] of the point sources of a case."""
    return np.asarray(load_sources(case.sources, projection=case.projection).location, float).reshape(-1, 3)


def side_of_sources(case: Case, points: SideCounts, faults: SideCounts, problems: Problems) -> SourceSide:
    """Return the side of the faces of ``output.box`` on which the point sources and faults of a case are.

    A fault at the faces is an error; point sources near the faces or on both sides cause a warning.
    """
    if faults.near or (faults.inside and faults.outside):
        what = f"a fault crosses the faces or is within {faults.margin:g} m of them"
        advice = "An injection continues the recorded waves in rock without a fault: choose another box."
        problems.error(WHERE, what, "faults inside of the box, or outside", advice)
    if points.near:
        total = points.inside + points.outside + points.near
        what = f"{points.near:,} of {total:,} sources lie within {points.margin:g} m of the faces"
        advice = "Near a source, an injection does not reproduce its waves."
        problems.warn(WHERE, what, "sources a wavelength away from the faces", advice)
    if case.injection is not None or case.parts:
        return SourceSide.UNKNOWN
    incident = bool(case.incident or case.dirichlet) or any(source.kind == "plane-wave" for source in case.sources)
    inside, outside = bool(points.inside or faults.inside), bool(points.outside or faults.outside or incident)
    if inside and outside:
        what = "the case has sources inside of the box and outside, whose waves an injection cannot separate"
        problems.warn(WHERE, what, "sources on one side", "Record the waves of one side in a run without the others.")
    if points.near or (inside and outside):
        return SourceSide.BOTH
    return SourceSide.INSIDE if inside else SourceSide.OUTSIDE if outside else SourceSide.UNKNOWN
