"""Registry of the engine's capabilities, found by scanning ``fd/capabilities``."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from faultwave.base.registry import modules

PACKAGE, GROUP = "faultwave.fd.capabilities", "faultwave.fd.parts"
"""Package of the capabilities, and the entry point group of capabilities in other packages."""


@cache
def capability_modules() -> tuple[ModuleType, ...]:
    """Return the capability modules of ``fd.capabilities``, sorted by name."""
    return tuple(module for module in modules(PACKAGE, GROUP) if hasattr(module, "plan"))


__all__ = ["capability_modules"]
