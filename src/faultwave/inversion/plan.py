"""Plan of an inversion: every problem at once, before anything is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems, collect_problems
from faultwave.base.projection import Projection
from faultwave.campaign.batches import PointFinder
from faultwave.campaign.plan import identified
from faultwave.campaign.synthesis import LARGEST_GAIN, STOP, Band
from faultwave.campaign.tensors import Site, TensorFile, read_sites
from faultwave.case.settings_file import Where
from faultwave.inversion.assembly import SourceModel, make_data, make_window, needed_end
from faultwave.inversion.fault import Fault, read_fault
from faultwave.inversion.observations import Seismogram, read_seismograms
from faultwave.inversion.processing import Window
from faultwave.inversion.settings import InversionSettings, SlipSettings
from faultwave.output.folder import check_folder

DENSE = 10_000
"""Largest number of data for which a Cholesky factor is the default."""
FEWEST = 10
"""Smallest number of samples of a channel, and of the noise before it."""

ABOVE = 1e3
"""Largest height of the hypocentre above the highest subfault [m]."""
CUT = 0.05
"""Motion at the end of a record near the window, over its largest motion, that matters to the low-pass."""
LEAST_NOISE = 1e-7
"""Smallest standard deviation of noise over the largest motion of its channel."""


@dataclass(frozen=True)
class InversionPlan:
    """Plan of an inversion.

    Attributes
    ----------
    inversion : InversionSettings
        Settings.
    projection : Projection
        Projection of the tensors.
    fault : Fault
        Subfaults.
    sources : SourceModel
        Sources of unit slip.
    seismograms : tuple of Seismogram
        Observations.
    window : Window
        Time axis of the data.
    every : int
        Interval of the data over that of the tensors.
    warnings : tuple of Problem
        Possible mistakes.
    """

    inversion: InversionSettings
    projection: Projection
    fault: Fault
    sources: SourceModel
    seismograms: tuple[Seismogram, ...]
    window: Window
    every: int
    warnings: tuple[Problem, ...]

    @property
    def channels(self) -> list[str]:
        """Names of all channels, station and axis."""
        return [
            f"{s.name} {axis}" for s in self.seismograms for axis, used in zip("xyz", s.recorded, strict=True) if used
        ]

    @property
    def samples(self) -> int:
        """Number of data."""
        return len(self.channels) * self.window.count

    @property
    def parameters(self) -> int:
        """Number of parameters."""
        return self.sources.windows * self.sources.potency.shape[1] * len(self.fault)

    @property
    def searched(self) -> tuple[str, ...]:
        """Settings that the evidence determines."""
        slip, noise = self.inversion.slip, self.inversion.noise
        chosen = {"amplitude": slip.amplitude, "correlation_length": slip.correlation_length, "noise": noise.scale}
        return tuple(name for name, value in chosen.items() if value == "auto")

    @property
    def dense(self) -> bool:
        """True if the solution is by a Cholesky factor."""
        solver = self.inversion.solver
        return self.samples <= DENSE if solver == "auto" else solver == "cholesky"

    def rows(self) -> list[tuple[str, str]]:
        """Return the rows of ``faultwave invert --dry-run``."""
        memory = (
            8.0 * self.samples**2 * (3 if self.searched else 2)
            if self.dense
            else 8.0 * self.samples * self.window.count
        )
        return [
            ("subfaults", f"{len(self.fault):,}, segments: {len(self.fault.segments)}"),
            ("parameters", f"{self.parameters:,} in {self.sources.windows} time windows"),
            ("data", f"{self.samples:,} samples of {len(self.channels)} channels at {self.window.interval:g} s"),
            ("stations", f"{len(self.seismograms)}"),
            ("estimated", ", ".join(self.searched) or "nothing but slip"),
            ("solver", "Cholesky factor" if self.dense else "conjugate gradients"),
            ("memory", f"{memory / 2**20:,.0f} MiB"),
            ("folder", str(self.inversion.results)),
        ]


def make_plan(inversion: InversionSettings, where: Where) -> InversionPlan:
    """Check an inversion and return its plan.

    Raises
    ------
    InputError
        With every problem found.
    """
    problems, sites = Problems(), tuple[Site, ...]()
    for number, path in enumerate(inversion.tensors):
        if not path.is_file():
            problems.error(
                where(("tensors", number)), f"no such file: {path}", advice="Compute it with: faultwave sgt."
            )
    with collect_problems(problems):
        sites = read_sites([path for path in inversion.tensors if path.is_file()])
    problems.extend(p for p in check_folder(inversion.results) if p.severity == "error")
    problems.raise_errors()
    projection = _projection(inversion, sites, where)
    _check_files(inversion, sites, where, problems)
    fault = read_fault(inversion.slip, projection, problems)
    seismograms = read_seismograms(inversion, sites, projection, where, problems)
    window, every = make_window(inversion, sites[0].file.interval)
    _check_records(inversion, seismograms, window, where, problems)
    if fault is None:
        problems.raise_errors()
        raise AssertionError
    _check_hypocentre(inversion, fault, projection, where, problems)
    sources = make_sources(inversion.slip, fault, projection)
    used = {s.file.path: s.file for s in sites}.values()
    for file in used:
        _check_points(inversion, sources, file, where, problems)
        _check_length(inversion, file, needed_end(window, sources), where, problems)
    found = InversionPlan(inversion, projection, fault, sources, tuple(seismograms), window, every, problems.warnings)
    _check_solver(found, where, problems)
    problems.raise_errors()
    _check_noise(found, where, problems)
    problems.raise_errors()
    return found


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


def make_sources(slip: SlipSettings, fault: Fault, projection: Projection) -> SourceModel:
    """Return the sources of unit slip on a fault."""
    potency = fault.column("potency")[:, : 2 if slip.across else 1]
    onset = fault.onsets(slip, projection)
    return SourceModel(
        fault.column("location"), potency, fault.column("modulus"), onset, slip.windows, slip.window_duration
    )


def _check_hypocentre(
    inversion: InversionSettings, fault: Fault, projection: Projection, where: Where, problems: Problems
) -> None:
    """Check that the hypocentre is near the fault: a wrong sign of its depth or longitude is a common mistake."""
    z = float(np.asarray(inversion.slip.hypocentre, float)[2])
    if z > (top := float(fault.column("location")[:, 2].max())) + ABOVE:
        what = f"slip.hypocentre is {z - top:,.0f} m above the highest subfault"
        problems.error(where(("slip", "hypocentre")), what, f"up to {ABOVE:,.0f} m", "z is negative below sea level.")
    nearest, largest = float(fault.distances(inversion.slip, projection).min()), max(1e3, *fault.extent())
    if not nearest <= largest:
        what = f"slip.hypocentre is {nearest:,.0f} m away from the nearest subfault"
        advice = "It is longitude, latitude and z, which is negative below sea level."
        problems.error(where(("slip", "hypocentre")), what, f"up to {largest:,.0f} m", advice)


def _check_files(inversion: InversionSettings, sites: Sequence[Site], where: Where, problems: Problems) -> None:
    """Check the band against sampling and forces of the tensors, and equal intervals."""
    high, first = inversion.band.high, sites[0].file
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
    before = inversion.noise.pre_event or 0.0
    begin, end = window.begin - before, window.begin + (window.count - 1) * window.interval
    low = inversion.band.low
    if low is not None and (end - window.begin) * low < 1.0:
        what = f"window is {end - window.begin:.4g} s long, shorter than a period of band.low"
        problems.error(where(("window",)), what, f"{1.0 / low:.4g} s at least", "Increase band.low, or omit it.")
    if low is not None and 0.0 < before * low < 1.0:
        what = f"noise.pre_event is {before:g} s, shorter than a period of band.low"
        problems.error(where(("noise", "pre_event")), what, f"{1.0 / low:.4g} s at least")
    if window.count < FEWEST:
        what = f"window contains {window.count} samples at {window.interval:g} s"
        problems.error(where(("window",)), what, f"{FEWEST} at least")
    if inversion.noise.pre_event is not None and before < FEWEST * window.interval:
        what = f"noise.pre_event is {before:g} s, shorter than {FEWEST} samples of the window"
        problems.error(where(("noise", "pre_event")), what, f"{FEWEST * window.interval:.4g} s at least")
    for seismogram in seismograms:
        time, place = seismogram.time, f"{inversion.data}: {seismogram.name}"
        interval = float(np.diff(time).max()) if len(time) > 1 else np.inf
        tolerance = 1e-6 * window.interval
        if time[0] > begin + tolerance or time[-1] < end - tolerance:
            what = f"is recorded from {time[0]:.4g} to {time[-1]:.4g} s"
            allowed = f"{begin:.4g} to {end:.4g} s" + (", window and noise.pre_event" if before else ", the window")
            problems.error(place, what, allowed, "Check origin_time, or change window.")
        elif (cut := _cut_motion(seismogram, begin, end, 1.0 / inversion.band.high)) > CUT:
            what = f"is cut less than a period of band.high from the window, where it moves {cut:.2g} of its maximum"
            advice = "The low-pass is inaccurate there. Make window shorter, or use longer records."
            problems.warn(place, what, f"up to {CUT:g}", advice)
        if interval > 0.5 / (STOP * inversion.band.high):
            what = f"has a sampling interval of {interval:.4g} s"
            problems.error(place, what, f"up to {0.5 / (STOP * inversion.band.high):.4g} s for band.high")


def _cut_motion(seismogram: Seismogram, begin: float, end: float, period: float) -> float:
    """Return the motion at the ends of a record that lie less than a period outside of two times, over the largest motion."""
    time, size = seismogram.time, np.abs(seismogram.motion[np.flatnonzero(seismogram.recorded)])
    edges = [
        size[:, 0].max() if time[0] > begin - period else 0.0,
        size[:, -1].max() if time[-1] < end + period else 0.0,
    ]
    return float(max(edges) / size.max()) if size.max() > 0 else 0.0


def _check_points(
    inversion: InversionSettings, sources: SourceModel, file: TensorFile, where: Where, problems: Problems
) -> None:
    finder = PointFinder(file)
    _, distance = finder.nearest(sources.location)
    if (far := distance > inversion.nearest).any():
        what = f"{far.sum():,} subfaults are up to {distance.max():.4g} m away from the points of {file.path}"
        advice = "Compute the tensors at the subfaults, or increase nearest."
        problems.error(where(("slip", "faults")), what, f"up to {inversion.nearest:g} m (nearest)", advice)
    if file.lame is None and np.isnan(sources.modulus).any():
        what = f"subfaults have no vs and density, and {file.path} does not contain the material"
        problems.error(where(("slip", "faults")), what, advice="Compute the tensors with this version.")


def _check_length(
    inversion: InversionSettings, file: TensorFile, needed: float, where: Where, problems: Problems
) -> None:
    if needed > file.duration + 1e-6 * file.interval:
        what = f"window ends {needed:.4g} s after the first slip; the tensors of {file.path} have {file.duration:.4g} s"
        advice = f"Compute them with end_time: {file.centre + needed:.4g} s, or end window earlier."
        problems.error(where(("window",)), what, f"up to {file.duration:.4g} s after the first slip", advice)


def _check_noise(plan: InversionPlan, where: Where, problems: Problems) -> None:
    """Check the size of the noise of each channel; there is none in simulated motion before the first arrival."""
    settings = plan.inversion
    data, noise = make_data(plan.seismograms, plan.window, settings.noise, settings.unit == "m")
    peaks = abs(data.reshape(len(plan.channels), -1)).max(1)
    for name, size, peak in zip(plan.channels, noise.scale * np.sqrt(noise.columns[:, 0]), peaks, strict=True):
        if not size > LEAST_NOISE * peak:
            what = f"the noise of {name} has a standard deviation of {size:.3g} m/s"
            allowed = f"above {LEAST_NOISE * peak:.3g} m/s"
            problems.error(where(("noise",)), what, allowed, "Add noise.level, or change window or noise.pre_event.")


def _check_solver(plan: InversionPlan, where: Where, problems: Problems) -> None:
    extent, lengths = plan.fault.extent(), plan.inversion.slip.correlation_length
    if plan.searched and not plan.dense:
        what = f"{', '.join(plan.searched)} cannot be estimated from {plan.samples:,} samples with conjugate gradients"
        problems.error(where(("solver",)), what, "cholesky", "Set numbers instead of auto, or use fewer data.")
    if lengths != "auto" and max(lengths) > 20 * max(*extent, 1.0):
        what = f"slip.correlation_length is {max(lengths):.4g} m, far larger than the fault"
        problems.error(where(("slip", "correlation_length")), what, f"up to {20 * max(*extent, 1.0):.4g} m")
