"""Engine on regular grids; its modules are imported on first use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from faultwave.base.errors import Problem
from faultwave.base.types import Record
from faultwave.engine.solver import Engine, Sections, Solver
from faultwave.observe.model import Model

if TYPE_CHECKING:
    from faultwave.case.settings.model import Case
    from faultwave.comm import World
    from faultwave.fd.capability import FdPlan


def _plan(case: Case) -> FdPlan:
    from faultwave.fd.planning.plan import make_plan

    return make_plan(case)


def _survey(case: Case) -> FdPlan:
    from faultwave.fd.planning.plan import survey

    return survey(case)


def _process_plan(case: Case, world: World) -> FdPlan:
    from faultwave.fd.planning.plan import make_plan

    return make_plan(case, world)


def _solver(plan: FdPlan) -> Solver:
    from faultwave.fd.solver import FdSolver

    return FdSolver(plan)


def _report(plan: FdPlan, case: Case) -> Sections:
    from faultwave.fd.report import plan_report

    return plan_report(plan, case)


def _resumed_case(case: Case, notes: Record) -> Case:
    """Return the case with the step of the interrupted run, which was derived from the original end time."""
    step = notes.get("grid", {}).get("step")
    if case.grid is None or not isinstance(step, float):
        return case
    return case.model_copy(update={"grid": case.grid.model_copy(update={"step": step})})


def _model(plan: FdPlan) -> Model:
    from faultwave.fd.planning.model import model

    return model(plan)


def _processes(plan: FdPlan, count: int) -> Sequence[Problem]:
    from faultwave.fd.planning.plan import check_processes

    return check_processes(plan, count)


ENGINE = Engine("fd", _plan, _process_plan, _solver, _report, _resumed_case, _model, _processes, _survey)
"""Finite differences of fourth order on staggered grids."""
