"""Registry of engines, each of which makes a plan of a case, a solver of a plan, and a report of both.

Engines are folders of the package with a file ``engine.py`` that defines ``ENGINE``, and packages of this form that the entry points
'faultwave.engines' name.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from faultwave.base.errors import InputError, NotBuiltError, Problem
from faultwave.base.files.paths import searching_case_folders
from faultwave.base.processes import host
from faultwave.base.registry import entries
from faultwave.case.native import located
from faultwave.case.settings.model import Case
from faultwave.engine.solver import Engine, Plan
from faultwave.run.inputs import with_input_errors

P = TypeVar("P", bound=Plan)


def engine_of(case: Case) -> Engine[Plan]:
    """Return the engine of a case, the only one imported; its errors and warnings state file and line of the case."""
    package = entries("faultwave", "engine", "faultwave.engines")[case.engine].value
    found: Engine[Plan] = importlib.import_module(f"{package}.engine").ENGINE
    return replace(
        found,
        plan=_locating_problems(found.plan),
        process_plan=_locating_problems(found.process_plan),
        survey=None if found.survey is None else _locating_problems(found.survey),
        processes=_locating_process_problems(found.processes),
    )


def _locating_problems(make: Callable[..., P]) -> Callable[..., P]:
    """Wrap ``make(case, ...)`` to locate its problems in the case file and to find files next to that."""

    def plan(case: Case, *more: object) -> P:
        try:
            with searching_case_folders(case.source_files), host.limit_threads(case.numerics.threads):
                made = make(case, *more)
        except InputError as error:
            kind = NotBuiltError if isinstance(error, NotBuiltError) else InputError
            raise with_input_errors(case, kind(located(case, error.problems))) from error
        return replace(made, warnings=tuple(located(case, made.warnings))) if made.warnings else made

    return plan


def _locating_process_problems(ask: Callable[[P, int], Sequence[Problem]]) -> Callable[[P, int], Sequence[Problem]]:
    """Wrap the check of a plan on several processes in the same way."""

    def checked(made: P, count: int) -> Sequence[Problem]:
        with searching_case_folders(made.case.source_files):
            return located(made.case, ask(made, count))

    return checked
