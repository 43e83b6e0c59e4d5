"""Generated C with explicit vectors of items and OpenMP."""

from faultwave.backends.cpu.compile import missing
from faultwave.backends.cpu.runtime import CpuBackend as backend


def rank() -> int:
    """Every machine's own."""
    return 0 if missing() else 2


__all__ = ["backend", "missing", "rank"]
