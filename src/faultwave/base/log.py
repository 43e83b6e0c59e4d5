"""Logging under one logger tree, and status messages of long work.

Packages call ``get_logger(__name__)`` and ``warn_once``; only a program's entry point calls ``configure``, so that Faultwave inside another
Python program adds no handlers.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ROOT = "faultwave"
_warned: set[tuple[str, str]] = set()

logging.getLogger(ROOT).addHandler(logging.NullHandler())


def get_logger(name: str) -> logging.Logger:
    """Return the logger of a module; ``name`` is its ``__name__``."""
    return logging.getLogger(name if name == ROOT or name.startswith(ROOT + ".") else f"{ROOT}.{name}")


def warn_once(logger: logging.Logger, message: str) -> None:
    """Log a warning only the first time, however often cells, points or steps repeat it."""
    key = (logger.name, message)
    if key not in _warned:
        _warned.add(key)
        logger.warning(message)


def configure(level: int | str = logging.WARNING) -> None:
    """Show messages of ``level`` and above on standard error; a second call only changes the level."""
    root = logging.getLogger(ROOT)
    root.setLevel(level)
    if any(getattr(h, "_faultwave", False) for h in root.handlers):
        return
    handler = _handler()
    handler._faultwave = True  # type: ignore[attr-defined]
    root.addHandler(handler)
    root.propagate = False


def _handler() -> logging.Handler:
    if not sys.stderr.isatty():  # a batch job's log: plain lines that grep finds, never wrapped
        plain = logging.StreamHandler()
        plain.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        return plain
    from rich.console import Console
    from rich.logging import RichHandler

    return RichHandler(console=Console(stderr=True), show_path=False, rich_tracebacks=True)


_listeners: list[Callable[[str], None]] = []


@contextmanager
def status_listener(show: Callable[[str], None]) -> Iterator[None]:
    """Call ``show`` with each status message until the end of the block."""
    _listeners.append(show)
    try:
        yield
    finally:
        _listeners.remove(show)


def report_status(text: str) -> None:
    """Report the current long-running activity to all listeners."""
    for show in list(_listeners):
        show(text)
