"""Faultwave: earthquakes, rupture and waves, from a laptop to many nodes."""

from typing import Any

from faultwave.base.version import __version__

__all__ = ["__version__", "resume", "simulate"]


def __getattr__(name: str) -> Any:
    if name in ("resume", "simulate"):  # imported on first use: the command line stays quick
        from faultwave import run

        return getattr(run, name)
    raise AttributeError(f"module 'faultwave' has no attribute '{name}'")
