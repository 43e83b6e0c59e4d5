"""What surfaces, hills, blocks, faults and yielding cost, on boxes too small to mean anything."""

import json

import pytest

from faultwave.base.errors import InputError
from faultwave.bench.grids import features
from tests.messages import raises


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(features, "REPEAT_SECONDS", 0.01)


def test_what_is_reported():
    r = features.bench(features.Setting(48, threads=1, repeats=2, chosen=("surface", "hill", "blocks", "everything")))
    assert r["points"]["plain"] == r["points"]["surface"] == r["points"]["everything"] == 48**3
    assert r["points"]["blocks"] == 48**3 // 2 + 48**3 // 16
    assert set(r["ratios"]) == {"surface", "hill", "blocks", "everything"}
    assert all(t > 0 for t in r["seconds_per_step"].values())
    assert 0 < r["bent_share"] < 1 and not r["yielding_share"]
    json.dumps(r)
    assert "point of two blocks / of one" in str(features.sections(r))


def test_rock_that_yields_and_faults():
    r = features.bench(features.Setting(48, threads=1, repeats=1, chosen=("fault", "few-yield", "all-yield", "soil")))
    assert set(r["seconds_per_step"]) == {"plain", "surface", "fault", "few-yield", "all-yield", "soil"}
    assert set(r["points"].values()) == {48**3}
    few, every = r["yielding_share"]["few-yield"], r["yielding_share"]["all-yield"]
    assert 0.005 < few < 0.02 and every > 0.85  # cells beside rigid sides never yield
    assert "few-yield, " in str(features.sections(r))


def test_ratios():
    points = {"plain": 100, "attenuation": 100, "surface": 100, "hill": 100, "blocks": 60, "everything": 120}
    seconds = {
        "plain": 1.0, "attenuation": 1.2, "surface": 1.02, "hill": 1.02 * (0.5 + 0.5 * 2.5), "blocks": 0.612, "everything": 1.5,
    }  # fmt: skip
    expected = {"surface": 1.02, "hill": 2.5, "blocks": 1.0, "everything": 1.5 / 1.2 / 1.2}
    for name, ratio in expected.items():
        assert features.ratio(name, seconds, points, 0.5) == pytest.approx(ratio), name


def test_a_setting_that_cannot_be():
    with raises(InputError):
        features.bench(features.Setting(50, precision="half", threads=0, repeats=0, chosen=("faults",)))
