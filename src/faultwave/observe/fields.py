"""Names of the fields that snapshots may hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from faultwave.base.errors import InputError, Problem, suggest

SURFACE_FIELDS = ("v1", "v2", "v3", "u1", "u2", "u3", "PGV")


def volume_fields(setting: Any, law: Any) -> list[str]:
    """Quantities of the volume's snapshots; velocities unless the case says otherwise."""
    default = [n for n in law.quantities if n.startswith("v")] or law.quantities[: law.visible]
    return known_fields(setting.fields, law.quantities, default, "output.volume.fields")


def surface_fields(setting: Any) -> list[str]:
    """Quantities of the surface's snapshots."""
    return known_fields(setting.fields, SURFACE_FIELDS, SURFACE_FIELDS, "output.surface.fields")


def known_fields(asked: Sequence[str] | None, known: Sequence[str], default: Sequence[str], where: str) -> list[str]:
    """The fields asked for, or the default ones. Raises InputError where one is not among those ``known``."""
    wrong = [f for f in asked or [] if f not in known]
    if wrong:
        raise InputError([Problem(where, f"'{f}' does not exist", ", ".join(known), suggest(f, known)) for f in wrong])
    return list(asked or default)
