"""Both engines on one case: a moment tensor below a layer under a free surface, recorded on the surface and inside.

The case has a mesh and a grid; only ``engine`` changes. Element edges are 500 m at order 4, the spacing is 80 m, so that the
interface lies in the middle of a cell; the source, a Gaussian of 0.25 s, has fallen to 1 % at 2 Hz.
"""

from __future__ import annotations

import numpy as np

from faultwave.base.types import Settings
from faultwave.run import simulate
from faultwave.verify.case import Progress, Result, VerificationCase, at_most
from faultwave.verify.exact import Array

RECEIVERS = ((1510.0, 820.0, -5.0), (-1210.0, 1730.0, -5.0), (600.0, -900.0, -1430.0))
END, LIMIT = 3.6, 0.03


def case(engine: str, spacing: float = 80.0, edge: float = 500.0) -> Settings:
    """Return the case for one of the engines."""
    lower, upper = np.array([-7000.0, -7000.0, -6000.0]), np.array([7000.0, 7000.0, 0.0])
    layers = {"rho": (2600, 2700), "vp": (4000, 6000), "vs": (2000, 3464)}
    material = {n: f"if (z > -1000) {{ return {a}; }} return {b};" for n, (a, b) in layers.items()}
    return {
        "engine": engine, "end_time": END, "material": {"expression": material},
        "mesh": {"generate": {"shape": "box", "cells": np.round((upper - lower) / edge).astype(int).tolist(),
                              "lower": lower.tolist(), "upper": upper.tolist(), "boundaries": {"z+": "free-surface"}}},
        "grid": {"spacing": spacing}, "numerics": {"order": 4, "precision": "single"},
        "sources": [{"kind": "moment-tensor", "location": [30.0, 40.0, -2050.0], "tensor": {"xy": 1e16, "zz": 5e15},
                     "time_function": {"kind": "gaussian", "duration": 0.25}}],
        "output": {"receivers": {"points": [list(r) for r in RECEIVERS], "interval": 0.02}},
    }  # fmt: skip


def misfits(**sizes: float) -> Array:
    """Return the relative L2 difference of velocity at each receiver."""
    found = []
    for engine in ("fd", "dg"):
        data = simulate(case(engine, **sizes)).run(write=False).receivers
        assert data is not None
        found.append(np.stack([data.quantity(f"v{i}") for i in (1, 2, 3)], -1))
    grid, mesh = found
    return np.asarray(np.sqrt(((grid - mesh) ** 2).sum((0, 2)) / (mesh**2).sum((0, 2))))


def run(progress: Progress) -> Result:
    """Judge the misfits of both engines at the receivers."""
    progress("both engines")
    rows = [
        at_most(f"misfit at ({x:g}, {y:g}, {z:g}) m", m, LIMIT)
        for (x, y, z), m in zip(RECEIVERS, misfits(), strict=True)
    ]
    return Result(tuple(rows))


FD_AND_DG = VerificationCase("fd-and-dg", "grids and tetrahedra: one case on both engines", run, 3.0)
