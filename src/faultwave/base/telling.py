"""What long work says of itself, to whoever shows it: a program's screen listens, and without one nothing is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_listeners: list[Callable[[str], None]] = []


@contextmanager
def listening(show: Callable[[str], None]) -> Iterator[None]:
    """Until the end of the block, ``show`` is called with what is told."""
    _listeners.append(show)
    try:
        yield
    finally:
        _listeners.remove(show)


def tell(text: str) -> None:
    """Say what takes a while now."""
    for show in list(_listeners):
        show(text)


__all__ = ["listening", "tell"]
