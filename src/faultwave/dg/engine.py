"""Interface of the tetrahedral engine to a run."""

from __future__ import annotations

from faultwave.case.settings.model import Case
from faultwave.dg.checks.memory import check_mesh_fits_memory
from faultwave.dg.planning.plan import Plan, make_plan
from faultwave.dg.planning.process_partition import check_processes, process_plan
from faultwave.dg.solver import Solver
from faultwave.engine.solver import Engine, Sections
from faultwave.observe.model import Model


def _plan(case: Case) -> Plan:
    check_mesh_fits_memory(case)
    return make_plan(case)


def _report(plan: Plan, case: Case) -> Sections:
    from faultwave.dg.report import plan_report  # imports code for graphics processors, which a run may not need

    return plan_report(plan, case)


def _model(plan: Plan) -> Model:
    from faultwave.dg.planning.model import model  # for plots only

    return model(plan)


ENGINE = Engine("dg", _plan, process_plan, Solver, _report, model=_model, processes=check_processes)
