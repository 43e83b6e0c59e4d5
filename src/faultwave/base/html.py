"""HTML tables and paragraphs for notebooks, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

LEFT = 'style="text-align:left"'


def table(title: str, rows: Iterable[Sequence[object]], header: Sequence[str] = ()) -> str:
    """Return an HTML table of rows below a title and an optional header; all texts are escaped."""
    lines = [f"<tr>{''.join(f'<th {LEFT}>{escape(name)}</th>' for name in header)}</tr>"] if header else []
    for row in rows:
        lines.append(f"<tr>{''.join(f'<td {LEFT}>{escape(str(value))}</td>' for value in row)}</tr>")
    return f"<p><b>{escape(title)}</b></p><table>{''.join(lines)}</table>"


def paragraphs(lines: Iterable[str]) -> str:
    """Return each line as an HTML paragraph; all texts are escaped."""
    return "".join(f"<p>{escape(line)}</p>" for line in lines)


__all__ = ["paragraphs", "table"]
