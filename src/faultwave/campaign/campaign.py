"""Public class of campaigns: plan, computation of the missing sites, and hazard."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems, collect_problems
from faultwave.base.progress import duration
from faultwave.campaign import cybershake
from faultwave.campaign.batches import PointFinder, batches
from faultwave.campaign.plan import CampaignPlan, identified, make_plan
from faultwave.campaign.ruptures import read_ruptures
from faultwave.campaign.settings import load_campaign
from faultwave.campaign.site_files import CACHE, SiteResults, claimed, is_complete, read_site, site_path, write_site
from faultwave.campaign.sources import SourceReader
from faultwave.campaign.synthesis import SlipSpectra, seismograms, start_filter
from faultwave.campaign.tables import write_tables
from faultwave.campaign.tensors import Site, load_spectra
from faultwave.observe.motions.rotated import rotated_measures
from faultwave.output.atomic import atomic_text

POINT_DIGITS = 3
"""Number of digits of coordinates of points after the metre."""


@dataclass(frozen=True)
class CampaignProgress:
    """Progress of a campaign.

    Attributes
    ----------
    site : str
        Name of the site.
    done, total : int
        Seismograms computed now, and to compute.
    eta : float
        Wall-clock time left [s].
    """

    site: str
    done: int
    total: int
    eta: float

    def __str__(self) -> str:
        return f"{self.done:,} of {self.total:,} seismograms, site {self.site}, {duration(self.eta)} left"


class Campaign:
    """Ground motion and hazard at many sites from stored strain Green tensors and many ruptures.

    Parameters
    ----------
    source : str, Path or dict
        Campaign file (YAML), or its contents.
    folder : str or Path, optional
        Folder of the results instead of the one of the file.

    Raises
    ------
    InputError
        With every problem of the file.
    """

    def __init__(self, source: str | Path | Mapping[str, object], folder: str | Path | None = None):
        self.settings, self._where = load_campaign(source, folder)

    def __repr__(self) -> str:
        return f"<Campaign '{self.settings.title or self.folder.name}' in {self.folder}>"

    @property
    def folder(self) -> Path:
        """Folder of the results."""
        return self.settings.results

    def plan(self, say: Callable[[str], None] = lambda _: None, write_cache: bool = False) -> CampaignPlan:
        """Return the number of sites to compute, sizes and a forecast.

        Parameters
        ----------
        say : callable
            Receives progress messages while the ruptures are read.
        write_cache : bool
            If True, ruptures that were read are cached in the folder of the results; by default nothing is written.

        Raises
        ------
        InputError
            With every problem found.
        """
        return make_plan(self.settings, self._where, say, write_cache)

    def check(self) -> Problems:
        """Return every problem of the campaign; nothing is written."""
        problems = Problems()
        try:
            problems.extend(self.plan().warnings)
        except InputError as error:
            problems.extend(error.problems)
        return problems

    def run(
        self, progress: Callable[[CampaignProgress], None] | None = None, plan: CampaignPlan | None = None
    ) -> list[Path]:
        """Compute all missing sites, write the tables of the hazard, and return their paths.

        Several processes may run the same campaign: each computes the sites that no other has claimed, and the last one writes
        the tables.

        Parameters
        ----------
        progress : callable, optional
            Receives the progress after every batch of ruptures.
        plan : CampaignPlan, optional
            Plan of this campaign if it is known.

        Returns
        -------
        list of Path
            Tables and seismograms of CyberShake; empty if other processes still compute sites.

        Raises
        ------
        InputError
            With every problem found, before a site is computed.
        RunError
            If results cannot be written.
        """
        plan = plan or self.plan(write_cache=True)
        report = _Report(len(plan.missing) * len(plan.events), progress)
        for number in plan.missing:
            site = plan.sites[number]
            path = site_path(self.folder, site.name)
            with claimed(path) as mine:
                if mine and not is_complete(path, plan.digests[number]):
                    found = compute_site(plan, site, report)
                    write_site(path, found, plan.digests[number], plan.campaign.component)
                else:
                    report.skip(len(plan.events))
        paths = [site_path(self.folder, s.name) for s in plan.sites]
        if not all(is_complete(p, d) for p, d in zip(paths, plan.digests, strict=True)):
            return []
        tables = write_tables(plan, [read_site(p) for p in paths])
        if not plan.campaign.cybershake:
            cybershake.remove_seismograms(self.folder)
            return tables
        results = (read_site(path, seismograms=True) for path in paths)
        frequency = max(plan.band(site).highest for site in plan.sites)
        return tables + cybershake.write_seismograms(self.folder, plan.variations, plan.projection, frequency, results)

    def site(self, name: str, seismograms: bool = False) -> SiteResults:
        """Return the results of a site.

        Parameters
        ----------
        name : str
            Name of the site.
        seismograms : bool
            If True, seismograms are read as well.

        Raises
        ------
        InputError
            If the site has not been computed, or with other settings or files.
        """
        path = site_path(self.folder, name)
        if not path.is_file():
            known = ", ".join(sorted(p.stem for p in path.parent.glob("*.nc"))) or "none yet"
            raise InputError(Problem(str(path), "does not exist", known, "Run the campaign first."))
        plan = self.plan()
        digests = {s.name: plan.digests[s.number] for s in plan.sites}
        if name in digests and not is_complete(path, digests[name]):
            what = "belongs to other settings or files than those of the campaign"
            raise InputError(Problem(str(path), what, advice="Run the campaign again."))
        return read_site(path, seismograms)

    def write_points(self, path: str | Path) -> int:
        """Write the places of all subfaults of the ruptures, each once, as the file of ``faultwave sgt --points``.

        The tensors of the campaign need not exist yet.

        Parameters
        ----------
        path : str or Path
            File to write: x y z in metres in each line.

        Returns
        -------
        int
            Number of points.

        Raises
        ------
        InputError
            With every problem of the ruptures, and if the campaign has no projection.
        """
        problems, given, places = Problems(), self.settings.projection, list[np.ndarray]()
        if given is None:
            advice = "Add projection with crs, origin and azimuth of the case of the tensors."
            raise InputError(Problem(self._where(("projection",)), "projection is missing", advice=advice))
        reader = SourceReader(*identified(given.model_dump(mode="json")), self.folder / CACHE)
        for variation in read_ruptures(self.settings.ruptures):
            with collect_problems(problems):
                places.append(np.unique(reader.read(variation.path).location.round(POINT_DIGITS), axis=0))
        problems.raise_errors()
        found = np.unique(np.concatenate(places), axis=0)
        with atomic_text(path) as file:
            np.savetxt(file, found, fmt=f"%.{POINT_DIGITS}f")
        return len(found)


def compute_site(plan: CampaignPlan, site: Site, report: _Report) -> SiteResults:
    """Return the ground motion of all ruptures at a site; its tensors are read once."""
    campaign, file, used = plan.campaign, site.file, plan.used[str(site.file.path)]
    grid, samples, names = plan.grid(site), plan.samples(site), tuple(plan.campaign.levels)
    tensors = load_spectra(site, used, grid, plan.needed(site), plan.reach(site))
    slip, filter_ = SlipSpectra(grid), start_filter(grid, plan.band(site), file.centre - file.start)
    finder, count = PointFinder(file), len(plan.events)
    measures, distance = np.zeros((count, len(names))), np.zeros(count)
    stored = np.zeros((count, 3, samples), np.float32) if campaign.seismograms else None
    for events, batch in batches(plan.variations, plan.reader, finder, used):
        velocity = seismograms(tensors, batch, slip, filter_, samples)
        measures[events] = rotated_measures(file.interval, velocity[:, :2], names, campaign.percentile)
        apart = np.linalg.norm(file.points[used[batch.point]] - site.location, axis=1)
        distance[events] = np.where(batch.moment.any(2), apart[:, None], np.inf).min(0)
        if stored is not None:
            stored[events] = velocity
        report.add(site.name, len(events))
    geographic = plan.projection.to_continuous(site.location[None, :2])[0]
    found = dict(zip(names, measures.T, strict=True))
    return SiteResults(site.name, site.location, geographic, found, distance, file.interval, stored)


class _Report:
    """Count of computed seismograms, with the time left from their rate."""

    def __init__(self, total: int, progress: Callable[[CampaignProgress], None] | None):
        self.total, self.progress, self.done, self.begun = total, progress, 0, time.perf_counter()

    def add(self, site: str, count: int) -> None:
        """Count seismograms of a site."""
        self.done += count
        if self.progress is not None:
            spent = time.perf_counter() - self.begun
            self.progress(CampaignProgress(site, self.done, self.total, spent / self.done * (self.total - self.done)))

    def skip(self, count: int) -> None:
        """Leave out seismograms that another process computes."""
        self.total -= count
