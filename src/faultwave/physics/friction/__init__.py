"""Friction laws, one module each.

Every instance of ``FrictionLaw`` at the top of a module of this package, or of an entry point 'faultwave.physics.friction', is a friction
law. ``law(name)`` finds one.
"""

from __future__ import annotations

from faultwave.base.quantities import Output, Parameter, State
from faultwave.base.registry import get_entry, scan
from faultwave.physics.friction.law import COMMON_STATE, Directions, FrictionLaw, Load, Solved

__all__ = [
    "COMMON_STATE", "Directions", "FrictionLaw", "Load", "Output", "Parameter", "Solved", "State", "law", "law_of_deck", "laws",
]  # fmt: skip


def laws() -> dict[str, FrictionLaw]:
    """Return all friction laws by name: of this package and of the entry points 'faultwave.physics.friction'."""
    return scan("faultwave.physics.friction", FrictionLaw)


def law(name: str) -> FrictionLaw:
    """Return the friction law with a name.

    Raises
    ------
    InputError
        If there is none; the message lists the names that exist.
    """
    return get_entry(laws(), name, "friction law", "fault.friction")


def law_of_deck(number: int) -> FrictionLaw | None:
    """Return the friction law with the FL number of a SeisSol deck (2 is an alias of 16), or None if there is none."""
    number = 16 if number == 2 else number
    return next((found for found in laws().values() if found.deck_number == number), None)
