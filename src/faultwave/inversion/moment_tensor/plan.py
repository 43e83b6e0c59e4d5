"""Plan of an inversion for a moment tensor: places and times of its centroid, with every problem before the computation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import Problem, Problems, collect_problems
from faultwave.campaign.batches import PointFinder
from faultwave.case.settings_file import Where
from faultwave.inversion.assembly import SourceModel
from faultwave.inversion.data_plan import DataPlan, check_ends, check_noise, read_data, read_tensors
from faultwave.inversion.moment_tensor.estimate import freedom
from faultwave.inversion.moment_tensor.mechanism import local_tensors
from faultwave.inversion.settings import InversionSettings, MomentTensorSettings
from faultwave.output.formats.waveforms import import_obspy

MOST_TIMES = 1000
"""Largest number of times."""
MOST = 2_000_000
"""Largest number of places times times."""


@dataclass(frozen=True)
class MomentTensorPlan(DataPlan):
    """Plan of an inversion for a moment tensor.

    Attributes
    ----------
    location : ndarray (n, 3)
        Places of the centroid that are tried [m].
    north : ndarray (n, 2)
        Unit vectors of north along x and y at these places.
    times : ndarray (t,)
        Times of the middle of the first time window that are tried [s].
    warnings : tuple of Problem
        Possible mistakes.
    """

    location: np.ndarray
    north: np.ndarray
    times: np.ndarray
    warnings: tuple[Problem, ...]

    @property
    def settings(self) -> MomentTensorSettings:
        """Settings of the moment tensor."""
        return self.inversion.point_source

    @property
    def geographic(self) -> np.ndarray:
        """Longitude, latitude [deg] and z [m] (n, 3) of the places."""
        return np.concatenate([self.projection.to_geographic(self.location[:, :2]), self.location[:, 2:]], 1)

    def sources(self, part: slice) -> SourceModel:
        """Return sources of unit moment at some places, a tensor component for each direction, at all times and time windows."""
        half = self.settings.half_duration
        steps = (self.times[:, None] - half + half * np.arange(self.settings.windows)).ravel()
        potency = 0.5 * local_tensors(self.north[part])  # a modulus of one makes twice the potency the moment
        count = len(potency)
        return SourceModel(self.location[part], potency, np.ones(count), np.zeros(count), steps, 2.0 * half)

    def rows(self) -> list[tuple[str, str]]:
        """Return the rows of ``faultwave invert --dry-run``."""
        first, last = self.times[0], self.times[-1]
        z = self.location[:, 2]
        return [
            ("tensor", f"{self.settings.kind}, time windows: {self.settings.windows}"),
            ("places", f"{len(self.location):,} from z = {z.min():g} to {z.max():g} m"),
            ("times", f"{len(self.times):,} from {first:g} to {last:g} s"),
            *self.data_rows(),
            ("folder", str(self.inversion.results)),
        ]


def make_moment_tensor_plan(inversion: InversionSettings, where: Where) -> MomentTensorPlan:
    """Check an inversion for a moment tensor and return its plan.

    Raises
    ------
    InputError
        With every problem found.
    """
    problems = Problems()
    with collect_problems(problems):
        import_obspy()
    sites, projection = read_tensors(inversion, where, problems)
    data = read_data(inversion, sites, projection, where, problems)
    location = _places(data, where, problems)
    times = _times(data, where, problems)
    if len(location) and len(times) and len(location) * len(times) > MOST:
        what = f"{len(location):,} places at {len(times):,} times are {len(location) * len(times):,} centroids"
        advice = "Use near and within, a longer time_step, or fewer points of the tensors."
        problems.error(where(("moment_tensor",)), what, f"up to {MOST:,}", advice)
    problems.raise_errors()
    north = projection.norths(*projection.to_geographic(location[:, :2]).T)
    found = MomentTensorPlan(**vars(data), location=location, north=north, times=times, warnings=problems.warnings)
    check_ends(found, found.sources(slice(None)), where, problems)
    _check_points(found, where, problems)
    needed = freedom(inversion.point_source.kind, inversion.point_source.windows)
    if found.size <= needed:
        what = f"{found.size} data do not determine the {needed} parameters of the tensors"
        problems.error(where(("moment_tensor",)), what, f"more than {needed} data")
    problems.raise_errors()
    check_noise(found, where, problems)
    problems.raise_errors()
    return found


def _places(data: DataPlan, where: Where, problems: Problems) -> np.ndarray:
    """Return the points of the tensors at which the centroid is searched."""
    settings, points = data.inversion.point_source, data.file.points
    place, radius = np.asarray(settings.near, float), float(np.asarray(settings.within, float))  # NaN without near
    if not place.ndim:
        return points
    found = np.zeros((0, 3))
    with collect_problems(problems):
        local = data.projection.places(place[None], where(("moment_tensor", "near")))[0]
        distance = np.linalg.norm(points - local, axis=1)
        found = points[distance <= radius]
        if not len(found):
            what = f"the point of the tensors that is nearest to near is {distance.min():.4g} m away"
            advice = "It is longitude, latitude and z, which is negative below sea level."
            problems.error(where(("moment_tensor", "near")), what, f"up to {radius:g} m (within)", advice)
    return found


def _times(data: DataPlan, where: Where, problems: Problems) -> np.ndarray:
    """Return the times at which the centroid is searched."""
    settings = data.inversion.point_source
    first, last = settings.times
    step = settings.time_step or (data.window.interval if data.inversion.data is not None else settings.half_duration)
    count = int((last - first) / step + 1e-6) + 1
    if data.inversion.data is None and (count > 1 or settings.windows > 1):
        what = "static offsets do not depend on time"
        problems.error(
            where(("moment_tensor", "times")), what, "one time and one window", "Add data, or a single time."
        )
    if count > MOST_TIMES:
        what = f"times from {first:g} to {last:g} s every {step:g} s are {count:,}"
        problems.error(where(("moment_tensor", "times")), what, f"up to {MOST_TIMES:,}", "Use a longer time_step.")
        return np.zeros(0)
    return first + step * np.arange(count)


def _check_points(plan: MomentTensorPlan, where: Where, problems: Problems) -> None:
    """Check that all files contain the places."""
    for file in plan.files[1:]:
        distance = PointFinder(file).nearest(plan.location)[1]
        if (far := distance > plan.inversion.nearest).any():
            what = f"{far.sum():,} places are up to {distance.max():.4g} m away from the points of {file.path}"
            advice = "Compute all tensors at the same points, or use near and within."
            problems.error(where(("tensors",)), what, f"up to {plan.inversion.nearest:g} m (nearest)", advice)
