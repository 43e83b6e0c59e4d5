"""Models of the ground in whole cases, on both engines; what is wrong with them is told before a run."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.case.load import load_case
from faultwave.run import simulate
from faultwave.run.planned import check
from tests.media.models import files

PROJECTION = {"crs": files.CRS, "origin": list(files.ORIGIN)}
BOX = {"lower": [400, 400, -1400], "upper": [2400, 2400, 0]}


def case(made, engine="fd", **changes):
    model = {"kind": made.kind, "file": str(made.file), "vertical": made.vertical}
    if made.kind == "awp-mesh":
        model |= {"shape": list(made.shape), "spacing": made.spacing, "origin": list(made.origin)}
    settings = {
        "engine": engine, "end_time": 0.2, "projection": PROJECTION, "material": {"models": [model]},
        "sources": [{"kind": "moment-tensor", "location": [1400, 1400, -700], "tensor": {"xy": 1e15},
                     "time_function": {"kind": "ricker", "duration": 0.4}}],
        "output": {"receivers": {"points": [[1500, 1450, -600]], "interval": 0.02}},
    }  # fmt: skip
    if engine == "fd":
        settings["grid"] = {**BOX, "spacing": 100.0, "absorbing": {"width": 5}}
    else:
        settings["mesh"] = {
            "generate": {"shape": "box", "cells": [3, 3, 2], **BOX, "boundaries": {"z+": "free-surface"}}
        }
        settings["numerics"] = {"order": 3}
    for key, value in changes.items():
        group = settings
        *path, last = key.split("__")
        for part in path:
            group = group.setdefault(part, {})
        group[last] = value
    return settings


def problems(settings):
    made, found = load_case(settings)
    return "\n".join(map(str, found.errors)) if made is None else "\n".join(map(str, check(made).items))


@pytest.mark.parametrize("engine", ["fd", "dg"])
def test_a_case_runs_on_a_model(tmp_path, engine):
    made = files.geomodelgrids(tmp_path / "m.h5", topography=lambda x, y: 100 + 0 * x)
    made.vertical = "ground"
    sim = simulate(case(made, engine))
    sim.run(write=False)
    assert np.abs(sim.receivers["values"]).max() > 0


def test_the_grid_has_the_speeds_of_the_model(tmp_path):
    sim = simulate(case(files.rfile(tmp_path / "m.rfile")))
    expected = files.truth(*np.array([[400, 400, 0], [2400, 2400, 0], [400, 2400, 0], [2400, 400, 0]]).T)["vs"]
    assert sim.plan.medium.slowest == pytest.approx(expected.min(), rel=0.01)


@pytest.mark.parametrize("engine", ["fd", "dg"])
def test_poison_is_told_before_the_run(tmp_path, engine):
    def spoil(file):
        file["blocks/top"][10:20, 12, 4] = -999.0

    text = problems(case(files.geomodelgrids(tmp_path / "m.h5", spoil=spoil), engine))
    assert "m.h5" in text and "no valid value" in text and "point" in text and ", -1" in text


@pytest.mark.parametrize("engine", ["fd", "dg"])
def test_limits_are_told(tmp_path, engine):
    made = files.sfile(tmp_path / "m")
    text = problems(case(made, engine, material__minimum={"vs": "2200 m/s"}))
    assert "vs limited to above 2200 at" in text and "%" in text
    assert "kept" not in problems(case(made, engine, material__minimum={"vs": "200 m/s"}))
    assert "'vz'" in problems(case(made, engine, material__minimum={"vz": 200}))


@pytest.mark.parametrize("engine", ["fd", "dg"])
def test_a_negative_speed_is_no_speed(tmp_path, engine):
    """vs = -999 squared would pass as rock."""
    settings = case(files.sfile(tmp_path / "m"), engine)
    step = {"vs": "if (z > -200) { return -999; } return 2000;"}
    settings["material"] = {"constant": {"rho": 2700, "vp": 4000}, "expression": step}
    text = problems(settings)
    assert "vs is negative (down to -999) at" in text and ("point(s): " in text or "points, eight per cell: " in text)


def test_all_wrong_settings_of_a_model(tmp_path):
    made = files.netcdf(tmp_path / "m.nc")
    settings = case(made)
    settings["material"]["models"] = [
        {"kind": "awp-mesh", "file": str(made.file)},
        {"kind": "netcdf", "file": str(made.file), "vertical": "ground", "shape": [1, 2, 3], "crs": "EPSG:32611"},
        {"kind": "rfile", "file": "absent"},
    ]
    text = problems(settings)
    for part in (
        "needs shape and spacing",
        "a model with topography",
        "shape: has no effect with kind netcdf",
        "crs: has no effect with kind netcdf",
        "no such file",
    ):
        assert part in text, part


def hill(x, y):
    return 100.0 + 0.05 * x


def test_what_becomes_of_topography(tmp_path):
    made = files.geomodelgrids(tmp_path / "m.h5", topography=hill)
    text = problems(case(made))
    assert (
        "its ground is above the box, whose surface is z = 0 m, at 100 % of the area, by up to 220 m at (2400, 400)"
        in text
    )
    assert "the rock above is omitted" in text and "'vertical: ground'" in text
    made.vertical = "ground"
    assert "its ground, 120 to 220 m above sea level, is flattened" in problems(case(made))
    made = files.geomodelgrids(tmp_path / "flat.h5", topography=lambda x, y: 0 * x)
    assert "its ground" not in problems(case(made))


@pytest.mark.parametrize(
    ("lower", "upper", "words"),
    [
        (
            [400, 400, -1400],
            [2400, 2400, 400],
            "in the air, above the top of the model: 'vertical: ground' would place it",
        ),
        ([400, 400, -3400], [2400, 2400, 0], "outside of the model, below its bottom; 'outside: nearest' would extend"),
        ([400, 400, -1400], [2400, 9400, 0], "outside of the model, which spans 0 to 4000 and 0 to 3200"),
    ],
)
def test_a_model_smaller_than_the_box_is_counted_once(tmp_path, lower, upper, words):
    """Of all cells, not of the part that a reading happens to find first, and where attenuation needs a look at the speeds first."""
    made = files.geomodelgrids(tmp_path / "m.h5", topography=lambda x, y: 50 + 0 * x)
    text = problems(case(made, grid__lower=lower, grid__upper=upper, attenuation={}))
    assert text.count(words) == 1 and "points, eight per cell: (" in text, text
    count, total = (
        int(n.replace(",", "")) for n in text.split(words)[1].split(" at ")[1].split(" points")[0].split(" of ")
    )
    assert total == 8 * np.prod([int(b - a) // 100 for a, b in zip(lower, upper, strict=True)])
    axes = [np.arange(a + 25, b, 50) for a, b in zip(lower, upper, strict=True)]
    beyond = {"air": axes[2] > 50 + 51, "below": axes[2] < -2000 - 100 * 2050 / 2000, "spans": axes[1] > 3400}
    (share,) = (np.mean(v) for k, v in beyond.items() if k in words)
    assert count == round(share * total)


def test_poison_is_counted_over_the_whole_box(tmp_path):
    """Two places far apart, which are never read together."""

    def count(*places):
        def spoil(file):
            for block, index in places:
                file[block][index] = np.nan

        text = problems(case(files.geomodelgrids(tmp_path / "m.h5", spoil=spoil)))
        assert text.count("no valid value") == 1
        return int(text.split(" of 44,800 points, eight per cell: (")[0].split(" at ")[-1])

    high, deep = ("blocks/top", (10, 12, 4)), ("blocks/bottom", (8, 8, 4))
    assert count(high, deep) == count(high) + count(deep)
