"""Rendering of a comparison as a table for the terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from faultwave.verify.compare import RUPTURE_TIME, Comparison, Misfit

_NAMES = {"receiver": "receivers", "faultreceiver": "fault receivers", "energy": "energies"}


def _number(misfit: Misfit, value: float) -> str:
    return f"{1e3 * value:.1f} ms" if misfit.group == RUPTURE_TIME else f"{value:.4f}"


def render(comparison: Comparison) -> RenderableType:
    """Return a table of the worst misfit of each group against its limit, missing data, notes and the verdict."""
    table = Table(title=comparison.title, title_justify="left")
    for column in ("what", "group"):
        table.add_column(column)
    for column in ("worst misfit", "limit", "receiver", "over"):
        table.add_column(column, justify="right")
    last = ""
    for (kind, group), misfit in comparison.worst.items():
        judged = [m for m in comparison.misfits if (m.kind, m.group) == (kind, group)]
        over = sum(not m.passed for m in judged)
        table.add_row(
            _NAMES[kind] if kind != last else "",
            group.replace("_", " "),
            Text(_number(misfit, misfit.value), style="green" if misfit.passed else "bold red"),
            _number(misfit, misfit.limit),
            str(misfit.number) if misfit.number else "",
            f"{over} of {len(judged)}" if over else "",
        )
        last = kind
    lines = [Text(f"missing in the run: {what}", style="bold red") for what in comparison.missing]
    lines += [Text(f"note: {note}", style="yellow") for note in comparison.notes]
    return Group(table, *lines, Text(comparison.verdict, style="bold green" if comparison.passed else "bold red"))
