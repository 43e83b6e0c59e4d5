"""The parts of the engine, found by scanning."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from faultwave.base.registry import modules

PACKAGE = "faultwave.fd.parts"


@cache
def part_modules() -> tuple[ModuleType, ...]:
    """The modules whose parts cases ask for (see ``fd.parts``), by name."""
    return tuple(module for module in modules(PACKAGE, PACKAGE) if hasattr(module, "plan"))


__all__ = ["part_modules"]
