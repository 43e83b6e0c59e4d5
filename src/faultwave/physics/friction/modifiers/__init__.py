"""Modifiers of the normal traction on faults, one file each; every instance of ``Modifier`` in a module here is one."""

from __future__ import annotations

from collections.abc import Sequence

from faultwave.base.registry import pick, scan
from faultwave.physics import friction
from faultwave.physics.friction.law import FrictionLaw
from faultwave.physics.friction.modifier import Modifier, with_modifiers


def modifiers() -> dict[str, Modifier]:
    """Every modifier by name: this package's and those of the entry points 'faultwave.physics.friction.modifiers'."""
    return scan("faultwave.physics.friction.modifiers", Modifier)


def modifier(name: str) -> Modifier:
    """The modifier called ``name``; raises InputError with the names that exist."""
    return pick(modifiers(), name, "modifier", "fault.modifiers")


def composed(name: str, modified_by: Sequence[str]) -> FrictionLaw:
    """The friction law called ``name`` with the modifiers named; raises InputError with the names that exist."""
    return with_modifiers(friction.law(name), [modifier(m) for m in modified_by])


def names_of_modifiers() -> dict[str, str]:
    """Every parameter and constant of a modifier by name and alias -> the modifier that has it."""
    return {
        name: m.name
        for m in modifiers().values()
        for q in (*m.parameters, *m.constants)
        for name in (q.name, *q.aliases)
    }


__all__ = ["Modifier", "composed", "modifier", "modifiers", "names_of_modifiers"]
