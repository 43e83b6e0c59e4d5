"""What is told of a fault before it runs: loads, strengths and lengths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from faultwave.base.errors import Problems
from faultwave.physics.friction import law
from faultwave.physics.friction.plausibility import LoadedFault, cohesive_points, doubts, rows, warn_resolution

PARAMETERS = {"mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": 0.0, "forced_rupture_time": np.inf}
MODULUS = 32e9


def fault(count: int = 400, patch: int = 40, spacing: float = 100.0, **more: float) -> LoadedFault:
    """TPV5's stress at ``count`` points of 200 m x 200 m, the first ``patch`` of them overstressed."""
    p = {name: np.full(count, more.pop(name, value)) for name, value in PARAMETERS.items()}
    tau = np.where(np.arange(count) < patch, 81.6e6, more.pop("tau", 70e6))
    sigma = np.full(count, more.pop("sigma", -120e6))
    assert not more
    full = np.ones(count)
    weak = law("linear-slip-weakening").weakening(p, {}, tau, sigma)
    return LoadedFault(200.0**2 * full, tau, tau, sigma, MODULUS * full, 0.25 * full, spacing * full, weak, 10.0)


def warned(loaded: LoadedFault) -> str:
    return "\n".join(map(str, doubts(loaded, np.flatnonzero(loaded.starts)).warnings))


def test_a_sound_fault_is_not_doubted() -> None:
    sound = fault()
    assert warned(sound) == ""
    told = dict(rows(sound, np.flatnonzero(sound.starts)))
    assert told["above strength at the start"] == "10 % of the area"
    assert told["S ratio, strength excess over stress drop"].startswith("median 1.61")  # (81.24 - 70) / (70 - 63)
    assert told["strength before and after weakening"] == "81.24 and 63 MPa"


def test_lengths() -> None:
    loaded = fault()
    weakening = MODULUS / 0.75 * 0.4 / (0.152 * 120e6)
    np.testing.assert_allclose(loaded.cohesive_zone, 9 * np.pi / 32 * weakening)
    np.testing.assert_allclose(cohesive_points(loaded), 9 * np.pi / 32 * weakening / 100.0)
    np.testing.assert_allclose(loaded.critical_half_length, 0.579 * weakening)
    # Griffith: mu/(1 - nu) 2 G / (2 pi drop^2) with G = (peak - dynamic) d_c / 2
    energy = 0.5 * 0.152 * 120e6 * 0.4
    expected = 2 * energy * MODULUS / 0.75 / (np.pi * (81.6e6 - 63e6) ** 2)
    assert loaded.griffith_half_length(np.arange(40)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"patch": 0}, "no point of the fault is above its strength; the nearest point lacks 11.2 MPa"),
        ({"patch": 400}, "all of the fault is above its strength at the start"),
        ({"patch": 300}, "75 % of the fault are above its strength"),
        (
            {"patch": 2},
            "the patch that fails without a rupture front is 160 m in radius, less than the critical half length 54",
        ),
        ({"tau": 60e6, "patch": 10}, "the shear stress is below the dynamic strength on 97.5 % of the fault"),
        ({"sigma": 120e6}, "Is compression positive in the case? Write T_n: -120 MPa"),
        ({"sigma": 120e6}, "the normal stress is not compressive on 100 % of the fault"),
    ],
)
def test_what_will_not_run_as_meant_is_told(more: dict, words: str) -> None:
    assert words in warned(fault(**more))


def test_what_else_may_load_a_fault_is_named() -> None:
    """Nothing will break is said only of faults that nothing else reaches."""
    quiet = fault(patch=0)
    assert "No rupture will start: overstress a patch, or give fault.nucleation." in warned(quiet)
    some = replace(quiet, nucleated=quiet.tau + 1e6)
    assert "including all stress from fault.nucleation" in warned(
        some
    ) and "raise what fault.nucleation adds" in warned(some)
    said = str(doubts(quiet, np.arange(0), ("sources", "the initial state (pressureinjection)")))
    assert "No rupture will start" not in said
    assert "A rupture starts only if sources or the initial state (pressureinjection) changes stress" in said


