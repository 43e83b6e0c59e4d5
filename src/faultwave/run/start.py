"""Start of a run: from a case to a session that is ready to run, on all processes."""

from __future__ import annotations

from collections.abc import Sequence

from faultwave.base.errors import Problem
from faultwave.base.files.paths import recording_files
from faultwave.case.settings.model import Case
from faultwave.comm import world
from faultwave.run.engines import engine_of
from faultwave.run.session import Session


def start(case: Case, force: bool = False, warnings: Sequence[Problem] = ()) -> Session:
    """Plan a case and create its session (collective).

    Parameters
    ----------
    case : Case
        Case.
    force : bool
        If True, results of an earlier run may be replaced.
    warnings : sequence of Problem
        Warnings from loading.

    Raises
    ------
    InputError
        With every problem found.
    """
    together, engine = world(), engine_of(case)
    with recording_files() as read:
        plan = together.agree(lambda: engine.share(case, together))
    made: Session = together.agree(lambda: Session(engine.solver(plan), force, warnings))
    made.files_read = tuple(read)
    return made


__all__ = ["start"]
