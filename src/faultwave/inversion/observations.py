"""Observed seismograms at the sites of tensors, along x, y and z, from seismological files or the receivers of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems, collect_problems
from faultwave.base.projection import Projection
from faultwave.campaign.tensors import Site
from faultwave.case.settings_file import Where
from faultwave.inversion.settings import InversionSettings
from faultwave.observe.motions.processing import along_axes
from faultwave.output.folder import manifests
from faultwave.output.observed import Record, read_records
from faultwave.output.results import load_results

LARGEST = {"m/s": 30.0, "m": 100.0}
"""Largest plausible motion by unit."""
FACTOR = 1e3
"""Ratio of the largest motion at a site to the median of all sites above which its unit is doubtful."""
STILL = 1e-6
"""Range of a component over the largest range of its station below which it is no record of motion."""
QUANTITY = {"m/s": "velocity", "m": "displacement"}
COMPONENTS = {"m/s": ("v1", "v2", "v3"), "m": ("u1", "u2", "u3")}


@dataclass(frozen=True)
class Seismogram:
    """Motion observed at a site.

    Attributes
    ----------
    site : Site
        Site of the tensors.
    name : str
        Name of the station in the data.
    time : ndarray (n,)
        Times after the origin [s].
    motion : ndarray (3, n)
        Motion along x, y and z in the unit of the data.
    recorded : tuple of bool
        True for each component that was recorded.
    """

    site: Site
    name: str
    time: np.ndarray
    motion: np.ndarray
    recorded: tuple[bool, ...]


def read_seismograms(
    inversion: InversionSettings, sites: Sequence[Site], projection: Projection, where: Where, problems: Problems
) -> list[Seismogram]:
    """Return the observed seismograms at sites; problems of the data are added to ``problems``."""
    found = list[Seismogram]()
    if inversion.data is None:
        return found
    if not inversion.records.is_dir():
        problems.error(where(("data",)), f"no such folder: {inversion.records}", "a folder of a run, or of records")
        return found
    with collect_problems(problems):
        if manifests(inversion.records):
            found = _of_run(inversion, sites, problems)
        else:
            found = _of_records(inversion, sites, projection, where, problems)
    if not found and not problems.errors:
        problems.error(str(inversion.records), "contains no record of motion at a site of the tensors")
    _check_sizes(inversion, found, problems)
    return found


def _of_run(inversion: InversionSettings, sites: Sequence[Site], problems: Problems) -> list[Seismogram]:
    results, found, names = load_results(inversion.records), list[Seismogram](), COMPONENTS[inversion.motion_unit]
    known = {s.name: s for s in sites}
    for trace in results.traces["receiver"].values():
        name = trace.station or f"receiver {trace.number}"
        near = [s for s in sites if np.linalg.norm(s.location - trace.location) <= inversion.nearest]
        site = known.get(trace.station) or known.get(f"{trace.network}.{trace.station}") or next(iter(near), None)
        missing = [c for c in names if c not in trace.columns]
        if site is None:
            _report_without_tensors(str(inversion.records), name, sites, problems)
        elif missing:
            what = f"{name} has no {', '.join(missing)} in {inversion.motion_unit}"
            problems.error(str(inversion.records), what, ", ".join(trace.columns))
        else:
            motion = np.array([trace.columns[c] for c in names], float)
            moving = _moving(f"{inversion.records}: {name}", motion, problems)
            found.append(Seismogram(site, name, np.asarray(trace.time, float), motion, moving))
    return found


def _of_records(
    inversion: InversionSettings, sites: Sequence[Site], projection: Projection, where: Where, problems: Problems
) -> list[Seismogram]:
    if inversion.origin_time is None:
        advice = "Add the UTC time of the source, such as 2019-07-06T03:19:53."
        raise InputError(Problem(where(("origin_time",)), "origin_time is missing", advice=advice))
    origin = inversion.origin_time
    origin = origin.replace(tzinfo=UTC) if origin.tzinfo is None else origin
    records, warnings = read_records(inversion.records, QUANTITY[inversion.motion_unit])
    for warning in warnings:
        if "counts" in warning.what:
            problems.error(warning.where, warning.what, advice=warning.advice)
        else:
            problems.extend([warning])
    found, known = list[Seismogram](), {s.name: s for s in sites}
    for record in records:
        site = known.get(record.name) or known.get(record.station)
        if site is None:
            _report_without_tensors(str(inversion.records), record.name, sites, problems)
        elif record.quantity != QUANTITY[inversion.motion_unit]:
            what = f"{record.name} contains {record.quantity}, but unit is {inversion.motion_unit}"
            problems.error(str(inversion.records), what, QUANTITY[inversion.motion_unit])
        else:
            recorded = _working(record, f"{inversion.records}: {record.name}", problems)
            longitude, latitude = projection.to_geographic(site.location[None, :2])[0]
            motion = along_axes(record.motion, projection.azimuth_of_y(longitude, latitude))
            time = (record.begin - origin).total_seconds() + record.step * np.arange(motion.shape[1])
            if any(recorded):
                found.append(Seismogram(site, record.name, time, motion, recorded))
    return found


def _moving(place: str, motion: np.ndarray, problems: Problems) -> tuple[bool, bool, bool]:
    """Return which of three components of a run move: a constant one would be an accurate observation of no motion."""
    ranges = np.ptp(motion, axis=1)
    still = (ranges <= STILL * ranges.max()) & (ranges.max() > 0.0)
    for name, value in zip("xyz", still, strict=True):
        if value:
            problems.warn(place, f"component {name} is constant at all times; it is omitted")
    return bool(not still[0]), bool(not still[1]), bool(not still[2])


def _working(record: Record, place: str, problems: Problems) -> tuple[bool, bool, bool]:
    """Return which of x, y, z a record contains without components that are constant.

    Channels have any directions: one of two horizontal channels is constant if all horizontal motion has one direction.
    """
    ranges = np.ptp(record.motion, axis=1)
    flat = record.motion[:2] - record.motion[:2].mean(1, keepdims=True)
    if not ranges.max() > 0.0:
        return record.components
    horizontal = np.linalg.svd(flat, compute_uv=False)[1] > STILL * np.abs(flat).max()
    vertical = ranges[2] > STILL * ranges.max()
    if not horizontal:
        problems.warn(place, "a horizontal component is constant at all times; both horizontal components are omitted")
    if record.components[2] and not vertical:
        problems.warn(place, "the vertical component is constant at all times; it is omitted")
    return bool(horizontal), bool(horizontal), bool(vertical and record.components[2])


def _report_without_tensors(data: str, name: str, sites: Sequence[Site], problems: Problems) -> None:
    names = ", ".join(s.name for s in sites[:10]) + (f" and {len(sites) - 10:,} more" if len(sites) > 10 else "")
    advice = "Add it to the receivers of the case of `faultwave sgt`, or remove it from the data."
    problems.error(data, f"{name} has no tensors", names, advice)


def _check_sizes(inversion: InversionSettings, found: Sequence[Seismogram], problems: Problems) -> None:
    """Check finite values, orders of magnitude, and repeated sites."""
    peaks = np.array([np.abs(s.motion).max() for s in found])
    finite = peaks[np.isfinite(peaks)]
    typical, largest = float(np.median(finite)) if len(finite) else 0.0, LARGEST[inversion.motion_unit]
    seen = set[str]()
    for seismogram, peak in zip(found, peaks, strict=True):
        place = f"{inversion.records}: {seismogram.name}"
        if not np.isfinite(peak):
            problems.error(place, "has values that are not finite", "finite numbers")
        elif peak > largest:
            what = f"has a largest value of {peak:.3g} {inversion.motion_unit}"
            problems.error(
                place, what, f"up to {largest:g} {inversion.motion_unit}", "Are these counts, or another unit?"
            )
        elif np.ptp(seismogram.motion, axis=1).max() == 0.0:
            problems.error(place, "is constant at all times", advice="Remove it from the data.")
        elif not typical / FACTOR <= peak <= typical * FACTOR:
            what = f"has a largest value of {peak:.3g} {inversion.motion_unit}, the median of all stations is {typical:.3g}"
            problems.error(place, what, f"within a factor of {FACTOR:g}", "Is its unit another one?")
        if seismogram.site.name in seen:
            problems.error(place, f"site {seismogram.site.name} has other data already", "one record for each site")
        seen.add(seismogram.site.name)
