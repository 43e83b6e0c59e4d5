"""Generated C with explicit vectors of items and OpenMP."""

from faultwave.backends.cpu.runtime import CpuBackend as backend

__all__ = ["backend"]
