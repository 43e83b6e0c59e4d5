"""Text for people: sanitised for terminals and pages, as HTML tables, and wordings of options."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape

REPLACED = "\ufffd"
"""Replacement for characters that cannot be shown."""
PRESERVED = "\n\t"
_HIDDEN = ("Cc", "Cs", "Co", "Cn")
_BIDIRECTIONAL_MARKS = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F}
"""Control characters that change the direction of the surrounding text."""


def printable(text: str, allowed: str = PRESERVED) -> str:
    """Return a text with all unprintable characters replaced, except those in ``allowed``.

    Replaced are control characters, which a terminal executes, halves of surrogate pairs, which no file can contain, and marks that change
    the direction of other text.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in allowed or not is_unprintable(c) else REPLACED for c in text)


def is_unprintable(character: str) -> bool:
    """Return True if a character cannot be shown."""
    return unicodedata.category(character) in _HIDDEN or ord(character) in _BIDIRECTIONAL_MARKS


LEFT = 'style="text-align:left"'


def html_table(title: str, rows: Iterable[Sequence[object]], header: Sequence[str] = ()) -> str:
    """Return an HTML table of rows below a title and an optional header; all texts are escaped."""
    lines = [f"<tr>{''.join(f'<th {LEFT}>{escape(name)}</th>' for name in header)}</tr>"] if header else []
    for row in rows:
        lines.append(f"<tr>{''.join(f'<td {LEFT}>{escape(str(value))}</td>' for value in row)}</tr>")
    return f"<p><b>{escape(title)}</b></p><table>{''.join(lines)}</table>"


def html_paragraphs(lines: Iterable[str]) -> str:
    """Return each line as an HTML paragraph; all texts are escaped."""
    return "".join(f"<p>{escape(line)}</p>" for line in lines)


_on_command_line = False  # one flag per process, because threads of a run use the same wording


@contextmanager
def command_line() -> Iterator[None]:
    """Word messages for the command line within the block; elsewhere they refer to keywords of functions."""
    global _on_command_line
    before, _on_command_line = _on_command_line, True
    try:
        yield
    finally:
        _on_command_line = before


def option(name: str, value: object = None) -> str:
    """Return the name of an option as the user writes it.

    Examples are '--checkpoint-every' or 'checkpoint_every='; with a value '--precision double' or "precision='double'".
    """
    if not _on_command_line:
        return f"{name}={'' if value is None else repr(value)}"
    flag = f"--{name.replace('_', '-')}"
    return flag if value is None or value is True else f"{flag} {value}"


def command(name: str, folder: object = None) -> str:
    """Return a command as the user writes it, e.g. 'faultwave resume out' or "faultwave.resume('out')"."""
    if _on_command_line:
        return f"faultwave {name}" + ("" if folder is None else f" {folder}")
    return f"faultwave.{name}" + ("" if folder is None else f"({str(folder)!r})")
