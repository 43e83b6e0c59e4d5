"""Friction as data, one file each. ``law(name)`` finds one; every instance of FrictionLaw in a module here is one."""

from __future__ import annotations

from faultwave.base.quantities import Output, Parameter, State
from faultwave.base.registry import pick, scan
from faultwave.physics.friction.law import COMMON_STATE, Directions, FrictionLaw, Load, Solved

__all__ = [
    "COMMON_STATE", "Directions", "FrictionLaw", "Load", "Output", "Parameter", "Solved", "State", "law", "law_of_deck", "laws",
]  # fmt: skip


def laws() -> dict[str, FrictionLaw]:
    """Every friction law by name: this package's and those of the entry points 'faultwave.physics.friction'."""
    return scan("faultwave.physics.friction", FrictionLaw)


def law(name: str) -> FrictionLaw:
    """The law called ``name``; raises InputError with the names that exist."""
    return pick(laws(), name, "friction law", "fault.friction")


def law_of_deck(number: int) -> FrictionLaw | None:
    """The law of a SeisSol deck's FL number (2 is 16), or None."""
    number = 16 if number == 2 else number
    return next((found for found in laws().values() if found.deck_number == number), None)
