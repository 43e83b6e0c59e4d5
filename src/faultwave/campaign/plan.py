"""Plan of a campaign: every problem at once, sizes, and a forecast, before anything is computed."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems, collect_problems
from faultwave.base.files.paths import existing_folder
from faultwave.base.processes.host import machine_memory
from faultwave.base.progress import duration
from faultwave.base.projection import Projection
from faultwave.base.types import Settings
from faultwave.campaign.batches import TOGETHER, PointFinder
from faultwave.campaign.cybershake import check_names
from faultwave.campaign.rupture_checks import Repeated, check_magnitude, check_rupture
from faultwave.campaign.ruptures import Variation, read_ruptures
from faultwave.campaign.settings import CampaignSettings
from faultwave.campaign.site_files import CACHE, SITES, is_complete, site_path
from faultwave.campaign.sources import RuptureSources, SourceReader, moment_magnitude
from faultwave.campaign.synthesis import (
    Band,
    Batch,
    FrequencyGrid,
    SlipSpectra,
    make_grid,
    seismograms,
    start_filter,
)
from faultwave.campaign.tensor_checks import check_ends, check_times
from faultwave.campaign.tensors import Site, TensorFile, reach, read_sites
from faultwave.case.settings_file import Where
from faultwave.observe.motions.rotated import rotated_measures
from faultwave.output.folder import check_folder
from faultwave.output.manifest import digest

MEMORY_SHARE = 0.9
"""Largest share of the memory of the machine that a site may take."""
SHOWN = 5
METHOD = 1
"""Number of the method of computation; a change of results raises it, so that sites of earlier versions are computed again."""
TRIED_POINTS, TRIED_SAMPLES = 64, 32
"""Size of the synthetic batch from which the time of a campaign is predicted."""


@dataclass(frozen=True)
class Event:
    """Properties of a rupture that are known before its ground motion.

    Attributes
    ----------
    key : str
        Identity of its file, projection and hypocentre.
    magnitude : float
        Moment magnitude.
    begin, end : float
        Times at which the rupture begins and ends [s].
    sources : int
        Number of its point sources.
    """

    key: str
    magnitude: float
    begin: float
    end: float
    sources: int


@dataclass(frozen=True)
class CampaignPlan:
    """Plan of a campaign.

    Attributes
    ----------
    campaign : CampaignSettings
        Settings.
    projection : Projection
        Projection of the sites.
    reader : SourceReader
        Reader of the ruptures.
    variations : tuple of Variation
        Ruptures.
    events : tuple of Event
        Properties of the ruptures.
    sites : tuple of Site
        Sites.
    used : dict of str to ndarray
        Numbers of the points that ruptures use, ascending, by the path of the file of tensors.
    digests : tuple of str
        Identity of the results of each site.
    missing : tuple of int
        Sites that have to be computed.
    warnings : tuple of Problem
        Possible mistakes.
    """

    campaign: CampaignSettings
    projection: Projection
    reader: SourceReader
    variations: tuple[Variation, ...]
    events: tuple[Event, ...]
    sites: tuple[Site, ...]
    used: dict[str, np.ndarray]
    digests: tuple[str, ...]
    missing: tuple[int, ...]
    warnings: tuple[Problem, ...]

    def samples(self, site: Site) -> int:
        """Return the number of samples of the seismograms of a site."""
        return wanted_samples(self.campaign, site.file)

    def needed(self, site: Site) -> int:
        """Return the number of samples of strain on which the seismograms of a site depend."""
        return needed_samples(site.file, self.samples(site), min(e.begin for e in self.events))

    def reach(self, site: Site) -> int:
        """Return the number of samples over which the low-pass spreads motion at a site."""
        return reach(site.file.interval, self.campaign.max_frequency)

    def grid(self, site: Site) -> FrequencyGrid:
        """Return the frequencies of the synthesis at a site."""
        file = site.file
        last = max(0.0, max(e.end for e in self.events))
        after = self.reach(site)
        length = self.needed(site) + after + int(np.ceil(last / file.interval))
        return make_grid(length + after, file.interval, self.campaign.max_frequency)

    def band(self, site: Site) -> Band:
        """Return the correction of the smoothing of the forces of a site."""
        return Band(site.file.sigma, self.campaign.max_frequency)

    @property
    def rates(self) -> np.ndarray:
        """Annual rate (n,) of each event."""
        return np.array([v.rate for v in self.variations])

    @property
    def magnitudes(self) -> np.ndarray:
        """Magnitude (n,) of each event."""
        return np.array([e.magnitude for e in self.events])

    def memory(self, site: Site) -> float:
        """Return the memory of a site [bytes]."""
        points = len(self.used[str(site.file.path)])
        spectra = 8.0 * 18 * points * self.grid(site).count
        batch = TOGETHER * max(e.sources for e in self.events) * 4.0 * 200
        stored = 4.0 * 3 * self.samples(site) * len(self.events) if self.campaign.seismograms else 0.0
        return spectra + batch + stored

    def disk(self, site: Site) -> float:
        """Return the size of the results of a site [bytes]."""
        components = 3 * self.campaign.seismograms + 2 * self.campaign.cybershake
        numbers = len(self.campaign.levels) + 1 + components * self.samples(site)
        return 4.0 * len(self.events) * numbers

    def seconds(self) -> float:
        """Return the predicted time of all missing sites on one core [s], from a small batch that is computed now."""
        return sum(_time_of_site(self, self.sites[number]) for number in self.missing)

    def rows(self) -> list[tuple[str, str]]:
        """Return the rows of ``faultwave campaign --dry-run``."""
        first = self.sites[0]
        points, grid = len(self.used[str(first.file.path)]), self.grid(first)
        many = len(self.missing) * len(self.events)
        ruptures, magnitudes = len({v.rupture for v in self.variations}), self.magnitudes
        sources = sum(e.sources for e in self.events) / len(self.events)
        found = [
            ("sites", f"{len(self.sites):,}, {len(self.missing):,} to compute"),
            ("ruptures", f"{ruptures:,} with {len(self.events):,} variations, {sources:,.0f} sources each"),
            ("magnitudes", f"{magnitudes.min():.2f} to {magnitudes.max():.2f}"),
            ("annual rate of all", f"{self.rates.sum():.4g}"),
            (
                "seismograms",
                f"{many:,} of three components, {self.samples(first):,} samples at {first.file.interval:g} s",
            ),
            ("frequencies", f"{grid.count:,} up to {grid.frequency[-1]:.4g} Hz"),
            ("measures", f"{', '.join(self.campaign.levels)}, {self.campaign.component}"),
            ("memory", f"{max(map(self.memory, self.sites)) / 2**20:,.0f} MiB, {points:,} points of a site"),
            ("results", f"{sum(self.disk(self.sites[i]) for i in self.missing) / 2**20:,.3g} MiB"),
            ("folder", str(self.campaign.results)),
        ]
        if self.missing:
            found.append(("time", f"about {duration(self.seconds())} on one core"))
        return found

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:{width}}  {value}" for name, value in rows)


def wanted_samples(campaign: CampaignSettings, file: TensorFile) -> int:
    """Return the number of samples of the seismograms of a file."""
    return int(min(campaign.duration or file.duration, file.duration) / file.interval + 1e-6) + 1


def needed_samples(file: TensorFile, samples: int, begin: float) -> int:
    """Return the number of samples of strain on which seismograms depend, where the first rupture begins at ``begin`` [s]."""
    last = file.centre - file.start + (samples - 1) * file.interval - min(begin, 0.0)
    return min(file.samples, int(np.ceil(last / file.interval - 1e-6)) + 1)


def make_plan(
    campaign: CampaignSettings, where: Where, say: Callable[[str], None] = lambda _: None, write_cache: bool = False
) -> CampaignPlan:
    """Check a campaign and return its plan; all files of ruptures are read.

    Parameters
    ----------
    campaign : CampaignSettings
        Settings.
    where : callable
        Place of a setting.
    say : callable
        Receives progress messages.
    write_cache : bool
        If True, ruptures that were read are cached in the folder of the results.

    Raises
    ------
    InputError
        With every problem found.
    """
    problems, sites, variations = Problems(), tuple[Site, ...](), tuple[Variation, ...]()
    for number, path in enumerate(campaign.tensors):
        if not path.is_file():
            what = f"no such file: {path}"
            advice = (
                "Compute it with: faultwave sgt. `faultwave campaign --points FILE` writes the points that it needs."
            )
            problems.error(where(("tensors", number)), what, advice=advice)
    with collect_problems(problems):
        sites = read_sites([path for path in campaign.tensors if path.is_file()])
    with collect_problems(problems):
        variations = read_ruptures(campaign.ruptures)
    problems.extend(p for p in check_folder(campaign.results) if p.severity == "error")
    problems.raise_errors()
    settings = _projection(campaign, sites, where, problems)
    problems.raise_errors()
    projection, identity = identified(settings)
    reader = SourceReader(projection, identity, campaign.results / CACHE, write_cache)
    check_times(campaign, sites, where, problems)
    if campaign.cybershake:
        check_names([s.name for s in sites], where(("cybershake",)), problems)
    events, used = _read_events(campaign, (sites, variations), reader, problems, say)
    problems.raise_errors()
    digests = tuple(_identity(campaign, site, variations, events) for site in sites)
    missing = tuple(s.number for s in sites if not is_complete(site_path(campaign.results, s.name), digests[s.number]))
    begin = min(e.begin for e in events)
    absent = [sites[i] for i in missing]
    needed = [needed_samples(s.file, wanted_samples(campaign, s.file), begin) for s in absent]
    check_ends(campaign.max_frequency, absent, needed, used, problems)
    found = CampaignPlan(
        campaign, projection, reader, variations, events, sites, used, digests, missing, problems.warnings
    )
    _check_sizes(found, problems)
    problems.raise_errors()
    return found


def identified(settings: Settings) -> tuple[Projection, str]:
    """Return the projection of settings, and a text that identifies it."""
    return Projection(settings["crs"], settings["origin"], settings["azimuth"]), json.dumps(settings, sort_keys=True)


def _projection(campaign: CampaignSettings, sites: Sequence[Site], where: Where, problems: Problems) -> Settings:
    """Return the settings of the projection of all files, or of the campaign."""
    stated = None if campaign.projection is None else campaign.projection.model_dump(mode="json")
    known = {s.file.path: s.file.projection for s in sites}
    for path, found in known.items():
        if found is None and stated is None:
            advice = "Add projection with crs, origin and azimuth of the case of the tensors."
            problems.error(str(path), "does not contain the projection of its case", advice=advice)
        elif found is not None and stated is not None and dict(found) != stated:
            problems.error(where(("projection",)), f"projection differs from that of {path}", json.dumps(found))
        if stated is None and found is not None:
            stated = dict(found)
    return stated or {}


def _read_events(
    campaign: CampaignSettings, inputs: tuple[Sequence[Site], Sequence[Variation]], reader: SourceReader, problems: Problems,
    say: Callable[[str], None],
) -> tuple[tuple[Event, ...], dict[str, np.ndarray]]:  # fmt: skip
    """Read all ruptures, check their places, and return their properties and the points that they use of each file."""
    sites, variations = inputs
    finders = {str(s.file.path): PointFinder(s.file) for s in sites}
    used = {path: np.zeros(len(f.file.points), bool) for path, f in finders.items()}
    events, far, repeated = list[Event](), dict[str, list[tuple[Variation, int, float]]](), Repeated()
    until = min(min(campaign.duration or s.file.duration, s.file.duration) for s in sites)
    for number, variation in enumerate(variations):
        if number % 1000 == 0:
            say(f"reading rupture {number + 1:,} of {len(variations):,}")
        try:
            sources = reader.variation(variation, problems)
        except InputError as error:
            problems.extend(error.problems)
            continue
        lame = None
        for path, finder in finders.items():
            points, distance = finder.nearest(sources.location)
            used[path][points] = True
            lame = finder.lame(points)
            if distance.max() > campaign.nearest:
                outside = len(np.unique(sources.location[distance > campaign.nearest], axis=0))
                far.setdefault(path, []).append((variation, outside, float(distance.max())))
            if lame is None and sources.needs_material:
                what = f"{variation.path} has no vs and density, or opens, and {path} does not contain the material"
                problems.error(variation.where, what, advice="Compute the tensors with this version.")
        check_rupture(variation, sources, reader.projection, until, repeated)
        events.append(_event(variation, sources, lame, reader, repeated))
    repeated.report(problems)
    for path, found in far.items():
        _report_far(path, found, campaign.nearest, problems)
    return tuple(events), {path: np.flatnonzero(mask) for path, mask in used.items()}


def _report_far(path: str, found: list[tuple[Variation, int, float]], allowed: float, problems: Problems) -> None:
    variation, outside, _ = found[0]
    largest = max(distance for _, _, distance in found)
    what = (
        f"{outside:,} subfaults of {variation.path.name} are outside of the points of {path}"
        + (f", and subfaults of {len(found) - 1:,} more variations" if len(found) > 1 else "")
        + f"; the largest distance to a point is {largest:.4g} m"
    )
    advice = "Compute the tensors at the points of `faultwave campaign --points FILE`, or increase nearest."
    problems.error(variation.where, what, f"up to {allowed:g} m (nearest)", advice)


def _event(
    variation: Variation, sources: RuptureSources, lame: np.ndarray | None, reader: SourceReader, repeated: Repeated
) -> Event:
    moment = sources.seismic_moment(lame)
    check_magnitude(variation, moment, repeated)
    magnitude = moment_magnitude(moment) if variation.magnitude is None else variation.magnitude
    key = reader.key(variation.path)
    if variation.hypocentre is not None:
        key += str(astuple(variation.hypocentre))
    return Event(key, magnitude, float(sources.onset.min()), sources.end, len(sources))


def _identity(campaign: CampaignSettings, site: Site, variations: Sequence[Variation], events: Sequence[Event]) -> str:
    """Return the identity of the results of a site: all that determines them."""
    chosen = campaign.model_dump(
        mode="json", include={"nearest", "duration", "max_frequency", "component", "seismograms"}
    )
    ruptures = [e.key for e in events]
    chosen["method"] = METHOD
    return digest({**chosen, "measures": list(campaign.levels), "ruptures": ruptures, **site.file.identity(site.index)})


def _check_sizes(plan: CampaignPlan, problems: Problems) -> None:
    """Check that memory and disk suffice."""
    if not plan.missing:
        return
    largest, memory = max(plan.memory(plan.sites[i]) for i in plan.missing), machine_memory()
    if memory is not None and largest > MEMORY_SHARE * memory:
        what = (
            f"the spectra of a site need {largest / 2**30:.3g} GiB, this machine has {memory / 2**30:.3g} GiB of memory"
        )
        advice = "Set max_frequency or a shorter duration, or divide the ruptures among campaigns."
        problems.error(str(plan.campaign.ruptures), what, advice=advice)
    place = existing_folder(plan.campaign.results)
    needed, free = sum(plan.disk(plan.sites[i]) for i in plan.missing), shutil.disk_usage(place).free
    if needed > free:
        what = f"the files of {SITES} need {needed / 2**30:.3g} GiB, the disk has {free / 2**30:.3g} GiB"
        problems.error(str(plan.campaign.results), what, advice="Choose another folder, or set seismograms: false.")


def _time_of_site(plan: CampaignPlan, site: Site) -> float:
    """Return the time of the seismograms and measures of a site [s], extrapolated from a small batch."""
    grid, rng = plan.grid(site), np.random.default_rng(0)
    tensors = np.ones((TRIED_POINTS, 6, 3 * grid.count), np.complex64)
    shape = (TRIED_POINTS, min(TOGETHER, len(plan.events)))
    batch = Batch(
        np.arange(TRIED_POINTS), rng.standard_normal((*shape, 6)), rng.random((*shape, TRIED_SAMPLES), np.float32),
        rng.random(shape), np.full(shape, site.file.interval),
    )  # fmt: skip
    slip, filter_ = SlipSpectra(grid), start_filter(grid, plan.band(site), site.file.centre - site.file.start)
    seismograms(tensors, batch, slip, filter_, plan.samples(site))  # loads libraries and kernels
    begun = time.perf_counter()
    found = seismograms(tensors, batch, slip, filter_, plan.samples(site))
    synthesised = time.perf_counter()
    rotated_measures(site.file.interval, found[:, :2], tuple(plan.campaign.levels), plan.campaign.percentile)
    measured = time.perf_counter()
    sources = sum(e.sources for e in plan.events)
    each = (synthesised - begun) / (TRIED_POINTS * shape[1])
    return each * sources + (measured - synthesised) / shape[1] * len(plan.events)
