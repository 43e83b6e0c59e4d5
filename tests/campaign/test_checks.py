"""Checks of a plan: hypocentres, speeds, magnitudes, and times against the tensors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from faultwave.base.errors import InputError
from faultwave.base.projection import Projection
from faultwave.campaign.campaign import Campaign
from faultwave.campaign.plan import CampaignPlan

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
    for row, text in (
        (f",{-LON},{LAT},820,2000", r"table.csv:3: .*lies outside of the map projection|table.csv:3: has a hypocentre"),
        (
            f",{LON},{LAT},0.82,2000",
            r"table.csv:3: has a hypocentre 0.8\d+ km away from the nearest subfault of a1.srf",
        ),
        (f",{LON},{LAT + 0.012},820,2000", r"has a hypocentre 1\.\d+ km away .*\(allowed: up to 0.4 km\).*sign of"),
    ):
        with pytest.raises(InputError, match=text):
            plan(folder, tmp_path, f",{LON},{LAT},1000,2000", row)
    with pytest.raises(InputError, match="km away .*; so do 2 more rows"):
        plan(folder, tmp_path, *[f",{LON},{LAT},0.82,2000"] * 3)


def test_a_hypocentre_outside_of_the_projection(folder, tmp_path):
    with pytest.raises(InputError, match=r"table.csv:2: the hypocentre at 153, 0 lies outside of the map projection"):
        plan(folder, tmp_path, ",153,0,820,2000")


def test_implausible_rupture_speeds(folder, tmp_path):
    found = plan(folder, tmp_path, f",{LON},{LAT},820,20000", f",{LON},{LAT},820,2000", f",{LON},{LAT},820,50")
    text = warnings(found)
    assert "table.csv:2: has the rupture_speed 20000 m/s, which is implausible; so does 1 more row" in text
    assert "the unit is m/s, not km/s" in text
    assert "implausible" not in warnings(plan(folder, tmp_path, f",{LON},{LAT},820,2000"))


def test_ruptures_that_end_after_the_record(folder, tmp_path):
    """Also with the default duration."""
    write_srf(tmp_path / "late.srf", 1, onsets=(0.1, 0.05, 1.5))
    (tmp_path / "late.csv").write_text("rupture,file,annual_rate\nlate,late.srf,0.1\n")
    found = Campaign(campaign(folder, ruptures=str(tmp_path / "late.csv")), tmp_path / "results").plan()
    assert "late.srf ends at 1.74 s, after the seismograms, which end at 1.44 s" in warnings(found)
    assert "after the seismograms" not in warnings(plan(folder, tmp_path, ",,,,"))


def test_magnitudes_that_contradict_the_slip(folder, tmp_path):
    usual = plan(folder, tmp_path, ",,,,")
    (computed,) = usual.magnitudes
    text = warnings(plan(folder, tmp_path, f"{computed + 0.4:.2f},,,,"))
    assert f"has the magnitude {computed + 0.4:.2f}, the moment of a1.srf" in text
    assert f"that of {computed:.2f}" in text
    assert "magnitude" not in warnings(plan(folder, tmp_path, f"{computed + 0.2:.2f},,,,"))


def test_strain_that_ends_early_is_a_warning(folder, tmp_path):
    """Where the low-pass would need later strain, with the name of the site and what to do."""
    text = warnings(plan(folder, tmp_path, ",,,,", max_frequency=3.0))
    assert re.search(r"the strain of site (ONE|TWO) ends at 1.8 s with \d+ % of its peak", text)
    assert "with end_time: 4.48 s" in text
    assert "of its peak" not in warnings(plan(folder, tmp_path, ",,,,"))


def test_seismograms_have_several_samples(folder, tmp_path):
    with pytest.raises(InputError, match=r"duration is 0.01 s; the interval of .* is 0.02 s .allowed: from 0.2 s, 10"):
        plan(folder, tmp_path, ",,,,", duration=0.01)
