"""Simulations of a case: new ones, whole runs, and those that go on from a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from faultwave.base.errors import Problem, Problems
from faultwave.case.model import Case
from faultwave.comm import world
from faultwave.output.folder import refuse_folder
from faultwave.run.inputs import load_sound
from faultwave.run.resumption import AsGiven, Resumption, find_resumption
from faultwave.run.session import Session
from faultwave.run.start import start

__all__ = ["go_on", "ready", "resume", "simulate"]


def simulate(case: Case | dict[str, Any] | str | Path, force: bool = False, **overrides: Any) -> Session:
    """A simulation of ``case``: a Case, a dict of settings, a file or an example's name; nothing is written before
    its ``run``.

    force: results of an earlier run in the folder may be replaced. overrides replace settings of the case: engine ("dg" or "fd"),
    order (2 to 8), precision (double, single, auto), backend, threads, until and checkpoint_every (simulated time: seconds, or a text
    with a unit like "500 ms"), output (a folder), progress ("polling" or "thread"), halo. Raises InputError with every problem found.
    """
    settings, problems = world().agree(lambda: load_sound(case, overrides))
    return start(settings, force, problems.warnings)


def ready(case: Case | dict[str, Any] | str | Path, force: bool = False, **overrides: Any) -> Session:
    """As ``simulate``, of a run that will write: a folder that it may not write to is told before anything is prepared."""

    def load() -> tuple[Case, Problems]:
        settings, problems = load_sound(case, overrides)
        refuse_folder(settings.output.folder, force)
        return settings, problems

    settings, problems = world().agree(load)
    return start(settings, force, problems.warnings)


def resume(
    folder: str | Path, case: AsGiven = None, as_recorded: bool = False, put_aside: bool = False, **overrides: Any
) -> Session:
    """Return the simulation in ``folder`` where its last whole checkpoint was taken; its ``run`` goes on to the end.

    Parameters
    ----------
    folder
        Folder of the run.
    case
        The case that the run must be of: a file, settings or a Case. By default the file that its case was read from, if it is still
        there. Times, outputs' formats, order, precision, backend and threads may differ and are applied; other outputs keep their first
        settings, with a warning.
    as_recorded
        Whether to go on with the settings in the checkpoint, whatever the case's file says now.
    put_aside
        Whether snapshot files that are gone or damaged begin anew at the checkpoint; what is there of them is renamed. Without it they
        are an error of ``run``.
    overrides
        threads, progress, halo, backend, precision, order (the state is projected), until, checkpoint_every; what is not given is as in
        the first run.

    Raises
    ------
    InputError
        Where no checkpoint is whole, the case is another (every difference is named) or an input file has changed.
    """
    return go_on(find_resumption(folder, case, as_recorded, **overrides), put_aside)


def go_on(found: Resumption, put_aside: bool = False) -> Session:
    """Return the simulation of a resumption, at its checkpoint; ``put_aside`` as of ``resume``."""
    again: tuple[Problem, ...] = ()
    if found.finished is not None:
        what = f"the run has already finished, at t = {found.finished:g} s"
        advice = "To run it computes its last part again; a later until extends it."
        again = (Problem(str(found.case.output.folder), what, advice=advice, severity="warning"),)
    simulation = start(found.case, True, (*found.warnings, *again))
    world().agree(lambda: simulation.restore(found.checkpoint))
    simulation.put_aside = put_aside
    return simulation
