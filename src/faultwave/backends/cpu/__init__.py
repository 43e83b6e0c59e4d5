"""Generated C with explicit vectors of items and OpenMP."""

from faultwave.backends.cpu.compile import missing
from faultwave.backends.cpu.runtime import CpuBackend as backend

ON_HOST = True


def rank() -> int:
    """Every machine's own."""
    return 0 if missing() else 2


__all__ = ["ON_HOST", "backend", "missing", "rank"]
