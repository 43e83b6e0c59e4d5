"""A run that grows as no waves do does not count as finished, long before its numbers overflow."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import RunError
from faultwave.dg.capabilities.growth import MARGIN
from faultwave.dg.planning import plan as planning
from faultwave.engine.instability_monitor import end_of_sources
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.time_functions import Triangle
from tests.run.rupture.setup import settings, slip_weakening

ROCK = {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}


def box(tmp_path: Path, **more) -> dict:
    sides = {"x": "periodic", "y": "periodic", "z": "periodic"}
    mesh = {
        "shape": "box",
        "cells": [3, 3, 3],
        "lower": [0, 0, 0],
        "upper": [1e3, 1e3, 1e3],
        "boundaries": sides,
        "perturb": 0.2,
    }
    return {
        "end_time": 3.0, "mesh": {"generate": mesh}, "material": {"constant": ROCK}, "numerics": {"order": 3, "threads": 1},
        "output": {"folder": str(tmp_path / "out"), "energies": {"interval": 0.1}}, **more,
    }  # fmt: skip


WAVE = {"kind": "plane-wave", "wave": [{"mode": "P", "k": [2 * np.pi / 1e3, 0, 0], "amplitude": 1.0}]}
FORCE = {
    "kind": "force",
    "location": [450, 500, 550],
    "force": [1e12, 0, 0],
    "time_function": {"kind": "triangle", "duration": 0.2},
}


def too_long(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    plain = planning.stable_steps
    monkeypatch.setattr(planning, "stable_steps", lambda *of: factor * plain(*of))


@pytest.mark.parametrize("more", [{"initial": WAVE}, {"sources": [FORCE]}], ids=["initial state", "source"])
def test_steps_that_are_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: dict) -> None:
    too_long(monkeypatch, 2.0)
    sim = fw.simulate(box(tmp_path, **more))
    with pytest.raises(
        RunError,
        match=r"blew up before t = [\d.]+ s: the waves hold [\d.e+]+ J; (the energy was|the sources have added at most) [\d.e+]+ J",
    ) as told:
        sim.run()
    assert sim.solver.operator.finite() and sim.time < 3.0
    assert "first suspect: cell" in str(told.value) and "time step" in str(told.value)
    manifest = json.loads((tmp_path / "out" / "run-manifest.json").read_text())
    assert manifest["status"] == "failed"


STEADY = FORCE | {"time_function": {"kind": "triangle", "duration": 6.0}}
SLOW = {
    "kind": "moment-tensor",
    "location": [450, 500, 550],
    "tensor": {"xy": 1e15},
    "time_function": {"kind": "brune", "duration": 0.3},
}


@pytest.mark.parametrize("source", [STEADY, SLOW], ids=["force", "moment"])
def test_steps_that_are_too_long_while_a_source_acts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: dict
) -> None:
    """To the end of the run."""
    too_long(monkeypatch, 2.0)
    sim = fw.simulate(box(tmp_path, sources=[source]))
    with pytest.raises(RunError, match=r"the waves hold [\d.e+]+ J; the sources have added at most [\d.e+]+ J"):
        sim.run()
    assert sim.solver.operator.finite() and sim.time < 3.0


@pytest.mark.parametrize("source", [FORCE, STEADY, SLOW], ids=["short force", "force", "moment"])
def test_sources_give_no_more_than_is_said(tmp_path: Path, source: dict) -> None:
    """At any time, and not far less either: an explosion shows."""
    sim = fw.simulate(box(tmp_path, sources=[source], end_time=0.5))
    part = sim.solver.parts["growth"]
    shares = []
    for until in (0.02, 0.05, 0.1, 0.3):
        sim.run(until=until, write=False)
        shares.append(part._energy() / part._given()[2] ** 2)
    assert 1e-6 < max(shares) < 1.0, shares


@pytest.mark.parametrize("more", [{"initial": WAVE}, {"sources": [FORCE]}], ids=["initial state", "source"])
def test_waves_that_only_lose_energy_run_to_the_end(tmp_path: Path, more: dict) -> None:
    sim = fw.simulate(box(tmp_path, **more)).run(write=False)
    part = sim.solver.parts["growth"]
    assert sim.time == pytest.approx(3.0) and 0 < part._energy() <= part.before


def test_a_rupture_gives_what_its_slip_allows(tmp_path: Path) -> None:
    sim = fw.simulate(settings(tmp_path, slip_weakening(), end_time=1.5)).run(write=False)
    part = sim.solver.parts["growth"]
    given, least, _ = part._given()
    energies = sim.energy_now()
    assert part.before == 0.0 and energies["total_frictional_work"] < given
    assert least < 0.2 * given < part._energy() + energies["total_frictional_work"] < 1.1 * given


@pytest.mark.parametrize("relaxation", [0.0, 0.1])
def test_rock_that_yields_and_explodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, relaxation: float) -> None:
    """What the stress at rest gives does not hide it."""
    too_long(monkeypatch, 2.0)
    rest = {"s_xx": -60e6, "s_yy": -70e6, "s_zz": -65e6, "s_xy": 15e6, "s_yz": 0.0, "s_xz": 0.0}
    rock = {"parameters": {"constant": {"plastic_cohesion": 1e5, "bulk_friction": 0.35, **rest}}}
    case = box(tmp_path, initial=WAVE, plasticity=rock | {"constants": {"relaxation_time": relaxation}})
    with pytest.raises(RunError, match=r"the waves hold .*, and plasticity has added at most .* J") as told:
        fw.simulate(case).run(write=False)
    assert "blew up" in str(told.value)


def test_a_rupture_that_explodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    too_long(monkeypatch, 2.0)
    with pytest.raises(RunError, match="the fault has added at most .* J|values that are not finite") as told:
        fw.simulate(settings(tmp_path, slip_weakening(), end_time=4.0)).run(write=False)
    assert "blew up" in str(told.value)


def test_when_sources_are_silent() -> None:
    sources = [PointSource(np.zeros(3), Triangle(2.0), force=np.ones(3), onset=onset) for onset in (0.0, 3.0)]
    assert end_of_sources(sources, 10.0) == pytest.approx(5.0, abs=0.05)
    assert end_of_sources(sources, 4.0) == 4.0 and end_of_sources([], 4.0) == 0.0
    assert MARGIN > 1
