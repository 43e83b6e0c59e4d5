"""Registry of the capabilities of the tetrahedral engine, which are found by scanning."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from faultwave.base.registry import modules

PACKAGE, GROUP = "faultwave.dg.capabilities", "faultwave.dg.parts"
"""Package of the capabilities, and the entry point group of capabilities in other packages."""


@cache
def part_modules() -> tuple[ModuleType, ...]:
    """Return the modules of all capabilities (see ``dg.capabilities``) by name, but each after those it depends on."""
    own = modules(PACKAGE, GROUP, nested=True)
    found = {m.__name__.rsplit(".", 1)[-1]: m for m in own if hasattr(m, "plan")}
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
