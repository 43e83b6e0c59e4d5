"""What a run would cost and resolve, without running it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from faultwave.base import html
from faultwave.base.errors import Problem
from faultwave.case.doubts import doubt_case
from faultwave.case.locate import located
from faultwave.case.model import Case
from faultwave.comm import World
from faultwave.observe.model import Model
from faultwave.output.folder import check_folder
from faultwave.run.engines import engine_of
from faultwave.run.inputs import load_sound


@dataclass(frozen=True)
class PlannedCase:
    """A case and what exactly will be computed.

    sections: by title, rows (what, value) as ``faultwave plan`` shows them, texts with units; plan: the engine's plan with the mesh
    or the grid, the material and the time steps as arrays; warnings: what may be wrong.
    """

    case: Case
    plan: Any
    sections: dict[str, list[tuple[str, ...]]]
    warnings: tuple[Problem, ...] = ()

    @property
    def model(self) -> Model:
        """What pictures show of it: places, surfaces with values, vertical cuts. ``faultwave.plot`` draws it."""
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
        tables = [html.table(title, rows) for title, rows in self.sections.items()]
        return "".join(tables) + html.paragraphs(f"warning: {problem}" for problem in self.warnings)


def plan(case: Case | dict[str, Any] | str | Path, **overrides: Any) -> PlannedCase:
    """Show what a run would cost and resolve: memory, time steps, an estimate of the run time from a few seconds' measurement,
    size of outputs, points per wavelength, worst cells. Nothing is written.

    case, overrides: as for ``faultwave.simulate``. print() shows the tables. Raises InputError with every problem found.
    """
    settings, problems = load_sound(case, overrides)
    engine = engine_of(settings)
    made = engine.share(settings, World())  # as a run does, which may be too large for this machine
    found = {title: [tuple(map(str, row)) for row in rows] for title, rows in engine.report(made, settings)}
    return PlannedCase(settings, made, found, (*problems.warnings, *doubts(settings, made)))


def doubts(case: Case, made: Any) -> tuple[Problem, ...]:
    """What may be wrong with a case of which ``made`` is the plan. A folder that cannot be written is a doubt: a plan writes nothing,
    and the run may be elsewhere."""
    folder = [replace(problem, severity="warning") for problem in check_folder(case.output.folder)]
    return (*folder, *located(case, doubt_case(case).items), *made.warnings)


def model_of(case: Case) -> tuple[Model, tuple[Problem, ...]]:
    """A case as pictures of its plan see it, and its warnings; nothing is measured. Raises InputError with every problem found."""
    engine = engine_of(case)
    made = engine.plan(case)
    return engine.model(made), made.warnings


__all__ = ["PlannedCase", "doubts", "model_of", "plan"]
