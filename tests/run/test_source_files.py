"""Source files make the waves of the moment tensors that they hold, on both engines."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.run import resume, simulate
from tests.physics.sources.test_geographic import CMT

PLACE = {"crs": "EPSG:32611", "origin": [-117.0, 34.0]}
HERE = [0.0, 0.0, -1000.0]
STEP = 0.02
RATE = np.sin(np.pi * np.arange(11) / 10) ** 2  # of 0.2 s, from zero to zero


def write(folder, kind):
    """A file, what its setting needs besides, and the tensor, onset and function of time that it stands for."""
    path = folder / kind
    samples = {"kind": "samples", "interval": STEP, "samples": RATE.tolist()}
    if kind == "cmtsolution":
        changes = {
            "depth:          16.8000": "depth: 1.0",
            "time shift:      2.0000": "time shift: 0.05",
            "1.6280": "0.16280",
        }
        text = CMT
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        path.write_text(text)
        tensor = dict(zip(("xx", "yy", "zz", "xy", "yz", "xz"), (-1e18, -9e18, 1e19, 3e18, 4e18, 2e18), strict=True))
        # exp(-(t/tau)^2) with tau = 0.1 s, 1.5 half durations and the shift after the start
        t = 0.002 * np.arange(1000)
        bell = np.exp(-(((t - 0.05 - 1.5 * 0.1628) / 0.1) ** 2)) / (0.1 * np.sqrt(np.pi))
        return {}, (tensor, 0.0, {"kind": "samples", "interval": 0.002, "samples": bell.tolist()})
    if kind == "srf":
        rates = " ".join(f"{r:.12g}" for r in RATE)
        path.write_text(f"1.0\nPOINTS 1\n-117.0 34.0 1.0 0 90 2e10 0.1 {STEP}\n0 1 {len(RATE)} 0 0 0 0\n{rates}\n")
        mu = 2700.0 * 2000.0**2
        return {}, (
            {"xy": mu * 2e6 * 1e-2},
            0.1,
            samples,
        )  # strike north, right- or left-lateral: M_xy of slip times area
    tensor = {"xx": 1e15, "zz": -1e15, "xz": 5e14}
    rows = "\n".join(" ".join(f"{r * v:.12g}" for v in (1e15, 0, -1e15, 5e14, 0, 0)) for r in RATE)
    path.write_text(f"3 3 6\n{rows}\n")
    nodes = {"spacing": 200, "origin": [-400, -400, 0], "interval": STEP, "steps": len(RATE)}
    return {"nodes": nodes}, (tensor, 0.0, samples)


def case_of(engine, source):
    case = {
        "engine": engine, "end_time": 0.6, "projection": PLACE, "sources": [source],
        "material": {"constant": {"rho": 2700.0, "vp": 3464.0, "vs": 2000.0}},
        "output": {"receivers": {"points": [[600.0, 300.0, -700.0]], "interval": 0.02}},
    }  # fmt: skip
    box = {"lower": [-1000, -1000, -2000], "upper": [1000, 1000, 0]}
    if engine == "fd":
        case["grid"] = {**box, "spacing": 100.0, "absorbing": {"width": 5}}
    else:
        case["mesh"] = {"generate": {"shape": "box", "cells": [3, 3, 3], **box, "boundaries": {"z+": "free-surface"}}}
        case["numerics"] = {"order": 3}
    return case


def seismograms(engine, source):
    sim = simulate(case_of(engine, source))
    sim.run(write=False)
    return np.asarray(sim.receivers["values"])


@pytest.mark.parametrize("engine", ["dg", "fd"])
@pytest.mark.parametrize("kind", ["srf", "cmtsolution", "awp"])
def test_the_waves_of_a_file(tmp_path, kind, engine):
    more, (tensor, onset, function) = write(tmp_path, kind)
    found = seismograms(engine, {"kind": kind, "file": str(tmp_path / kind), **more})
    same = {"kind": "moment-tensor", "location": HERE, "tensor": tensor, "onset": onset, "time_function": function}
    expected = seismograms(engine, same)
    error, scale = (np.abs(v).max((0, 1)) for v in (found - expected, expected))
    assert scale[6:].min() > 0
    for group in (slice(0, 6), slice(6, 9)):  # stresses, velocities
        assert error[group].max() < 3e-3 * scale[group].max()


@pytest.mark.parametrize("engine", ["dg", "fd"])
def test_a_changed_file_ends_a_resume(tmp_path, engine):
    """Half of a run with one source and half with another would be neither."""
    more, _ = write(tmp_path, "srf")
    file = tmp_path / "srf"
    case = case_of(engine, {"kind": "srf", "file": str(file), **more})
    case["output"] |= {"folder": str(tmp_path / "out"), "checkpoint": {"interval": 0.2}}
    simulate(case).run()
    text = file.read_text()
    file.write_text(text.replace(" 0.1 ", " 0.15 ", 1))
    with pytest.raises(InputError, match="sources"):
        resume(tmp_path / "out")
    file.write_text(text)
    resume(tmp_path / "out")
