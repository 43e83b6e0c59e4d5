"""Wave physics as data, one file each. ``law(name)`` finds one; every instance of PlainLaw in a module here is one."""

from __future__ import annotations

from typing import cast

from faultwave.base.errors import InputError, Problem, suggest
from faultwave.base.registry import scan
from faultwave.physics.waves.law import Law, PlainLaw

__all__ = ["Law", "law", "laws"]


def laws() -> dict[str, Law]:
    """Every law by name: this package's and those of the entry points 'faultwave.physics.waves'."""
    found = scan(__name__, PlainLaw)
    return {name: cast(Law, found[name]) for name in sorted(found)}


def law(name: str) -> Law:
    """The law called ``name``; raises InputError with the names that exist."""
    known = laws()
    if name not in known:
        raise InputError(Problem("law", f"'{name}' does not exist", ", ".join(known), suggest(name, known)))
    return known[name]
