"""Numbers that can be computed with and are probably not meant: each mistake is named, and unusual cases that are right are left alone."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

import faultwave as fw
from faultwave.base.errors import Problems
from faultwave.case import ranges
from faultwave.case.load import examples, load_case
from faultwave.case.plausibility import (
    Scene,
    advice_outside,
    warn_friction,
    warn_normal_stress,
    warn_rock_properties,
    warn_scene,
)
from faultwave.case.ranges import Range

ROOT = Path(__file__).resolve().parents[2]
DEFECTS = ROOT.parent / "shared" / "defects"

COUPLE = {
    "kind": "double-couple", "location": [50, 30, -1000], "strike": 30, "dip": 60, "rake": 70, "magnitude": 4,
    "time_function": {"kind": "brune", "duration": 0.4},
}  # fmt: skip
SOUND: dict[str, Any] = {
    "end_time": 2.0,
    "mesh": {
        "generate": {
            "shape": "box", "cells": [4, 4, 3], "lower": [-2e3, -2e3, -3e3], "upper": [2e3, 2e3, 0],
            "boundaries": {"z+": "free-surface"},
        }
    },
    "numerics": {"order": 2},
    "material": {"constant": {"rho": 2700, "vp": 6000, "vs": 3464}},
    "sources": [COUPLE],
    "output": {"receivers": {"points": [[1000, 400, -100], [500, 1200, -100]], "interval": 0.01}},
}  # fmt: skip
GRID: dict[str, Any] = {key: value for key, value in SOUND.items() if key not in ("mesh", "numerics")} | {
    "engine": "fd", "grid": {"lower": [-2e3, -2e3, -3e3], "upper": [2e3, 2e3, 0], "spacing": 200},
}  # fmt: skip


def told(base: dict[str, Any], *changes: tuple[str, Any]) -> str:
    """Return all problems of a case with changes at dotted places."""
    case = deepcopy(base)
    for place, value in changes:
        node: Any = case
        *path, last = [int(key) if key.isdigit() else key for key in place.split(".")]
        for key in path:
            node = node[key]
        node[last] = value
    return str(fw.check(case))


@pytest.mark.parametrize("base", (SOUND, GRID), ids=("dg", "fd"))
def test_a_sound_case_has_no_warnings(base: dict[str, Any]) -> None:
    known = (
        "radiate above",
        "act partly outside of the run",
        "cause errors of displacement",
    )  # as mesh, run and box are small
    assert not [p for p in fw.check(deepcopy(base)).items if not any(words in p.what for words in known)]


MISTAKES: tuple[tuple[str, Any, str], ...] = (
    ("material.constant.vs", 3.464, "S waves have 3.46 m/s (allowed: 10 to 12000 m/s). Is the speed in km/s?"),
    ("material.constant.vp", 6.0e6, "Is the speed in mm/s?"),
    ("material.constant.rho", 2.7, "Is it in g/cm^3?"),
    ("material.constant.vs", 90.0, "Vp/Vs is up to 66.67"),
    ("material.constant.vp", 4200.0, "Are vp and vs exchanged"),
    ("sources.0.location", [50, 30, 1000], "Is depth positive? z points up: write -1000 for a depth of 1000 m."),
    ("sources.0.location", [5e5, 3e5, -1.2e6], "Is the location in mm?"),
    ("sources.0.location", [50, 30, -1.0e6], "Is only the depth 1000 times too large?"),
    (
        "sources.0.location",
        [0.05, 0.03, -1],
        "Is the depth in km? Numbers are in m; strings may include units: '-1 km'.",
    ),
    ("output.receivers.points", [[1, 0.4, -0.1], [0.5, 1.2, -0.1]], "Are locations in km?"),
    ("output.receivers.points", [[50, 30, -1000]], "lies at source 1, where the motion is not finite"),
    ("sources.0.magnitude", 8.9, "even with a stress drop of 100 MPa"),
    ("sources.0.rake", 1.2217, ""),
    ("end_time", 0.05, "All seismograms will be zero. Is the time in ms"),
    ("end_time", 2000.0, "Is the time in ms, or are locations in km?"),
)


@pytest.mark.parametrize("base", (SOUND, GRID), ids=("dg", "fd"))
@pytest.mark.parametrize(("place", "value", "words"), MISTAKES, ids=lambda x: str(x)[:30])
def test_the_mistake_is_named(base: dict[str, Any], place: str, value: Any, words: str) -> None:
    assert words in told(base, (place, value))


@pytest.mark.parametrize("base", (SOUND, GRID), ids=("dg", "fd"))
def test_forces_placed_in_km(base: dict[str, Any]) -> None:
    force = {
        "kind": "force",
        "location": [0.5, 0.3, -1.0],
        "force": [0, 0, 1e10],
        "time_function": COUPLE["time_function"],
    }
    assert "Are coordinates in km?" in told(base, ("sources", [force]))
    for place in ([500, 300, -1.0], [0, 0, -1.0], [500, 300, -1000]):  # a force close to the surface is usual
        assert "in km" not in told(base, ("sources", [force | {"location": place}]))


@pytest.mark.parametrize("base", (SOUND, GRID), ids=("dg", "fd"))
def test_a_magnitude_as_a_moment(base: dict[str, Any]) -> None:
    couple = {key: value for key, value in COUPLE.items() if key != "magnitude"}
    for moment, words in ((6.5, "Is it a magnitude? Mw 6.5 is a moment of 7.08e+18 N m"), (1e25, "Is it in dyne*cm?")):
        assert words in told(base, ("sources", [couple | {"seismic_moment": moment}]))
    for moment in (1.0, 1e15):
        assert "moment" not in told(base, ("sources", [couple | {"seismic_moment": moment}]))


@pytest.mark.parametrize("base", (SOUND, GRID), ids=("dg", "fd"))
def test_longitudes_of_the_other_sign(base: dict[str, Any]) -> None:
    couple = {key: value for key, value in COUPLE.items() if key != "location"}
    projection = {"crs": "EPSG:32611", "origin": [-118.1, 34.1]}
    for place, words in (
        ([118.1, 34.1, -1000], "Is the sign of the longitude wrong?"),
        ([-118.1, -34.1, -1000], "Is the sign of the latitude wrong"),
    ):
        found = told(base, ("sources", [couple | {"geographic": place}]), ("projection", projection))
        assert words in found, found


def test_angles_in_radians() -> None:
    radians = {"strike": 0.5236, "dip": 1.0472, "rake": 1.2217}
    assert "Are they in radians?" in told(SOUND, ("sources", [COUPLE | radians]))
    for small in ({"strike": 0, "dip": 1, "rake": 0}, {"strike": 0.5, "dip": 60.5, "rake": 0.5}):
        assert "radians" not in told(SOUND, ("sources", [COUPLE | small]))


def test_samples_too_far_apart_for_the_frequency() -> None:
    ricker = COUPLE | {"time_function": {"kind": "ricker", "frequency": 5.0}}
    assert "higher frequencies fold back" in told(SOUND, ("sources", [ricker]), ("output.receivers.interval", 0.2))
    assert "fold back" not in told(SOUND, ("sources", [ricker]), ("output.receivers.interval", 0.1))


def test_a_full_space_is_said_unless_it_is_stated() -> None:
    words = "the waves are those of a full space. Name it: boundaries: { z+: free-surface }"
    assert words in told(SOUND, ("mesh.generate.boundaries", {}))
    for sides in (
        {"z+": "absorbing"},
        {"z": "absorbing"},
        {"z+": "rigid"},
        {"x": "periodic", "y": "periodic", "z": "periodic"},
    ):
        assert words not in told(SOUND, ("mesh.generate.boundaries", sides))
    wave = {"kind": "plane-wave", "wave": [{"mode": "P", "k": [0, 0, 1e-3]}]}
    assert words not in told(SOUND | {"initial": wave}, ("mesh.generate.boundaries", {}))
    small = {"shape": "box", "cells": [2, 2, 2], "lower": [0, 0, 0], "upper": [1, 1, 1]}
    unit = {"end_time": 1.0, "mesh": {"generate": small}, "material": {"constant": {"rho": 1, "mu": 1, "lambda": 1}}}
    assert words not in str(fw.check(unit))


def test_a_laboratory_sample_has_no_warnings() -> None:
    """PMMA of 40 cm, a burst of microseconds."""
    sample = {"shape": "box", "cells": [4, 4, 3], "lower": [-0.2, -0.2, -0.3], "upper": [0.2, 0.2, 0]}
    push = {
        "kind": "force", "location": [0.01, 0.02, -0.1], "force": [0, 0, 1], "time_function": {"kind": "gaussian", "duration": 30e-6},
    }  # fmt: skip
    output = {"receivers": {"points": [[0.1, 0.04, -0.01]], "interval": 1e-6}}
    case = SOUND | {
        "end_time": 400e-6, "mesh": {"generate": sample}, "sources": [push], "output": output,
        "material": {"constant": {"rho": 1190, "vp": 2680, "vs": 1370}}, "numerics": {"order": 5},
    }  # fmt: skip
    assert not fw.check(case).items


@pytest.mark.parametrize(
    ("rock", "place"),
    [
        ({"rho": 1500, "vp": 340, "vs": 30}, "mud"), ({"rho": 917, "vp": 3850, "vs": 1950}, "ice"),
        ({"rho": 3000, "vp": 100, "vs": 32}, "regolith of the Moon"), ({"rho": 5500, "vp": 13700, "vs": 7300}, "lowermost mantle"),
        ({"rho": 1000, "vp": 1500, "vs": 0}, "water"),
    ],
)  # fmt: skip
def test_unusual_rock_is_left_alone(rock: dict[str, float], place: str) -> None:
    shear = rock["rho"] * rock["vs"] ** 2
    values = {"rho": rock["rho"], "mu": shear, "lambda": rock["rho"] * rock["vp"] ** 2 - 2 * shear}
    problems = Problems()
    warn_rock_properties({name: np.full(3, value, float) for name, value in values.items()}, 1e4, problems)
    assert not problems.items, place


def test_a_density_in_other_units_is_named_alone() -> None:
    """With moduli, all speeds are wrong by it; with speeds, they are right."""
    for change in ({"rho": 2.7, "mu": 3.24e10, "lambda": 3.24e10}, {"rho": 2.7, "vp": 6000, "vs": 3464}):
        found = told(SOUND, ("material.constant", change))
        assert "Is it in g/cm^3?" in found and "waves have" not in found, found


def test_friction_in_other_units() -> None:
    tpv5 = {"mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": -1e6}
    cases: tuple[tuple[dict[str, float], str], ...] = (
        ({}, ""), ({"d_c": 400.0}, "Is d_c in mm?"), ({"mu_s": 67.7}, "in per cent"), ({"mu_s": 6.77}, "in per cent"),
        ({"cohesion": -1.0}, "Is cohesion in MPa?"),
        ({"mu_s": 10000.0}, ""), ({"tp_initial_temperature": 110.0}, "degrees Celsius"), ({"strike_slip": 180.0}, "Is strike_slip in cm?"),
    )  # fmt: skip
    for change, words in cases:
        problems = Problems()
        warn_friction({name: np.full(4, x) for name, x in (tpv5 | change).items()}, {}, 30e3, problems)
        assert (words in str(problems)) if words else not problems.items, change
    problems = Problems()  # of a laboratory fault
    warn_friction({"mu_s": np.array([0.6]), "d_c": np.array([1e-6]), "cohesion": np.array([-5e2])}, {}, 0.4, problems)
    assert not problems.items


@pytest.mark.parametrize(
    ("size", "words"), [(120.0, "Is stress in MPa?"), (120e6, ""), (2e4, ""), (0.0, ""), (1.2e12, "in Pa?")]
)
def test_normal_stress_in_other_units(size: float, words: str) -> None:
    problems = Problems()
    warn_normal_stress(size, problems)
    assert (words in str(problems)) if words else not problems.items


@pytest.mark.parametrize(
    ("example", "changes"),
    [
        ("fault-on-a-grid", {"T_n": (-120.0, "Is stress in MPa?"), "d_c": (400.0, "Is d_c in mm?"), "cohesion": (-1.0, "in MPa?")}),
        ("thermal-pressurisation", {"T_n": (-60.0, "Is stress in MPa?"), "rs_sl0": (400.0, "rs_sl0 in mm?"), "rs_a": (1.0, "0.01 is")}),
    ],
    ids=("fd", "dg"),
)  # fmt: skip
def test_faults_of_both_engines_in_other_units(example: str, changes: dict[str, tuple[float, str]]) -> None:
    case = YAML(typ="safe").load(ROOT / "examples" / example / "case.yaml")
    case["fault"]["parameters"]["constant"] |= {name: value for name, (value, _) in changes.items()}
    found = str(fw.check(case))
    assert all(words in found for _, words in changes.values()), found


def test_places_outside_are_explained() -> None:
    lower, upper = np.array([-1e3, -4e3, -3e3]), np.array([1e3, 4e3, 0.0])
    assert "exchanged" in advice_outside(np.array([3e3, 500.0, -100.0]), lower, upper)
    assert advice_outside(np.array([3e5, 5e7, -100.0]), lower, upper) == ""


def test_finite_sources_of_too_much_or_too_little_moment() -> None:
    x, z = np.meshgrid(np.linspace(-1e4, 1e4, 10), np.linspace(-1.5e4, -1e3, 6))
    places = np.stack([x.ravel(), 0 * x.ravel(), z.ravel()], 1)
    case, _ = load_case(SOUND)
    assert case is not None
    for total, words in ((3e18, ""), (3e25, "dyne*cm"), (1e14, "Is slip in m")):
        scene = Scene(
            np.array([-2e4, -2e4, -2e4]), np.array([2e4, 2e4, 0.0]), 200.0, 6e3, places, np.full(60, total / 60), np.zeros(60),
        )  # fmt: skip
        problems = Problems()
        warn_scene(case, scene, problems)
        assert (words in str(problems)) if words else "stress drop" not in str(problems), total


def test_the_table_is_consistent() -> None:
    found = [value for value in vars(ranges).values() if isinstance(value, Range)]
    assert len(found) > 10
    for limits in found:
        low, high = limits.likely
        assert limits.low <= low < high <= limits.high and limits.allowed
        for mistake in limits.mistakes:
            assert mistake.factor > 0


@pytest.mark.parametrize("name", ["point-source", "plane-wave", "em-cavity", "two-engines"])
def test_built_in_examples_have_no_warnings(name: str) -> None:
    assert name in examples() and not fw.check(name).items


ANSWERS = {
    "a07_vs_gt_vp": "are they exchanged?", "a08_source_positive_depth": "Is depth positive?", "a14_mw_big_short": "Is it a magnitude?",
    "a30_no_free_surface": "full space", "a35_receivers_no_unit_km": "Are locations in km?", "c06_depth_positive": "Is depth positive?",
    "c07_depth_km_bare": "Is the depth in km?", "c14_epsg_number": "write 'EPSG:32611'",
    "c18_origin_east_pos": "Is the longitude west of Greenwich, -118.1?", "c19_stations_headerless": "Is the first line a station?",
}  # fmt: skip


@pytest.mark.skipif(not DEFECTS.is_dir(), reason="no inputs with known faults next to the project")
@pytest.mark.parametrize("name", ANSWERS)
def test_inputs_with_known_mistakes(name: str) -> None:
    assert ANSWERS[name] in str(fw.check(DEFECTS / "plausibility" / f"{name}.yaml"))
