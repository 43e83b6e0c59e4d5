"""Parts: found where they lie, brought by others, called after the steps that they ask for."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from faultwave.case.load import load_case
from faultwave.engine.solver import Unattended
from faultwave.fd.capabilities.strain_green_tensors import BLOCK, Strain
from faultwave.fd.capability import GridCapability, GridCapabilityPlan, StepCallback
from faultwave.fd.planning.case_input import capability_modules
from faultwave.fd.planning.plan import make_plan
from faultwave.fd.report import plan_report
from faultwave.fd.solver import FdSolver

CASE = {
    "engine": "fd", "end_time": 0.3, "numerics": {"threads": 1, "precision": "double"},
    "grid": {"lower": [0, 0, -900], "upper": [1000, 900, 0], "spacing": 100.0, "absorbing": {"width": 4}},
    "material": {"constant": {"rho": 2700.0, "vp": 3464.0, "vs": 2000.0}},
    "sources": [{"kind": "moment-tensor", "location": [450, 430, -420], "tensor": {"xy": 1e15},
                 "time_function": {"kind": "ricker", "duration": 0.2}}],
}  # fmt: skip


def plan(**more):
    case, problems = load_case({**CASE, **more})
    problems.raise_errors()
    return make_plan(case)


def test_a_plan_has_the_parts_that_the_case_asks_for():
    assert list(plan().parts) == ["sources"]
    receivers = {"points": [[500, 500, 0]], "interval": 0.05}
    output = {"energies": {"interval": 0.1}, "receivers": receivers, "intensity": {"periods": [0.5]}}
    assert sorted(plan(output=output).parts) == ["energies", "intensity", "receivers", "sources"]


def test_one_thread_is_no_threads():
    made = plan()
    cost = dict(dict(plan_report(made, made.case, 1e-3))["cost"])
    assert cost["backend"].startswith("cpu, 1 thread, ")


@dataclass(frozen=True)
class Clock(GridCapabilityPlan):
    """Notes the time after given steps."""

    name = "clock"

    def attach(self, solver):
        return Ticks(solver.operator)


class Ticks(GridCapability):
    def __init__(self, operator):
        self.operator, self.times = operator, []

    @property
    def after(self):
        return [StepCallback(frozenset({0, 3, 7}), lambda: self.times.append(self.operator.time))]


def test_another_distribution_brings_a_part(monkeypatch):
    brought = SimpleNamespace(plan=lambda planning: Clock())
    modules = capability_modules()
    monkeypatch.setattr("faultwave.fd.planning.case_input.capability_modules", lambda: (*modules, brought))
    solver = FdSolver(plan())
    solver.run(solver.plan.case.end_time, Unattended())
    step = solver.plan.scheme.step
    assert solver.parts["clock"].times == pytest.approx([0.0, 3 * step, 7 * step])
    assert solver.time == pytest.approx(0.3)


@pytest.mark.parametrize("together", [1, 7, 200])
def test_strain_does_not_depend_on_how_many_steps_are_taken_at_once(together):
    made = plan()
    rates = np.random.default_rng(0).normal(size=(2 * BLOCK + 9, 2, 6))
    found = []
    for count in (BLOCK, together):
        part = Strain(np.array([[450.0, 430.0, -300.0], [300.0, 200.0, -500.0]]), 0.01, 1.0)

        class Solver:
            plan = made
            samplers = {"strain": part.sampler(made)}

        strain = part.attach(Solver())
        for first in range(0, len(rates), count):
            strain.sampled(rates[first : first + count])
        strain.finish(len(rates) * made.scheme.step)
        (result,) = strain.results()
        found.append(result.data["strain"])
    assert np.array_equal(*found) and np.abs(found[0]).max() > 0
