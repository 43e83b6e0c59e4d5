"""How messages name what somebody can give to a command: an option on the command line, a keyword in Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_on_command_line = False  # of the process: threads of a run speak as it does


@contextmanager
def command_line() -> Iterator[None]:
    """Within, messages speak of options of the program; elsewhere of keywords of functions."""
    global _on_command_line
    before, _on_command_line = _on_command_line, True
    try:
        yield
    finally:
        _on_command_line = before


def option(name: str, value: Any = None) -> str:
    """'--checkpoint-every' or 'checkpoint_every='; with a value '--precision double' or "precision='double'"."""
    if not _on_command_line:
        return f"{name}={'' if value is None else repr(value)}"
    flag = f"--{name.replace('_', '-')}"
    return flag if value is None or value is True else f"{flag} {value}"


def command(name: str, folder: object = None) -> str:
    """'faultwave resume out' or "faultwave.resume('out')"; without a folder only the command's name."""
    if _on_command_line:
        return f"faultwave {name}" + ("" if folder is None else f" {folder}")
    return f"faultwave.{name}" + ("" if folder is None else f"({str(folder)!r})")
