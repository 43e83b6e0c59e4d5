"""Check and plan of a run without running it: all its problems, its cost and its resolution."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from faultwave.base import wording
from faultwave.base.errors import FaultwaveError, InputError, Problem, Problems
from faultwave.base.types import Settings
from faultwave.case.native import located
from faultwave.case.plausibility import warn_case
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.engine.solver import Plan
from faultwave.observe.model import Model
from faultwave.output.folder import check_folder
from faultwave.run.engines import engine_of
from faultwave.run.inputs import load_case_and_inputs, load_valid_case


def check(case: Case | Settings | str | Path, ranks: int = 1, **overrides: object) -> Problems:
    """Find every problem of a case by reading all its inputs: mesh, material, fault, points and sources.

    Nothing is written. The material of grids of millions of points is read at a sample of them; a note states this.

    Parameters
    ----------
    case : Case, dict, str or Path
        Case, as for ``faultwave.simulate``.
    ranks : int
        Number of processes of the intended run; none is started.
    **overrides
        Settings to replace, as for ``faultwave.simulate``.

    Returns
    -------
    Problems
        Errors and warnings, each with place, description, allowed values and advice. A case without errors can run.
    """
    problems = Problems()
    if overrides or not isinstance(case, Case):
        found, problems = load_case_and_inputs(case, overrides)
        if found is None:
            return problems
        case = found
    problems.extend(check_folder(case.output.folder))
    problems.extend(located(case, warn_case(case).items))
    try:
        engine = engine_of(case)
        made = (engine.survey or engine.plan)(case)
        shared = engine.processes(made, ranks) if ranks > 1 else ()
        reported = {problem.what for problem in shared}
        problems.extend([*(doubt for doubt in made.warnings if doubt.what not in reported), *shared])
        problems.notes += getattr(made, "notes", ())  # engines of other packages may lack notes
    except InputError as error:
        problems.extend(error.problems)
    except FaultwaveError as error:
        problems.error("case", str(error))
    return problems


@dataclass(frozen=True)
class PlannedCase:
    """Case with the plan of its computation.

    Attributes
    ----------
    case : Case
        Case.
    plan : object
        Plan of the engine, with the mesh or grid, the material and the time steps as arrays.
    sections : dict of str to list
        Rows (description, value) by title, as ``faultwave plan`` shows them: texts with units.
    warnings : tuple of Problem
        Possible mistakes.
    """

    case: Case
    plan: Plan
    sections: dict[str, list[tuple[str, ...]]]
    warnings: tuple[Problem, ...] = ()

    @property
    def model(self) -> Model:
        """Plan as pictures show it: places, surfaces with values, vertical cuts; ``faultwave.plot`` draws it."""
        return engine_of(self.case).model(self.plan)

    def __str__(self) -> str:
        lines = []
        for title, rows in self.sections.items():
            width = max((len(row[0]) for row in rows), default=0)
            lines += [title, *(f"  {row[0]:{width}}  {' '.join(row[1:])}" for row in rows)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<PlannedCase {self.plan!r}: {', '.join(self.sections)}; print it to see them>"

    def _repr_html_(self) -> str:
        tables = [wording.html_table(title, rows) for title, rows in self.sections.items()]
        return "".join(tables) + wording.html_paragraphs(f"warning: {problem}" for problem in self.warnings)


def plan(case: Case | Settings | str | Path, **overrides: object) -> PlannedCase:
    """Return the cost and resolution of a run: memory, time steps, run time, output size, points per wavelength.

    The run time is estimated from a measurement of a few seconds. Nothing is written. ``print`` shows the tables.

    Parameters
    ----------
    case : Case, dict, str or Path
        Case, as for ``faultwave.simulate``.
    **overrides
        Settings to replace, as for ``faultwave.simulate``.

    Returns
    -------
    PlannedCase
        Plan with its tables and warnings.

    Raises
    ------
    InputError
        With every problem found.
    """
    settings, problems = load_valid_case(case, overrides)
    engine = engine_of(settings)
    made = engine.process_plan(
        settings, World()
    )  # the plan of a single process, which may exceed the memory of this machine
    found = {title: [tuple(map(str, row)) for row in rows] for title, rows in engine.report(made, settings)}
    return PlannedCase(settings, made, found, (*problems.warnings, *doubts(settings, made)))


def doubts(case: Case, made: Plan) -> tuple[Problem, ...]:
    """Return warnings about a case with the plan ``made``.

    A folder without write permission is only a warning: a plan writes nothing, and the run may take place elsewhere.
    """
    folder = [replace(problem, severity="warning") for problem in check_folder(case.output.folder)]
    return (*folder, *located(case, warn_case(case).items), *made.warnings)


def plan_model(case: Case) -> tuple[Model, tuple[Problem, ...]]:
    """Return a case as pictures of its plan show it, and its warnings; nothing is measured.

    Raises
    ------
    InputError
        With every problem found.
    """
    engine = engine_of(case)
    made = engine.plan(case)
    return engine.model(made), made.warnings
