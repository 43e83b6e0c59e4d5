"""Capabilities of the engine fd, a file each. A module with a function ``plan`` registers by lying here; other distributions add to
them by entry points in the group ``faultwave.fd.parts``, each a function like it."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import pkgutil
from collections.abc import Callable
from typing import Any

PACKAGE = "faultwave.fd.parts"


@functools.cache
def planners() -> tuple[Callable[[Any], Any], ...]:
    """Functions that give a ``GridPart`` of a ``Planning``, or None; in the order in which parts act."""
    names = sorted(info.name for info in pkgutil.iter_modules(__path__) if not info.name.startswith("_"))
    modules = [importlib.import_module(f"{PACKAGE}.{name}") for name in names]
    own = [module.plan for module in modules if hasattr(module, "plan")]
    return (*own, *(entry.load() for entry in importlib.metadata.entry_points(group=PACKAGE)))


__all__ = ["planners"]
