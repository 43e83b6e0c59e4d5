"""Registry of the engine's capabilities, found by scanning ``fd/parts``."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from faultwave.base.registry import modules

PACKAGE = "faultwave.fd.parts"


@cache
def capability_modules() -> tuple[ModuleType, ...]:
    """Return the capability modules of ``fd.parts``, sorted by name."""
    return tuple(module for module in modules(PACKAGE, PACKAGE) if hasattr(module, "plan"))


__all__ = ["capability_modules"]
