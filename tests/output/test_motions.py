"""Tables of ground motion: what gmprocess's and OpenQuake's readers look for, in their units."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path

import numpy as np
import pytest

from faultwave.observe.motions.measures import GRAVITY, measures
from faultwave.output.results import convert

spec = importlib.util.spec_from_file_location("waves", Path(__file__).with_name("waves.py"))
assert spec is not None and spec.loader is not None
waves = importlib.util.module_from_spec(spec)
spec.loader.exec_module(waves)


def table(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    run = waves.run(tmp_path_factory.mktemp("motions") / "run", extra={f"eps{c}": np.full(1501, 1e-6 * (c == "xy")) for c in
                    ("xx", "xy", "xz", "yy", "yz", "zz")})  # fmt: skip
    paths = convert(run, "motions")
    assert [p.name for p in paths] == [
        "run-motions.csv", "run-fourier.csv", "run_metrics_rotd(percentile=50.0).csv", "run_metrics_rotd(percentile=100.0).csv",
        "run-sites.csv", "run-gmfs.csv",
    ]  # fmt: skip
    return run


@pytest.fixture(scope="module")
def expected() -> dict[float, dict[str, float]]:
    made = measures(waves.STEP, *waves.motion(1).T)
    return {p: made.rotd(p) for p in (50.0, 100.0)}


def test_our_table(folder: Path, expected) -> None:
    rows = table(folder / "run-motions.csv")
    assert [(r["network"], r["station"]) for r in rows] == [("CI", "CCC"), ("CI", "TOW2")]
    assert float(rows[0]["RotD50 PGV [m/s]"]) == pytest.approx(expected[50.0]["PGV"], rel=1e-5)
    assert float(rows[0]["RotD100 SA(1.0) [m/s^2]"]) == pytest.approx(expected[100.0]["SA(1.0)"], rel=1e-5)
    assert float(rows[0]["vertical PGV [m/s]"]) == pytest.approx(np.abs(waves.motion(1)[:, 2]).max(), rel=1e-5)
    assert float(rows[0]["peak strain"]) == pytest.approx(1e-6 * waves.TIME[-1], rel=1e-6)
    assert np.isnan(float(rows[0]["RotD50 SA(0.1) [m/s^2]"]))  # below ten samples


def test_gmprocess(folder: Path, expected) -> None:
    for percentile in (50.0, 100.0):
        row = table(folder / f"run_metrics_rotd(percentile={percentile:.1f}).csv")[0]
        assert (row["Network"], row["StationCode"]) == ("CI", "CCC")
        assert float(row["StationLongitude"]) == pytest.approx(-117.6)
        assert float(row["PGA"]) == pytest.approx(100 * expected[percentile]["PGA"] / GRAVITY, rel=1e-5)
        assert float(row["PGV"]) == pytest.approx(100 * expected[percentile]["PGV"], rel=1e-5)
        assert float(row["SA(T=1.0000, D=0.050)"]) == pytest.approx(
            100 * expected[percentile]["SA(1.0)"] / GRAVITY, rel=1e-5
        )


def test_openquake(folder: Path, expected) -> None:
    sites, fields = table(folder / "run-sites.csv"), table(folder / "run-gmfs.csv")
    assert [s["site_id"] for s in sites] == ["0", "1"] and list(sites[0]) == ["site_id", "lon", "lat"]
    assert list(fields[0])[:3] == ["site_id", "event_id", "gmv_PGV"] or "gmv_PGA" in fields[0]
    assert float(fields[0]["gmv_PGA"]) == pytest.approx(expected[50.0]["PGA"] / GRAVITY, rel=1e-5)
    assert float(fields[0]["gmv_PGV"]) == pytest.approx(100 * expected[50.0]["PGV"], rel=1e-5)
    assert "gmv_SA(0.1)" not in fields[0]  # no number is no ground motion


def test_fourier_spectra(folder: Path) -> None:
    rows = table(folder / "run-fourier.csv")
    frequency = np.array([float(r["frequency [Hz]"]) for r in rows])
    amplitude = np.array([float(r["CI.CCC [m/s]"]) for r in rows])
    assert 0.2 < frequency[amplitude.argmax()] < 3.5
