"""Tables of a campaign as CSV: sites, events, ground motion fields, hazard curves and disaggregations.

Hazard curves, sites and ground motion fields have the columns of OpenQuake's files: accelerations in g, velocities in cm/s,
displacements in cm. Other tables are in SI units unless the header states another.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from faultwave.campaign.hazard import (
    Contributions,
    contributions,
    exceedance_rates,
    level_at_rate,
    logarithmic_moments,
    probability,
    rate_of,
)
from faultwave.campaign.plan import CampaignPlan
from faultwave.campaign.settings import Disaggregation, level_to_si, unit_of, year_text
from faultwave.campaign.site_files import SiteResults
from faultwave.observe.motions.measures import GRAVITY
from faultwave.output.atomic import atomic_text, remove

CURVES, RATES, DISAGGREGATION, SHAKING = "hazard_curve", "hazard_rates", "disaggregation", "shaking"
EARLIER = (
    f"{CURVES}-mean-*y.csv",
    f"{RATES}-*.csv",
    f"{DISAGGREGATION}-*.csv",
    "hazard_curves.png",
    f"{SHAKING}-*.png",
)
"""Names of the tables that depend on the settings, and of their pictures."""
SCALE = {"m/s^2": (1.0 / GRAVITY, "g"), "m/s": (100.0, "cm/s"), "m": (100.0, "cm")}
"""Factor from SI to OpenQuake's unit, and that unit."""


def scale_of(measure: str) -> tuple[float, str]:
    """Return the factor from SI to OpenQuake's unit of a measure, and that unit."""
    unit = unit_of(measure)
    return SCALE.get(unit, (1.0, unit)) if measure.startswith(("PGA", "PGV", "PGD", "SA")) else (1.0, unit)


def write_tables(plan: CampaignPlan, sites: Sequence[SiteResults]) -> list[Path]:
    """Write all tables into the folder of a campaign, remove tables of earlier settings, and return the paths."""
    folder = plan.campaign.results
    paths = [_sites(folder, sites), _events(folder, plan), _fields(folder, plan, sites), _shaking(folder, plan, sites)]
    for measure, levels in plan.campaign.levels.items():
        rates = [exceedance_rates(site.measures[measure], plan.rates, levels) for site in sites]
        paths.append(_rates(folder, sites, measure, levels, rates))
        for years in plan.campaign.years:
            paths.append(_curves(folder, sites, measure, levels, [probability(r, years) for r in rates], years))
    if plan.campaign.disaggregation:
        paths += _disaggregations(folder, plan, sites)
    for pattern in EARLIER:
        for path in set(folder.glob(pattern)).difference(paths):
            remove(path)
    return paths


