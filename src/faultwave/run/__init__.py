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
    case: Case | dict[str, Any] | str | Path, force: bool = False, progress: Callable[[Progress], None] | bool | str | None = None,
    **overrides: Any,
) -> Session:  # fmt: skip
    """Run a case to its end and write its outputs; return the session with the results.

    Parameters
    ----------
    case, overrides
        As for ``simulate``.
    force
        Whether results of an earlier run in the folder are replaced.
    progress
        How the run's progress is shown, as for ``Session.run``: True, False, a function, or None for a bar at IPython only. The words
        'polling' and 'thread' are ways to move messages between processes, as for ``simulate``.

    Raises
    ------
    InputError
        With every problem found, before anything is written.
    RunError
        Where the run fails.
    """
    from faultwave.run.simulation import ready

    if isinstance(progress, str):
        overrides["progress"], progress = progress, None
    shown = overrides.pop("report", None) if progress is None else progress
    return ready(case, force, **overrides).run(progress=shown)


def __getattr__(name: str) -> Any:
    if name not in ("resume", "simulate"):
        raise AttributeError(f"module 'faultwave.run' has no attribute '{name}'")
    return getattr(importlib.import_module("faultwave.run.simulation"), name)


make_callable(__name__, run)
