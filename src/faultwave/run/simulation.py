"""Simulations of a case: their start, new ones, complete runs, and runs resumed from a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from faultwave.base.errors import InputError, Problem, Problems, collect_problems
from faultwave.base.files.paths import recording_files
from faultwave.base.spans import phase
from faultwave.base.types import Settings
from faultwave.case.settings.model import Case
from faultwave.comm import world
from faultwave.output.folder import refuse_folder
from faultwave.run.engines import engine_of
from faultwave.run.inputs import load_valid_case
from faultwave.run.resumption import CaseInput, Resumption, find_resumption
from faultwave.run.session import Session
from faultwave.run.trace_file import check_trace_file


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
    with recording_files() as read, phase("plan"):
        plan = together.agree(lambda: engine.process_plan(case, together))
    with phase("set up the solver"):
        made: Session = together.agree(lambda: Session(engine.solver(plan), force, warnings))
    made.files_read = tuple(read)
    return made


def simulate(case: Case | Settings | str | Path, force: bool = False, **overrides: object) -> Session:
    """Prepare a simulation of a case; nothing is written before its ``run``.

    Parameters
    ----------
    case : Case, dict, str or Path
        Case, nested settings, file, or name of an example.
    force : bool
        If True, results of an earlier run in the folder may be replaced.
    **overrides
        Settings to replace: engine ("dg" or "fd"), order (2 to 8), precision (double, single, auto), backend, threads, until and
        checkpoint_every (simulated time: seconds, or a text with a unit like "500 ms"), output (a folder), progress ("polling" or
        "thread"), halo.

    Returns
    -------
    Session
        Run that has not begun.

    Raises
    ------
    InputError
        With every problem found.
    """
    settings, problems = world().agree(lambda: load_valid_case(case, overrides))
    return start(settings, force, problems.warnings)


def prepare_run(
    case: Case | Settings | str | Path, force: bool = False, trace: Path | None = None, **overrides: object
) -> Session:
    """Prepare a simulation that will write, as ``simulate`` does, after checking that its folder and ``trace`` are writable."""

    def load() -> tuple[Case, Problems]:
        collected = Problems()
        if trace is not None and world().first:
            collected.extend(check_trace_file(trace, force))
        if not collected.errors:
            settings, problems = load_valid_case(case, overrides)
            refuse_folder(settings.output.folder, force)
            return settings, problems
        with collect_problems(collected):
            load_valid_case(case, overrides)
        raise InputError(collected.errors)

    settings, problems = world().agree(load)
    return start(settings, force, problems.warnings)


def resume(
    folder: str | Path, case: CaseInput = None, as_recorded: bool = False, put_aside: bool = False, **overrides: object
) -> Session:
    """Return the simulation in ``folder`` at its last complete checkpoint; its ``run`` continues to the end.

    Parameters
    ----------
    folder : str or Path
        Folder of the run.
    case : Case, mapping, str or Path, optional
        Case that the run must belong to. By default the file that its case was read from, if it still exists. Times, output
        formats, order, precision, backend and threads may differ and are applied; other outputs retain their first settings, with a
        warning.
    as_recorded : bool
        If True, continue with the settings in the checkpoint and ignore the case's file.
    put_aside : bool
        If True, missing or damaged snapshot files begin anew at the checkpoint, and remnants are renamed. Otherwise they are an error
        of ``run``.
    **overrides
        Settings to replace: threads, progress, halo, backend, precision, order (the state is projected), until, checkpoint_every;
        others are as in the first run.

    Returns
    -------
    Session
        Run at its last checkpoint.

    Raises
    ------
    InputError
        If no checkpoint is complete, the case differs (every difference is named) or an input file has changed.
    """
    return restore_session(find_resumption(folder, case, as_recorded, **overrides), put_aside)


def prepare_resumption(
    folder: Path, case: Path | None, as_recorded: bool, trace: Path | None, **overrides: object
) -> Resumption:
    """Return the checkpoint from which a run continues (``find_resumption``), after checking that ``trace`` is writable."""
    together, problems = world(), Problems()
    if trace is not None:
        problems.extend(together.broadcast(check_trace_file(trace) if together.first else None))
    if not problems.errors:
        return find_resumption(folder, case, as_recorded, **overrides)
    with collect_problems(problems):
        find_resumption(folder, case, as_recorded, **overrides)
    raise together.mark_raised_everywhere(InputError(problems.errors))


def restore_session(found: Resumption, put_aside: bool = False) -> Session:
    """Return the simulation of a resumption, at its checkpoint; for ``put_aside`` see ``resume``."""
    again: tuple[Problem, ...] = ()
    if found.finished is not None:
        what = f"the run has already finished, at t = {found.finished:g} s"
        advice = "Running it computes its last part again; a later until extends it."
        again = (Problem(str(found.case.output.folder), what, advice=advice, severity="warning"),)
    simulation = start(found.case, True, (*found.warnings, *again))
    world().agree(lambda: simulation.restore(found.checkpoint))
    simulation.put_aside = put_aside
    return simulation
