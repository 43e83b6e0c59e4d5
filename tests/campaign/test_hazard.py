"""Hazard curves and disaggregations against direct sums."""

import csv

import numpy as np
import pytest

from faultwave.base.errors import RunError
from faultwave.campaign.campaign import Campaign
from faultwave.campaign.hazard import (
    contributions,
    exceedance_rates,
    level_at_rate,
    logarithmic_moments,
    probability,
    rate_of,
)
from faultwave.campaign.site_files import SiteResults, write_site
from faultwave.campaign.tables import scale_of
from faultwave.observe.motions.measures import GRAVITY, measures
from faultwave.plot.campaigns.shaking import draw_shaking
from tests.messages import raises

from .inputs import INTERVAL, campaign


def table(path, skip=0):
    with path.open() as file:
        for _ in range(skip):
            file.readline()
        return list(csv.DictReader(file))


def test_rates_are_sums_over_events():
    rng = np.random.default_rng(0)
    values, rates = rng.lognormal(size=200), rng.random(200)
    values[:5] = 1.0  # equal values, and a level that equals them
    levels = np.array([0.0, 0.3, 1.0, 2.0, 50.0])
    direct = [sum(r for v, r in zip(values, rates, strict=True) if v > level) for level in levels]
    assert exceedance_rates(values, rates, levels) == pytest.approx(direct, rel=1e-12)
    assert probability(0.1, 50.0) == pytest.approx(1 - np.exp(-5.0)) and rate_of(0.02, 50) == pytest.approx(
        4.0405e-4, rel=1e-4
    )
    assert probability(rate_of(1e-9, 50.0), 50.0) == pytest.approx(1e-9, rel=1e-12)


def test_a_level_of_a_rate_is_the_value_of_the_event_that_reaches_it():
    values, rates = np.array([1.0, 3.0, 2.0]), np.array([0.5, 0.1, 0.2])
    assert level_at_rate(values, rates, 0.1) == 3.0 and level_at_rate(values, rates, 0.11) == 2.0
    assert level_at_rate(values, rates, 0.8) == 1.0 and np.isnan(level_at_rate(values, rates, 0.9))
    found = contributions(values, rates, 2.0, reached=True)
    assert found.rate == pytest.approx(0.3) and found.by_rupture(["a", "b", "a"]) == [("a", 0.2), ("b", 0.1)]
    bins = found.by_bins(np.array([6.1, 6.3, 6.39]), np.array([5e3, 12e3, 18e3]), (0.2, 10e3))
    assert [(round(m, 6), d, pytest.approx(r)) for m, d, r in bins] == [(6.2, 1e4, pytest.approx(0.3))]


def test_geometric_mean_and_deviation():
    values = np.random.default_rng(1).lognormal(sigma=0.7, size=9)
    mean, deviation = logarithmic_moments(values, np.full(9, 0.3))
    assert mean == pytest.approx(np.exp(np.log(values).mean()), rel=1e-12)
    assert deviation == pytest.approx(np.log(values).std(ddof=1), rel=1e-12)
    halves, weights = np.array([1.0, np.e, np.e]), np.array([2.0, 1.0, 1.0])
    mean, deviation = logarithmic_moments(halves, weights)
    assert mean == pytest.approx(np.exp(0.5)) and deviation == pytest.approx(0.5 / np.sqrt(1.0 - 0.375))
    assert logarithmic_moments(values[:1], np.ones(1))[0] == pytest.approx(values[0])
    assert np.isnan(logarithmic_moments(values[:1], np.ones(1))[1])
    still, unknown = logarithmic_moments(np.array([0.0, 1.0]), np.ones(2))
    assert still == 0.0 and np.isnan(unknown)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_measures_that_are_not_finite_have_no_hazard(wrong, tmp_path):
    values, rates = np.array([1.0, wrong, 2.0]), np.ones(3)
    for function in (exceedance_rates, contributions, level_at_rate):
        with raises(RunError):
            function(values, rates, 1.0)
    results = SiteResults("ONE", np.zeros(3), np.zeros(2), {"PGV": values}, np.zeros(3), 0.1)
    with raises(RunError):
        write_site(tmp_path / "ONE.nc", results, "", "RotD50")
    assert not list(tmp_path.iterdir())


