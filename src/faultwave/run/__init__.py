"""Composition root: case -> plan -> simulation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faultwave.case.model import Case
    from faultwave.run.simulation import Simulation

__all__ = ["simulate"]


def simulate(case: Case | dict[str, Any] | str | Path, force: bool = False, **overrides: Any) -> Simulation:
    """A simulation of ``case``: a Case, a dict of settings, a file or an example's name; nothing is written before
    ``run``.

    overrides: order, precision, backend, until, output, threads. Raises InputError with every problem found.
    """
    from faultwave.case.load import load_case
    from faultwave.run.plan import make_plan
    from faultwave.run.simulation import Simulation

    settings, problems = load_case(case, overrides)
    problems.raise_errors()
    assert settings is not None  # it is None only where there are errors
    return Simulation(make_plan(settings), force=force, warnings=problems.warnings)
