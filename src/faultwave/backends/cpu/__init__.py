"""Generated C with explicit vectors of items and OpenMP."""

from faultwave.backends.cpu.compile import missing
from faultwave.backends.cpu.runtime import CpuBackend as backend

ON_HOST = True


def rank() -> int:
    """Return the priority of this backend in ``best``; it can run on every machine with a C compiler."""
    return 0 if missing() else 2


__all__ = ["ON_HOST", "backend", "missing", "rank"]
