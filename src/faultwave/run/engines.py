"""The engines a case can run on: each makes a plan of a case, a simulation of a plan and a report of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from faultwave.base.errors import InputError, NotBuiltError, Problem
from faultwave.case.locate import located
from faultwave.case.model import Case
from faultwave.comm import World
from faultwave.run.session import Session

Sections = list[tuple[str, list[tuple[str, ...]]]]


@dataclass(frozen=True)
class Door:
    """The way into an engine. ``plan(case)`` raises InputError with every problem; plans are the engine's own.
    ``share(case, world)`` is the plan of one of several processes."""

    plan: Callable[[Case], Any]
    share: Callable[[Case, World], Any]
    simulation: Callable[[Any, bool, Sequence[Problem]], Session]
    report: Callable[[Any, Case], Sections]


def door(case: Case) -> Door:
    """The engine a case asks for; only that one is imported. What is wrong with a case is told with file and line."""
    found = _door(case)
    return replace(found, plan=_telling(found.plan), share=_telling(found.share))


def _telling(make: Callable[..., Any]) -> Callable[..., Any]:
    """``make(case, ...)`` whose errors and warnings say where they stand in the case's file."""

    def plan(case: Case, *more: Any) -> Any:
        try:
            made = make(case, *more)
        except InputError as error:
            kind = NotBuiltError if isinstance(error, NotBuiltError) else InputError
            raise kind(located(case, error.problems)) from error
        return replace(made, warnings=tuple(located(case, made.warnings))) if made.warnings else made

    return plan


def _door(case: Case) -> Door:
    if case.engine == "fd":
        from faultwave.fd import plan as grid_plan
        from faultwave.run.fd import report as grid_report
        from faultwave.run.fd.simulation import FdSimulation

        return Door(grid_plan.make_plan, grid_plan.make_plan, FdSimulation, grid_report.plan_report)
    from faultwave.dg import plan, share
    from faultwave.run import report, simulation

    return Door(plan.make_plan, share.plan_for, simulation.Simulation, report.plan_report)
