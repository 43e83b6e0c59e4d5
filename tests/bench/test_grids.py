"""What surfaces, hills and blocks cost, on boxes too small to mean anything."""

import json

import pytest

from faultwave.base.errors import InputError
from faultwave.bench import grids


def test_what_is_reported(monkeypatch):
    monkeypatch.setattr(grids, "REPEAT_SECONDS", 0.01)
    r = grids.bench(grids.Setting(48, threads=1, repeats=2))
    assert r["points"]["plain"] == r["points"]["surface"] == r["points"]["everything"] == 48**3
    assert r["points"]["blocks"] == 48**3 // 2 + 48**3 // 16
    assert set(r["ratios"]) == set(grids.ASKED) and all(t > 0 for t in r["seconds_per_step"].values())
    assert 0 < r["bent_share"] < 1
    json.dumps(r)
    assert "point of two blocks / of one" in str(grids.sections(r))


def test_ratios():
    points = {"plain": 100, "attenuation": 100, "surface": 100, "hill": 100, "blocks": 60, "everything": 120}
    seconds = {
        "plain": 1.0, "attenuation": 1.2, "surface": 1.02, "hill": 1.02 * (0.5 + 0.5 * 2.5), "blocks": 0.612, "everything": 1.5,
    }  # fmt: skip
    found = grids.ratios(seconds, points, 0.5)
    expected = {"surface": 1.02, "hill": 2.5, "blocks": 1.0, "everything": 1.5 / 1.2 / 1.2}
    assert {name: pytest.approx(ratio) for name, ratio in found.items()} == expected


def test_a_setting_that_cannot_be():
    with pytest.raises(InputError) as found:
        grids.bench(grids.Setting(50, precision="half", threads=0, repeats=0))
    assert len(found.value.problems) == 4