def test_the_hazard_of_a_small_region_is_a_direct_sum(folder, tmp_path):
    """Rates of the table, measures of the stored seismograms one by one, and the files that users read."""
    items = [{"measure": "PGV", "level": "4 mm/s"}, {"measure": "SA(0.3)", "probability": 0.2}]
    made = Campaign(campaign(folder, disaggregation=items, years=[50, 1]), tmp_path)
    made.run()
    rates, levels = [0.0025, 0.0025, 0.005, 0.002], [1e-3, 3e-3, 5e-3, 1e-2]
    curves = table(tmp_path / "hazard_curve-mean-PGV-50y.csv", skip=1)
    for curve, name in zip(curves, ("ONE", "TWO"), strict=True):
        motion = made.site(name, seismograms=True).seismograms
        peaks = [measures(INTERVAL, *m[:2].astype(float), periods=(0.3,)).rotd(50.0) for m in motion]
        for level in levels:
            rate = sum(r for r, p in zip(rates, peaks, strict=True) if p["PGV"] > level)
            assert float(curve[f"poe-{100 * level:.7f}"]) == pytest.approx(1 - np.exp(-50 * rate), rel=1e-5, abs=1e-12)
        number = ("ONE", "TWO").index(name)
        fields = [row for row in table(tmp_path / "gmfs.csv") if row["site_id"] == str(number)]
        for row, peak in zip(fields, peaks, strict=True):
            assert float(row["gmv_PGV"]) == pytest.approx(100 * peak["PGV"], rel=1e-4)
            assert float(row["gmv_SA(0.3)"]) == pytest.approx(peak["SA(0.3)"] / GRAVITY, rel=1e-4)
        mine = [
            r for r in table(tmp_path / "disaggregation-rupture.csv") if r["site"] == name and r["measure"] == "PGV"
        ]
        direct = {"a": sum(r for r, p in zip(rates[:3], peaks[:3], strict=True) if p["PGV"] > 4e-3)}
        direct["b"] = rates[3] * (peaks[3]["PGV"] > 4e-3)
        assert {r["rupture"]: float(r["annual_rate"]) for r in mine} == pytest.approx(
            {k: v for k, v in direct.items() if v}
        )
        assert sum(float(r["fraction"]) for r in mine) == pytest.approx(1.0, abs=1e-5)
    found = {float(c[f"poe-{100 * level:.7f}"]) for c in curves for level in levels}
    assert len([p for p in found if 0 < p < 1]) >= 2, found
    assert (tmp_path / "hazard_curve-mean-PGV-1y.csv").is_file()


def test_shaking_of_a_rupture_is_that_of_its_variations(folder, tmp_path):
    """Geometric means and deviations of the fields of the events, and pictures of the ruptures."""
    Campaign(campaign(folder), tmp_path).run()
    fields, rows = table(tmp_path / "gmfs.csv"), table(tmp_path / "shaking.csv")
    assert [(r["rupture"], r["site_id"], r["variations"]) for r in rows] == [
        ("a", "0", "3"), ("a", "1", "3"), ("b", "0", "1"), ("b", "1", "1")
    ]  # fmt: skip
    weights = np.array([0.25, 0.25, 0.5])
    for row in rows[:2]:
        for name in ("gmv_PGV", "gmv_SA(0.3)"):
            logs = np.log([float(f[name]) for f in fields if f["site_id"] == row["site_id"]][:3])
            mean = weights @ logs
            variance = weights @ (logs - mean) ** 2 / (1 - weights @ weights)
            assert float(row[name]) == pytest.approx(np.exp(mean), rel=1e-4)
            assert float(row[name.replace("gmv", "sigma")]) == pytest.approx(np.sqrt(variance), rel=1e-3)
    assert all(row["sigma_PGV"] == "" for row in rows[2:])
    paths = draw_shaking(tmp_path)
    assert [p.name for p in paths] == ["shaking-a.png", "shaking-b.png"]
    assert all(p.stat().st_size > 10_000 for p in paths)


def test_tables_of_earlier_settings_are_removed(folder, tmp_path):
    """Other measures, years and disaggregations leave no tables that look current; files of users stay."""
    Campaign(campaign(folder, disaggregation=[{"measure": "PGV", "level": 1e-3}]), tmp_path).run()
    (tmp_path / "hazard_curves.png").touch()
    (tmp_path / "notes.csv").touch()
    written = Campaign(campaign(folder, measures=["PGD"], years=[10]), tmp_path).run()
    assert sorted(p.name for p in tmp_path.glob("*.*")) == sorted([*(p.name for p in written), "notes.csv"])


def test_the_files_have_the_columns_of_openquake(folder, tmp_path):
    Campaign(campaign(folder), tmp_path).run()
    text = (tmp_path / "hazard_curve-mean-SA(0.3)-50y.csv").read_text().splitlines()
    assert text[0].startswith("#,") and "investigation_time=50, imt='SA(0.3)'" in text[0]
    assert text[1].split(",")[:3] == ["lon", "lat", "depth"] and text[1].split(",")[3].startswith("poe-0.00")
    assert len({len(line.split(",")) for line in text[1:]}) == 1 and len(text) == 4
    assert (tmp_path / "gmfs.csv").read_text().splitlines()[0] == "event_id,site_id,gmv_PGV,gmv_SA(0.3)"
    sites = table(tmp_path / "sites.csv")
    assert [s["name"] for s in sites] == ["ONE", "TWO"] and float(sites[0]["lon"]) == pytest.approx(-117, abs=0.02)
    events = table(tmp_path / "events.csv")
    assert [e["rupture"] for e in events] == ["a", "a", "a", "b"] and events[3]["magnitude"] == "6.500"
    assert scale_of("CAV") == (1.0, "m/s") and scale_of("PGA")[1] == "g"
