"""Self-contained HTML report of a run or an ensemble: interactive figures, seismograms, energies, cost and provenance.

Each module of ``faultwave.report.sections`` yields sections; other packages register theirs by the entry point group of that name.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from faultwave.base.callable_module import make_callable
from faultwave.base.errors import InputError, Problem, describe_bad_values
from faultwave.base.registry import modules
from faultwave.report.blocks import Section, Text
from faultwave.report.ensembles import is_ensemble, write_ensemble_report
from faultwave.report.loaded import Run, load, with_distinct_names, with_records
from faultwave.report.page import render, section_html, write

SECTIONS = "faultwave.report.sections"


def write_report(
    folder: str | Path,
    out: str | Path | None = None,
    *,
    compare: str | Path | None = None,
    observed: str | Path | None = None,
    prefix: str | None = None,
) -> Path:
    """Write PREFIX-report.html into the run folder, or to ``out``, and return its path; for an ensemble, report.html.

    Parameters
    ----------
    folder : str or Path
        Folder of a run or of an ensemble.
    out : str or Path, optional
        Destination.
    compare : str or Path, optional
        Folder of another run; figures show both.
    observed : str or Path, optional
        Folder of miniSEED or SAC files; seismograms show the observed records.
    prefix : str, optional
        Prefix of the run's files.

    Returns
    -------
    Path
        Written page.

    Raises
    ------
    InputError
        If the folder has no results, or ``observed`` has no records of the run's receivers.
    """
    if is_ensemble(folder):
        if compare is not None or observed is not None:
            what = "holds an ensemble, whose report has no other run and no observed records"
            raise InputError(Problem(str(folder), what, advice="Leave out compare and observed."))
        return write_ensemble_report(folder, out)
    run = load(Path(folder), prefix)
    other = None if compare is None else load(Path(compare))
    if other is not None:
        if (other.results.folder.resolve(), other.results.prefix) == (run.results.folder.resolve(), run.results.prefix):
            raise InputError(Problem(str(compare), "is the run itself", "the folder of another run"))
        run, other = with_distinct_names(run, other)
    if observed is not None:
        run = with_records(run, observed)
    found = contents(run, other)
    title = str(run.case.get("title") or run.results.prefix)
    subtitle = (
        f"{run.results.folder}" if other is None else f"{run.results.folder} compared with {other.results.folder}"
    )
    path = Path(out) if out is not None else run.results.folder / f"{run.results.prefix}-report.html"
    return write(path, render(title, subtitle, found))


def contents(run: Run, other: Run | None = None) -> list[Section]:
    """Return all sections, in the order of each module's ``ORDER``."""
    made: list[Section] = []
    notes: list[str] = []
    for module in sorted(modules(SECTIONS, SECTIONS), key=lambda module: module.ORDER):
        kind = module.__name__.rpartition(".")[2].replace("_", " ")
        try:
            with (
                describe_bad_values(str(run.results.folder), f"the section on {kind} cannot be made"),
                np.errstate(all="ignore"),
            ):
                for section in module.sections(run, other):
                    section_html(0, section)  # reveals values that cannot be encoded in a page
                    made.append(section)
        except InputError as error:
            notes += map(str, error.problems)
    made = [section for section in made if section.blocks]
    if notes and not made:
        raise InputError([Problem(str(run.results.folder), note) for note in notes])
    return [*made, Section("Left out", [Text(note) for note in notes])] if notes else made


make_callable(__name__, write_report)

__all__ = ["contents", "write_report"]
