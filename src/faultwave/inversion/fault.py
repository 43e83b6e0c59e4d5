"""Subfaults of an inversion: places, potencies, onsets of the rupture front, and segments for the prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import Problems, collect_problems
from faultwave.base.projection import Projection
from faultwave.case.settings_file import Where
from faultwave.inversion.prior import Segment
from faultwave.inversion.settings import SlipSettings
from faultwave.physics.sources.readers.srf import SrfSubfaults, read_srf_subfaults


@dataclass(frozen=True)
class Fault:
    """Subfaults of all files, one file after the other.

    Attributes
    ----------
    files : tuple of SrfSubfaults
        Geometry of each file.
    segments : tuple of Segment
        Segments, whose slip is correlated.
    """

    files: tuple[SrfSubfaults, ...]
    segments: tuple[Segment, ...]

    def __len__(self) -> int:
        return sum(map(len, self.files))

    def column(self, name: str) -> np.ndarray:
        """Return an attribute of all subfaults."""
        return np.concatenate([getattr(f, name) for f in self.files])

    def extent(self) -> tuple[float, float]:
        """Return the largest length along strike and down dip of a segment [m]."""
        return max(float(np.ptp(s.along)) for s in self.segments), max(float(np.ptp(s.down)) for s in self.segments)

    def distances(self, slip: SlipSettings, projection: Projection) -> np.ndarray:
        """Return the distance (n,) of each subfault from the hypocentre [m]."""
        place = np.asarray(slip.hypocentre, float)
        local = projection.to_local(place[:1], place[1:2])[0]
        return np.asarray(np.linalg.norm(self.column("location") - [*local, place[2]], axis=1))

    def onsets(self, slip: SlipSettings, projection: Projection) -> np.ndarray:
        """Return the time (n,) at which the rupture front reaches each subfault [s]."""
        return np.asarray(slip.onset + self.distances(slip, projection) / slip.front_speed)


def read_fault(slip: SlipSettings, projection: Projection, where: Where, problems: Problems) -> Fault | None:
    """Return the subfaults of all files; problems of the files are added to ``problems``."""
    files, paths = list[SrfSubfaults](), [path.resolve() for path in slip.faults]
    for number, path in enumerate(slip.faults):
        if paths[number] in paths[:number]:
            what = f"{path} is in the list twice: its slip would not be determined"
            problems.error(where(("slip", "faults", number)), what, "each file once")
        with collect_problems(problems):
            files.append(read_srf_subfaults(path, projection))
    if len(files) < len(slip.faults):
        return None
    return Fault(tuple(files), tuple(_segments(files)))


def _segments(files: Sequence[SrfSubfaults]) -> list[Segment]:
    found, first = list[Segment](), 0
    for file in files:
        begin = first
        for along, down, length, width in file.grids:
            rows = np.arange(begin, begin + along * down)
            d, s = np.meshgrid(
                (np.arange(down) + 0.5) * width / down, (np.arange(along) + 0.5) * length / along, indexing="ij"
            )
            found.append(Segment(rows, s.ravel(), d.ravel(), (down, along)))
            begin += along * down
        first += len(file)
        if not file.grids:
            found.append(_scattered(file, np.arange(begin, first)))
    return found


def _scattered(file: SrfSubfaults, rows: np.ndarray) -> Segment:
    """Return a segment of subfaults that form no grid, with coordinates in the plane of their largest extent."""
    apart = file.location - file.location.mean(0)
    plane = np.linalg.svd(apart, full_matrices=False)[2][:2]
    horizontal = np.array([plane[1, 2], -plane[0, 2]])
    if (size := np.linalg.norm(horizontal)) > 1e-9:
        strike = horizontal / size @ plane
        dip = np.array([-horizontal[1], horizontal[0]]) / size @ plane
    else:
        strike, dip = plane
    return Segment(rows, apart @ strike, apart @ dip, None)
