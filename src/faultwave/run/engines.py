"""The engines a case can run on: each makes a plan of a case, a solver of a plan and a report of both.

Folders of the package with a file ``engine.py`` that has ``ENGINE``, and packages of that shape that the entry points 'faultwave.engines'
name.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from faultwave.base import cores
from faultwave.base.errors import InputError, NotBuiltError, Problem
from faultwave.base.paths import beside_case
from faultwave.base.registry import entries
from faultwave.case.locate import located
from faultwave.case.model import Case
from faultwave.engine.solver import Engine
from faultwave.run.inputs import with_other_inputs


def engine_of(case: Case) -> Engine:
    """The engine a case asks for; only that one is imported. What is wrong with a case is told with file and line."""
    package = entries("faultwave", "engine", "faultwave.engines")[case.engine].value
    found: Engine = importlib.import_module(f"{package}.engine").ENGINE
    return replace(
        found, plan=_telling(found.plan), share=_telling(found.share), processes=_telling_of_many(found.processes)
    )


def _telling(make: Callable[..., Any]) -> Callable[..., Any]:
    """``make(case, ...)`` whose errors and warnings say where they stand in the case's file, and which finds files beside that."""

    def plan(case: Case, *more: Any) -> Any:
        try:
            with beside_case(case.source_files), cores.limited(case.numerics.threads):
                made = make(case, *more)
        except InputError as error:
            kind = NotBuiltError if isinstance(error, NotBuiltError) else InputError
            raise with_other_inputs(case, kind(located(case, error.problems))) from error
        return replace(made, warnings=tuple(located(case, made.warnings))) if made.warnings else made

    return plan


def _telling_of_many(ask: Callable[[Any, int], Sequence[Problem]]) -> Callable[[Any, int], Sequence[Problem]]:
    """The same of what is wrong with a plan on many processes."""

    def asked(made: Any, count: int) -> Sequence[Problem]:
        with beside_case(made.case.source_files):
            return located(made.case, ask(made, count))

    return asked


__all__ = ["engine_of"]
