"""Exact solutions that runs start from, their golden numbers, and the errors told at the end."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.physics.initial import Given, condition
from faultwave.physics.initial.ocean import Ocean
from faultwave.physics.waves import law
from faultwave.physics.waves.plane_waves import Medium
from tests.run.sea.setup import GRAVITY, ocean, sea

OCEAN = {"kind": "ocean", "wavenumbers": [np.pi / 10] * 2, "depth": 1.0}
POINTS = np.random.default_rng(3).uniform(-0.9, 0.9, (40, 3))


def settings(**given):
    from faultwave.case.settings.initial import Initial

    return Initial.model_validate(given)


def both_media(solid_mu, fluid=None):
    """Of a mesh with one cell of water and one of rock."""
    material = {"rho": np.ones(2), "lambda": np.ones(2), "mu": np.array([0.0, solid_mu])}
    return Given(law("elastic"), material, 9.81)


@pytest.mark.parametrize(
    "number, vertical, frequency",
    [(0, 0.4433813749, 0.0425599573), (1, 1.5733628062, 2.4523337594), (2, 4.7133058739, 7.1012991618)],
)
def test_dispersion_of_ocean_modes(number, vertical, frequency):
    mode = Ocean(Medium(1.0, 2.25), GRAVITY, number, (np.pi / 10, np.pi / 10), 1.0)
    assert mode.vertical == pytest.approx(vertical, abs=1e-10) and mode.frequency == pytest.approx(frequency, abs=1e-10)


@pytest.mark.parametrize("mode", [0, 1])
def test_ocean_modes_are_those_of_the_formulas(mode):
    given = Given(law("acoustic"), {"rho": np.ones(1), "lambda": np.full(1, 2.25)}, GRAVITY)
    found = condition("ocean").solution(settings(**OCEAN, mode=mode), given)
    np.testing.assert_allclose(found(POINTS, 0.7), ocean(mode)(POINTS, 0.7), rtol=1e-7, atol=1e-12)
    higher = condition("ocean").solution(settings(**OCEAN, mode=mode, height=2.0, level=0.25), given)
    kz, w = found_mode(mode)
    ratio = 2.0 * w**2 / kz
    np.testing.assert_allclose(higher(POINTS + [0, 0, 0.25], 0.7), ratio * found(POINTS, 0.7), rtol=1e-8, atol=1e-12)


def found_mode(number):
    mode = Ocean(Medium(1.0, 2.25), GRAVITY, number, (np.pi / 10, np.pi / 10), 1.0)
    return mode.vertical, mode.frequency


def test_scholte_is_the_published_wave():
    """Wilcox et al. (2010), section 6.2, as SeisSol has it: W = 2 pi."""
    w, k, g, gp = 2 * np.pi, 1.406466352506808, 0.98901344820674908, 1.2825031256883821
    share = (k**2 + g**2) / (2 * k * gp)
    a = (k - share * gp) / g
    assert a == pytest.approx(0.35944997730200889, rel=1e-12)
    setting = settings(kind="scholte", frequency=1.0, amplitude=g * a * w**2)
    found = condition("scholte").solution(setting, both_media(1.0))(POINTS, 0.3)
    x, z = POINTS[:, 0], POINTS[:, 2]
    s, above = w * 0.3 - k * w * x, z > 0
    fluid, shear, press = np.exp(-g * w * z), np.exp(g * w * z), np.exp(gp * w * z)
    vx = np.where(above, -k * a * fluid, g * shear - share * k * press) * w**2 * np.sin(s)
    vz = np.where(above, g * a * fluid, k * shear - share * gp * press) * w**2 * np.cos(s)
    szz = np.where(above, a * fluid, 2 * k * g * shear - share * (3 * gp**2 - k**2) * press) * w**2 * np.sin(s)
    sxz = np.where(above, 0.0, -(k**2 + g**2) * (shear - press)) * w**2 * np.cos(s)
    want = np.stack([vx, vz, szz, sxz], 1)
    np.testing.assert_allclose(found[:, [6, 8, 2, 5]], want, rtol=1e-6, atol=1e-6 * np.abs(want).max())


def test_snell_is_the_published_wave():
    """Wilcox et al. (2010), section 6.3, as SeisSol has it: W = 2 pi, an angle of 0.2."""
    w, angle, back = 2 * np.pi, 0.2, 0.48055591432167399
    setting = settings(kind="snell", angle=float(np.degrees(angle)), amplitude=w, phase=-np.pi / 2)
    given = Given(law("elastic"), {"rho": np.ones(2), "lambda": np.ones(2), "mu": np.array([0.0, 4.0])}, 9.81)
    found = condition("snell").solution(setting, given)(POINTS, 0.3)
    x, z = POINTS[:, 0], POINTS[:, 2]

    def phase(c, sine, sign=1.0):
        return w * 0.3 - (w / c) * (x * sine + sign * z * np.sqrt(1 - sine**2))

    sine = np.sin(angle)
    below = w * (np.sin(phase(1, sine)) + back * np.sin(phase(1, sine, -1.0)))
    sp, ss, ap, as_ = 0.59600799238518454, 0.39733866159012299, 0.433811889, 0.404562106
    cp, cs = np.sqrt(1 - sp**2), np.sqrt(1 - ss**2)
    above = w * ap * (1 + 8 * cp**2) / 3 * np.sin(phase(3, sp)) + w * as_ * 4 * ss * cs * np.sin(phase(2, ss))
    np.testing.assert_allclose(found[:, 2], np.where(z < 0, below, above), atol=1e-7 * w)
    vz = np.where(
        z < 0,
        -w * np.cos(angle) * (np.sin(phase(1, sine)) - back * np.sin(phase(1, sine, -1.0))),
        -w * ap * cp * np.sin(phase(3, sp)) - w * as_ * ss * np.sin(phase(2, ss)),
    )
    np.testing.assert_allclose(found[:, 8], vz, atol=1e-7 * w)


def test_a_window_cuts_a_period_out_of_a_wave():
    wave = {
        "mode": "P",
        "k": [np.pi, 0, 0],
        "phase": -np.pi / 2,
        "origin": [0.5, 0, 0],
        "window": [-1.5 * np.pi, 0.5 * np.pi],
    }
    material = {"rho": np.ones(1), "lambda": np.full(1, 2.0), "mu": np.ones(1)}
    given = Given(law("elastic"), material, 9.81)
    found = condition("plane-wave").solution(settings(kind="plane-wave", wave=[wave]), given)
    x = np.linspace(-1, 3, 81)
    phase = np.pi * (x - 0.5) - 2 * np.pi * 0.1 - np.pi / 2
    want = np.where((phase > -1.5 * np.pi) & (phase < 0.5 * np.pi), np.cos(phase), 0.0)
    np.testing.assert_allclose(found(np.column_stack([x, 0 * x, 0 * x]), 0.1)[:, 6], want, atol=1e-12)
    assert np.abs(np.diff(want)).max() < 0.2  # it starts and ends where it is zero


def test_solutions_that_do_not_exist_are_told():
    with pytest.raises(InputError, match="there is no fluid"):
        condition("scholte").solution(
            settings(kind="scholte"), Given(law("elastic"), {n: np.ones(1) for n in ("rho", "lambda", "mu")}, 9.81)
        )
    with pytest.raises(InputError, match="the solid is not uniform: rho"):
        material = {"rho": np.array([1.0, 1.0, 2.0]), "lambda": np.ones(3), "mu": np.array([0.0, 1.0, 1.0])}
        condition("scholte").solution(settings(kind="scholte"), Given(law("elastic"), material, 9.81))
    with pytest.raises(InputError, match="critical angle"):
        condition("snell").solution(settings(kind="snell", angle=60.0), both_media(4.0))
    with pytest.raises(InputError, match="ocean is water"):
        condition("ocean").solution(settings(**OCEAN), both_media(4.0))
    with pytest.raises(InputError, match="kind ocean needs wavenumbers and depth"):
        fw.simulate(sea(initial={"kind": "ocean"}))


@pytest.mark.parametrize("deck", [False, True])
def test_errors_at_the_end_are_told(tmp_path, deck):
    case = sea(order=3, end_time=1.0, initial=OCEAN | {"mode": 1})
    case["output"] = {"folder": str(tmp_path / "out"), "error_norms": True, "seissol_layout": deck}
    sim = fw.simulate(case).run()
    with open(tmp_path / "out" / "run-analysis.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    names = ["0", "1", "2", "3"] if deck else ["sigma", "v1", "v2", "v3"]
    assert [r["variable"] for r in rows[::6]] == names
    assert [r["norm"] for r in rows[:6]] == ["L1", "L2", "LInf", "L1_rel", "L2_rel", "LInf_rel"]
    found = {n: np.array([float(r["error"]) for r in rows if r["norm"] == n]) for n in ("L1", "L2", "L2_rel", "LInf")}
    np.testing.assert_allclose(found["L2_rel"], sim.error(ocean(1)), rtol=5e-3)  # with other points
    volume = 100.0
    assert (found["L1"] < found["L2"] * volume**0.5).all() and (found["L2"] < found["LInf"] * volume**0.5).all()


def test_components_that_are_zero_have_no_relative_error(tmp_path):
    """A wave along y = z has no v1, but for rounding of what the solution is made from."""
    wave = {"mode": "S", "k": [0, 2 * np.pi, 2 * np.pi], "polarisation": [1e-18, 1, -1]}
    case = {
        "end_time": 0.05, "material": {"constant": {"rho": 1.0, "lambda": 2.0, "mu": 1.0}},
        "mesh": {"generate": {"shape": "box", "cells": [3, 3, 3], "lower": [0, 0, 0], "upper": [1, 1, 1],
                              "boundaries": dict.fromkeys("xyz", "periodic")}},
        "numerics": {"order": 4, "threads": 1}, "initial": {"kind": "plane-wave", "wave": [wave]},
        "output": {"folder": str(tmp_path), "error_norms": True},
    }  # fmt: skip
    fw.simulate(case).run()
    with open(tmp_path / "run-analysis.csv", newline="") as file:
        rows = [(r["variable"], float(r["error"])) for r in csv.DictReader(file) if r["norm"].endswith("_rel")]
    zero = {"s_xx", "s_xy", "s_yz", "s_xz", "v1"}
    assert {name for name, value in rows if np.isnan(value)} == zero
    assert all(0 < value < 1 for name, value in rows if name not in zero)


def test_errors_without_a_solution_are_refused():
    with pytest.raises(InputError, match="no exact solution to compare with"):
        fw.simulate(sea(output={"error_norms": True}))


def test_a_field_of_time_is_an_exact_solution(tmp_path):
    """A plane wave written as formulas, which enters through two sides."""
    wave = "return cos(3.141592653589793 * (z - 2.0 * t));"
    text = f"!FunctionMap\nmap:\n  v3: |\n    {wave}\n  s_zz: |\n    return -2.0 * cos(3.141592653589793 * (z - 2.0 * t));\n"
    text += "  s_xx: |\n    return -1.0 * cos(3.141592653589793 * (z - 2.0 * t));\n"
    text += "  s_yy: |\n    return -1.0 * cos(3.141592653589793 * (z - 2.0 * t));\n"
    (tmp_path / "wave.yaml").write_text(text)
    box = {
        "shape": "box", "cells": [2, 2, 4], "lower": [0, 0, 0], "upper": [1, 1, 2],
        "boundaries": {"x": "periodic", "y": "periodic", "z": "analytic"},
    }  # fmt: skip
    case = {
        "end_time": 0.7, "mesh": {"generate": box}, "material": {"constant": {"rho": 1.0, "lambda": 2.0, "mu": 1.0}},
        "numerics": {"order": 4, "threads": 1}, "initial": {"kind": "easi", "field": {"easi": str(tmp_path / "wave.yaml")}},
        "output": {"folder": str(tmp_path / "out"), "error_norms": True},
    }  # fmt: skip
    sim = fw.simulate(case).run()
    found = sim.sample([[0.5, 0.4, 1.3]])[0]
    assert found[8] == pytest.approx(np.cos(np.pi * (1.3 - 1.4)), abs=5e-3)
    assert "run-analysis.csv" in {p.name for p in (tmp_path / "out").iterdir()}


@pytest.mark.parametrize("kind", ["ocean", "scholte", "snell"])
def test_every_setting_of_a_solution_changes_it(kind):
    from faultwave.case.settings.initial import Initial
    from tests.case.test_kinds import VALUES, uses

    given = (
        both_media(4.0)
        if kind != "ocean"
        else Given(law("elastic"), {"rho": np.ones(1), "lambda": np.ones(1), "mu": np.zeros(1)}, 9.81)
    )
    plain = OCEAN if kind == "ocean" else {"kind": kind}
    for name in Initial.model_fields:
        if name not in ("kind", "boundaries_only") and uses(Initial, kind, name):
            made = [
                condition(kind).solution(settings(**s), given)(POINTS, 0.3)
                for s in (plain, {**plain, name: VALUES[name]})
            ]
            assert not np.allclose(*made), name
