"""Wave physics as data, one file each. ``law(name)`` finds one; every module here that defines ``LAW`` is one."""

from __future__ import annotations

import importlib
import pkgutil

from faultwave.base.errors import InputError, Problem, suggest
from faultwave.physics.waves.law import Law

__all__ = ["Law", "law", "laws"]


def laws() -> dict[str, Law]:
    """Every law in this package by name."""
    modules = (importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__))
    found = [m.LAW for m in modules if hasattr(m, "LAW")]
    return {law.name: law for law in sorted(found, key=lambda law: law.name)}


def law(name: str) -> Law:
    """The law called ``name``; raises InputError with the names that exist."""
    known = laws()
    if name not in known:
        raise InputError(Problem("law", f"'{name}' does not exist", ", ".join(known), suggest(name, known)))
    return known[name]