def _save(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]], first: Sequence[str] = ()) -> Path:
    with atomic_text(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        if first:
            writer.writerow(first)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def _number(value: float) -> str:
    return f"{value:.6g}"


def _place(site: SiteResults) -> list[str]:
    """Return longitude, latitude [deg] and depth [km]."""
    return [f"{site.geographic[0]:.5f}", f"{site.geographic[1]:.5f}", f"{0.0 - 1e-3 * site.location[2]:.5f}"]


def _sites(folder: Path, sites: Sequence[SiteResults]) -> Path:
    rows = [[i, *_place(s), s.name, *(f"{x:.3f}" for x in s.location)] for i, s in enumerate(sites)]
    return _save(folder / "sites.csv", ["site_id", "lon", "lat", "depth", "name", "x", "y", "z"], rows)


def _events(folder: Path, plan: CampaignPlan) -> Path:
    rows = [
        [v.event, v.rupture, v.path.name, f"{e.magnitude:.3f}", f"{v.rate:.9g}"]
        for v, e in zip(plan.variations, plan.events, strict=True)
    ]
    return _save(folder / "events.csv", ["event_id", "rupture", "file", "magnitude", "annual_rate"], rows)


def _fields(folder: Path, plan: CampaignPlan, sites: Sequence[SiteResults]) -> Path:
    """Write the measures of every event at every site."""
    names = list(plan.campaign.levels)
    factors = [scale_of(name)[0] for name in names]
    rows = (
        [event, number, *(_number(f * site.measures[n][event]) for n, f in zip(names, factors, strict=True))]
        for event in range(len(plan.events))
        for number, site in enumerate(sites)
    )
    return _save(folder / "gmfs.csv", ["event_id", "site_id", *(f"gmv_{name}" for name in names)], rows)


def _shaking(folder: Path, plan: CampaignPlan, sites: Sequence[SiteResults]) -> Path:
    """Write the geometric mean and the standard deviation of each measure over the variations of each rupture."""
    names, members = list(plan.campaign.levels), dict[str, list[int]]()
    for variation in plan.variations:
        members.setdefault(variation.rupture, []).append(variation.event)
    rows = []
    for rupture, events in members.items():
        for number, site in enumerate(sites):
            row: list[object] = [rupture, number, *_place(site)[:2], len(events)]
            for name in names:
                mean, deviation = logarithmic_moments(site.measures[name][events], plan.rates[events])
                row += [_number(scale_of(name)[0] * mean), "" if np.isnan(deviation) else _number(deviation)]
            rows.append(row)
    columns = [column for name in names for column in (f"gmv_{name}", f"sigma_{name}")]
    return _save(folder / f"{SHAKING}.csv", ["rupture", "site_id", "lon", "lat", "variations", *columns], rows)


def _curves(
    folder: Path, sites: Sequence[SiteResults], measure: str, levels: Sequence[float], found: Sequence[np.ndarray], years: float
) -> Path:  # fmt: skip
    factor, _ = scale_of(measure)
    header = ["lon", "lat", "depth", *(f"poe-{factor * level:.7f}" for level in levels)]
    about = f"generated_by='faultwave', kind='mean', investigation_time={years:.12g}, imt='{measure}'"
    first = ["#", *[""] * (len(header) - 2), about]
    rows = [[*_place(site), *(f"{p:.6E}" for p in values)] for site, values in zip(sites, found, strict=True)]
    return _save(folder / f"{CURVES}-mean-{measure}-{year_text(years)}y.csv", header, rows, first)


def _rates(
    folder: Path, sites: Sequence[SiteResults], measure: str, levels: Sequence[float], found: Sequence[np.ndarray]
) -> Path:
    factor, unit = scale_of(measure)
    rows = [
        [site.name, measure, _number(factor * level), unit, f"{rate:.6E}"]
        for site, rates in zip(sites, found, strict=True)
        for level, rate in zip(levels, rates, strict=True)
    ]
    return _save(folder / f"{RATES}-{measure}.csv", ["site", "measure", "level", "unit", "annual_rate"], rows)


def disaggregated(plan: CampaignPlan, site: SiteResults, item: Disaggregation) -> Contributions:
    """Return the contributions to the hazard of a level at a site; the level is NaN if the probability is not reached."""
    values = site.measures[item.measure]
    if item.level is not None:
        return contributions(values, plan.rates, level_to_si(item.level, item.measure))
    assert item.probability is not None
    level = level_at_rate(values, plan.rates, rate_of(item.probability, plan.campaign.years[0]))
    return contributions(values, plan.rates, level, reached=True)


def _disaggregations(folder: Path, plan: CampaignPlan, sites: Sequence[SiteResults]) -> list[Path]:
    campaign, names = plan.campaign, [v.rupture for v in plan.variations]
    widths = (campaign.magnitude_bin, float(campaign.distance_bin))
    bins, ruptures = list[list[object]](), list[list[object]]()
    for site in sites:
        for item in campaign.disaggregation:
            found, (factor, unit) = disaggregated(plan, site, item), scale_of(item.measure)
            head: list[object] = [site.name, item.measure, _number(factor * found.level), unit]
            for m, d, rate in found.by_bins(plan.magnitudes, site.distance, widths):
                edges = [f"{x:.6g}" for x in (m, m + widths[0], 1e-3 * d, 1e-3 * (d + widths[1]))]
                bins.append([*head, *edges, f"{rate:.6E}", _number(rate / found.rate)])
            for name, rate in found.by_rupture(names):
                ruptures.append([*head, name, f"{rate:.6E}", _number(rate / found.rate)])
    first = ["site", "measure", "level", "unit"]
    edges = ["magnitude_from", "magnitude_to", "distance_from_km", "distance_to_km"]
    last = ["annual_rate", "fraction"]
    return [
        _save(folder / f"{DISAGGREGATION}-magnitude-distance.csv", [*first, *edges, *last], bins),
        _save(folder / f"{DISAGGREGATION}-rupture.csv", [*first, "rupture", *last], ruptures),
    ]
