"""Rendering of a verification's result as a table for the terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from faultwave.verify.case import Result, VerificationCase

_STYLE = {"passed": "bold green", "failed": "bold red", "skipped": "bold yellow"}


def _number(value: float | None) -> str:
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
        table.add_row(Text(row.quantity), _number(row.measured), _number(row.expected), _number(row.limit), verdict)
    lines = [Text(f"note: {note}", style="yellow") for note in result.notes]
    verdict = Text(result.status + (f": {result.skipped}" if result.skipped else ""), style=_STYLE[result.status])
    return Group(*([table] if result.rows else []), *lines, verdict)


def render_list(cases: dict[str, VerificationCase]) -> RenderableType:
    """Return a table of names, titles and rough durations of the cases."""
    table = Table("name", "what it shows", "minutes")
    for case in cases.values():
        table.add_row(case.name, case.title, f"{case.minutes:g}")
    return table
