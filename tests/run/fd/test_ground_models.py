"""Models of the ground in whole cases, on both engines; what is wrong with them is told before a run."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.case.load import load_case
from faultwave.run import simulate
from faultwave.run.check import check
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
    assert "m.h5" in text and "no sound value" in text and "point(s): " in text and ", -1" in text


@pytest.mark.parametrize("engine", ["fd", "dg"])
def test_limits_are_told(tmp_path, engine):
    made = files.sfile(tmp_path / "m")
    text = problems(case(made, engine, material__minimum={"vs": "2200 m/s"}))
    assert "vs kept above 2200 at" in text and "%" in text
    assert "kept" not in problems(case(made, engine, material__minimum={"vs": "200 m/s"}))
    assert "'vz'" in problems(case(made, engine, material__minimum={"vz": 200}))


@pytest.mark.parametrize("engine", ["fd", "dg"])
def test_a_negative_speed_is_no_speed(tmp_path, engine):
    """vs = -999 squared would pass as rock."""
    settings = case(files.sfile(tmp_path / "m"), engine)
    step = {"vs": "if (z > -200) { return -999; } return 2000;"}
    settings["material"] = {"constant": {"rho": 2700, "vp": 4000}, "expression": step}
    text = problems(settings)
    assert "vs is negative (down to -999) at" in text and "point(s): " in text


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
        "shape do nothing with",
        "crs does nothing",
        "no such file",
    ):
        assert part in text, part
