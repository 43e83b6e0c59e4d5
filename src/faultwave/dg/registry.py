"""Registry of the capabilities of the tetrahedral engine, which are found by scanning."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from faultwave.base.registry import modules

PACKAGE = "faultwave.dg.parts"


@cache
def part_modules() -> tuple[ModuleType, ...]:
    """Return the modules of all capabilities (see ``dg.parts``) by name, but each after those it depends on."""
    found = {m.__name__.rsplit(".", 1)[-1]: m for m in modules(PACKAGE, PACKAGE)}
    ordered: list[str] = []

    def take(name: str) -> None:
        if name in found and name not in ordered:
            for before in getattr(found[name], "AFTER", ()):
                take(before)
            ordered.append(name)

    for name in sorted(found):
        take(name)
    return tuple(found[name] for name in ordered)


__all__ = ["part_modules"]
