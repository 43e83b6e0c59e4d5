"""Runs of cases: case -> plan -> solver -> results.

The package itself is callable, ``faultwave.run(case)``. The modules of a run are imported only when one starts.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultwave.base.callable_module import make_callable
from faultwave.base.types import Settings

if TYPE_CHECKING:
    from faultwave.case.settings.model import Case
    from faultwave.engine.solver import Progress
    from faultwave.run.session import Session
    from faultwave.run.simulation import resume, simulate

__all__ = ["resume", "run", "simulate"]


def run(
    case: Case | Settings | str | Path, force: bool = False, progress: Callable[[Progress], None] | bool | str | None = None,
    **overrides: Any,
) -> Session:  # fmt: skip
    """Run a case to its end, write its outputs and return the session with the results.

    Parameters
    ----------
    case : Case, dict, str or Path
        Case, nested settings, file, or name of an example, as for ``simulate``.
    force : bool
        If True, results of an earlier run in the folder are replaced.
    progress : callable, bool or str, optional
        Display of the progress, as for ``Session.run``: True, False, a function, or None for a bar in interactive IPython only. The words
        'polling' and 'thread' select how messages between processes progress, as for ``simulate``.
    **overrides
        Settings to replace, as for ``simulate``.

    Returns
    -------
    Session
        Finished run.

    Raises
    ------
    InputError
        With every problem found, before anything is written.
    RunError
        If the run fails.
    """
    from faultwave.run.simulation import prepare_run

    if isinstance(progress, str):
        overrides["progress"], progress = progress, None
    shown = overrides.pop("report", None) if progress is None else progress
    return prepare_run(case, force, **overrides).run(progress=shown)


def __getattr__(name: str) -> object:
    if name not in ("resume", "simulate"):
        raise AttributeError(f"module 'faultwave.run' has no attribute '{name}'")
    return getattr(importlib.import_module("faultwave.run.simulation"), name)


make_callable(__name__, run)
