"""Complete check of a case without running it."""

from __future__ import annotations

from pathlib import Path

from faultwave.base.errors import FaultwaveError, InputError, Problems
from faultwave.base.types import Settings
from faultwave.case.locate import located
from faultwave.case.settings.model import Case
from faultwave.case.warnings import warn_case
from faultwave.output.folder import check_folder
from faultwave.run.engines import engine_of
from faultwave.run.inputs import load_case_and_inputs


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
