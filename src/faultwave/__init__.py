"""Faultwave: earthquakes, rupture and waves, from a laptop to many nodes."""

from typing import Any

__version__ = "0.1.0"
__all__ = ["resume", "simulate"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # imported on first use: the command line stays quick
        from faultwave import run

        return getattr(run, name)
    raise AttributeError(f"module 'faultwave' has no attribute '{name}'")
