"""A run: case -> plan -> solver -> results.

The room itself is called, ``faultwave.run(case)``. What a run needs is imported when there is one: looking at a case needs less.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultwave.base.callable_module import make_callable

if TYPE_CHECKING:
    from faultwave.case.model import Case
    from faultwave.engine.progress import Progress
    from faultwave.run.session import Session
    from faultwave.run.simulation import resume, simulate

__all__ = ["resume", "run", "simulate"]


def run(
    case: Case | dict[str, Any] | str | Path, force: bool = False, report: Callable[[Progress], None] | bool | None = None,
    **overrides: Any,
) -> Session:  # fmt: skip
    """Run a case to its end and write its outputs; returns the session with the results.

    case, overrides: as for ``simulate``; force: replace the results of an earlier run in the folder; report: as ``progress`` of
    ``Session.run``. Raises InputError with every problem found before anything is written, RunError where the run fails.
    """
    from faultwave.base.errors import InputError, Problem
    from faultwave.run.simulation import ready

    if not isinstance(overrides.get("progress"), str | None):
        advice = "What shows how far the run is, or hides it, is report."
        raise InputError(
            Problem("progress=", f"{overrides['progress']!r} is no way to send messages", "polling, thread", advice)
        )
    return ready(case, force, **overrides).run(progress=report)


def __getattr__(name: str) -> Any:
    if name not in ("resume", "simulate"):
        raise AttributeError(f"module 'faultwave.run' has no attribute '{name}'")
    return getattr(importlib.import_module("faultwave.run.simulation"), name)


make_callable(__name__, run)
