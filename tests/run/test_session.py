"""Sessions that run more than once, and what parts may tell a solver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.engine.capability import Capability
from faultwave.output.formats.vtkhdf import VtkHdfReader
from tests.backends.here import DEVICE, needs_device


def case(folder: Path, **more: Any) -> dict[str, Any]:
    output = {
        "folder": str(folder), "volume": {"interval": 0.05}, "surface": {"interval": 0.05},
        "receivers": {"points": [[0.3, 0.4, 0.5]], "interval": 0.02}, "checkpoint": {"interval": 0.1},
    }  # fmt: skip
    box = {
        "shape": "box",
        "cells": [3, 3, 3],
        "lower": [0, 0, 0],
        "upper": [1, 1, 1],
        "boundaries": {"z+": "free-surface"},
    }
    source = {
        "kind": "force", "location": [0.4, 0.5, 0.6], "force": [1.0, 0.0, 0.5],
        "time_function": {"kind": "triangle", "duration": 0.1},
    }  # fmt: skip
    return {
        "mesh": {"generate": box}, "material": {"constant": {"rho": 1.0, "mu": 1.0, "lambda": 2.0}}, "end_time": 0.4,
        "numerics": {"order": 2}, "sources": [source], "output": output | more,
    }  # fmt: skip


def fields(folder: Path, kind: str) -> tuple[list[float], np.ndarray]:
    with VtkHdfReader(folder / f"run-{kind}.vtkhdf") as file:
        times = [float(t) for t in file.times]
        return times, np.stack([file.field("v1", i) for i in range(len(times))])


def test_a_session_that_runs_on_writes_what_one_run_writes(tmp_path):
    fw.simulate(case(tmp_path / "whole")).run()
    parts = fw.simulate(case(tmp_path / "parts"))
    parts.run(until=0.16).run(until=0.27)
    again = fw.resume(tmp_path / "parts")
    again.run(until=0.33)
    again.run()
    for kind in ("volume", "surface"):
        times, values = fields(tmp_path / "whole", kind)
        found, numbers = fields(tmp_path / "parts", kind)
        np.testing.assert_allclose(found, times, rtol=0, atol=1e-9)
        np.testing.assert_allclose(
            numbers, values, rtol=0, atol=0.02 * np.abs(values).max()
        )  # some steps are shortened


def test_an_end_that_has_passed_is_refused(tmp_path):
    sim = fw.simulate(case(tmp_path / "run"))
    sim.run(until=0.1, write=False)
    for end in (0.05, float("nan")):
        with pytest.raises(InputError, match="until"):
            sim.run(until=end, write=False)


def test_a_part_that_tells_a_plastic_moment_is_heard(tmp_path):
    sim = fw.simulate(case(tmp_path / "run"))
    assert sim.energy_now()["plastic_moment"] == 0.0
    part = Capability()
    part.energies = lambda: {"plastic_moment": 7.0}  # type: ignore[method-assign]
    sim.solver.parts["yielding"] = part
    assert sim.energy_now()["plastic_moment"] == 7.0


def test_other_sources_or_receivers_are_no_run_to_go_on_with(tmp_path):
    fw.simulate(case(tmp_path / "run")).run(until=0.2)
    found = fw.resume(tmp_path / "run")
    for change in ("sources", "receivers"):
        other = case(tmp_path / "other")
        if change == "sources":
            other["sources"][0]["force"] = [2.0, 0.0, 0.5]
        else:
            other["output"]["receivers"]["interval"] = 0.04
        sim = fw.simulate(other)
        from faultwave.output.checkpoint import latest

        with pytest.raises(InputError, match=f"{change}: not as in the original run"):
            sim.restore(latest(tmp_path / "run" / "run-checkpoints"))
    assert found.time == pytest.approx(0.2, abs=0.11)


@needs_device
def test_checkpoints_are_taken_on_devices(tmp_path):
    asked = case(tmp_path / "run", volume=None, surface=None)
    asked["numerics"]["backend"] = DEVICE
    sim = fw.simulate(asked).run()
    assert sim.checkpoints >= 2
