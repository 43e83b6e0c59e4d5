"""A check reads the material of a large grid at a sample of its points, and says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import faultwave as fw
from faultwave.fd.method import effective_medium
from faultwave.fd.planning import material
from faultwave.fd.planning import plan as planning
from faultwave.run.inputs import load_valid_case

RICKER = {"kind": "ricker", "duration": 0.9}
BASIN = "if (z > -90 * (1 - x*x/160000 - y*y/78400)) {{ return {soft}; }} return {hard};"


def basin(tmp_path: Path, length: float = 960.0, **more: Any) -> dict[str, Any]:
    """Return a case with a bowl of soft rock in a box of some ``length`` [m]."""
    speeds = {"rho": (1800, 2200), "vp": (700, 1600), "vs": (220, 800)}
    rock = {name: BASIN.format(soft=soft, hard=hard) for name, (soft, hard) in speeds.items()}
    return {
        "engine": "fd", "end_time": 0.5, "material": {"expression": rock},
        "grid": {"lower": [-480, -360, -240], "upper": [length - 480, 360, 0], "spacing": 12.0},
        "sources": [{"kind": "force", "location": [0, 0, -180], "force": [1e9, 0, 0], "time_function": RICKER}],
        "output": {"folder": str(tmp_path / "out")}, **more,
    }  # fmt: skip


def test_a_long_box_is_read_at_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, evaluate = [], effective_medium.at_points
    monkeypatch.setattr(effective_medium, "at_points", lambda *of: read.append(len(of[2])) or evaluate(*of))
    found = fw.check(basin(tmp_path, 960e3))
    assert not found.errors and sum(read) <= 1.1 * effective_medium.MAX_SURVEYED
    assert len(found.notes) == 1 and found.notes[0].startswith("checked the material at a sample of the ")


ATTENUATING = {"rho": "2000 + x", "vp": "1600 + z", "vs": "800", "Qp": "40", "Qs": "25 + z/48"}
REST = {"s_xx": -60e6, "s_yy": -60e6, "s_zz": -60e6, "s_xy": 1e5, "s_yz": 0.0, "s_xz": 0.0}
CASES: dict[str, dict[str, Any]] = {
    "elastic": {},
    "attenuation": {"attenuation": {"low": 0.1, "high": 3.0}, "material": {"expression": ATTENUATING}},
    "soil": {"soil": {"slower_than": 500.0, "parameters": {"constant": {"reference_strain": 0.001}}}},
    "plasticity": {"plasticity": {"parameters": {"constant": {"plastic_cohesion": 1e6, "bulk_friction": 0.5, **REST}}}},
}


@pytest.mark.parametrize("more", CASES.values(), ids=CASES)
def test_a_survey_finds_what_a_plan_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    settings = basin(tmp_path, **more)
    settings["grid"]["spacing"] = 24.0
    case, _ = load_valid_case(settings)
    whole = planning.make_plan(case)
    monkeypatch.setattr(material, "MAX_CHECKED_SAMPLES", 0)
    sample = planning.survey(case)
    assert sample.notes and not whole.notes and not sample.medium.coefficients
    assert sample.scheme.step == pytest.approx(whole.scheme.step, rel=0.01)
    assert sample.medium.slowest == pytest.approx(whole.medium.slowest, rel=0.01)
    assert [w.where for w in sample.warnings] == [w.where for w in whole.warnings]


def test_invalid_rock_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(material, "MAX_CHECKED_SAMPLES", 0)
    case = basin(tmp_path)
    case["material"]["expression"]["vs"] = "if (x > 300) { return -1; } return 800;"
    errors = [str(p) for p in fw.check(case).errors]
    assert errors and "vs is negative (down to -1)" in errors[0]


def test_small_grids_are_checked_at_every_point(tmp_path: Path) -> None:
    assert not fw.check(basin(tmp_path)).notes
