"""Modifiers of the normal traction on faults, one file each; every instance of ``Modifier`` in a module here is one."""

from __future__ import annotations

from collections.abc import Sequence

from faultwave.base.registry import get_entry, scan
from faultwave.physics import friction
from faultwave.physics.friction.law import FrictionLaw
from faultwave.physics.friction.modifier import Modifier, with_modifiers


def modifiers() -> dict[str, Modifier]:
    """Return all modifiers by name: of this package and of the entry points 'faultwave.physics.friction.modifiers'."""
    return scan("faultwave.physics.friction.modifiers", Modifier)


def modifier(name: str) -> Modifier:
    """Return the modifier called ``name``.

    Raises
    ------
    InputError
        If there is none; the message lists the names that exist.
    """
    return get_entry(modifiers(), name, "modifier", "fault.modifiers")


def composed(name: str, modified_by: Sequence[str]) -> FrictionLaw:
    """Return the friction law called ``name`` with the named modifiers.

    Raises
    ------
    InputError
        If a name is unknown; the message lists the names that exist.
    """
    return with_modifiers(friction.law(name), [modifier(m) for m in modified_by])


def names_of_modifiers() -> dict[str, str]:
    """Return the modifier that has each parameter or constant, by name and alias."""
    return {
        name: m.name
        for m in modifiers().values()
        for q in (*m.parameters, *m.constants)
        for name in (q.name, *q.aliases)
    }


__all__ = ["Modifier", "composed", "modifier", "modifiers", "names_of_modifiers"]
