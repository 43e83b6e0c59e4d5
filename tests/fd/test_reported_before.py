"""Everything wrong with a case on a grid is told before a run, at once, with file and line."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from faultwave.case.load import load_case
from faultwave.run import simulate
from faultwave.run.planned import check
from tests.messages import expect

from .test_grids import case, problems

CASE = """\
engine: fd
end_time: 2
grid:
  lower: [0, 0, -1500]
  upper: [1500, 1600, 0]
  spacing: 50
  frequency: 4 Hz
  absorbing: { width: 5 }
material:
  constant: { rho: 2700, vp: 3464, vs: 600 }
sources:
  - { kind: force, location: [750, 730, -620], force: [0, 0, 1e12], time_function: { kind: ricker, duration: 0.5 } }
  - kind: moment-tensor
    location: [750, 730, -1700]
    tensor: { xy: 1e15 }
    time_function: { kind: ricker, duration: 0.5 }
output:
  receivers:
    points:
      - [300, 900, 0]
      - [300, 900, 10]
    file: stations.txt
    interval: 0.05
  volume:
    interval: 1e-6
  intensity:
    formats: [shakemap]
numerics:
  cfl: 1.2
"""


@pytest.fixture
def told(tmp_path, monkeypatch):
    """Problems of CASE after replacements, each as 'file:line: text'."""

    def look(*changes, stations="100 100 0\n# a comment\n-2000 100 0\n", free=1e9):
        monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free))
        text = CASE
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "stations.txt").write_text(stations)
        path = tmp_path / "case.yaml"
        path.write_text(text)
        made, found = load_case(path)
        items = found.errors if made is None else check(made).items
        return [f"{p.where.replace(f'{tmp_path}/', '')}: {p.what} {p.allowed}" for p in items]

    return look


def test_all_at_once_with_file_and_line(told):
    found = told()
    expected = {
        "case.yaml:6: ": [
            "resolves 2 Hz where Vs = 600 m/s",
            "100 % of the points",
            "about 58,800 of 58,800",
            "at most 25 m",
        ],
        "case.yaml:13: ": ["(750, 730, -1700)", "lies 200 m outside the box"],
        "case.yaml:21: ": ["receiver 2 at (300, 900, 10)", "10 m outside"],
        "stations.txt:3: ": ["receiver 4 at (-2000, 100, 0)", "2000 m outside"],
        "case.yaml:27: ": ["shakemap need longitude and latitude"],
        "case.yaml:29: ": ["numerics.cfl: 1.2 is unstable"],
        "case.yaml:17: ": ["output: snapshots, seismograms and checkpoints need"],
    }
    for place, texts in expected.items():
        here = [line for line in found if line.startswith(place)]
        assert here, (place, found)
        for text in texts:
            assert any(text in line for line in here), (text, here)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("vs: 600", "vs: -999"), "case.yaml:10: material.constant.vs: -999 is negative"),
        (("rho: 2700", "rho: .nan"), "case.yaml:10: material.constant.rho: nan is not a number"),
        (("constant: { rho: 2700, vp: 3464, vs: 600 }", "constant: { rho: 2700, vp: 3464 }\n  expression: { vs: 'return sqrt(z + 100);' }"),
         "vs is not a finite number"),
        (("vp: 3464", "vp: 0"), "case.yaml:10: material.constant.vp: 0 is not above 0"),
        (("interval: 1e-6", "interval: 1\n    region: [0, 1, 0, 1, 5e3, 6e3]"), "case.yaml:26: output.volume.region: holds no cell"),
        (("spacing: 50", "spacing: 0.05"), "case.yaml:3: grid: "),
    ],
)  # fmt: skip
def test_each(told, change, expected):
    found = told(change)
    assert any(expected in line for line in found), found


def test_of_a_uniform_material_one_place_says_all(told):
    (line,) = (found for found in told(("vp: 3464", "vp: 600")) if "bulk modulus" in found)
    assert line.replace("(are they exchanged?)", "").count("(") == 1, line


def test_a_sound_case_says_nothing(told):
    sound = [
        ("-1700", "-700"), ("10]", "0]"), ("cfl: 1.2", "cfl: 0.9"), ("1e-6", "1"), ("  intensity:\n    formats: [shakemap]\n", ""),
        ("frequency: 4 Hz", "frequency: 2 Hz"), ("duration: 0.5", "duration: 2"), ("end_time: 2", "end_time: 6"),
    ]  # fmt: skip
    assert [
        t for t in told(*sound, stations="100 100 0\n") if "grid.absorbing" not in t
    ] == []  # waves longer than the box


def test_sources_above_what_is_resolved_are_a_warning(told):
    """A Ricker wavelet of 2 Hz on a grid that resolves 2 Hz; one of half a hertz is quiet there."""
    sound = [
        ("-1700", "-700"), ("10]", "0]"), ("cfl: 1.2", "cfl: 0.9"), ("1e-6", "1"), ("  intensity:\n    formats: [shakemap]\n", ""),
        ("frequency: 4 Hz", "frequency: 2 Hz"),
    ]  # fmt: skip
    (warning,) = (t for t in told(*sound, stations="100 100 0\n") if "reflections of the side" not in t)
    assert warning.startswith("case.yaml:11: sources: radiate above 2 Hz") and re.search("(9.|100) %", warning)


def test_the_run_has_the_warnings_too():
    sim = simulate(case(sources=[{"kind": "force", "location": [750, 730, -620], "force": [0, 0, 1e12],
                                  "time_function": {"kind": "ricker", "duration": 0.05}}]))  # fmt: skip
    assert any("radiate above" in str(w) for w in sim.warnings)


def warned(**changes):
    settings, found = load_case(case(**changes))
    assert settings is not None, found.items
    return "\n".join(map(str, check(settings).warnings))


@pytest.mark.parametrize("onset", [-50, 50])
@pytest.mark.parametrize("engine", ["fd", "dg"])
def test_sources_that_act_outside_of_the_run(engine, onset):
    settings = case()["sources"]
    mesh = {"generate": {"shape": "box", "cells": [2, 2, 2], "lower": [0, 0, -1500], "upper": [1500, 1600, 0],
                         "boundaries": {"z+": "free-surface"}}}  # fmt: skip
    more = {"mesh": mesh} if engine == "dg" else {}
    text = warned(engine=engine, end_time=2.0, sources=[settings[0], {**settings[0], "onset": onset}], **more)
    expect(text)
    assert "act outside" not in warned(engine=engine, end_time=2.0, **more)


def test_spectral_accelerations_that_the_grid_does_not_resolve():
    text = warned(end_time=2.0, output__intensity={"periods": [0.0001, 0.25, 0.31, 3.0]})
    expect(text)
    assert "periods" not in warned(end_time=2.0, output__intensity={"periods": [0.3]})


def test_plan_tells_the_moment():
    from faultwave.fd.report import plan_report

    made, _ = load_case(case(end_time=2.0, sources=[{
        "kind": "moment-tensor", "location": [750, 730, -620], "tensor": {"xy": 1e15},
        "time_function": {"kind": "triangle", "duration": 0.5}}]))  # fmt: skip
    from faultwave.fd.planning.plan import make_plan

    rows = dict(dict(plan_report(make_plan(made), made, 1e-3))["sources"])
    assert rows["sum of scalar moments"] == "1e+15 N m within the run, Mw 3.93"
    assert "from 0 s to 0.5 s" in rows["they act"]


def test_lowpass_ends_the_warning_of_what_is_not_resolved():
    """3.33 Hz are resolved; a Ricker wavelet of 4 Hz radiates above, through the corner that the warning names it does not."""
    import re

    (source,) = case()["sources"]
    loud = {"end_time": 2.0, "sources": [{**source, "time_function": {"kind": "ricker", "duration": 0.25}}]}
    found = re.search(r"numerics\.source_lowpass: ([\d.]+) Hz", warned(**loud))
    assert found
    assert "radiate above" not in warned(**loud, grid__lowpass=float(found[1]))
    better = re.search(r"Lower numerics\.source_lowpass from 6 to ([\d.]+) Hz", warned(**loud, grid__lowpass=6.0))
    assert better and better[1] == found[1], "the advice counts the low-pass that is there"
    wave = {
        "kind": "plane-wave",
        "z": -1000,
        "velocity": [1, 0, 0],
        "time_function": {"kind": "ricker", "duration": 0.25},
    }
    assert "radiate above" in warned(end_time=2.0, sources=[wave])
    assert "radiate above" not in warned(end_time=2.0, sources=[wave], grid__lowpass=float(found[1]))


def warnings(**changes):
    settings, found = load_case(case(**changes))
    assert settings is not None, found
    return [f"{p.where} {p.what}" for p in check(settings).items if p.severity == "warning"]


QUALITY = {"constant": {"rho": 2700.0, "vp": 3464.0, "vs": 2000.0, "Qp": 50, "Qs": 30}}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"numerics": {"order": 4}}, ["numerics.order has no effect on a grid"]),
        ({"numerics": {"clustering": {"maximum": 2}, "flux": "godunov"}}, ["numerics.flux", "numerics.clustering"]),
        ({"output__sync": True}, ["output.sync"]),
        ({"output__energies": {"interval": 0.1, "plain_mean": True}}, ["output.energies.plain_mean"]),
        ({"output__xdmf": True}, ["output.xdmf has no effect without output.surface"]),
        ({"material": QUALITY}, ["material defines Qp and Qs, but the case is elastic"]),
        ({"grid__boundaries": dict.fromkeys("xyz", "rigid")}, ["grid.absorbing width: no side is absorbing"]),
        ({"output__energies": {"interval": 0.1}, "numerics": {"precision": "double", "cfl": 0.5}}, []),
        ({"material": QUALITY, "attenuation": {}}, []),
    ],
)  # fmt: skip
def test_settings_that_do_nothing_are_warnings(changes, expected):
    """Beside what waves longer than the box do at its sides."""
    found = [w for w in warnings(**changes) if not w.startswith("sources ") and "reflections of the side" not in w]
    assert len(found) == len(expected), found
    for text in expected:
        assert any(text in w for w in found), (text, found)


def test_a_case_for_both_engines_may_have_the_settings_of_both():
    settings, found = load_case("two-engines", {"engine": "fd"})
    assert settings is not None, found
    assert [p for p in check(settings).items if "numerics" in p.where] == []


@pytest.mark.parametrize(
    "changes",
    [
        {"grid__absorbing": {"kind": "sponge", "along": 0.02, "frequency": 2}},
        {"attenuation": {"corner": 0.5}, "material": QUALITY},
    ],
    ids=str,
)
def test_settings_that_contradict_are_errors(changes):
    expect(problems(**changes))


@pytest.mark.parametrize(
    ("top", "told"), [("free-surface", "within 0.4 % up to 3.6 Hz, at 5 points"), ("absorbing", None)]
)
def test_the_plan_says_how_far_surface_waves_are_resolved(top, told):
    """Vs is 1800 m/s, the spacing 100 m."""
    from faultwave.fd.planning.plan import make_plan
    from faultwave.fd.report import plan_report

    rock = {"rho": 2700.0, "vp": 3464.0, "vs": 1800.0}
    settings, _ = load_case(case(grid__boundaries={"z+": top}, material={"constant": rock}))
    rows = dict(dict(plan_report(make_plan(settings), settings, 1e-3))["resolution"])
    assert rows.get("surface waves", "").startswith(told) if told else "surface waves" not in rows


@pytest.mark.parametrize(("order", "told"), [(4, "stable to 0.495"), (8, "stable to 0.449")])
def test_the_plan_says_which_step_is_stable(order, told):
    """1 / (sqrt(3) sum |c|): of order 8 it is smaller. Sources freed of time dispersion are measured beyond the end of a run, too."""
    from faultwave.fd.planning.plan import make_plan
    from faultwave.fd.report import plan_report

    settings, _ = load_case(case(grid__order=order, end_time=0.05))
    assert told in dict(dict(plan_report(make_plan(settings), settings, 1e-3))["time stepping"])["step"]


def test_settings_that_say_nothing_are_none():
    assert problems(grid__absorbing={"kind": "sponge", "width": 5, "along": None, "frequency": None}) == ""


WAVE = {"kind": "plane-wave", "wave": [{"mode": "S", "k": [0, 0, 0.004], "polarisation": [1, 0, 0]}]}


def test_plane_waves_as_initial_state_need_one_material():
    gradient = {"constant": {"rho": 2700.0, "vp": 4000.0}, "expression": {"vs": "return 2000 - z / 10;"}}
    text = problems(initial=WAVE, sources=[], material=gradient)
    expect(text)
    assert problems(initial=WAVE, sources=[]) == ""
    assert any("no waves enter through its absorbing sides" in w for w in warnings(initial=WAVE, sources=[]))
    still = {
        "initial": WAVE,
        "sources": [],
        "grid__absorbing": {},
        "grid__boundaries": dict.fromkeys("xyz", "periodic"),
    }
    assert warnings(**still) == []


LOSSY = {"constant": {"rho": 2700, "vp": 3464, "vs": 2000, "Qp": 50, "Qs": 30}}


def test_quality_factors_that_no_mechanism_reaches_are_told_with_their_place():
    """They would be taken for larger ones in silence."""
    constant = {k: v for k, v in LOSSY["constant"].items() if k != "Qs"}
    field = {"constant": constant, "expression": {"Qs": "if (x > 700) { if (z < -900) { return 2; } } return 30;"}}
    text = problems(attenuation={}, material=field)
    expect(text)
    assert problems(attenuation={}, material=LOSSY) == ""


def test_speeds_given_outside_the_band_are_a_warning():
    band = {"low": 0.1, "high": 1.0}
    (warning,) = (
        w
        for w in simulate(case(attenuation=band | {"reference": 5.0}, material=LOSSY)).warnings
        if "reference" in str(w)
    )
    assert "5 Hz is outside the band of attenuation, 0.1 to 1 Hz" in str(warning)
    assert not any(
        "reference" in str(w) for w in simulate(case(attenuation=band | {"reference": 1.0}, material=LOSSY)).warnings
    )


def test_a_grid_beyond_memory_is_told_before_parts_are_placed(monkeypatch):
    """Those of waves that come in take memory in proportion to the surface of their box."""
    monkeypatch.setattr(
        "faultwave.fd.capabilities.receivers.Receivers.locate", lambda part, placing: pytest.fail("was placed")
    )
    assert "GiB, this machine has" in problems(grid__spacing=0.5)


def test_a_lowpass_above_all_frequencies_of_the_sources_is_refused():
    """It changes nothing, and would need more samples than can be had."""
    expect(problems(grid__lowpass=1e6))
