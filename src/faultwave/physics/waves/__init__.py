"""Laws of wave physics, one file each.

Every instance of ``PlainLaw`` at the top of a module of this package, or of an entry point 'faultwave.physics.waves',
is a law. ``law(name)`` finds one.
"""

from __future__ import annotations

from typing import cast

from faultwave.base.errors import InputError, Problem, suggest
from faultwave.base.registry import scan
from faultwave.physics.waves.law import Law, PlainLaw

__all__ = ["Law", "law", "laws"]


def laws() -> dict[str, Law]:
    """Return all laws by name, including entry points of the group 'faultwave.physics.waves'."""
    found = scan(__name__, PlainLaw)
    return {name: cast(Law, found[name]) for name in sorted(found)}


def law(name: str) -> Law:
    """Return the law called ``name``.

    Raises
    ------
    InputError
        If there is none; the message lists the names that exist.
    """
    known = laws()
    if name not in known:
        raise InputError(Problem("law", f"'{name}' does not exist", ", ".join(known), suggest(name, known)))
    return known[name]
