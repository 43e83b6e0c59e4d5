"""Everything wrong with a case, without running it."""

from __future__ import annotations

from faultwave.base.errors import FaultwaveError, InputError, Problems
from faultwave.case.model import Case
from faultwave.run.engines import engine_of


def check(case: Case) -> Problems:
    """Problems found by reading every input: mesh, material, fault, points, sources. Nothing is written."""
    problems = Problems()
    try:
        problems.extend(engine_of(case).plan(case).warnings)
    except InputError as error:
        problems.extend(error.problems)
    except FaultwaveError as error:
        problems.error("case", str(error))
    return problems
