"""Rooms that are called: `fw.run(case)` beside `faultwave.run.simulate`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


def make_callable(module: str, function: Callable[..., Any]) -> None:
    """Let the imported ``module`` be called as ``function``. A room and a function of one name can both be had that way: Python
    binds a submodule to its package under its name, whatever stood there."""
    members = {"__call__": staticmethod(function), "__doc__": function.__doc__}
    vars(sys.modules[module])["__signature__"] = inspect.signature(function)
    sys.modules[module].__class__ = type("CallableModule", (ModuleType,), members)


__all__ = ["make_callable"]
