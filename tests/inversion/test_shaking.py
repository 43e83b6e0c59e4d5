"""Ground motion of the samples of a posterior, computed by a campaign."""

import csv
from pathlib import Path

import numpy as np
import pytest

import faultwave as fw
from faultwave.campaign.campaign import Campaign
from faultwave.observe.motions.measures import measures

from .inputs import inversion


def test_a_campaign_computes_the_shaking_of_all_samples(folder: Path, tmp_path: Path) -> None:
    fw.invert(inversion(folder, samples=4), tmp_path / "inverted")
    table = tmp_path / "inverted" / "samples" / "ruptures.csv"
    made = Campaign(
        {"tensors": str(folder / "sgt.nc"), "ruptures": str(table), "measures": ["PGV"], "seismograms": True}, tmp_path
    )
    made.run()
    with (tmp_path / "shaking.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["rupture"] for row in rows} == {"posterior"} and {row["variations"] for row in rows} == {"4"}
    for row, site in zip(rows, made.plan().sites, strict=True):
        found = made.site(site.name, seismograms=True)
        assert found.seismograms is not None
        peaks = [
            measures(found.interval, *m[:2].astype(float), periods=()).rotd(50.0)["PGV"] for m in found.seismograms
        ]
        logs = np.log(100.0 * np.array(peaks))  # cm/s
        assert float(row["gmv_PGV"]) == pytest.approx(np.exp(logs.mean()), rel=1e-3)
        assert float(row["sigma_PGV"]) == pytest.approx(logs.std(ddof=1), rel=0.02) and logs.std() > 1e-3
