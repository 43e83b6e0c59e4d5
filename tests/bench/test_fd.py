"""The stencil proxy on a box too small to mean anything."""

import json

import pytest

from faultwave.backends.cpu.stencil import Blocking
from faultwave.base.errors import InputError
from faultwave.bench.grids import proxy
from tests.messages import raises


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(proxy, "REPEAT_SECONDS", 0.01)
    monkeypatch.setattr(proxy, "candidates", lambda *_: [Blocking(1, 8), Blocking(2, 8)])


@pytest.mark.parametrize(("attenuation", "numbers"), [(False, 88), (True, 140)])
def test_what_is_reported(attenuation, numbers):
    setting = proxy.Setting((32, 24, 26), attenuation, boundaries=True, threads=1, repeats=2)
    r = proxy.bench(setting, sweep=2**20)
    assert r["points"] == 32 * 24 * 26 and r["bytes_per_point"] == numbers
    assert r["points_per_second"] > 0 and len(r["points_per_second_samples"]) == 2
    low, high = sorted(r["points_per_second"] * r["bytes_per_point"] / r["copy_bandwidth"] * f for f in (0.1, 10))
    assert low < r["roof_fraction"] < high
    assert {tuple(b.values())[:2] for b in r["blockings_tried"]} == {(1, 8), (2, 8)}
    assert r["memory_per_point"] == (80 if attenuation else 52) < r["memory_per_point_with_halo"]
    assert (r["published_flops_per_second"] == 307 * r["points_per_second"]) if attenuation else True
    json.dumps(r)
    text = str(proxy.sections(r))
    assert "CPML, free surface, receivers" in text and ("as AWP-ODC counts" in text) == attenuation


def test_the_wave_stays_bounded():
    op = proxy.operator(proxy.Setting((32, 24, 26), True, True, threads=1))
    before = op.runner.view("u").std()
    op.advance(300)
    assert 0 < op.runner.view("u").std() < before


def test_a_setting_that_cannot_be():
    with raises(InputError):
        proxy.bench(proxy.Setting((8, 256, 256), precision="half", threads=0, repeats=0))


def test_a_box_too_large_for_memory_is_told_before_it_is_made(monkeypatch):
    monkeypatch.setattr(proxy, "operator", None)  # whoever calls it fails
    with pytest.raises(
        InputError, match=r"100000 x 100000 x 100000 points need more than .* GiB, and this machine has"
    ):
        proxy.bench(proxy.Setting((100_000,) * 3))
