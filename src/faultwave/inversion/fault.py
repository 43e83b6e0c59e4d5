"""Subfaults of an inversion: places, potencies, onsets of the rupture front, and segments for the prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import Problems, collect_problems
from faultwave.base.projection import Projection, geographic_tensor, voigt
from faultwave.case.settings_file import Where
from faultwave.inversion.prior import Segment
from faultwave.inversion.settings import PlaneSettings, SlipSettings
from faultwave.physics.sources.point import slip_frame
from faultwave.physics.sources.readers.srf import SrfSubfaults, read_srf_subfaults


@dataclass(frozen=True)
class Fault:
    """Subfaults of all files and planes, one after the other.

    Attributes
    ----------
    files : tuple of SrfSubfaults
        Geometry of each file and plane.
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
    """Return the subfaults of all files and planes; problems are added to ``problems``."""
    files, paths = list[SrfSubfaults](), [path.resolve() for path in slip.faults]
    for number, path in enumerate(slip.faults):
        if paths[number] in paths[:number]:
            what = f"{path} is in the list twice: its slip would not be determined"
            problems.error(where(("slip", "faults", number)), what, "each file once")
        with collect_problems(problems):
            files.append(read_srf_subfaults(path, projection))
    for number, plane in enumerate(slip.planes):
        place = where(("slip", "planes", number))
        if plane in slip.planes[:number]:
            problems.error(place, "is in the list twice: its slip would not be determined", "each plane once")
        with collect_problems(problems):
            files.append(make_plane(plane, projection, place))
    if len(files) < len(slip.faults) + len(slip.planes):
        return None
    return Fault(tuple(files), tuple(_segments(files)))


def make_plane(plane: PlaneSettings, projection: Projection, where: str) -> SrfSubfaults:
    """Return the subfaults of a plane, the strike fastest, with the material of the tensors.

    Raises
    ------
    InputError
        If the plane is not a place of the projection.
    """
    along, down = plane.subfaults
    strike, dip, rake = (float(np.radians(float(angle))) for angle in (plane.strike, plane.dip, plane.rake))
    middle = projection.places(np.asarray(plane.top, float)[None], where)[0]
    _, (ahead, up, _) = slip_frame(strike, dip, 0.0)  # towards north, east and down
    d, s = np.meshgrid((np.arange(down) + 0.5) / down, (np.arange(along) + 0.5) / along - 0.5, indexing="ij")
    moved = plane.length * s.reshape(-1, 1) * ahead - plane.width * d.reshape(-1, 1) * up
    north = projection.norths(*projection.to_geographic(middle[None, :2]).T)[0]
    east = np.array([north[1], -north[0]])
    location = middle + np.column_stack([moved[:, :1] * north + moved[:, 1:2] * east, -moved[:, 2]])
    lonlat, count = projection.to_geographic(location[:, :2]), along * down
    normal, slip = slip_frame(strike, dip, rake)
    area, one = plane.length * plane.width / count, np.stack(slip[:2])[:, :, None] * normal
    tensors = np.tile(0.5 * area * (one + one.swapaxes(1, 2)), (count, 1, 1, 1))
    potency = voigt(geographic_tensor(tensors, projection.norths(*lonlat.T)[:, None]))
    strikes, dips, rakes = (np.full(count, float(angle)) for angle in (plane.strike, plane.dip, plane.rake))
    return SrfSubfaults(
        np.column_stack([lonlat, -1e-3 * location[:, 2]]), location, strikes, dips, rakes, np.full(count, area), np.full(count, np.nan),
        np.full(count, -1.0), np.full(count, -1.0), potency, ((along, down, float(plane.length), float(plane.width)),),
    )  # fmt: skip


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