def test_forced_rupture_and_nucleation_start_a_fault() -> None:
    assert "no point" not in warned(fault(patch=0, forced_rupture_time=1.0))
    assert "no point" in warned(fault(patch=0, forced_rupture_time=11.0))  # the run ends before
    quiet = fault(patch=0)
    assert "no point" not in warned(replace(quiet, nucleated=quiet.tau + np.where(np.arange(400) < 40, 12e6, 0.0)))


def test_what_nucleation_takes_of_the_strength_starts_a_fault() -> None:
    """Pore pressure loads nothing, and lowers the strength."""
    quiet = fault(patch=0)
    w = quiet.weakening
    for relief, words in ((20e6, ""), (10e6, "the nearest point lacks 4.47 MPa")):  # 0.677 * 110 - 70
        weaker = replace(w, peak=w.peak - 0.677 * relief, dynamic=w.dynamic - 0.525 * relief)
        told = warned(replace(quiet, nucleated_weakening=weaker))
        assert words in told and ("no point" in told) == bool(words)


def test_nucleation_that_opens_a_fault_is_told() -> None:
    sound = fault()
    fluid = np.where(np.arange(400) < 40, 150e6, 0.0)
    told = warned(replace(sound, nucleated_sigma=sound.sigma + fluid))
    assert "nucleation removes all compression on 10 % of the fault" in told
    assert warned(replace(sound, nucleated_sigma=sound.sigma + 0.5 * fluid)) == ""


def test_barriers_do_not_count() -> None:
    """A strength barrier around a fault, as the SCEC cases have it, is no part of its S ratio."""
    loaded, barrier = fault(), np.arange(400) >= 200
    peak = np.where(barrier, 1e4 * 120e6, loaded.weakening.peak)
    walled = replace(loaded, weakening=replace(loaded.weakening, peak=peak))
    assert np.isnan(walled.s_ratio[200:]).all() and np.isfinite(walled.s_ratio[:200]).all()
    assert warned(walled) == ""


def test_a_coarse_fault_is_warned_of() -> None:
    for spacing, count in ((100.0, 0), (500.0, 1)):
        problems = Problems()
        warn_resolution(fault(spacing=spacing), problems)
        assert len(problems.warnings) == count
    assert "the forecast median number of points in the cohesive zone is 1.7" in str(problems.warnings[0])


def test_friction_that_grows_with_slip_is_doubted() -> None:
    p = {name: np.full(3, value) for name, value in PARAMETERS.items()} | {"mu_d": np.array([0.5, 0.7, 0.8])}
    points = np.arange(9.0).reshape(3, 3)
    problems = law("linear-slip-weakening").check(p, {}, np.full(3, 70e6), np.full(3, -120e6), points)
    (warning,) = problems.warnings
    assert not problems.errors
    assert "mu_d is larger than mu_s at 2 of 3 fault points, first at (3, 4, 5)" in str(warning)


def test_rate_and_state_tells_what_a_rupture_meets() -> None:
    """TPV101: strength at 1 m/s before the state evolves, and after; the weakening of the ageing law is b sigma ln(V theta / L)."""
    rate_and_state = law("rate-and-state-ageing")
    c = rate_and_state.settings({"rs_ini_slip_rate": 1e-12, "rs_sr0": 1e-6})
    p = {"rs_a": np.array([0.008]), "rs_sl0": np.array([0.02]), "rs_f0": np.array([0.6]), "rs_b": np.array([0.012])}
    tau, sigma = np.array([75e6]), np.array([-120e6])
    found = rate_and_state.weakening(p, c, tau, sigma)
    assert not found.threshold
    state = 1.606238999e9
    fall = 0.012 * 120e6 * np.log(state / 0.02)
    np.testing.assert_allclose(found.dynamic, 120e6 * (0.6 - 0.004 * np.log(1e6)), rtol=1e-6)
    np.testing.assert_allclose(found.peak - found.dynamic, fall, rtol=1e-6)
    np.testing.assert_allclose(found.distance, 0.02 * np.log(state / 0.02), rtol=1e-6)


def test_laws_that_cannot_tell_say_little() -> None:
    loaded = replace(fault(), weakening=None)
    assert [row[0] for row in rows(loaded, np.zeros(0, int))] == ["normal stress on the fault"]
    assert warned(loaded) == "" and not len(cohesive_points(loaded))
