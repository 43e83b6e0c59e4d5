"""Wording of options in messages: command-line options in the program, keyword arguments in Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
