"""Both engines inject the moment that a file holds, and plans state it: integrals of stress over a periodic box change by sources alone."""

import numpy as np
import pytest

import faultwave as fw
from faultwave.run import simulate
from tests.physics.sources.test_geographic import CMT, aki_richards

MU = 2700.0 * 2000.0**2
STRESS = ("sxx", "syy", "szz", "sxy", "syz", "sxz")
H = 100.0


def srf(path):
    """Two subfaults of 2 km^2: slip of 1 m along a rake of 20 degrees and 0.5 m across it; 0.8 m at 100 degrees, with vs and density."""
    rates = " ".join(f"{v:g}" for v in (0, 250, 500, 250, 0))
    half = " ".join(f"{v:g}" for v in (0, 125, 250, 125, 0))
    four = " ".join(f"{v:g}" for v in (200, 400, 200))
    path.write_text(
        f"1.0\nPOINTS 2\n-117.0 34.0 1.0 30 60 2e10 0.05 0.1\n20 100 5 50 5 0 0\n{rates}\n{half}\n"
        f"-117.002 34.001 1.2 210 40 2e10 0.1 0.1 1.5e5 2.5\n100 80 3 0 0 0 0\n{four}\n"
    )
    own = 2500.0 * 1500.0**2
    first = MU * 2e6 * (1.0 * aki_richards(30, 60, 20) + 0.5 * aki_richards(30, 60, 110))
    second = own * 2e6 * 0.8 * aki_richards(210, 40, 100)
    return first + second, 2e6 * (MU * np.hypot(1.0, 0.5) + own * 0.8)


def cmt(path):
    text = CMT.replace("depth:          16.8000", "depth: 1.0").replace("time shift:      2.0000", "time shift: 0.0")
    path.write_text(text.replace("1.6280", "0.16280"))
    tensor = np.array([-1e18, -9e18, 1e19, 3e18, 4e18, 2e18])
    return tensor, np.sqrt(0.5 * (tensor[:3] ** 2).sum() + (tensor[3:] ** 2).sum())


def stress_integrals(sim, engine):
    """Integrals (6,) of the stress over the box [N m]."""
    op = sim.solver.operator
    if engine == "fd":
        return np.array([np.asarray(op.values(name), float).sum() for name in STRESS]) * H**3
    means = op.physical(op.state(), np.arange(sim.plan.cells))[:, 0] * np.sqrt(6.0)
    return (means * sim.plan.geometry.volume[:, None]).sum(0)[:6]


@pytest.mark.parametrize("engine", ["dg", "fd"])
@pytest.mark.parametrize(("kind", "write"), [("srf", srf), ("cmtsolution", cmt)])
def test_the_moment_of_a_file(tmp_path, kind, write, engine):
    tensor, scalar = write(tmp_path / "file")
    box = {"lower": [-1000, -1000, -2000], "upper": [1000, 1000, 0]}
    sides = dict.fromkeys("xyz", "periodic")
    case = {
        "engine": engine, "end_time": 0.9, "projection": {"crs": "EPSG:32611", "origin": [-117.0, 34.0]},
        "sources": [{"kind": kind, "file": str(tmp_path / "file")}],
        "material": {"constant": {"rho": 2700.0, "vp": 3464.0, "vs": 2000.0}},
        "numerics": {"precision": "double"},
    }  # fmt: skip
    if engine == "fd":
        case["grid"] = {**box, "spacing": H, "boundaries": sides}
    else:
        case["mesh"] = {"generate": {"shape": "box", "cells": [3, 3, 3], **box, "boundaries": sides}}
        case["numerics"]["order"] = 3
    sim = simulate(case)
    sim.run(write=False)
    largest = np.abs(tensor).max()
    np.testing.assert_allclose(-stress_integrals(sim, engine), tensor, rtol=0, atol=1e-3 * largest)
    told = dict(fw.plan(case).sections["sources"])["sum of scalar moments"]
    assert float(told.split()[0]) == pytest.approx(scalar, rel=1e-3)
