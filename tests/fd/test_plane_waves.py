"""Plane waves that rise below layers, against the exact response of a stack of layers."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.case.load import load_case
from faultwave.run import simulate
from faultwave.run.planned import check
from tests.messages import expect

from .test_grids import case, problems

RHO, VP, VS = 2700.0, 3464.0, 2000.0
TOP = {"rho": 2000.0, "vp": 2200.0, "vs": 800.0}
SIDES = {"x": "periodic", "y": "periodic", "z+": "free-surface"}
T, BEGIN, HEIGHT = 0.4, 0.3, -1130.0


def settings(velocity=(0.2, 0.1, 0), layer=0.0, **changes):
    step = {n: f"if (z > -{layer:g}) {{ return {v:g}; }} return {r:g};"
            for (n, v), r in zip(TOP.items(), (RHO, VP, VS), strict=True)}  # fmt: skip
    wave = {
        "kind": "plane-wave",
        "z": HEIGHT,
        "velocity": list(velocity),
        "onset": BEGIN,
        "time_function": {"kind": "ricker", "duration": T},
    }
    grid = {"lower": [0, 0, -1500], "upper": [400, 400, 0], "spacing": 20.0, "boundaries": SIDES}
    receivers = {"points": [[110.0, 235.0, 0], [310.0, 15.0, -500]], "interval": 0.005, "strain_rate": True}
    return case(
        end_time=2.4, grid=grid, material={"expression": step}, sources=[wave], output__receivers=receivers, **changes
    )


def incident(t, speed, depth):
    """Velocity of the rising wave where it would be at the surface, without one."""
    from types import SimpleNamespace

    from faultwave.physics.sources.time_functions import time_function

    made = time_function(SimpleNamespace(kind="ricker", duration=T, frequency=None), "t")
    return made.value(t - BEGIN - depth / speed)


def response(t, rising, thick, top, rock):
    """Surface velocity of a layer on a half-space for a wave that would reach the interface as ``rising`` (Haskell 1960)."""
    n = 8 * len(t)
    w = 2 * np.pi * np.fft.rfftfreq(n, t[1] - t[0])
    (rho1, c1), (rho2, c2) = top, rock
    k, contrast = w * thick / c1, rho1 * c1 / (rho2 * c2)
    return np.fft.irfft(2 * np.fft.rfft(rising, n) / (np.cos(k) + 1j * contrast * np.sin(k)), n)[: len(t)]


def worst(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


def test_a_half_space_doubles_it():
    """Along x and y, at the surface and below it, where the wave comes down again; nothing else moves."""
    sim = simulate(settings())
    sim.run(write=False)
    data = sim.receivers
    t = data["time"]
    for n, depth in ((0, 0.0), (1, 500.0)):
        shape = incident(t, VS, -HEIGHT - depth) + incident(t, VS, -HEIGHT + depth)
        assert worst(data.quantity("v1")[:, n], 0.2 * shape) < 0.01
        assert worst(data.quantity("v2")[:, n], 0.1 * shape) < 0.01
    assert np.abs(data.quantity("v3")).max() < 1e-5
    late = np.abs(data.quantity("v1")[t > 2.2]).max()
    assert late < 1e-3, "what goes down must not come back"


@pytest.mark.parametrize(("velocity", "speeds"), [((0.3, 0, 0), ("vs", VS)), ((0, 0, 0.3), ("vp", VP))])
def test_a_layer_rings(velocity, speeds):
    """P and S waves; the plane of forces lies between the planes of points."""
    name, rock = speeds
    sim = simulate(settings(velocity, layer=200.0))
    sim.run(write=False)
    data = sim.receivers
    t = data["time"]
    rising = 0.3 * incident(t, rock, -HEIGHT - 200.0)
    expected = response(t, rising, 200.0, (TOP["rho"], TOP[name]), (RHO, rock))
    component = "v1" if velocity[0] else "v3"
    assert np.abs(expected).max() > 0.3 * 2 * 1.2  # it rings
    assert worst(data.quantity(component)[:, 0], expected) < 0.03


def test_maps_of_a_plane_wave(tmp_path):
    """There is no earthquake to name."""
    place = {"crs": "EPSG:32611", "origin": [-117.3, 34.2]}
    made = settings(output__intensity={"periods": [0.5], "formats": ["shakemap"]}, projection=place)
    sim = simulate(made, output=tmp_path / "out")
    sim.run()
    assert sim.result("intensity")["PGV"] == pytest.approx(sim.result("intensity")["PGV"].mean(), rel=1e-3)
    assert 'magnitude="nan"' in (tmp_path / "out/run-grid.xml").read_text()


def told(changes, **more):
    made = settings()
    made["sources"][0] |= changes
    made["grid"] |= more
    read, found = load_case(made)
    return "\n".join(map(str, found.errors if read is None else check(read).items))


@pytest.mark.parametrize(
    ("changes", "more"),
    [
        ({"z": -1600}, {}),
        ({}, {"boundaries": {**SIDES, "z-": "rigid"}}),
        ({}, {"boundaries": {"x": "rigid", "z+": "free-surface"}}),
        ({}, {"boundaries": {"z+": "free-surface"}}),
        ({"velocity": [0, 0, 0]}, {}),
        ({"z": None}, {}),
        ({"location": [0, 0, 0]}, {}),
        ({"kind": "force", "force": [1, 0, 0]}, {}),
        ({"time_function": {"kind": "ricker", "duration": 0.05}}, {}),
    ],
)
def test_reported_before_the_run(changes, more):
    expect(told(changes, **more))


def test_uneven_material():
    made = settings()
    made["material"] = {"constant": {"rho": RHO, "vp": VP}, "expression": {"vs": "return 2000 + 0.2 * x;"}}
    read, _ = load_case(made)
    assert "varies by 3.8 %: a wave that starts there is not plane" in "\n".join(map(str, check(read).warnings))


def test_dg_has_none():
    box = {"shape": "box", "cells": [2, 2, 2], "lower": [0, 0, -1500], "upper": [1500, 1600, 0]}
    made = settings(engine="dg")
    made["mesh"] = {"generate": {**box, "boundaries": {"z+": "free-surface"}}}
    read, _ = load_case(made)
    assert "'plane-wave' needs the engine fd" in "\n".join(map(str, check(read).errors))


def test_ordinary_cases_are_as_before():
    assert problems() == ""
