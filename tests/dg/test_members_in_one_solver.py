"""Cells and fault faces have the same bits whichever others share their launches: members of an ensemble joined in one solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave.case.load import load_case
from faultwave.dg.planning.plan import Plan, make_plan
from faultwave.dg.solver import Solver
from tests.backends.here import present
from tools.members_in_one_solver import advanced, equal_results, joined, results

WEAKENING = {"friction": "linear-slip-weakening"}
AGEING = {
    "friction": "rate-and-state-ageing",
    "constants": {"rs_f0": 0.6, "rs_b": 0.012, "rs_sr0": 1e-6, "rs_ini_slip_rate": 1e-12},
}
OWN: dict[str, dict[str, float]] = {
    "linear-slip-weakening": {"mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": 0.0},
    "rate-and-state-ageing": {"rs_a": 0.008, "rs_sl0": 0.02},
}


def plan_of(member: int, fault: dict[str, Any], backend: str) -> Plan:
    """Return the plan of a member with a load of its own, on a mesh with local time steps."""
    box = {
        "shape": "box", "cells": [5, 4, 3], "lower": [-2500, -2000, -3000], "upper": [2500, 2000, 0], "perturb": 0.3,
        "boundaries": {"z+": "free-surface"}, "fault": ["y", 0.0],
    }  # fmt: skip
    load = {"T_n": -120e6, "T_s": 82e6 + 1e6 * member, "T_d": 0.0}
    case, problems = load_case({
        "mesh": {"generate": box}, "end_time": 2.0, "numerics": {"order": 3, "backend": backend, "threads": 1},
        "material": {"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
        "fault": {"reference": [0, 1, 0], "reference_method": "direction",
                  "parameters": {"constant": OWN[fault["friction"]] | load}, **fault},
    })  # fmt: skip
    problems.raise_errors()
    assert case is not None
    return make_plan(case)


@pytest.mark.parametrize("backend", present(["cpu", "opencl"]))
@pytest.mark.parametrize("fault", [WEAKENING, AGEING], ids=lambda fault: fault["friction"])
def test_joined_members_have_the_bits_of_each_alone(fault: dict[str, Any], backend: str) -> None:
    plans = [plan_of(m, fault, backend) for m in range(3)]
    assert len(plans[0].clustering.steps) > 1
    together, alone = Solver(joined(plans)), [Solver(plan) for plan in plans]
    for solver in (together, *alone):
        advanced(solver, 3)
    slips = [results(solver)["accumulated_slip"].max() for solver in alone]
    assert len(set(slips)) == 3 and min(slips) > 0
    assert equal_results(together, alone)


def test_a_member_with_numbers_that_are_not_finite_leaves_the_others_alone() -> None:
    plans = [plan_of(m, WEAKENING, "cpu") for m in range(3)]
    together, alone = Solver(joined(plans)), [Solver(plan) for plan in plans]
    cells = plans[0].cells
    broken = np.full_like(alone[1].operator.dofs(np.arange(1)), np.nan)
    together.operator.set_dofs(broken, np.array([cells]))
    for solver in (together, alone[0], alone[2]):
        advanced(solver, 3)
    state = together.operator.dofs()
    assert np.isnan(state[cells : 2 * cells]).any()
    assert np.array_equal(state[:cells], alone[0].operator.dofs())
    assert np.array_equal(state[2 * cells :], alone[2].operator.dofs())
