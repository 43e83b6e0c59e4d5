"""Parameters of a friction law that are the same on the whole fault: which are, of all processes, and what points are told of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from faultwave.dg.capabilities.rupture import _uniform
from faultwave.run import simulate

from .setup import settings, slip_weakening


def test_all_processes_must_find_one_number() -> None:
    here = {"mu_s": (0.6, 0.6), "d_c": (0.4, 0.4), "cohesion": (0.0, 1e6), "forced_rupture_time": (np.inf, np.inf)}
    there = here | {"d_c": (0.5, 0.5), "cohesion": (0.0, 0.0)}
    assert _uniform([here]) == ("mu_s", "d_c", "forced_rupture_time")
    assert _uniform([here, there]) == _uniform([there, here]) == ("mu_s", "forced_rupture_time")


def test_points_are_told_all_parameters(tmp_path: Path) -> None:
    """Those that are read once, too, for the faces that are asked for, in their order."""
    distance = {"d_c": "return 0.4 + 0.00001*x;"}
    sim = simulate(settings(tmp_path, slip_weakening(values={"cohesion": -1e5}, expression=distance)), force=True)
    plan, fault, items = sim.plan.part("rupture"), sim.solver.parts["rupture"].fault, np.array([7, 0, 30])
    assert "d_c" not in plan.uniform and {"mu_s", "cohesion"} < set(plan.uniform)
    found = fault.parameters(items)
    assert set(found) == set(plan.law.kernel_parameters) and np.ptp(found["d_c"]) > 0
    for name, values in found.items():
        np.testing.assert_array_equal(values, plan.parameters[name][items])
