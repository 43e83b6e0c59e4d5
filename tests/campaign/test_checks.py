"""Checks of a plan: hypocentres, speeds, magnitudes, and times against the tensors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from faultwave.base.errors import InputError, Problems
from faultwave.base.projection import Projection
from faultwave.campaign.campaign import Campaign
from faultwave.campaign.plan import CampaignPlan
from faultwave.campaign.tensor_checks import check_times
from tests.messages import expect, raises

from .inputs import PLACES, PROJECTION, campaign, write_srf

HEADER = "rupture,file,annual_rate,magnitude,hypocentre_lon,hypocentre_lat,hypocentre_depth,rupture_speed\n"
LON, LAT = Projection(PROJECTION["crs"], tuple(PROJECTION["origin"]), PROJECTION["azimuth"]).to_geographic(
    PLACES[:1, :2]
)[0]


def plan(folder: Path, tmp_path: Path, *rows: str, **changes: object) -> CampaignPlan:
    """Plan of a campaign with rows of variations of one SRF file."""
    table = tmp_path / "table.csv"
    table.write_text(HEADER + "".join(f"a,{folder / 'a1.srf'},0.1,{row}\n" for row in rows))
    return Campaign(campaign(folder, ruptures=str(table), **changes), tmp_path / "results").plan()


def warnings(found: CampaignPlan) -> str:
    return "\n".join(map(str, found.warnings))


def test_hypocentres_are_on_the_rupture(folder, tmp_path):
    """A wrong sign or unit is an error with the row; two subfaults away is not."""
    with pytest.raises(InputError, match="table.csv:3: .*(lies outside of the map projection|has a hypocentre)"):
        plan(folder, tmp_path, f",{LON},{LAT},1000,2000", f",{-LON},{LAT},820,2000")
    for row in (f",{LON},{LAT},0.82,2000", f",{LON},{LAT + 0.012},820,2000"):
        with raises(InputError):
            plan(folder, tmp_path, f",{LON},{LAT},1000,2000", row)
    with raises(InputError):
        plan(folder, tmp_path, *[f",{LON},{LAT},0.82,2000"] * 3)


def test_a_hypocentre_outside_of_the_projection(folder, tmp_path):
    with raises(InputError):
        plan(folder, tmp_path, ",153,0,820,2000")


def test_implausible_rupture_speeds(folder, tmp_path):
    found = plan(folder, tmp_path, f",{LON},{LAT},820,20000", f",{LON},{LAT},820,2000", f",{LON},{LAT},820,50")
    expect(found.warnings)
    assert "implausible" not in warnings(plan(folder, tmp_path, f",{LON},{LAT},820,2000"))


def test_ruptures_that_end_after_the_record(folder, tmp_path):
    """Also with the default duration."""
    write_srf(tmp_path / "late.srf", 1, onsets=(0.1, 0.05, 1.5))
    (tmp_path / "late.csv").write_text("rupture,file,annual_rate\nlate,late.srf,0.1\n")
    found = Campaign(campaign(folder, ruptures=str(tmp_path / "late.csv")), tmp_path / "results").plan()
    expect(found.warnings)
    assert "after the seismograms" not in warnings(plan(folder, tmp_path, ",,,,"))


def test_magnitudes_that_contradict_the_slip(folder, tmp_path):
    usual = plan(folder, tmp_path, ",,,,")
    (computed,) = usual.magnitudes
    expect(plan(folder, tmp_path, f"{computed + 0.4:.2f},,,,").warnings)
    assert "magnitude" not in warnings(plan(folder, tmp_path, f"{computed + 0.2:.2f},,,,"))


def test_strain_that_ends_early_is_a_warning(folder, tmp_path):
    """Where the low-pass would need later strain, with the name of the site and what to do."""
    expect(plan(folder, tmp_path, ",,,,", max_frequency=3.0).warnings)
    assert "of its peak" not in warnings(plan(folder, tmp_path, ",,,,"))


def test_seismograms_have_several_samples(folder, tmp_path):
    with raises(InputError):
        plan(folder, tmp_path, ",,,,", duration=0.01)


@pytest.mark.parametrize("corner", [None, 1.0])
def test_samples_that_mistake_frequencies_are_an_error(folder, tmp_path, corner):
    """Forces of short duration contain frequencies above those that the samples resolve."""
    made = Campaign(campaign(folder, max_frequency=corner), tmp_path)
    site = made.plan().sites[0]
    for sigma, errors in ((site.file.sigma, 0), (0.1 * site.file.interval, 1)):
        problems = Problems()
        other = replace(site, file=replace(site.file, sigma=sigma))
        check_times(made.settings, [other], str, problems)
        found = [p for p in problems.errors if "mistake higher frequencies for lower ones" in str(p)]
        assert len(found) == errors
        for problem in found:
            expect(problem)


def test_measures_of_limited_bands_are_reported(folder, tmp_path):
    """PGA and periods near the corner miss motion above it; long periods and PGV do not."""
    measures = {"PGA": [], "PGV": [], "SA(1.5)": [], "SA(2.5)": []}
    expect(Campaign(campaign(folder, measures=measures, max_frequency=1.0), tmp_path).plan().warnings)
    assert "PGA" not in warnings(Campaign(campaign(folder, measures={"PGA": []}), tmp_path).plan())
