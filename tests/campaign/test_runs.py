"""Runs of campaigns: problems before them, missing sites only, and the command."""

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from faultwave.base.errors import InputError
from faultwave.campaign.campaign import Campaign
from faultwave.campaign.site_files import claimed, site_path
from faultwave.cli.main import app
from tests.messages import raises

from .inputs import PROJECTION, SITES, campaign, write_srf


def test_every_problem_is_reported_at_once(folder, tmp_path):
    write_srf(tmp_path / "far.srf", 7)
    text = (tmp_path / "far.srf").read_text().replace(" 0.905000 ", " 0.985000 ")
    (tmp_path / "far.srf").write_text(text)
    (tmp_path / "ruptures.csv").write_text("rupture,file,annual_rate\nfar,far.srf,0.1\n")
    made = campaign(
        folder, ruptures=str(tmp_path / "ruptures.csv"), duration=5.0, measures=["SA(0.1)", "PGV"], max_frequency=60.0
    )
    with raises(InputError):
        Campaign(made, tmp_path / "results").plan()
    assert not (tmp_path / "results").exists()


def test_problems_of_tables_and_files(folder, tmp_path):
    (tmp_path / "bad.csv").write_text("rupture,file,annual_rate,wait\na,absent.srf,0.1,1\n")
    with raises(InputError):
        Campaign(campaign(folder, ruptures=str(tmp_path / "bad.csv"))).plan()
    (tmp_path / "bad.csv").write_text(
        f"rupture,file,annual_rate\na,absent.srf,0.1\na,{folder / 'a1.srf'},-3\nb,{folder / 'a1.srf'},\n"
    )
    with raises(InputError):
        Campaign(campaign(folder, ruptures=str(tmp_path / "bad.csv"), tensors="absent.nc")).plan()
    (tmp_path / "bad.csv").write_text(
        "rupture,file,annual_rate,hypocentre_lon,hypocentre_lat,hypocentre_depth,rupture_speed\n"
        f"a,{folder / 'a1.srf'},0.1,-117,,900,2000\na,{folder / 'a1.srf'},0.1,-117,34,900,2\n"
    )
    with raises(InputError):
        Campaign(campaign(folder, ruptures=str(tmp_path / "bad.csv"))).plan()
    (tmp_path / "bad.csv").write_text(
        f"rupture,file,annual_rate\na,{folder / 'a1.srf'},0.1\na,{folder / 'a2.srf'},0.2\n"
    )
    with raises(InputError):
        Campaign(campaign(folder, ruptures=str(tmp_path / "bad.csv"))).plan()
    (tmp_path / "bad.csv").write_text(f"rupture,file,annual_rate,annual_rate\na,{folder / 'a1.srf'},0.1,0.2\n")
    with raises(InputError):
        Campaign(campaign(folder, ruptures=str(tmp_path / "bad.csv"))).plan()
    with pytest.raises(InputError, match="a1.srf: is not a valid file of strain Green tensors"):
        Campaign(campaign(folder, tensors=str(folder / "a1.srf"))).plan()
    with raises(InputError):
        Campaign(campaign(folder, projection=PROJECTION | {"azimuth": 0.0})).plan()
    with raises(InputError):
        Campaign(campaign(folder, tensors=[str(folder / "run-sgt.nc")] * 2)).plan()


@pytest.mark.parametrize(
    "changes",
    [
        {"measures": ["PGX"]},
        {"measures": {"PGV": ["1 kg"]}},
        {"measures": {"PGV": [0]}},
        {"measures": {}},
        {"rupture": "a.csv"},
        {"disaggregation": [{"measure": "PGV"}]},
        {"disaggregation": [{"measure": "PGA", "level": 1.0}]},
        {"years": [0]},
        {"years": [50, 50.000001]},
        {"measures": ["PGV", "PGV"]},
        {"measures": {"SA(1)": [], "SA(1.0)": []}},
        {"component": "RotD10"},
    ],
    ids=str,
)
def test_wrong_settings(changes, tmp_path):
    (tmp_path / "ruptures.csv").touch()
    with raises(InputError):
        Campaign(campaign(tmp_path, **changes))


