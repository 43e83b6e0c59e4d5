"""Composition root: case -> plan -> simulation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faultwave.case.model import Case
    from faultwave.run.session import Session

__all__ = ["simulate"]


def simulate(case: Case | dict[str, Any] | str | Path, force: bool = False, **overrides: Any) -> Session:
    """A simulation of ``case``: a Case, a dict of settings, a file or an example's name; nothing is written before
    ``run``.

    overrides: order, precision, backend, until, output, threads. Raises InputError with every problem found.
    """
    from faultwave.case.load import load_case
    from faultwave.run.engines import door

    settings, problems = load_case(case, overrides)
    problems.raise_errors()
    assert settings is not None  # it is None only where there are errors
    engine = door(settings)
    return engine.simulation(engine.plan(settings), force, problems.warnings)
