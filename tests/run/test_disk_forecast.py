"""What a run takes on the disk is forecast within 10 %, by both engines, so that none dies of a full disk hours later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import faultwave as fw
from faultwave.engine import checks

TABLES = 6e4
"""Size [bytes] of names, coordinates and tables, which matters in files as small as these alone."""

COMPRESSED = 0.8
"""Share that snapshots still take where the waves have not come yet."""

FRICTION = {"mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": 0.0, "T_n": -120e6, "T_s": 82e6, "T_d": 0.0}
BOX = {"lower": [-3e3, -3e3, -4e3], "upper": [3e3, 3e3, 0]}
RECEIVERS = {"points": [[100.0 * k, 1200.0, 0.0] for k in range(8)], "interval": 5e-5}
OUTPUTS: dict[str, dict[str, Any]] = {
    "receivers": {"receivers": RECEIVERS},
    "snapshots": {"surface": {"interval": 0.005}, "volume": {"interval": 0.02}},
    "checkpoints": {"checkpoint": {"interval": 0.05, "keep": 2}},
}


def tets(**output: Any) -> dict[str, Any]:
    shape = {"shape": "box", "cells": [6, 6, 4], "boundaries": {"z+": "free-surface"}, "fault": ["y", 0.0], **BOX}
    fault = {"friction": "linear-slip-weakening", "reference": [0, -1e5, 0], "parameters": {"constant": FRICTION}}
    return {"mesh": {"generate": shape}, "fault": fault, "numerics": {"order": 3}, "output": output}


def grid(**output: Any) -> dict[str, Any]:
    source = {
        "kind": "force",
        "location": [0, 0, -1500],
        "force": [0, 0, 1e12],
        "time_function": {"kind": "ricker", "duration": 0.8},
    }
    box = {**BOX, "spacing": 200.0, "absorbing": {"width": 5}}
    return {"engine": "fd", "grid": box, "sources": [source], "output": output}


@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("engine", (tets, grid))
def test_files_take_what_was_forecast(
    engine: Any, outputs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forecasts = []

    def note(folder: Any, needed: float, *more: Any) -> None:
        forecasts.append(needed)

    monkeypatch.setattr(checks, "check_disk", note)
    monkeypatch.setattr("faultwave.dg.planning.plan.check_disk", note)
    output = {"folder": str(tmp_path / "out"), **OUTPUTS[outputs]}
    rock = {"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}}
    sim = fw.simulate({"end_time": 0.2, "material": rock, **engine(**output)})
    sim.run()
    sizes = {p: p.stat().st_size for p in (tmp_path / "out").rglob("*") if p.is_file()}
    saved = sum(size for p, size in sizes.items() if "checkpoint" in str(p))
    written = sum(sizes.values()) - saved
    needed = written + saved * 3 / 2  # a third one while it is being written
    assert 0.9 * needed < forecasts[-1] + TABLES
    assert forecasts[-1] < 1.1 * needed / (COMPRESSED if outputs == "snapshots" else 1.0)
