"""Verification cases: named checks that run and return measured numbers against expected ones, and their tables.

Each file in ``verify/cases`` holds one case or a family of cases; every module-level ``VerificationCase`` there is registered.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from faultwave.base.registry import get_entry, scan

Progress = Callable[[str], None]
"""Callback that receives one line of text at each stage of a long case."""


@dataclass(frozen=True)
class Row:
    """One judged number of a verification.

    Attributes
    ----------
    quantity : str
        Name of the quantity, as it stands in the table.
    measured : float
        Result of the run. NaN never passes.
    expected : float or None
        Exact or reference value, where one exists.
    limit : float or None
        Bound or tolerance that the measured number is judged by, where one exists.
    ok : bool
        True if the number passes.
    """

    quantity: str
    measured: float
    expected: float | None
    limit: float | None
    ok: bool


@dataclass(frozen=True)
class Result:
    """Outcome of a verification case.

    Attributes
    ----------
    rows : tuple of Row
        Judged numbers.
    notes : tuple of str
        Remarks that do not affect the verdict.
    skipped : str
        Reason why nothing was run; empty if the case ran.
    """

    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    skipped: str = ""

    @property
    def status(self) -> Literal["passed", "failed", "skipped"]:
        if self.skipped:
            return "skipped"
        return "passed" if self.rows and all(row.ok for row in self.rows) else "failed"

    @property
    def exit_code(self) -> int:
        """Exit code: 1 if the case failed, else 0; a case skipped for missing files is not a failure."""
        return int(self.status == "failed")


@dataclass(frozen=True)
class VerificationCase:
    """Named verification with the function that runs it.

    Attributes
    ----------
    name, title : str
        Identifier for the command line, and one line of description.
    run : callable
        ``run(progress) -> Result`` does the work.
    minutes : float
        Rough duration on two cores [min].
    """

    name: str
    title: str
    run: Callable[[Progress], Result]
    minutes: float = 1.0


def cases() -> dict[str, VerificationCase]:
    """Return every verification case by name."""
    return scan("faultwave.verify.cases", VerificationCase)


def find(name: str) -> VerificationCase:
    """Return the case called ``name``.

    Raises
    ------
    InputError
        If there is no such case; the message lists the names and suggests the nearest one.
    """
    return get_entry(cases(), name, "verification", "verify")


def at_most(quantity: str, measured: float, limit: float, expected: float | None = None) -> Row:
    """Return a row that passes if measured <= limit."""
    return Row(quantity, float(measured), expected, limit, bool(measured <= limit))


def at_least(quantity: str, measured: float, limit: float, expected: float | None = None) -> Row:
    """Return a row that passes if measured >= limit."""
    return Row(quantity, float(measured), expected, limit, bool(measured >= limit))


def near(quantity: str, measured: float, expected: float, tolerance: float) -> Row:
    """Return a row that passes if |measured - expected| <= tolerance; the limit shown is the tolerance."""
    return Row(quantity, float(measured), expected, tolerance, bool(abs(measured - expected) <= tolerance))


def rate(coarse: float, fine: float, refinement: float = 2.0) -> float:
    """Return the observed order of convergence between two grids; NaN if an error is not positive."""
    if not (coarse > 0 and fine > 0):
        return math.nan
    return math.log(coarse / fine) / math.log(refinement)


VARIABLE = "FAULTWAVE_CASES"


def cases_folder() -> Path | None:
    """Return the folder of the decks; None if it does not exist."""
    named = os.environ.get(VARIABLE)
    checkout = Path(__file__).resolve().parents[3]
    candidates = [Path(named)] if named else [checkout.parent / "shared" / "cases", Path("../shared/cases")]
    return next((path.resolve() for path in candidates if path.is_dir()), None)


_STATUS_STYLE = {"passed": "bold green", "failed": "bold red", "skipped": "bold yellow"}


def _number_text(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def render_result(case: VerificationCase, result: Result) -> RenderableType:
    """Return a table with measured, expected and limit of every row, remarks and the verdict."""
    table = Table(title=f"{case.name}: {case.title}", title_justify="left")
    table.add_column("quantity")
    for column in ("measured", "expected", "limit"):
        table.add_column(column, justify="right")
    table.add_column("")
    for row in result.rows:
        verdict = Text("ok", style="green") if row.ok else Text("FAILED", style="bold red")
        table.add_row(
            Text(row.quantity), _number_text(row.measured), _number_text(row.expected), _number_text(row.limit), verdict
        )
    lines = [Text(f"note: {note}", style="yellow") for note in result.notes]
    verdict = Text(
        result.status + (f": {result.skipped}" if result.skipped else ""), style=_STATUS_STYLE[result.status]
    )
    return Group(*([table] if result.rows else []), *lines, verdict)


def render_list(cases: dict[str, VerificationCase]) -> RenderableType:
    """Return a table of names, titles and rough durations of the cases."""
    table = Table("name", "what it shows", "minutes")
    for case in cases.values():
        table.add_row(case.name, case.title, f"{case.minutes:g}")
    return table
