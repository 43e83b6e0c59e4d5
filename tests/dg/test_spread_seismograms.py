"""Seismograms of sources on faces and at vertices of cells, and of faults of many subfaults, as they are spread by default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyproj
import pytest

import faultwave as fw
from faultwave.verify.exact.full_space import FullSpace, tensor
from faultwave.verify.exact.time_functions import ricker

from .test_spread_sources import FORCE, ROCK, TENSOR, made, part_of

PULSE = {"kind": "ricker", "duration": 1 / 0.7}
ORIGIN = (-117.0, 34.0)


def velocities(sim: Any) -> np.ndarray:
    """Return the velocities of all receivers (times, receivers, 3)."""
    sim.run(write=False)
    return np.stack([sim.receivers.quantity(f"v{i}") for i in (1, 2, 3)], -1)


def distance(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


@pytest.mark.parametrize(
    ("source", "place"),
    [(FORCE, (0.0, 0.0, 0.0)), (TENSOR, (0.0, 0.0, 0.0)), (FORCE, (250.0, 125.0, 0.0))],
    ids=["force-vertex", "moment-vertex", "force-face"],
)
def test_sources_at_vertices_and_on_faces_are_points(source: dict[str, Any], place: tuple[float, float, float]) -> None:
    """To 1 % of the exact seismograms, out of the reach of the spread source, until waves come back from the sides."""
    points = np.array(place) + np.array([[2030.0, 630.0, 590.0], [-1170.0, 1230.0, -1010.0]])
    strength = {"force": tuple(FORCE["force"])} if source is FORCE else {"moment": tensor(**TENSOR["tensor"])}
    exact = FullSpace(ROCK, ricker(0.7, 1.5 / 0.7), location=place, **strength)
    box = {"cells": [8] * 3, "lower": [-4000.0] * 3, "upper": [4000.0] * 3, "perturb": 0.0}
    output = {"receivers": {"points": points.tolist(), "interval": 0.02}}
    sim = made({**source, "time_function": PULSE}, place, 5, mesh=box, end_time=2.6, output=output)
    assert part_of(sim).spread is not None
    found = velocities(sim)
    expected = exact.velocity(points, sim.receivers["time"]).transpose(1, 0, 2)
    assert distance(found, expected) < 0.01


def write_srf(path: Path) -> int:
    """Write a vertical fault of equal subfaults in the plane y = 0, and return their number."""
    to_metres = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:32611", always_xy=True)
    x0, y0 = to_metres.transform(*ORIGIN)
    rates = " ".join(f"{v:g}" for v in 100.0 * np.array([0, 1, 2, 3, 4, 3, 2, 1, 0]))
    lines = []
    for x in np.arange(-1500.0, 1501.0, 300.0):
        for depth in np.arange(1000.0, 2801.0, 200.0):
            lon, lat = to_metres.transform(x0 + x, y0, direction="INVERSE")
            onset = 0.2 + np.hypot(x, depth - 1900.0) / 2500.0
            lines.append(f"{lon:.9f} {lat:.9f} {depth / 1e3:g} 90 90 6e8 {onset:.4f} 0.1\n0 160 9 0 0 0 0\n{rates}\n")
    path.write_text(f"1.0\nPOINTS {len(lines)}\n" + "".join(lines))
    return len(lines)


def test_faults_of_more_than_a_hundred_subfaults_are_spread(tmp_path: Path) -> None:
    """By default, to 1 % of a higher order, on a plane of faces of cells, where subfaults in one cell each err by 3 %."""
    assert write_srf(tmp_path / "fault.srf") > 100
    case = {
        "end_time": 1.8,
        "projection": {"crs": "EPSG:32611", "origin": list(ORIGIN)},
        "mesh": {"generate": {"shape": "box", "cells": [6, 4, 4], "lower": [-3e3, -2e3, -4e3], "upper": [3e3, 2e3, 0],
                              "boundaries": {"z+": "free-surface"}}},
        "material": {"constant": {"rho": 2700, "vp": 6000, "vs": 3464}},
        "sources": [{"kind": "srf", "file": str(tmp_path / "fault.srf")}],
        "output": {"receivers": {"points": [[1330, 1270, -20], [-1370, 1440, -20], [720, -1310, -20]], "interval": 0.02}},
    }  # fmt: skip
    sim = fw.simulate({**case, "numerics": {"order": 5, "threads": 1}})
    assert part_of(sim).spread is not None
    assert not [p for p in sim.plan.warnings if "act in one cell each" in p.what]
    fine = fw.simulate({**case, "numerics": {"order": 6, "threads": 1, "source_spread": "cells"}})
    assert distance(velocities(sim), velocities(fine)) < 0.01
