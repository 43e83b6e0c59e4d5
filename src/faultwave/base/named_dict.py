"""Dictionary with informative key errors."""

from __future__ import annotations

from typing import NoReturn, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")
SHOWN = 20
"""Largest number of keys listed in an error."""


class NamedDict(dict[Key, Value]):
    """Dictionary whose KeyError lists the existing keys; ``what`` describes its items."""

    def __init__(self, what: str, items: dict[Key, Value]):
        super().__init__(items)
        self.what = what

    def __missing__(self, key: object) -> NoReturn:
        there = [repr(k) for k in self]
        more = f" and {len(there) - SHOWN} more" if len(there) > SHOWN else ""
        raise KeyError(f"there is no {self.what} {key!r}, only {', '.join(there[:SHOWN]) or 'none'}{more}")


__all__ = ["NamedDict"]
