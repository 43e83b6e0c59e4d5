"""Decks of the community evaluate to numbers worked out by hand from their benchmark descriptions."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from faultwave.media import check_field
from faultwave.media.easi import load_easi

CASES = Path(__file__).parents[3] / "shared" / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason=f"no reference decks at {CASES}")
NUCLEATION = ["nuc_xx", "nuc_yy", "nuc_zz", "nuc_xy", "nuc_yz", "nuc_xz"]
STRESS = ["s_xx", "s_yy", "s_zz", "s_xy", "s_yz", "s_xz"]


def values(deck: str, names: list[str], *points: tuple[float, float, float], tag: int = 3) -> list[list[float]]:
    """One list for each point."""
    places = np.array(points, dtype=float)
    found = load_easi(CASES / deck).evaluate(places, np.full(len(places), tag), names)
    return np.column_stack([found[name] for name in names]).tolist()


@pytest.mark.parametrize("path", sorted(CASES.glob("*/*.yaml")), ids=lambda p: f"{p.parent.name}/{p.name}")
def test_every_deck_loads_and_has_values_on_its_fault(path):
    field = load_easi(path)
    points = np.array([[100.0, 0, -100], [-7000, 0, -7500], [3000, 0, -11000]])
    found = field.evaluate(points, np.array([3, 65, 66]), sorted(field.parameters))
    assert set(found) == field.parameters
    assert all(np.isfinite(column).all() for column in found.values())


def test_tpv5_stress_patches():
    x = [0, 1500, 1500.1, -7500, -6000, 7500, 9000, 9000.1, 0, 0]
    z = [-7500, -9000, -7500, -7500, -6000, -7500, -7500, -7500, -5999, -12000]
    found = values("tpv5/fault.yaml", ["s_xy"], *[(a, 0, b) for a, b in zip(x, z, strict=True)])
    assert [v / 1e6 for (v,) in found] == [81.6, 81.6, 70, 78, 78, 62, 62, 70, 70, 70]
    assert values("tpv5/fault.yaml", [*STRESS[:3], "mu_s", "d_c", *NUCLEATION], (1, 0, -2)) == [
        [0, -120e6, 0, 0.677, 0.4, *[0] * 6]
    ]
    assert values("tpv5/material.yaml", ["rho", "mu", "lambda"], (0, 0, 0)) == [[2760, 32038120320, 32043759360]]


def test_tpv5_has_all_that_linear_slip_weakening_needs():
    field = load_easi(CASES / "tpv5/fault.yaml")
    assert not check_field(field, [*STRESS, *NUCLEATION, "mu_s", "mu_d", "d_c", "cohesion"], "fault").errors
    assert "forced_rupture_time" not in field.parameters


def test_tpv5_nuc_mixes_tractions_and_cartesian_nucleation():
    field = load_easi(CASES / "tpv5-nuc/fault.yaml")
    assert not check_field(field, ["T_n", "T_s", "T_d", *NUCLEATION], "fault").errors
    found = values("tpv5-nuc/fault.yaml", ["T_s", "nuc_xy"], (1500, 0, -7500), (0, 0, -7500), (3000.1, 0, -7500))
    assert found == [[75e6, pytest.approx(25e6 * math.exp(-1 / 3))], [75e6, 25e6], [75e6, 0]]


def test_tpv101_taper_of_a():
    def box(distance: float) -> float:
        return 0.5 * (1 + math.tanh(3000 / (distance - 18000) + 3000 / (distance - 15000)))

    x, z = [0, 15000, 16500, -16500, 17000, 0, 17000], [-7500, -7500, -7500, -7500, -7500, -16000, -16000]
    expected = [0.008, 0.008, 0.012, 0.012, 0.016 - 0.008 * box(17000), 0.016 - 0.008 * box(16000)]
    expected.append(0.016 - 0.008 * box(17000) * box(16000))
    found = values("tpv101/tpv101_fault.yaml", ["rs_a"], *[(a, 0, b) for a, b in zip(x, z, strict=True)])
    assert [v for (v,) in found] == pytest.approx(expected, rel=1e-14)
    assert box(16500) == 0.5
    assert values("tpv101/tpv101_fault.yaml", ["rs_sl0", "s_xy", "nuc_xy"], (0, 0, -6000)) == [
        [0.02, 75e6, pytest.approx(25e6 * math.exp(-1 / 3))]
    ]


def test_tpv105_nested_ifs_under_eval_model():
    names = ["rs_a", "rs_srW", "tp_hydraulicDiffusivity", "s_yy", "s_xy", "rs_sl0"]
    middle, shallow, outside = values(
        "tpv105/tpv105_fault.yaml", names, (0, 0, -7500), (0, 0, -1500), (18000, 0, -1500)
    )
    assert middle == pytest.approx([0.01, 0.1, 0.0004, -45e6, 0.41 * 45e6, 0.4])
    weight = 1670 * 9.8 * 1500
    assert shallow == pytest.approx([0.015, 0.55, 0.0004, -weight, 0.41 * weight, 0.4])
    assert outside[:3] == pytest.approx([0.02, 1.0, 1.0004])
    taper = 0.5 * (1 + math.tanh(3000 / (16000 - 18000) + 3000 / (16000 - 15000)))
    assert values("tpv105/tpv105_fault.yaml", ["rs_a"], (-16000, 0, -5000)) == [[pytest.approx(0.02 - 0.01 * taper)]]
    nucleation = values("tpv105/tpv105_fault.yaml", ["nuc_xy"], (-4000, 0, -7500), (-4000, 750, -7500), (0, 0, -7500))
    assert nucleation == [[50e6], [pytest.approx(50e6 * math.exp(-1 / 3))], [0]]


def test_tpv13_filter_sees_computed_dimensions_and_include_sees_coordinates():
    """The stress file's filter tests depth and s0 of its parent; round() is to cents of Pa per metre."""
    upper, lower = values("tpv13/tpv12_13_fault.yaml", STRESS, (0, 0, -10000), (0, 0, -12000))
    assert upper == pytest.approx([-11242.17e4, -5824.34e4, -16660e4, 0, 0, 0], rel=1e-14)
    assert lower == pytest.approx([-16660 * 12000.0] * 3 + [0, 0, 0], rel=1e-14)
    inside, beside, above = values(
        "tpv13/tpv12_13_fault.yaml", ["mu_s", "mu_d", "cohesion", "Tnuc_s"],
        (1500, 0, -10000), (1501, 0, -10000), (0, 0, -9000),
    )  # fmt: skip
    assert (inside, beside, above) == ([0.54, 0.1, -2e5, 0], [0.7, 0.1, -2e5, 0], [0.7, 0.1, -2e5, 0])
    assert values("tpv13/tpv12_13_material.yaml", ["mu", "plastCo", "s_zz"], (0, 0, -100)) == [
        [2.9403e10, 5e6, -1666e3]
    ]


def test_tpvyoffe_layers_and_slip():
    names = ["rho", "mu", "lambda"]
    found = values(
        "tpvyoffe/northridge_material.yaml", names, (0, 0, 200), (0, 0, 100), (5, 5, -3000), (0, 0, -4000), (0, 0, -2e6)
    )
    top = 5667078183.27402
    half = (16693624487.2577 + 48290591620.5055) / 2
    assert found[0] == found[1] == [2600, top, top]
    assert found[2] == pytest.approx([2650, half, half - 2.5e-5], rel=1e-14)
    assert found[3] == pytest.approx([2700, 48290591620.5055, 48290591620.5054], rel=1e-15)
    assert found[4] == [3800, 39439911472334.7, 39439911472334.7]
    names = ["strike_slip", "dip_slip", "rupture_onset", "tau_S", "tau_R", "rupture_rise_time"]
    (slip,) = values("tpvyoffe/northridge_fault.yaml", names, (-8000, -1000, -5000))
    assert slip == pytest.approx([0, 0.37, 0.74, 0.3 / 1.27, 0.8 - 0.6 / 1.27, 0.8], rel=1e-14)