def test_levels_with_units(tmp_path):
    (tmp_path / "ruptures.csv").touch()
    levels = Campaign(campaign(tmp_path, measures={"PGA": ["0.1 g", 0.5], "PGV": ["2 cm/s"]})).settings.levels
    assert levels["PGA"] == pytest.approx((0.5, 0.980665)) and levels["PGV"] == pytest.approx((0.02,))


def test_only_missing_sites_are_computed(folder, tmp_path):
    made = Campaign(campaign(folder), tmp_path)
    steps = []
    made.run(steps.append)
    assert steps[-1].done == steps[-1].total == 8 and steps[-1].eta == 0.0
    first, second = site_path(tmp_path, "ONE"), site_path(tmp_path, "TWO")
    before = first.stat().st_mtime_ns
    values = made.site("TWO").measures["PGV"]
    second.write_bytes(b"damaged")
    assert made.plan().missing == (1,)
    made.run()
    assert first.stat().st_mtime_ns == before and made.site("TWO").measures["PGV"] == pytest.approx(values, rel=1e-6)
    assert made.plan().missing == () and Campaign(campaign(folder, component="RotD100"), tmp_path).plan().missing == (
        0,
        1,
    )
    distances = np.linalg.norm(np.loadtxt(folder / "points.txt") - SITES[0], axis=1)
    assert made.site("ONE").distance[0] == pytest.approx(distances.min(), rel=1e-6)


def test_warnings_of_cached_ruptures_remain(folder, tmp_path):
    """With the path of the file as it is now, also where another file with the same contents was cached."""
    text = (folder / "a1.srf").read_text().splitlines()
    slips = text[3].split()
    slips[1] = "999"
    text[3] = " ".join(slips)
    for name in ("first.srf", "second.srf"):
        (tmp_path / name).write_text("\n".join(text) + "\n")
    table = tmp_path / "table.csv"
    for name in ("first.srf", "first.srf", "second.srf"):
        table.write_text(f"rupture,file,annual_rate\na,{name},0.1\n")
        made = Campaign(campaign(folder, ruptures=str(table)), tmp_path / "results")
        found = "\n".join(map(str, made.plan(write_cache=True).warnings))
        assert f"{name}:4" in found and "999" in found, found


def test_sites_of_another_method_are_computed_again(folder, tmp_path, monkeypatch):
    made = Campaign(campaign(folder), tmp_path)
    made.run()
    assert made.plan().missing == ()
    monkeypatch.setattr("faultwave.campaign.plan.METHOD", 0)
    assert made.plan().missing == (0, 1)


def test_results_of_other_settings_are_refused(folder, tmp_path):
    Campaign(campaign(folder), tmp_path).run()
    with raises(InputError):
        Campaign(campaign(folder, component="RotD100"), tmp_path).site("ONE")


def test_a_site_that_another_process_computes_is_left_to_it(folder, tmp_path):
    made = Campaign(campaign(folder), tmp_path)
    with claimed(site_path(tmp_path, "ONE")) as mine:
        assert mine and made.run() == []
    assert made.plan().missing == (0,) and made.run()


def test_the_command(folder, tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(campaign(folder) | {"folder": str(tmp_path / "out")}))

    def command(*arguments):
        return CliRunner().invoke(app, ["campaign", str(path), *arguments])

    shown = command("--dry-run")
    assert shown.exit_code == 0 and "8 of three components" in shown.output and "on one core" in shown.output, (
        shown.output
    )
    assert not (tmp_path / "out").exists()
    done = command()
    assert done.exit_code == 0 and "8 of 8 seismograms" in done.output, done.output
    assert (tmp_path / "out" / "hazard_curves.png").stat().st_size > 10_000
    again = command()
    assert (
        again.exit_code == 0 and "seismograms" not in again.output and "hazard_curve-mean-PGV-50y.csv" in again.output
    )
    points = command("--points", str(tmp_path / "points.txt"))
    assert points.exit_code == 0 and len((tmp_path / "points.txt").read_text().splitlines()) == 3
    wrong = command("--output", str(path))
    assert wrong.exit_code == 2 and "is a file" in wrong.output
