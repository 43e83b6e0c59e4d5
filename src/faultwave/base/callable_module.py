"""Modules that can be called, such as ``fw.run(case)`` next to ``faultwave.run.simulate``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import ModuleType


def make_callable(module: str, function: Callable[..., object]) -> None:
    """Make an imported module callable as ``function``.

    A package and a function can thus share a name: Python binds a submodule to its parent under its own name, which would
    replace the function.
    """
    members = {"__call__": staticmethod(function), "__doc__": function.__doc__}
    vars(sys.modules[module])["__signature__"] = inspect.signature(function)
    sys.modules[module].__class__ = type("CallableModule", (ModuleType,), members)
