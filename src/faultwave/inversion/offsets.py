"""Static offsets at the sites of tensors, and their prediction: the integral of strain over time.

A force with a Gaussian time function of unit integral causes strain that vanishes in the end. Its integral over time is the static strain
of a constant force and, by reciprocity, the static displacement of a unit moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import Problems, collect_problems
from faultwave.base.projection import Projection
from faultwave.campaign.batches import PointFinder
from faultwave.campaign.tensors import READ_BYTES, Site
from faultwave.case.settings_file import Where
from faultwave.inversion.offset_files import Observed, read_gnss, read_insar
from faultwave.inversion.settings import InversionSettings

LATE = 0.1
"""Last part of the tensors, as a fraction of their duration, over which displacement is averaged."""
AT_REST = 0.05
"""Largest change of displacement in this part, as a fraction of the largest displacement."""
TRIED = 4
"""Number of points whose strain is read to find out whether displacement has come to rest."""


@dataclass(frozen=True)
class Offsets:
    """Static offsets, one for each component of a station and each place of InSAR.

    Attributes
    ----------
    names : tuple of str
        Names.
    sites : tuple of Site
        Site of the tensors of each offset.
    place : ndarray (n, 2)
        Places x, y [m].
    direction : ndarray (n, 3)
        Unit vectors of the offsets along x, y and z.
    values : ndarray (n,)
        Offsets [m].
    covariance : ndarray (n, n)
        Covariance of their noise [m^2].
    """

    names: tuple[str, ...]
    sites: tuple[Site, ...]
    place: np.ndarray
    direction: np.ndarray
    values: np.ndarray
    covariance: np.ndarray

    def __len__(self) -> int:
        return len(self.names)

    def by_site(self) -> Iterator[tuple[Site, np.ndarray]]:
        """Yield each site with the numbers of its offsets."""
        number = np.array([site.number for site in self.sites], int)
        for one in np.unique(number):
            rows = np.flatnonzero(number == one)
            yield self.sites[rows[0]], rows


NO_OFFSETS = Offsets((), (), np.zeros((0, 2)), np.zeros((0, 3)), np.zeros(0), np.zeros((0, 0)))


def read_offsets(
    inversion: InversionSettings, sites: Sequence[Site], projection: Projection, where: Where, problems: Problems
) -> Offsets:
    """Return the offsets of all files at their sites; problems are added to ``problems``."""
    settings = inversion.offsets
    if settings is None:
        return NO_OFFSETS
    files, before = list[Observed | None](), len(problems.errors)
    stations = dict[str, str]()
    for gnss in settings.gnss:
        with collect_problems(problems):
            files.append(read_gnss(gnss, projection, stations, problems))
    for insar in settings.insar:
        with collect_problems(problems):
            files.append(read_insar(insar, projection, problems))
    observed = [file for file in files if file is not None]
    _check_repeated(observed, problems)
    chosen = [site for file in observed for site in _sites_of(file, sites, settings.nearest, problems)]
    if len(problems.errors) > before:
        return NO_OFFSETS
    from scipy.linalg import block_diag

    return Offsets(
        tuple(name for file in observed for name in file.names),
        tuple(chosen),
        np.concatenate([file.place for file in observed]),
        np.concatenate([_local(file, projection) for file in observed]),
        np.concatenate([file.values for file in observed]),
        np.asarray(block_diag(*(file.covariance for file in observed))),
    )


def _check_repeated(observed: Sequence[Observed], problems: Problems) -> None:
    """Report offsets with the same place, direction and value as another one, which would count twice."""
    known, repeated = dict[tuple[float, ...], str](), dict[str, str]()
    for file in observed:
        data = np.column_stack([file.place, file.direction, file.values])
        for line, datum in zip(file.lines, map(tuple, data.tolist()), strict=True):
            if datum in known:
                repeated.setdefault(line, known[datum])
            known.setdefault(datum, line)
    if repeated:
        line, first = next(iter(repeated.items()))
        several = f"; {len(repeated) - 1:,} more lines repeat others" if len(repeated) > 1 else ""
        what = f"has the place and the offset of {first}{several}"
        problems.error(line, what, "each offset once", "An offset that is repeated has too much weight.")


def _local(file: Observed, projection: Projection) -> np.ndarray:
    """Return directions (n, 3) along east, north and up as vectors along x, y and z."""
    north = projection.norths(*projection.to_geographic(file.place).T)
    east = np.stack([north[:, 1], -north[:, 0]], 1)
    flat = file.direction[:, :1] * east + file.direction[:, 1:2] * north
    return np.concatenate([flat, file.direction[:, 2:]], 1)


def _sites_of(file: Observed, sites: Sequence[Site], nearest: float, problems: Problems) -> list[Site]:
    """Return the site nearest to each offset, the highest of those at one place; distant ones are errors."""
    places = np.array([site.location for site in sites])
    found, distant = list[Site](), dict[str, float]()
    for line, place in zip(file.lines, file.place, strict=True):
        distance = np.linalg.norm(places[:, :2] - place, axis=1)
        at = np.flatnonzero(distance <= distance.min() + 1e-3)
        found.append(sites[int(at[places[at, 2].argmax()])])
        if distance.min() > nearest:
            distant[line] = float(distance.min())
    if distant:
        line, distance = max(distant.items(), key=lambda item: item[1])
        several = f"{len(distant):,} places of {file.path} have" if len(distant) > 1 else "has"
        what = f"{several} no tensors within {nearest:g} m; the nearest site is {'up to ' * (len(distant) > 1)}{distance:.4g} m away"
        advice = "Add the places to the receivers of the case of `faultwave sgt`, or increase offsets.nearest."
        problems.error(line, what, f"up to {nearest:g} m (offsets.nearest)", advice)
    return found


def static_displacement(site: Site, used: np.ndarray) -> np.ndarray:
    """Return the static displacement (3, p, 6) [m / (N m)] at a site for the components of a strain at points by number.

    It is the integral of strain over time, averaged over the last part of the tensors.
    """
    found = np.empty((3, len(used), 6))
    step = max(1, READ_BYTES // (3 * 6 * 4 * site.file.samples))
    for begin in range(0, len(used), step):
        part = used[begin : begin + step]
        displacement = _displacement(site, part)
        found[:, begin : begin + step] = displacement[..., -_late(site) :].mean(-1)
    return found


def _late(site: Site) -> int:
    return max(2, int(LATE * site.file.samples))


def _displacement(site: Site, points: np.ndarray) -> np.ndarray:
    """Return the integral over time (3, p, 6, samples) of the strain at ascending points."""
    file, span = site.file, slice(int(points[0]), int(points[-1]) + 1)
    together = span.stop - span.start <= 2 * len(points)
    spans = [span] if together else [slice(int(p), int(p) + 1) for p in points]
    one, every = slice(site.index, site.index + 1), slice(0, file.samples)
    parts = [file.strain.numbers(one, slice(0, 3), s, slice(0, 6), every, dtype="f4")[0] for s in spans]
    strain = np.concatenate(parts, 1)
    strain = strain[:, points - span.start] if together else strain
    return np.asarray(file.interval * np.cumsum(strain, axis=-1, dtype=float))


def unrest(site: Site, points: np.ndarray) -> float:
    """Return the largest change of displacement in the last part of the tensors, over the largest displacement, at a few points."""
    tried = np.unique(points[np.linspace(0, len(points) - 1, TRIED).astype(int)])
    displacement = _displacement(site, tried)
    late = displacement[..., -_late(site) :]
    change = np.abs(late - late.mean(-1, keepdims=True)).max((0, 2, 3))
    largest = np.abs(late).max((0, 2, 3))
    return float((change / np.maximum(largest, 1e-300)).max())


def check_rest(offsets: Offsets, location: np.ndarray, problems: Problems) -> None:
    """Check that the displacement of sources at ``location`` (n, 3) [m] has come to rest at the end of the tensors of all offsets."""
    moving = list[tuple[float, Site]]()
    for site, _ in offsets.by_site():
        points = np.unique(PointFinder(site.file).nearest(location)[0])
        if not (left := unrest(site, points)) <= AT_REST:
            moving.append((left, site))
    if not moving:
        return
    left, site = max(moving, key=lambda item: item[0])
    others = f"; so are {len(moving):,} sites in total" if len(moving) > 1 else ""
    what = f"the ground at site {site.name} is not at rest: displacement changes by {100 * left:.2g} % in the last tenth{others}"
    advice = "Static offsets need the motion after all waves. Compute the tensors with a longer end_time."
    problems.error(str(site.file.path), what, f"up to {100 * AT_REST:g} %", advice)
