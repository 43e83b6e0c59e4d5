"""Status messages of long work: a program's screen listens, and without a listener they are discarded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

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


__all__ = ["status_listener", "report_status"]
