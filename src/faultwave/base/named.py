"""Tables that say what they hold."""

from __future__ import annotations

from typing import NoReturn, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")
SHOWN = 20
"""Of many keys that are told."""


class Named(dict[Key, Value]):
    """A dict of ``what``, whose KeyError names the keys that there are."""

    def __init__(self, what: str, items: dict[Key, Value]):
        super().__init__(items)
        self.what = what

    def __missing__(self, key: object) -> NoReturn:
        there = [repr(k) for k in self]
        more = f" and {len(there) - SHOWN} more" if len(there) > SHOWN else ""
        raise KeyError(f"there is no {self.what} {key!r}, only {', '.join(there[:SHOWN]) or 'none'}{more}")


__all__ = ["Named"]
