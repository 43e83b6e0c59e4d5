"""Source parameters of ruptures made from formulas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from faultwave.observe.rupture import (
    FaultHistory,
    FinishedRupture,
    rupture_map,
    rupture_results,
    rupture_warnings,
    source_parameters,
)
from tests.observe.test_rupture import at_inner, triangles

SPEED, SHEAR, RIGIDITY, DROP, WAIT = 2400.0, 3000.0, 30e9, 4e6, 0.25


def crack(edge: float = 400.0) -> FinishedRupture:
    """A front along x at SPEED, 1 m of slip where x < 3 km, dynamic stress WAIT after rupture; Brune's moment rate."""
    corners = triangles(12, edge)
    area = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    inner = at_inner(corners)
    broken = (inner[..., 0] < 7.5 * edge).all(1)
    times = np.where(broken[:, None], 0.5 + inner[..., 0] / SPEED, np.nan)
    one, zero = broken.astype(float), np.zeros(len(corners))
    faces = {
        "corners": corners, "tag": zero + 3, "area": area, "spacing": zero + 100.0, "share": one, "rupture_time": times,
        "weakened": times.mean(1) + WAIT, "slip_strike": -one, "slip_dip": zero, "slip": one, "path": one,
        "peak_slip_rate": 5 * one, "slip_rate": zero, "drop_times_slip": DROP * one, "breakdown": 1e6 * one,
        "dissipated": 60e6 * one, "rigidity": zero + RIGIDITY, "shear_speed": zero + SHEAR,
    }  # fmt: skip
    time = np.linspace(0.0, 10.0, 501)
    released = 1 - (1 + 4 * time) * np.exp(-4 * time)
    potency = released * area[broken].sum()
    static = 0.5 * DROP * potency
    return FinishedRupture(faces, FaultHistory(time, 1.5 * static, static, RIGIDITY * potency, potency))


def numbers(found: FinishedRupture) -> dict[str, float]:
    return {name: float(v.data) for name, v in source_parameters(found).variables.items()}


def test_numbers_of_a_crack() -> None:
    rupture = crack()
    found, area = numbers(rupture), rupture.faces["area"] @ rupture.faces["share"]
    assert found["seismic_moment"] == pytest.approx(RIGIDITY * area)
    assert found["moment_magnitude"] == pytest.approx(2 / 3 * (np.log10(RIGIDITY * area) - 9.1))
    assert found["ruptured_area"] == pytest.approx(area)
    assert found["mean_slip"] == pytest.approx(1.0)
    assert found["rupture_speed"] == pytest.approx(SPEED, rel=1e-6)
    assert found["relative_rupture_speed"] == pytest.approx(SPEED / SHEAR, rel=1e-6)
    assert found["supershear_share"] == 0.0
    assert found["cohesive_zone"] == pytest.approx(SPEED * WAIT, rel=1e-6)
    assert found["cohesive_zone_points"] == pytest.approx(SPEED * WAIT / 100.0, rel=1e-6)
    assert found["stress_drop"] == pytest.approx(DROP)
    assert found["radiated_energy"] == pytest.approx(0.25 * DROP * area, rel=1e-6)
    assert found["apparent_stress"] == pytest.approx(0.25 * DROP, rel=1e-6)
    assert found["fracture_energy"] == pytest.approx(1e6 * area)
    assert found["radiation_efficiency"] == pytest.approx(0.5, rel=1e-6)
    assert found["corner_frequency"] == pytest.approx(4 / (2 * np.pi), rel=0.01)
    assert not list(rupture_warnings(rupture))


def test_maps_of_a_crack() -> None:
    rupture = crack()
    found = rupture_map(rupture)
    broken = rupture.ruptured
    assert 0 < broken.sum() < len(broken)
    np.testing.assert_allclose(found["rupture_speed"][broken], SPEED, rtol=1e-6)
    np.testing.assert_allclose(found["stress_drop"][broken], DROP)
    assert np.isnan(found["stress_drop"][~broken]).all() and np.isnan(found["rupture_speed"][~broken]).all()
    assert found.variables["fracture_energy"].unit == "J/m^2"


def test_what_is_doubtful_is_told() -> None:
    rupture = crack()
    coarse = replace(rupture, faces={**rupture.faces, "spacing": rupture.faces["spacing"] * 5})
    (warning,) = rupture_warnings(coarse)
    assert "held 1.2 points in the median" in str(warning) and warning.severity == "warning"
    h = rupture.history
    early = replace(rupture, history=FaultHistory(*(v[:30] for v in vars(h).values())))
    (warning,) = rupture_warnings(early)
    assert "the rupture continues at the end" in str(warning)


def test_points_that_break_together_have_no_speed() -> None:
    rupture = crack()
    fast = replace(rupture, faces={**rupture.faces, "rupture_time": rupture.faces["rupture_time"] / 50})
    assert np.isnan(fast.speed).all()


def test_nothing_ruptured() -> None:
    rupture = crack()
    still = {
        name: np.zeros_like(v)
        for name, v in rupture.faces.items()
        if name not in ("corners", "area", "spacing", "shear_speed")
    }
    times = {"rupture_time": np.full((len(still["tag"]), 3), np.nan), "weakened": np.full(len(still["tag"]), np.nan)}
    h = FaultHistory(rupture.history.time, *[np.zeros(501)] * 4)
    quiet = FinishedRupture({**rupture.faces, **still, **times}, h)
    found = numbers(quiet)
    assert found["seismic_moment"] == 0.0 and found["ruptured_area"] == 0.0
    assert all(
        np.isnan(found[name]) for name in ("rupture_speed", "stress_drop", "corner_frequency", "moment_magnitude")
    )
    assert {r.kind for r in rupture_results(quiet)} == {"rupture_map", "moment_rate", "source_parameters"}
    assert not list(rupture_warnings(quiet))


def test_without_initial_stress_there_is_no_stress_drop() -> None:
    imposed = replace(crack(), has_stress=False)
    assert "stress_drop" not in rupture_map(imposed) and "fracture_energy" not in numbers(imposed)
    assert numbers(imposed)["radiated_energy"] > 0
