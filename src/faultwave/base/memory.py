"""Memory of this process."""

from __future__ import annotations

import sys


def peak_memory() -> int | None:
    """The most memory [bytes] that this process has held so far; None where the system does not say."""
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most  # macOS counts bytes


def whole_memory_rows() -> list[tuple[str, str]]:
    """For ``faultwave plan``, whose process holds by then what that of a run does."""
    most = peak_memory()
    return [] if most is None else [("memory of the process", f"{most / 2**20:,.0f} MiB with libraries, mesh and plan")]


__all__ = ["peak_memory", "whole_memory_rows"]
