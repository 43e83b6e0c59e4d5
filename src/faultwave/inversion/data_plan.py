"""Data of an inversion: tensors, seismograms, static offsets and time axis, with the checks that do not depend on the source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems, collect_problems
from faultwave.base.projection import Projection
from faultwave.campaign.plan import identified
from faultwave.campaign.synthesis import LARGEST_GAIN, STOP, Band
from faultwave.campaign.tensors import Site, TensorFile, read_sites
from faultwave.case.settings_file import Where
from faultwave.case.validate import Location
from faultwave.inversion.assembly import SourceModel, make_data, make_window, needed_end
from faultwave.inversion.observations import Seismogram, read_seismograms
from faultwave.inversion.offsets import Offsets, check_rest, read_offsets
from faultwave.inversion.processing import Window
from faultwave.inversion.settings import InversionSettings
from faultwave.output.folder import check_folder

SLIP_RESULTS = ("inversion.nc", "inversion.png", "mean.srf", "samples")
TENSOR_RESULTS = ("moment_tensor.nc", "moment_tensor.png", "moment_tensor.xml", "centroids.csv")
"""Names of the results of inversions of each kind; each has a file NetCDF."""
FEWEST = 10
"""Smallest number of samples of a channel, and of the noise before it."""
CUT = 0.05
"""Motion at the end of a record near the window, over its largest motion, that matters to the low-pass."""
LISTED = 10
"""Largest number of sites without data whose names are shown."""
LEAST_NOISE = 1e-7
"""Smallest standard deviation of noise over the largest motion of its channel."""


@dataclass(frozen=True)
class DataPlan:
    """Data of an inversion.

    Attributes
    ----------
    inversion : InversionSettings
        Settings.
    projection : Projection
        Projection of the tensors.
    sites : tuple of Site
        Sites of the tensors.
    seismograms : tuple of Seismogram
        Observed seismograms.
    offsets : Offsets
        Observed static offsets.
    window : Window
        Time axis of the data.
    every : int
        Interval of the data over that of the tensors.
    """

    inversion: InversionSettings
    projection: Projection
    sites: tuple[Site, ...]
    seismograms: tuple[Seismogram, ...]
    offsets: Offsets
    window: Window
    every: int

    @property
    def file(self) -> TensorFile:
        """First file of tensors, which contains the material."""
        return self.sites[0].file

    @property
    def files(self) -> tuple[TensorFile, ...]:
        """Files of tensors."""
        return tuple({s.file.path: s.file for s in self.sites}.values())

    @property
    def channels(self) -> list[str]:
        """Names of all channels, station and axis."""
        return [
            f"{s.name} {axis}" for s in self.seismograms for axis, used in zip("xyz", s.recorded, strict=True) if used
        ]

    @property
    def samples(self) -> int:
        """Number of samples of all channels."""
        return len(self.channels) * self.window.count

    @property
    def size(self) -> int:
        """Number of data: samples and static offsets."""
        return self.samples + len(self.offsets)

    @property
    def unused(self) -> list[str]:
        """Names of the sites of the tensors that have neither seismograms nor static offsets."""
        used = {s.site.number for s in self.seismograms} | {s.number for s in self.offsets.sites}
        return [site.name for site in self.sites if site.number not in used]

    def data_rows(self) -> list[tuple[str, str]]:
        """Return the rows of ``faultwave invert --dry-run`` on the data."""
        return [
            ("data", f"{self.samples:,} samples of {len(self.channels)} channels at {self.window.interval:g} s"),
            ("stations", f"{len(self.seismograms)}"),
            *([("sites without data", _listed(unused))] if (unused := self.unused) else []),
            ("static offsets", f"{len(self.offsets):,} at {len(list(self.offsets.by_site())):,} sites"),
        ]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more


def read_tensors(inversion: InversionSettings, where: Where, problems: Problems) -> tuple[tuple[Site, ...], Projection]:
    """Return the sites of all files of tensors and their projection; problems raise InputError at once."""
    sites = tuple[Site, ...]()
    for number, path in enumerate(inversion.tensors):
        if not path.is_file():
            problems.error(
                where(("tensors", number)), f"no such file: {path}", advice="Compute it with: faultwave sgt."
            )
    with collect_problems(problems):
        sites = read_sites([path for path in inversion.tensors if path.is_file()])
    problems.extend(p for p in check_folder(inversion.results) if p.severity == "error")
    _check_results(inversion, where, problems)
    problems.raise_errors()
    return sites, _projection(inversion, sites, where)


def _check_results(inversion: InversionSettings, where: Where, problems: Problems) -> None:
    """Check that the results neither replace a file that the inversion reads, nor mix with those of an inversion of the other kind."""
    folder = inversion.results.resolve()
    slip = inversion.slip is not None
    other = [folder / name for name in (TENSOR_RESULTS if slip else SLIP_RESULTS) if (folder / name).exists()]
    if any(path.suffix == ".nc" for path in other):
        kind = "a moment tensor" if slip else "slip"
        what = f"contains {', '.join(path.name for path in other)} of an inversion for {kind}"
        advice = "Choose another folder by the setting folder or by --output, or remove these results."
        problems.error(str(inversion.results), what, "a folder without results of another kind", advice)
    made = {folder / name for name in (SLIP_RESULTS if slip else TENSOR_RESULTS)}
    for location, path in _inputs(inversion):
        if {path.resolve(), *path.resolve().parents} & made:
            what, advice = f"{path} would be replaced by a result", "Choose another folder, or copy the file."
            problems.error(where(location), what, f"a file that is no result in {inversion.results}", advice)


def _inputs(inversion: InversionSettings) -> Iterator[tuple[Location, Path]]:
    """Yield all files that an inversion reads, with their settings."""
    yield from ((("tensors", number), path) for number, path in enumerate(inversion.tensors))
    if inversion.slip is not None:
        yield from ((("slip", "faults", number), path) for number, path in enumerate(inversion.slip.faults))
    if inversion.data is not None:
        yield ("data",), inversion.data
    if inversion.offsets is not None:
        gnss, insar = ([one.file for one in inversion.offsets.gnss], [one.file for one in inversion.offsets.insar])
        for name, paths in (("gnss", gnss), ("insar", insar)):
            yield from ((("offsets", name, number, "file"), path) for number, path in enumerate(paths))


def read_data(
    inversion: InversionSettings, sites: tuple[Site, ...], projection: Projection, where: Where, problems: Problems
) -> DataPlan:
    """Return the data of an inversion; problems are added to ``problems``."""
    if inversion.data is not None:
        _check_files(inversion, sites, where, problems)
    seismograms = read_seismograms(inversion, sites, projection, where, problems)
    window, every = make_window(inversion, sites[0].file.interval)
    if inversion.data is not None:
        _check_records(inversion, seismograms, window, where, problems)
    offsets = read_offsets(inversion, sites, projection, where, problems)
    return DataPlan(inversion, projection, sites, tuple(seismograms), offsets, window, every)


def check_ends(data: DataPlan, sources: SourceModel, where: Where, problems: Problems) -> None:
    """Check that the tensors are long enough for the window, and come to rest for static offsets."""
    if data.inversion.data is not None:
        for file in data.files:
            _check_length(data.inversion, file, needed_end(data.window, sources), where, problems)
    check_rest(data.offsets, sources.location, problems)


def _projection(inversion: InversionSettings, sites: Sequence[Site], where: Where) -> Projection:
    stated = None if inversion.projection is None else inversion.projection.model_dump(mode="json")
    known = [dict(s.file.projection) for s in sites if s.file.projection is not None]
    if stated is None and not known:
        raise InputError(Problem(where(("projection",)), "projection is missing: files of tensors have none"))
    chosen = stated or known[0]
    for site in sites:
        if site.file.projection is not None and dict(site.file.projection) != chosen:
            raise InputError(Problem(str(site.file.path), "has another projection than projection or other files"))
    return identified(chosen)[0]


def _check_files(inversion: InversionSettings, sites: Sequence[Site], where: Where, problems: Problems) -> None:
    """Check the band against sampling and forces of the tensors, and equal intervals."""
    high, first = inversion.passband.high, sites[0].file
    for file in {s.file.path: s.file for s in sites}.values():
        largest = float(np.sqrt(2 * np.log(LARGEST_GAIN)) / (2 * np.pi * file.sigma * STOP))
        largest = min(largest, 0.5 / file.interval / STOP)
        if high > largest * (1 + 1e-9):
            what = f"band.high is {high:g} Hz, above what the forces of {file.path} and its interval contain"
            advice = "Compute the tensors with a shorter --duration, or a shorter output.receivers.interval."
            problems.error(where(("band", "high")), what, f"up to {largest:.4g} Hz", advice)
        elif Band(file.sigma, high).smoothing(max(1.0 / file.interval - STOP * high, 0.0)) > 0.05:
            advice = "Compute the tensors with a shorter output.receivers.interval."
            problems.error(
                str(file.path), "samples mistake higher frequencies of the forces for those of the band", advice=advice
            )
        if abs(file.interval - first.interval) > 1e-9 * first.interval:
            what = f"has an interval of {file.interval:g} s, {first.path} one of {first.interval:g} s"
            problems.error(str(file.path), what, "equal intervals")


def _check_records(
    inversion: InversionSettings, seismograms: Sequence[Seismogram], window: Window, where: Where, problems: Problems
) -> None:
    """Check that records cover the window and the noise before it, and are sampled finely enough."""
    pre_event = None if inversion.noise is None else inversion.noise.pre_event
    before = pre_event or 0.0
    begin, end = window.begin - before, window.begin + (window.count - 1) * window.interval
    low = inversion.passband.low
    if low is not None and (end - window.begin) * low < 1.0:
        what = f"window is {end - window.begin:.4g} s long, shorter than a period of band.low"
        problems.error(where(("window",)), what, f"{1.0 / low:.4g} s at least", "Increase band.low, or omit it.")
    if low is not None and 0.0 < before * low < 1.0:
        what = f"noise.pre_event is {before:g} s, shorter than a period of band.low"
        problems.error(where(("noise", "pre_event")), what, f"{1.0 / low:.4g} s at least")
    if window.count < FEWEST:
        what = f"window contains {window.count} samples at {window.interval:g} s"
        problems.error(where(("window",)), what, f"{FEWEST} at least")
    if pre_event is not None and before < FEWEST * window.interval:
        what = f"noise.pre_event is {before:g} s, shorter than {FEWEST} samples of the window"
        problems.error(where(("noise", "pre_event")), what, f"{FEWEST * window.interval:.4g} s at least")
    for seismogram in seismograms:
        time, place = seismogram.time, f"{inversion.records}: {seismogram.name}"
        interval = float(np.diff(time).max()) if len(time) > 1 else np.inf
        tolerance = 1e-6 * window.interval
        if time[0] > begin + tolerance or time[-1] < end - tolerance:
            what = f"is recorded from {time[0]:.4g} to {time[-1]:.4g} s"
            allowed = f"{begin:.4g} to {end:.4g} s" + (", window and noise.pre_event" if before else ", the window")
            problems.error(place, what, allowed, "Check origin_time, or change window.")
        elif (cut := _cut_motion(seismogram, begin, end, 1.0 / inversion.passband.high)) > CUT:
            what = f"is cut less than a period of band.high from the window, where it moves {cut:.2g} of its maximum"
            advice = "The low-pass is inaccurate there. Make window shorter, or use longer records."
            problems.warn(place, what, f"up to {CUT:g}", advice)
        if interval > 0.5 / (STOP * inversion.passband.high):
            what = f"has a sampling interval of {interval:.4g} s"
            problems.error(place, what, f"up to {0.5 / (STOP * inversion.passband.high):.4g} s for band.high")


def _cut_motion(seismogram: Seismogram, begin: float, end: float, period: float) -> float:
    """Return the motion at the ends of a record that lie less than a period outside of two times, over the largest motion."""
    time, size = seismogram.time, np.abs(seismogram.motion[np.flatnonzero(seismogram.recorded)])
    edges = [
        size[:, 0].max() if time[0] > begin - period else 0.0,
        size[:, -1].max() if time[-1] < end + period else 0.0,
    ]
    return float(max(edges) / size.max()) if size.max() > 0 else 0.0


def _check_length(
    inversion: InversionSettings, file: TensorFile, needed: float, where: Where, problems: Problems
) -> None:
    if needed > file.duration + 1e-6 * file.interval:
        what = f"window ends {needed:.4g} s after the first slip; the tensors of {file.path} have {file.duration:.4g} s"
        advice = f"Compute them with end_time: {file.centre + needed:.4g} s, or end window earlier."
        problems.error(where(("window",)), what, f"up to {file.duration:.4g} s after the first slip", advice)


def check_noise(plan: DataPlan, where: Where, problems: Problems) -> None:
    """Check the size of the noise of each channel; there is none in simulated motion before the first arrival."""
    settings = plan.inversion
    if not plan.channels:
        return
    data, noise = make_data(plan.seismograms, plan.window, settings.noise, settings.unit == "m")
    peaks = abs(data.reshape(len(plan.channels), -1)).max(1)
    for name, size, peak in zip(plan.channels, noise.scale * np.sqrt(noise.columns[:, 0]), peaks, strict=True):
        if not size > LEAST_NOISE * peak:
            what = f"the noise of {name} has a standard deviation of {size:.3g} m/s"
            allowed = f"above {LEAST_NOISE * peak:.3g} m/s"
            problems.error(where(("noise",)), what, allowed, "Add noise.level, or change window or noise.pre_event.")
